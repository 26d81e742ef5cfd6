"""Calls to the API of a service, for the connectors of hosted services.

They go to public addresses only, wait as the service wants, and say in words what a person can mend.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx
from pydantic import JsonValue, TypeAdapter

from analytiq import clock
from analytiq.errors import (
    AccessDeniedError,
    AnalytiqError,
    NotFoundError,
    PermanentError,
    RateLimitedError,
    TransientError,
)
from analytiq.ingestion.sources.base import PositionExpiredError
from analytiq.ingestion.sources.connections.decoding import bounded, decoded, seconds_of
from analytiq.ingestion.sources.connections.outbound import outbound_client
from analytiq.settings import SourceSettings

AT_ONCE = 5
"""Connections to one service."""
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.5
"""Wait before the second attempt of a call that failed without a hint; doubled each time."""
LONGEST_WAIT_SECONDS = 20.0
"""Longest wait within a call; the run gives its slot back for a longer one."""
MOST_ANSWER_BYTES = 32 * 1024 * 1024
"""Most bytes of an answer in JSON."""
MOST_REFUSAL_BYTES = 8 * 1024
"""Most bytes that are read of the reason of a refusal."""
MOST_REDIRECTS = 5
TIMEOUT = httpx.Timeout(30.0, connect=10.0, pool=None)
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_NOT_MODIFIED = 304
_FORBIDDEN = 403
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
UNTOLD_LIMIT_SECONDS = 60.0
"""Wait after a refusal because of a rate limit whose end the service does not tell."""
USER_AGENT = "Analytiq/0.1 (source)"

Parameters = Mapping[str, str | int]
Body = JsonValue | bytes
"""Sent as JSON, or as it is."""
Send = Callable[[], Awaitable[httpx.Response]]
FailureOf = Callable[[httpx.Response, float | None], Awaitable[Exception]]


class CredentialsRefusedError(AccessDeniedError):
    """The service does not accept the credentials, or they lack a right."""

    code = "credentials_refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in JSON, with its headers."""

    content: JsonValue
    headers: httpx.Headers
    is_unchanged: bool = False
    """The content is that of the ETag which was sent (status 304), and is left out."""

    def link(self, relation: str) -> str | None:
        """Return the address that the Link header names by a relation, such as `next`."""
        try:
            links = httpx.Response(200, headers=self.headers).links
        except ValueError:
            return None
        return links.get(relation, {}).get("url")


