"""Sign-ins for mailboxes of services that refuse passwords: Google and Microsoft (XOAUTH2)."""

from typing import Literal

from analytiq.ingestion.sources.connections.oauth import Form, OAuthCredentials, SignInService, refresh_form

SignInChoice = Literal["password", "google", "microsoft"]
GOOGLE_SCOPES = ("https://mail.google.com/",)
GOOGLE_LOGIN = "https://oauth2.googleapis.com"
GOOGLE_CONSENT = "https://accounts.google.com/o/oauth2/v2/auth"
MICROSOFT_SCOPES = ("offline_access", "https://outlook.office.com/IMAP.AccessAsUser.All")
MICROSOFT_LOGIN = "https://login.microsoftonline.com"
MICROSOFT_APPLICATION_SCOPE = "https://outlook.office365.com/.default"
"""The right `IMAP.AccessAsApp` of an application, which an administrator has given for some mailboxes."""


def mail_sign_in(choice: SignInChoice, *, tenant: str, login_url: str | None, user: str) -> SignInService | None:
    """Return where a person signs in for a mailbox; None if it is opened with a password.

    Sources: https://developers.google.com/workspace/gmail/imap/xoauth2-protocol,
    https://learn.microsoft.com/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth.
    """
    base = login_url.rstrip("/") if login_url else ""
    # The person is asked as the mailbox's user: the token of another one does not open it.
    hint = {"login_hint": user}
    if choice == "google":
        consent = f"{base}/o/oauth2/v2/auth" if base else GOOGLE_CONSENT
        token_url = f"{base or GOOGLE_LOGIN}/token"
        return SignInService(
            "Google", consent, token_url, GOOGLE_SCOPES, {"access_type": "offline", "prompt": "consent", **hint}
        )
    if choice == "microsoft":
        place = f"{base or MICROSOFT_LOGIN}/{tenant}/oauth2/v2.0"
        return SignInService(
            "Microsoft", f"{place}/authorize", f"{place}/token", MICROSOFT_SCOPES, {"response_mode": "query", **hint}
        )
    return None


class MailTokenRequests:
    """Requests for tokens: with a refresh token if a person signed in, otherwise as an application of Microsoft."""

    def __init__(self, service: SignInService, credentials: OAuthCredentials, *, choice: SignInChoice) -> None:
        self.token_url = service.token_url
        self._scopes = " ".join(service.scopes)
        self._credentials = credentials
        self._is_microsoft = choice == "microsoft"

    def form(self, refresh_token: str | None) -> Form | None:
        """See TokenRequests."""
        form = refresh_form(self._credentials, refresh_token)
        if form is not None:
            return {**form, "scope": self._scopes} if self._is_microsoft else form
        given = self._credentials
        if not self._is_microsoft or given.client_id is None or given.client_secret is None:
            return None
        return {
            "grant_type": "client_credentials",
            "client_id": given.client_id,
            "client_secret": given.client_secret.get_secret_value(),
            "scope": MICROSOFT_APPLICATION_SCOPE,
        }
