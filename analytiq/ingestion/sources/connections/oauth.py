"""Access tokens of services: requested, renewed before they expire and after a refusal, and kept.

The calls are our own, of RFC 6749 sections 4.1.3, 4.4 and 6 and RFC 7523: authlib reads answers of any size, and a
source may name its authorization server.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast, runtime_checkable

import httpx
from pydantic import Field, JsonValue, SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, TransientError
from analytiq.ingestion.sources.base import ConnectorType, KindSchema, SourceContext
from analytiq.ingestion.sources.connections.outbound import outbound_client
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError, ServiceClient
from analytiq.settings import SourceSettings

RENEWED_SECONDS = 120.0
"""Time before its end at which a token is renewed."""
UNTOLD_SECONDS = 300.0
"""Life of a token whose end the service does not tell."""
MOST_ANSWER_BYTES = 64 * 1024
TIMEOUT = httpx.Timeout(20.0, connect=10.0)
_UNAUTHORIZED = 401
_FIELD_OF_AGENT = {"accept": "application/json", "accept-encoding": "identity"}

Form = Mapping[str, str]


class SignInNeededError(AccessDeniedError):
    """The service does not accept the stored sign-in any more: a person signs in again."""

    code = "sign_in_needed"


class OAuthCredentials(KindSchema):
    """The application at the service, and the tokens of a sign-in."""

    client_id: str | None = Field(
        default=None, min_length=1, max_length=1000, title="Client id", description="Of your application at the service"
    )
    client_secret: SecretStr | None = Field(default=None, title="Client secret")
    refresh_token: SecretStr | None = Field(
        default=None, title="Refresh token", description="From a sign-in; the source renews it by itself"
    )
    access_token: SecretStr | None = Field(
        default=None, title="Access token", description="Enough for a trial; it expires, usually within an hour"
    )
    expires_at: float | None = Field(
        default=None,
        title="Expiry",
        description="Of the access token, in seconds since 1970; set by the source",
        json_schema_extra={"readOnly": True},
    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a service. `expires_at` is in seconds since 1970."""

    access: str = field(repr=False)
    expires_at: float
    refresh: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignInService:
    """The service at which a person signs in for a source, and gets tokens.

    Attributes:
        name: of the service, for messages.
        authorization_url: for the browser.
        token_url: for requests of tokens.
        scopes: what the source may do.
        parameters: further ones of the authorization address.
    """

    name: str
    authorization_url: str
    token_url: str
    scopes: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


@runtime_checkable
class SignInKind(Protocol):
    """A kind whose sources a person may sign in for; its credentials are `OAuthCredentials`, or more."""

    @classmethod
    def sign_in_service(cls, settings: KindSchema) -> SignInService | None:
        """Return where a person signs in for a source with these settings; None: its settings choose another way."""
        ...


def sign_in_of(kind: ConnectorType, settings: KindSchema) -> SignInService | None:
    """Return where a person signs in; None if the kind, or a source with these settings, knows no sign-in."""
    return kind.sign_in_service(settings) if isinstance(kind, SignInKind) else None


def refresh_form(credentials: OAuthCredentials, refresh_token: str | None) -> Form | None:
    """Return the fields of a request with a refresh token; None if a person has to sign in."""
    if refresh_token is None or credentials.client_id is None:
        return None
    secret = {"client_secret": credentials.client_secret.get_secret_value()} if credentials.client_secret else {}
    return {
        "grant_type": "refresh_token",
        "refresh_token": refresh_token,
        "client_id": credentials.client_id,
        **secret,
    }


class TokenRequests(Protocol):
    """Makes the requests for access tokens of one source."""

    token_url: str

    def form(self, refresh_token: str | None) -> Form | None:
        """Return the fields of a request; None if a person has to sign in."""
        ...


