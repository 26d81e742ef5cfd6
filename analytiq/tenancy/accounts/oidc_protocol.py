"""An OpenID Connect provider as a client sees it: authorization code with PKCE, and the ID token's claims.

OpenID Connect Core 1.0, sections 3.1.2 and 3.1.3.7; RFC 7636. Uses authlib, and joserfc for the ID token.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

import httpx
import structlog
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwk, jwt
from joserfc.errors import JoseError

from analytiq.errors import TransientError
from analytiq.settings import OidcSettings
from analytiq.tenancy.accounts.oidc_refusal import refused

log = structlog.get_logger(__name__)

SCOPES = "openid email profile"
TIMEOUT_SECONDS = 15.0
CLOCK_LEEWAY_SECONDS = 60
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Algorithms with published keys only: never `none`, and never HMAC with a secret that the provider shares."""

Metadata = dict[str, Any]
Claims = dict[str, Any]


class _Client(Protocol):
    """The used part of authlib's client, which is not typed."""

    def create_authorization_url(self, url: str, *, state: str, nonce: str, code_verifier: str) -> tuple[str, str]: ...

    async def fetch_token(self, url: str, *, code: str, code_verifier: str) -> dict[str, Any]: ...


class OidcProtocol:
    """The provider of the settings."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings

    @property
    def issuer(self) -> str:
        """The provider's identifier, as the settings name it."""
        return self._settings.issuer

    async def authorization_url(self, redirect_uri: str, *, state: str, nonce: str, verifier: str) -> str:
        """Return the provider's address for the browser that begins a sign-in.

        Raises:
            TransientError: the provider does not answer.
        """
        metadata = await self._metadata()
        async with self._client(redirect_uri) as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"], state=state, nonce=nonce, code_verifier=verifier
            )
        return str(url)

    async def claims(self, code: str, *, redirect_uri: str, verifier: str, nonce: str) -> Claims:
        """Exchange the code of a provider's redirect for the verified claims about the person.

        Raises:
            AccessDeniedError: the provider does not confirm the sign-in, or its token is not valid for it.
            TransientError: the provider does not answer.
        """
        metadata = await self._metadata()
        async with self._client(redirect_uri) as client:
            try:
                token = await client.fetch_token(metadata["token_endpoint"], code=code, code_verifier=verifier)
            except OAuthError as error:
                log.warning("accounts.oidc_refused", error=str(error.error))
                raise refused("The provider did not confirm the sign-in. Begin again.") from error
            except httpx.HTTPError as error:
                raise self._unreachable() from error
        return await self._verified(metadata, str(token.get("id_token", "")), nonce)

    async def _verified(self, metadata: Metadata, id_token: str, nonce: str) -> Claims:
        keys = await self._get(str(metadata["jwks_uri"]))
        registry = jwt.JWTClaimsRegistry(
            leeway=CLOCK_LEEWAY_SECONDS,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.client_id},
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
            raise refused("The provider's answer is not valid for this sign-in. Begin again.") from error
        return dict(token.claims)

    async def _metadata(self) -> Metadata:
        issuer = self._settings.issuer.rstrip("/")
        metadata = await self._get(f"{issuer}/.well-known/openid-configuration")
        if str(metadata.get("issuer", "")).rstrip("/") != issuer:
            raise TransientError(
                f"The OIDC provider at {issuer} calls itself {metadata.get('issuer')!r}. Check"
                " ANALYTIQ_ACCOUNTS__OIDC__ISSUER.",
                code="oidc_misconfigured",
            )
        return metadata

    async def _get(self, url: str) -> Metadata:
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
                response = (await client.get(url)).raise_for_status()
                answered: object = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise self._unreachable() from error
        if not isinstance(answered, dict):
            raise self._unreachable()
        return cast("Metadata", answered)

    def _client(self, redirect_uri: str) -> AbstractAsyncContextManager[_Client]:
        client: object = AsyncOAuth2Client(
            client_id=self._settings.client_id,
            client_secret=self._settings.client_secret.get_secret_value(),
            scope=SCOPES,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT_SECONDS,
        )
        return cast("AbstractAsyncContextManager[_Client]", client)

    def _unreachable(self) -> TransientError:
        return TransientError(
            f"The OIDC provider at {self._settings.issuer} is unreachable, or does not answer as one. Try again later.",
            code="oidc_unavailable",
        )
