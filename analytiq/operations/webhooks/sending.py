"""One request to an endpoint: to public addresses only, without redirects, within bounded time and bytes."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, AnalytiqError
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.sources.connections.decoding import seconds_of
from analytiq.ingestion.sources.connections.outbound import checked_client, public_or_named
from analytiq.models.webhook import DeliveryAttempt, WebhookDelivery, WebhookEndpoint
from analytiq.operations.webhooks.signing import signed_headers
from analytiq.settings import WebhookSettings

SETTING = "ANALYTIQ_WEBHOOKS__PRIVATE_HOSTS"
CONNECTIONS = 400
MOST_ANSWER_BYTES = 500
"""Bytes of an answer that are read and shown."""
LONGEST_RETRY_AFTER_SECONDS = 3600.0
USER_AGENT = "Analytiq-Webhooks/1"
_OK = range(200, 300)
_REDIRECTS = range(300, 400)
_GONE = 410
_MAY_NAME_A_TIME = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of a request.

    Attributes:
        attempt: as shown to people.
        is_gone: the endpoint asks for no further events.
        is_silent: no answer came.
        retry_after: seconds for which the endpoint asks to wait.
    """

    attempt: DeliveryAttempt
    is_gone: bool = False
    is_silent: bool = False
    retry_after: float | None = None

    @property
    def is_delivered(self) -> bool:
        """Return True if the endpoint has taken the event."""
        return self.attempt.error is None


class WebhookSender:
    """Sends deliveries, each by one request."""

    def __init__(self, vault: Vault, settings: WebhookSettings) -> None:
        self._vault = vault
        self._seconds = settings.attempt_seconds
        self._client = checked_client(
            public_or_named(settings.private_hosts, SETTING),
            connections=CONNECTIONS,
            timeout=httpx.Timeout(settings.attempt_seconds),
        )

    async def send(self, endpoint: WebhookEndpoint, delivery: WebhookDelivery) -> Sent:
        """Send a delivery once; whatever happens is in the outcome."""
        now, began = clock.now(), time.monotonic()

        def attempt(error: str | None, status: int | None = None, answer: bytes = b"") -> DeliveryAttempt:
            return DeliveryAttempt(
                at=now,
                milliseconds=round((time.monotonic() - began) * 1000),
                status=status,
                error=error,
                answer=answer.decode(errors="replace").replace("\0", "�"),
            )

        try:
            body = delivery.body.encode()
            headers = signed_headers(delivery.event_id, now, body, self._secrets(endpoint))
            async with asyncio.timeout(self._seconds):
                response, answer = await self._post(endpoint.url, body, headers)
        except (TimeoutError, httpx.TimeoutException):
            return Sent(attempt(f"No complete answer within {self._seconds:g} s."), is_silent=True)
        except AccessDeniedError as error:
            return Sent(attempt(error.detail), is_silent=True)
        except (httpx.HTTPError, httpx.InvalidURL, AnalytiqError) as error:
            return Sent(attempt(_told(error)), is_silent=True)
        status = response.status_code
        retry_after = response.headers.get("retry-after") if status in _MAY_NAME_A_TIME else None
        seconds = seconds_of(retry_after) if retry_after else None
        return Sent(
            attempt(_problem(status), status, answer),
            is_gone=status == _GONE,
            retry_after=None if seconds is None else min(seconds, LONGEST_RETRY_AFTER_SECONDS),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
        sent = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            # What is read of an answer is read as it is: nothing is unpacked.
            "accept-encoding": "identity",
            **headers,
        }
        async with self._client.stream("POST", url, content=body, headers=sent) as response:
            answer = b""
            async for part in response.aiter_raw():
                answer += part[: MOST_ANSWER_BYTES - len(answer)]
                if len(answer) >= MOST_ANSWER_BYTES:
                    break
            return response, answer

    def _secrets(self, endpoint: WebhookEndpoint) -> Sequence[SecretStr]:
        now = clock.now()
        valid = [each for each in endpoint.secrets if each.expires_at is None or each.expires_at > now]
        return [self._vault.decrypt(each.sealed) for each in valid]


def _problem(status: int) -> str | None:
    if status in _OK:
        return None
    if status in _REDIRECTS:
        return f"The endpoint redirects (HTTP {status}), which is not followed. Enter the address behind it."
    if status == _GONE:
        return "The endpoint answered HTTP 410 (gone), so it was disabled."
    return f"The endpoint answered HTTP {status}. A success is 200 to 299."


def _told(error: Exception) -> str:
    if isinstance(error, AnalytiqError):
        return error.detail
    return f"The endpoint could not be reached: {str(error)[:200] or type(error).__name__}."