class AccessTokens:
    """The access tokens of one source."""

    def __init__(
        self, context: SourceContext, requests: TokenRequests, stored: OAuthCredentials, *, service: str
    ) -> None:
        self._context = context
        self._requests = requests
        self._service = service
        self._lock = asyncio.Lock()
        self._refresh = stored.refresh_token.get_secret_value() if stored.refresh_token else None
        self._now: Tokens | None = None
        if stored.access_token is not None:
            until = stored.expires_at if stored.expires_at is not None else float("inf")
            self._now = Tokens(stored.access_token.get_secret_value(), until)

    async def current(self) -> str:
        """Return a token that is valid for some minutes.

        Raises:
            SignInNeededError: a person has to sign in.
            CredentialsRefusedError: the service does not accept the application.
        """
        async with self._lock:
            if self._now is None or self._now.expires_at - clock.now().timestamp() < RENEWED_SECONDS:
                return (await self._renewed()).access
            return self._now.access

    async def after(self, refused: str) -> str | None:
        """Return another token than the refused one; None if there is no way to get one."""
        async with self._lock:
            if self._now is not None and self._now.access != refused:
                return self._now.access
            if self._requests.form(self._refresh) is None:
                return None
            return (await self._renewed()).access

    async def _renewed(self) -> Tokens:
        form = self._requests.form(self._refresh)
        if form is None:
            raise SignInNeededError(
                f"Nobody has signed in at {self._service} for this source. Add the source if it is new, then sign in on"
                " its page."
            )
        tokens = await request_tokens(self._context.operator, self._requests.token_url, form, service=self._service)
        self._now, before = tokens, self._refresh
        self._refresh = tokens.refresh or before
        if before is not None:
            await self._context.keep_credentials(fields_of(tokens))
        return tokens


class TokenClient(ServiceClient):
    """Calls to a service with access tokens; a refused token is renewed once a call."""

    def __init__(self, operator: SourceSettings, base_url: str, tokens: AccessTokens, *, service: str) -> None:
        super().__init__(operator, base_url, headers={}, service=service)
        self._tokens = tokens
        self.authenticate(httpx.Auth())

    async def _sent(self, request: httpx.Request, authentication: httpx.Auth | None) -> httpx.Response:
        if authentication is None:
            # Another origin, such as that of a download.
            return await super()._sent(request, None)
        token = await self._tokens.current()
        request.headers["authorization"] = f"Bearer {token}"
        response = await super()._sent(request, None)
        if response.status_code != _UNAUTHORIZED:
            return response
        renewed = await self._tokens.after(token)
        if renewed is None:
            return response
        await response.aclose()
        request.headers["authorization"] = f"Bearer {renewed}"
        return await super()._sent(request, None)


async def request_tokens(operator: SourceSettings, token_url: str, form: Form, *, service: str) -> Tokens:
    """Ask an authorization server for tokens.

    Raises:
        SignInNeededError: it does not accept the code or the refresh token any more.
        CredentialsRefusedError: it does not accept the application, or its scopes.
        TransientError: it does not answer, or not as one.
    """
    async with outbound_client(operator, connections=1, timeout=TIMEOUT) as client:
        try:
            async with client.stream("POST", token_url, data=dict(form), headers=_FIELD_OF_AGENT) as response:
                content = bytearray()
                async for block in response.aiter_raw():
                    content += block
                    if len(content) > MOST_ANSWER_BYTES:
                        raise TransientError(f"{service} answers a request for a token with too many bytes.")
        except httpx.HTTPError as error:
            raise TransientError(
                f"{service} could not be asked for a token ({type(error).__name__}). Check its address."
            ) from None
    answer = _object(content)
    if response.is_success and isinstance(token := answer.get("access_token"), str) and token:
        return _tokens(token, answer)
    error = str(answer.get("error", ""))[:100]
    if error in ("invalid_grant", "interaction_required", "consent_required", "login_required"):
        raise SignInNeededError(
            f"{service} does not accept the sign-in any more ({error}). Sign in again on the source's page, or renew"
            " its credentials."
        )
    if 400 <= response.status_code < 500 and response.status_code not in (408, 425, 429):
        raise CredentialsRefusedError(
            f"{service} gives no token ({error or response.status_code}). Check client id, client secret and rights."
        )
    raise TransientError(f"{service} gives no token now (status {response.status_code}).")


def fields_of(tokens: Tokens) -> dict[str, JsonValue]:
    """Return tokens as fields of `OAuthCredentials`."""
    fields: dict[str, JsonValue] = {"access_token": tokens.access, "expires_at": tokens.expires_at}
    return {**fields, "refresh_token": tokens.refresh} if tokens.refresh else fields


def _tokens(token: str, answer: Mapping[str, object]) -> Tokens:
    life = answer.get("expires_in")
    seconds = float(life) if isinstance(life, int | float | str) and str(life).isdigit() else UNTOLD_SECONDS
    refresh = answer.get("refresh_token")
    return Tokens(
        access=token,
        expires_at=clock.now().timestamp() + min(seconds, 24 * 3600.0),
        refresh=refresh if isinstance(refresh, str) and refresh else None,
    )


def _object(content: bytes | bytearray) -> Mapping[str, object]:
    try:
        found: object = json.loads(content)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