class ServiceClient:
    """Calls to one service, with its credentials."""

    def __init__(
        self, operator: SourceSettings, base_url: str, *, headers: Mapping[str, str], service: str = "The service"
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"user-agent": USER_AGENT, "accept": "application/json", **headers}
        self._service = service
        self._http = outbound_client(operator, connections=AT_ONCE, timeout=TIMEOUT)
        self.server_time: datetime | None = None
        """The service's clock at its last answer, if it tells."""
        self._authentication: httpx.Auth | None = None

    def authenticate(self, authentication: httpx.Auth) -> None:
        """Answer challenges of the service's origin, such as those of digest authentication."""
        self._authentication = authentication

    async def get(self, path: str, parameters: Parameters | None = None) -> JsonValue:
        """Return the JSON at a path below the base address; see `call`."""
        return await self.call("GET", path, parameters=parameters)

    async def call(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters | None = None,
        body: JsonValue = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonValue:
        """Return the JSON that the service answers.

        Args:
            method: the call must be one that only reads: it is repeated.
            path: below the base address, beginning with "/"; or a whole address of the same origin.
            parameters: of the query.
            body: sent as JSON.
            headers: added to those of the client.

        Raises:
            CredentialsRefusedError: 401 or 403.
            NotFoundError: 404.
            PositionExpiredError: 410.
            RateLimitedError: 429, or 403 because of a rate limit, and the service wants a longer wait than one call
                takes.
            PermanentError: another status from 400 to 499, or no JSON.
            TransientError: no answer in time, or a status from 500.
        """
        async with self.stream(method, path, parameters=parameters, body=body, headers=headers) as response:
            return await self._json(response)

    async def ask(self, path: str, parameters: Parameters | None = None, *, etag: str | None = None) -> Answer:
        """Return the JSON at a path with its headers; see `call`.

        Args:
            path: below the base address, or a whole address.
            parameters: of the query.
            etag: of a known answer. The service may answer that it is unchanged.
        """
        headers = {"if-none-match": etag} if etag else {}
        async with self.stream("GET", path, parameters=parameters, headers=headers) as response:
            if response.status_code == _NOT_MODIFIED:
                return Answer(None, response.headers, is_unchanged=True)
            return Answer(await self._json(response), response.headers)

    async def download(self, path: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content at a path, or at an address of any origin (which gets no credentials).

        Raises:
            ItemRefusedError: it is larger.
            AnalytiqError: see `call`.
        """
        async with self.stream("GET", path) as response:
            async for block in bounded(response, most_bytes=most_bytes):
                yield block

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters | None = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[httpx.Response]:
        """Open a successful answer, after repetitions and redirects; see `call`.

        `headers` are added to those of the client. With `if-none-match` among them, status 304 is a success.
        """
        url = self._url(path).copy_merge_params(dict(parameters or {}))
        response = await self._answered(_Call(method, url, body, headers or {}))
        self.server_time = _date(response) or self.server_time
        try:
            yield response
        except httpx.TimeoutException:
            raise TransientError(f"{self._service} did not answer in time.") from None
        except httpx.HTTPError as error:
            raise TransientError(f"{self._service} broke off its answer ({type(error).__name__}).") from None
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _url(self, path: str) -> httpx.URL:
        try:
            return httpx.URL(path if "://" in path else f"{self._base_url}{path}")
        except httpx.InvalidURL:
            raise PermanentError(f"{self._service} has an address that cannot be read: {path[:200]!r}.") from None

    async def _json(self, response: httpx.Response) -> JsonValue:
        content = bytearray()
        async for block in decoded(response):
            content += block
            if len(content) > MOST_ANSWER_BYTES:
                raise PermanentError(f"{self._service} answers with more than {MOST_ANSWER_BYTES:,} bytes of JSON.")
        try:
            return _JSON.validate_json(bytes(content))
        except ValueError:
            raise PermanentError(f"{self._service} does not answer with JSON. Check its address.") from None

    async def _answered(self, call: "_Call") -> httpx.Response:
        async def failure(response: httpx.Response, retry_after: float | None) -> Exception:
            status = response.status_code
            if status == _FORBIDDEN:
                if retry_after is None and b"rate limit" in (await _refusal(response)).lower():
                    retry_after = UNTOLD_LIMIT_SECONDS
                status = 429 if retry_after else status
            return failure_of(status, retry_after, service=self._service)

        return await answered(lambda: self._followed(call), failure, service=self._service)

    async def _followed(self, call: "_Call") -> httpx.Response:
        url = call.url
        for _ in range(MOST_REDIRECTS + 1):
            is_own = _origin(url) == _origin(httpx.URL(self._base_url))
            headers = dict(self._headers) if is_own else {}
            headers.update(call.headers)
            headers["accept-encoding"] = "gzip, deflate"
            if isinstance(call.body, bytes):
                request = self._http.build_request(call.method, url, headers=headers, content=call.body)
            elif call.body is None:
                request = self._http.build_request(call.method, url, headers=headers)
            else:
                request = self._http.build_request(call.method, url, headers=headers, json=call.body)
            response = await self._sent(request, self._authentication if is_own else None)
            if not response.has_redirect_location or call.method != "GET":
                return response
            await response.aclose()
            try:
                url = url.join(response.headers["location"])
            except httpx.InvalidURL:
                break
        raise PermanentError(f"{self._service} redirects without end, or to no readable address.")

    async def _sent(self, request: httpx.Request, authentication: httpx.Auth | None) -> httpx.Response:
        """Send a request, and again as its authentication wants; httpx would read whole answers in between."""
        if authentication is None:
            return await self._http.send(request, stream=True)
        flow = authentication.auth_flow(request)
        following = next(flow)
        while True:
            response = await self._http.send(following, stream=True)
            try:
                following = flow.send(response)
            except StopIteration:
                return response
            except (KeyError, ValueError, NotImplementedError):
                await response.aclose()
                raise PermanentError(f"{self._service} asks for an authentication that is not supported.") from None
            await response.aclose()


async def answered(send: Send, failure: FailureOf, *, service: str) -> httpx.Response:
    """Send a request, and send it again after failures that may pass; return the successful answer, still open.

    Args:
        send: sends the request once.
        failure: returns the error of an unsuccessful answer, which is open, with the seconds that it wants to wait.
        service: the name of the service, for messages.

    Raises:
        TransientError: the service could not be reached.
        Exception: the error by `failure`.
    """
    for attempt in range(ATTEMPTS):
        is_last = attempt == ATTEMPTS - 1
        wait = FIRST_WAIT_SECONDS * 2**attempt
        try:
            response = await send()
        except httpx.TransportError as error:
            if is_last:
                raise TransientError(
                    f"{service} could not be reached ({type(error).__name__}). Check its address."
                ) from None
        else:
            status = response.status_code
            if response.is_success or (status == _NOT_MODIFIED and "if-none-match" in response.request.headers):
                return response
            try:
                told = _told_wait(response.headers)
                wait = max(wait, told or 0.0)
                # A refusal with a wait is a rate limit in the words of some services.
                is_passing = status in _AGAIN or (status == _FORBIDDEN and told)
                if not is_passing or is_last or wait > LONGEST_WAIT_SECONDS:
                    raise await failure(response, told)
            finally:
                await response.aclose()
        await asyncio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def failure_of(status: int, retry_after: float | None, *, service: str) -> AnalytiqError:
    """Return the error of an unsuccessful answer; see `ServiceClient.call`."""
    if status in (401, 403):
        return CredentialsRefusedError(
            f"{service} refuses the credentials (status {status}). Renew them, or give them the right."
        )
    if status == 404:
        return NotFoundError(f"{service} does not have it (status 404), or the credentials may not see it.")
    if status == 410:
        return PositionExpiredError(f"{service} does not know that position any more (status 410).")
    if status == 429:
        return RateLimitedError(f"{service} asks to wait (status 429).", retry_after=retry_after)
    if status in _AGAIN or status >= 500:
        return TransientError(f"{service} fails (status {status}).", retry_after=retry_after)
    if 300 <= status < 400:
        return PermanentError(f"{service} redirects to another address (status {status}). Use the address behind it.")
    return PermanentError(f"{service} refuses the call (status {status}).")


def _date(response: httpx.Response) -> datetime | None:
    try:
        return parsedate_to_datetime(response.headers.get("date", "")[:100])
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, as it is repeated and redirected."""

    method: str
    url: httpx.URL
    body: Body
    headers: Mapping[str, str]


def _told_wait(headers: httpx.Headers) -> float | None:
    """Return the seconds that the service wants before the next call; None if it names no limit.

    Besides Retry-After there are the headers of an exhausted limit, whose end is a time of the service's own clock.
    """
    told = seconds_of(headers.get("retry-after", "")[:100])
    if told is not None:
        return told
    for prefix in ("x-ratelimit", "ratelimit"):
        reset = headers.get(f"{prefix}-reset", "")
        if headers.get(f"{prefix}-remaining") == "0" and reset.isascii() and reset.isdigit() and len(reset) < 12:
            return max(1.0, float(reset) - _time_there(headers)) if len(reset) > 8 else float(reset)
    return None


async def _refusal(response: httpx.Response) -> bytes:
    """Return the beginning of a refusal's text."""
    content = bytearray()
    try:
        async for block in decoded(response):
            content += block
            if len(content) >= MOST_REFUSAL_BYTES:
                break
    except (httpx.HTTPError, TransientError):
        pass
    return bytes(content[:MOST_REFUSAL_BYTES])


def _time_there(headers: httpx.Headers) -> float:
    """Return the time of the service's clock, in seconds of Unix; of ours if it tells none."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return clock.now().timestamp()
