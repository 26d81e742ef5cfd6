"""Access tokens of a Google service account, by a signed assertion (RFC 7523)."""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import httpx
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analytiq import clock
from analytiq.errors import InvalidInputError, PermanentError
from analytiq.ingestion.sources.connections.outbound import SETTING, outbound_client
from analytiq.ingestion.sources.connections.service_client import TIMEOUT, CredentialsRefusedError, answered, failure_of
from analytiq.settings import SourceSettings

GOOGLE_TOKEN_HOSTS = frozenset({"oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com"})
READ_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
ASSERTION_SECONDS = 3600
RENEWED_BEFORE_SECONDS = 60.0
MOST_ANSWER_BYTES = 64 * 1024
LARGEST_KEY_BITS = 8192
LONGEST_TOKEN = 8000
_FIELD = "credentials.service_account"


class ServiceAccount(BaseModel):
    """The used part of a service account's JSON key."""

    model_config = ConfigDict(frozen=True)

    type: Literal["service_account"]
    client_email: str = Field(min_length=3, max_length=500)
    private_key_id: str = Field(default="", max_length=200)
    private_key: str = Field(min_length=1, max_length=20_000)
    token_uri: str = Field(default="https://oauth2.googleapis.com/token", max_length=500)


class _Answer(BaseModel):
    access_token: str = Field(min_length=1, max_length=LONGEST_TOKEN)
    expires_in: float = Field(default=ASSERTION_SECONDS, ge=0)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    expires_at: float


def service_account(text: str) -> ServiceAccount:
    """Read the JSON key of a service account.

    Raises:
        ValueError: it is none; the message has no part of it.
    """
    try:
        account = ServiceAccount.model_validate_json(text)
        _signing_key(account)
    except (ValidationError, ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError(
            "Must be the JSON key of a service account, with its private key, as Google gives it"
        ) from None
    return account


def require_token_address(account: ServiceAccount, operator: SourceSettings) -> None:
    """Check that the key's token address is Google's own, or on a host that the operator names.

    The file names it, and may come from anybody; the assertion is worth an hour of access.

    Raises:
        InvalidInputError: it is another one.
    """
    try:
        parts = urlsplit(account.token_uri)
        host, is_default_port = (parts.hostname or "").lower(), parts.port in (None, 443)
    except ValueError:
        parts, host, is_default_port = urlsplit(""), "", False
    if parts.scheme == "https" and is_default_port and host in GOOGLE_TOKEN_HOSTS and parts.username is None:
        return
    allowed = {name.lower().rstrip(".") for name in operator.private_hosts}
    if parts.scheme not in ("http", "https") or host not in allowed or parts.username is not None:
        raise InvalidInputError.of_field(
            _FIELD, f"Its `token_uri` is not Google's. The operator may allow its host in {SETTING}."
        )


class GoogleTokens:
    """The access tokens of one source."""

    def __init__(self, account: ServiceAccount, operator: SourceSettings) -> None:
        require_token_address(account, operator)
        self._account = account
        self._http = outbound_client(operator, connections=1, timeout=TIMEOUT)
        self._token: _Token | None = None
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        """Return a valid access token.

        Raises:
            CredentialsRefusedError: Google refuses the account.
            AnalytiqError: Google fails or does not answer.
        """
        async with self._lock:
            now = clock.now().timestamp()
            if self._token is None or self._token.expires_at - now < RENEWED_BEFORE_SECONDS:
                self._token = await self._requested(now)
            return self._token.text

    def forget(self) -> None:
        """Forget the token that Google refused before its time; the next request gets another one."""
        self._token = None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _requested(self, now: float) -> _Token:
        assertion = await asyncio.to_thread(_assertion, self._account, int(now))
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}

        async def send() -> httpx.Response:
            request = self._http.build_request(
                "POST", self._account.token_uri, data=form, headers={"accept-encoding": "identity"}
            )
            return await self._http.send(request, stream=True)

        async def failure(response: httpx.Response, retry_after: float | None) -> Exception:
            if response.status_code in (400, 401, 403):
                return CredentialsRefusedError(
                    "Google refuses the service account: its key was deleted, it was disabled, or the clock of this"
                    " server is wrong."
                )
            return failure_of(response.status_code, retry_after, service="Google's token service")

        response = await answered(send, failure, service="Google's token service")
        content = bytearray()
        try:
            async for block in response.aiter_raw():
                content += block
                if len(content) > MOST_ANSWER_BYTES:
                    break
            answer = _Answer.model_validate_json(bytes(content))
        except (ValidationError, httpx.HTTPError):
            raise PermanentError("Google's token service answers with no access token.") from None
        finally:
            await response.aclose()
        if not answer.access_token.isascii() or not answer.access_token.isprintable():
            raise PermanentError("Google's token service answers with no access token.")
        return _Token(answer.access_token, now + min(answer.expires_in, ASSERTION_SECONDS))


def _assertion(account: ServiceAccount, now: int) -> str:
    header = {"alg": "RS256", "typ": "JWT", **({"kid": account.private_key_id} if account.private_key_id else {})}
    claims: dict[str, str | int] = {
        "iss": account.client_email,
        "scope": READ_SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
    }
    signed = f"{_encoded(header)}.{_encoded(claims)}"
    signature = _signing_key(account).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _encoded(part: Mapping[str, str | int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).rstrip(b"=").decode()


def _signing_key(account: ServiceAccount) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(account.private_key.encode(), password=None)
    if not isinstance(key, rsa.RSAPrivateKey) or key.key_size > LARGEST_KEY_BITS:
        raise ValueError("No RSA key of a usual size.")
    return key
