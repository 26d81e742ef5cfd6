"""Sign-in by an OpenID Connect provider: authorization code with PKCE, state bound to the browser.

OpenID Connect Core 1.0, sections 3.1.2 and 3.1.3.7; RFC 7636. Uses authlib, and joserfc for the ID token.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, cast

import httpx
import structlog
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwk, jwt
from joserfc.errors import JoseError
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, TransientError
from analytiq.models.account import LinkPurpose, OneTimeLink, User, normalize
from analytiq.settings import OidcSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.tenancy.accounts.people import People
from analytiq.tenancy.accounts.secrets import hash_of, new_secret

log = structlog.get_logger(__name__)

SCOPES = "openid email profile"
ATTEMPT_MINUTES = 10
TIMEOUT_SECONDS = 15.0
CLOCK_LEEWAY_SECONDS = 60
MOST_NAME_CHARACTERS = 200
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Algorithms with published keys only: never `none`, and never HMAC with a secret that the provider shares."""

Metadata = dict[str, Any]


class _Client(Protocol):
    """The used part of authlib's client, which is not typed."""

    def create_authorization_url(self, url: str, *, state: str, nonce: str, code_verifier: str) -> tuple[str, str]: ...

    async def fetch_token(self, url: str, *, code: str, code_verifier: str) -> dict[str, Any]: ...


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
        settings = self._configured()
        metadata = await self._metadata(settings)
        secret, nonce, verifier = new_secret(), new_secret(), new_secret()
        async with self._client(settings, redirect_uri) as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"], state=hash_of(secret), nonce=nonce, code_verifier=verifier
            )
        await self._links.insert(
            OneTimeLink(
                id=new_id(),
                purpose=LinkPurpose.OIDC_SIGN_IN,
                secret_hash=hash_of(secret),
                payload={"nonce": nonce, "verifier": verifier, "next": next_path, "redirect_uri": redirect_uri},
                expires_at=clock.now() + timedelta(minutes=ATTEMPT_MINUTES),
            )
        )
        return Departure(str(url), SecretStr(secret))

    async def arrive(self, *, secret: str, state: str, code: str) -> Arrival:
        """Finish a sign-in with the cookie's `secret` and the parameters of the provider's redirect.

        Raises:
            AccessDeniedError: another browser began the sign-in, it took too long, or the address is unknown here.
        """
        settings = self._configured()
        link = await self._links.take(LinkPurpose.OIDC_SIGN_IN, hash_of(secret), clock.now())
        if link is None or state != link.secret_hash:
            raise _refused("The sign-in took too long, or was begun in another browser. Begin again.")
        metadata = await self._metadata(settings)
        token = await self._exchange(settings, metadata, link, code)
        claims = await self._claims(settings, metadata, str(token.get("id_token", "")), link.payload["nonce"])
        return Arrival(await self._user_of(settings.issuer, claims), link.payload["next"])

    async def _user_of(self, issuer: str, claims: Metadata) -> User:
        """Return the person whom the provider named before, or whose address it vouches for."""
        subject = str(claims["sub"])
        known = await self._users.with_subject(issuer, subject)
        if known is not None:
            return known
        email = normalize(str(claims.get("email", "")))
        if not email or claims.get("email_verified") is not True:
            raise _refused(
                "The provider does not give your email address, or has not verified it. Verify it there,"
                " then sign in again."
            )
        user = await self._users.with_email(email) or await self._people.admit(email, _name_of(claims))
        if user is None:
            raise _refused(
                f"No open invitation for {email}. Ask an administrator of your organization for an invitation."
            )
        if not await self._users.bind_subject(user.id, issuer, subject):
            raise _refused(f"Another account of the provider signs in as {email} already. Sign in with that account.")
        # An inviter sees the invitation's link, and could have chosen a password in the person's name before.
        # Only now is the address proved.
        await self._sessions.end_all(user.id)
        return user

    async def _exchange(
        self, settings: OidcSettings, metadata: Metadata, link: OneTimeLink, code: str
    ) -> dict[str, Any]:
        async with self._client(settings, link.payload["redirect_uri"]) as client:
            try:
                token = await client.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=link.payload["verifier"]
                )
            except OAuthError as error:
                log.warning("accounts.oidc_refused", error=str(error.error))
                raise _refused("The provider did not confirm the sign-in. Begin again.") from error
            except httpx.HTTPError as error:
                raise _unreachable(settings) from error
        return token

    async def _claims(self, settings: OidcSettings, metadata: Metadata, id_token: str, nonce: str) -> Metadata:
        keys = await self._get(settings, str(metadata["jwks_uri"]))
        registry = jwt.JWTClaimsRegistry(
            leeway=CLOCK_LEEWAY_SECONDS,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            key_set = jwk.KeySet.import_key_set(cast("Any", keys))
            token = jwt.decode(id_token, key_set, algorithms=ALGORITHMS)
            registry.validate(token.claims)
        except (JoseError, ValueError) as error:
            log.warning("accounts.oidc_token_refused", error=type(error).__name__)
            raise _refused("The provider's answer is not valid for this sign-in. Begin again.") from error
        return dict(token.claims)

    async def _metadata(self, settings: OidcSettings) -> Metadata:
        issuer = settings.issuer.rstrip("/")
        metadata = await self._get(settings, f"{issuer}/.well-known/openid-configuration")
        if str(metadata.get("issuer", "")).rstrip("/") != issuer:
            raise TransientError(
                f"The OIDC provider at {issuer} calls itself {metadata.get('issuer')!r}. Check"
                " ANALYTIQ_ACCOUNTS__OIDC__ISSUER.",
                code="oidc_misconfigured",
            )
        return metadata

    async def _get(self, settings: OidcSettings, url: str) -> Metadata:
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
                response = (await client.get(url)).raise_for_status()
                answered: object = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise _unreachable(settings) from error
        if not isinstance(answered, dict):
            raise _unreachable(settings)
        return cast("Metadata", answered)

    def _configured(self) -> OidcSettings:
        if self._settings is None:
            raise InvalidInputError(
                "No OIDC provider is configured. Sign in with your password.", code="oidc_unavailable"
            )
        return self._settings

    @staticmethod
    def _client(settings: OidcSettings, redirect_uri: str) -> AbstractAsyncContextManager[_Client]:
        client: object = AsyncOAuth2Client(
            client_id=settings.client_id,
            client_secret=settings.client_secret.get_secret_value(),
            scope=SCOPES,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT_SECONDS,
        )
        return cast("AbstractAsyncContextManager[_Client]", client)


def _name_of(claims: Metadata) -> str:
    """Return the person's name as the provider gives it, bounded like a typed name."""
    return " ".join(str(claims.get("name") or "").split())[:MOST_NAME_CHARACTERS]


def _refused(detail: str) -> AccessDeniedError:
    return AccessDeniedError(detail, code="oidc_refused")


def _unreachable(settings: OidcSettings) -> TransientError:
    return TransientError(
        f"The OIDC provider at {settings.issuer} is unreachable, or does not answer as one. Try again later.",
        code="oidc_unavailable",
    )
