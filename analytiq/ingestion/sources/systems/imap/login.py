"""Logins at a mail server: by a password, or by an access token (XOAUTH2)."""

import imaplib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from imapclient import IMAPClient

from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError


@dataclass(frozen=True, slots=True)
class Login:
    """A user with the secret, which is a password or an access token."""

    user: str
    secret: str = field(repr=False)
    is_token: bool


FindLogin = Callable[[Login | None], Awaitable[Login]]
"""Returns the login; if the server refused a login with a token, it gets that one and returns a renewed one."""


def log_in(client: IMAPClient, login: Login) -> None:
    """Log in; call it in the thread of the connection.

    Raises:
        CredentialsRefusedError: the server refuses it.
    """
    try:
        if login.is_token:
            client.oauth2_login(login.user, login.secret)
        elif client.has_capability("AUTH=PLAIN"):
            client.plain_login(login.user, login.secret)
        else:
            client.login(login.user, login.secret)
    except imaplib.IMAP4.abort:
        raise
    except (imaplib.IMAP4.error, UnicodeError):
        raise wrong_login(login) from None
    if client.has_capability("ENABLE") and client.has_capability("CONDSTORE"):
        # Some servers number changes of a mailbox only from the first client that asks for it.
        client.enable("CONDSTORE")


def wrong_login(login: Login) -> CredentialsRefusedError:
    """Return the error of a login that the server refuses."""
    if login.is_token:
        return CredentialsRefusedError(
            f"The mail server refuses the sign-in for the user {login.user!r}. Sign in as this user, and check that the"
            " service allows IMAP for the mailbox."
        )
    return CredentialsRefusedError(
        "The mail server refuses the user or its password. Some services want a password for this purpose only. Google"
        " and Microsoft want a sign-in instead: choose it in the settings."
    )
