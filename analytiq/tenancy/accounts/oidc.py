"""Sign-in by an OpenID Connect provider: the attempt, bound to the browser, and the person who comes back.

`oidc_protocol` talks to the provider. It is imported at the first sign-in: authlib and joserfc take 5 MB and 0.1 s,
and most installations have no provider.
"""

import asyncio
import importlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import InvalidInputError
from analytiq.models.account import LinkPurpose, OneTimeLink, User, normalize
from analytiq.settings import OidcSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.tenancy.accounts.oidc_refusal import refused
from analytiq.tenancy.accounts.people import People
from analytiq.tenancy.accounts.secrets import hash_of, new_secret

if TYPE_CHECKING:
    from analytiq.tenancy.accounts.oidc_protocol import Claims, OidcProtocol

ATTEMPT_MINUTES = 10
MOST_NAME_CHARACTERS = 200

_PROTOCOL = "analytiq.tenancy.accounts.oidc_protocol"


@dataclass(frozen=True, slots=True)
class Departure:
    """The provider's address for the browser, and the secret that the browser must return in a cookie."""

    url: str
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class Arrival:
    """The person who came back, and the page that they wanted."""

    user: User
    next_path: str


class Oidc:
    """Signs in by the provider of the settings. The provider vouches for addresses; only invitations make members."""

    def __init__(self, rows: Repositories, settings: OidcSettings | None, people: People) -> None:
        self._settings = settings
        self._users = rows.users
        self._links = rows.links
        self._sessions = rows.sessions
        self._people = people

    @property
    def name(self) -> str | None:
        """Return the provider's name; None without a provider."""
        return self._settings.name if self._settings else None

    async def depart(self, redirect_uri: str, next_path: str) -> Departure:
        """Begin a sign-in.

        Raises:
            TransientError: the provider does not answer.
        """
        protocol = await self._protocol()
        secret, nonce, verifier = new_secret(), new_secret(), new_secret()
        url = await protocol.authorization_url(redirect_uri, state=hash_of(secret), nonce=nonce, verifier=verifier)
        await self._links.insert(
            OneTimeLink(
                id=new_id(),
                purpose=LinkPurpose.OIDC_SIGN_IN,
                secret_hash=hash_of(secret),
                payload={"nonce": nonce, "verifier": verifier, "next": next_path, "redirect_uri": redirect_uri},
                expires_at=clock.now() + timedelta(minutes=ATTEMPT_MINUTES),
            )
        )
        return Departure(url, SecretStr(secret))

    async def arrive(self, *, secret: str, state: str, code: str) -> Arrival:
        """Finish a sign-in with the cookie's `secret` and the parameters of the provider's redirect.

        Raises:
            AccessDeniedError: another browser began the sign-in, it took too long, or the address is unknown here.
        """
        protocol = await self._protocol()
        link = await self._links.take(LinkPurpose.OIDC_SIGN_IN, hash_of(secret), clock.now())
        if link is None or state != link.secret_hash:
            raise refused("The sign-in took too long, or was begun in another browser. Begin again.")
        begun = link.payload
        claims = await protocol.claims(
            code, redirect_uri=begun["redirect_uri"], verifier=begun["verifier"], nonce=begun["nonce"]
        )
        return Arrival(await self._user_of(protocol.issuer, claims), begun["next"])

    async def _user_of(self, issuer: str, claims: "Claims") -> User:
        """Return the person whom the provider named before, or whose address it vouches for."""
        subject = str(claims["sub"])
        known = await self._users.with_subject(issuer, subject)
        if known is not None:
            return known
        email = normalize(str(claims.get("email", "")))
        if not email or claims.get("email_verified") is not True:
            raise refused(
                "The provider does not give your email address, or has not verified it. Verify it there,"
                " then sign in again."
            )
        user = await self._users.with_email(email) or await self._people.admit(email, _name_of(claims))
        if user is None:
            raise refused(
                f"No open invitation for {email}. Ask an administrator of your organization for an invitation."
            )
        if not await self._users.bind_subject(user.id, issuer, subject):
            raise refused(f"Another account of the provider signs in as {email} already. Sign in with that account.")
        # An inviter sees the invitation's link, and could have chosen a password in the person's name before.
        # Only now is the address proved.
        await self._sessions.end_all(user.id)
        return user

    async def _protocol(self) -> "OidcProtocol":
        if self._settings is None:
            raise InvalidInputError(
                "No OIDC provider is configured. Sign in with your password.", code="oidc_unavailable"
            )
        module = await asyncio.to_thread(importlib.import_module, _PROTOCOL)
        return module.OidcProtocol(self._settings)


def _name_of(claims: "Claims") -> str:
    """Return the person's name as the provider gives it, bounded like a typed name."""
    return " ".join(str(claims.get("name") or "").split())[:MOST_NAME_CHARACTERS]
