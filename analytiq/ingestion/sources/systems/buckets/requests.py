"""Signed requests to an object store, on checked connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

import httpx

from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError, PermanentError, TransientError
from analytiq.ingestion.sources.base import ItemRefusedError
from analytiq.ingestion.sources.connections.decoding import Inflater, UnreadableError
from analytiq.ingestion.sources.connections.outbound import outbound_client
from analytiq.ingestion.sources.connections.service_client import TIMEOUT, USER_AGENT, answered, failure_of
from analytiq.settings import SourceSettings

CONNECTIONS = 10
"""Connections to one store: items that are fetched at once, and the listing."""
MOST_ANSWER_BYTES = 12 * 1024 * 1024
"""Most bytes of a page of a listing, or of another answer. 1,000 keys of 1,024 encoded characters take 4 MB."""
MOST_FAILURE_BYTES = 64 * 1024
_UNRESERVED = "-_.~"
_CODINGS = frozenset({"gzip", "x-gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class BucketRequest:
    """A request before or after it was signed.

    `path` is percent-encoded and sent as it is: clients that tidy a path turn `a//b` and `a/../b` into other keys.
    """

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def target(self) -> str:
        """Return path and query as they are sent."""
        query = "&".join(
            f"{quote(name, safe=_UNRESERVED)}={quote(value, safe=_UNRESERVED)}" for name, value in self.query
        )
        return f"{self.path}?{query}" if query else self.path

    def with_headers(self, headers: Mapping[str, str]) -> "BucketRequest":
        """Return the request with further headers."""
        return replace(self, headers={**self.headers, **headers})


@dataclass(frozen=True, slots=True)
class Refusal:
    """An unsuccessful answer, with the beginning of its body."""

    status: int
    headers: httpx.Headers
    body: bytes


Sign = Callable[[BucketRequest], Awaitable[BucketRequest]]
"""Returns a request with the store's proof of the credentials, made for each attempt: it names the time."""
Explain = Callable[[Refusal], AnalytiqError | None]
"""Returns the error that an answer means; None for what its status says to everybody."""


@dataclass(frozen=True, slots=True)
class Store:
    """An object store: its name for people, its origin such as `https://s3.example.com`, and its ways."""

    name: str
    origin: str
    sign: Sign
    explain: Explain


class BucketClient:
    """Requests to one store. Redirects are not followed: a signature holds for one host."""

    def __init__(self, operator: SourceSettings, store: Store) -> None:
        self._store = store
        self._url = httpx.URL(f"{store.origin}/")
        self._http = outbound_client(operator, connections=CONNECTIONS, timeout=TIMEOUT)

    async def open(self, request: BucketRequest) -> httpx.Response:
        """Return the successful answer to a request that only reads, still open.

        Raises:
            AnalytiqError: the store refuses, fails or does not answer; see `ServiceClient.call`.
        """

        async def send() -> httpx.Response:
            signed = await self._store.sign(request.with_headers({"user-agent": USER_AGENT}))
            made = self._http.build_request(
                signed.method,
                self._url,
                headers={"accept-encoding": "identity", **signed.headers},
                extensions={"target": signed.target.encode()},
            )
            return await self._http.send(made, stream=True)

        return await answered(send, self._failure, service=self._store.name)

    async def read(self, request: BucketRequest) -> bytes:
        """Return the content of a short answer.

        Raises:
            PermanentError: it has more than MOST_ANSWER_BYTES.
            AnalytiqError: see `open`.
        """
        response = await self.open(request)
        try:
            return await self._body(response)
        finally:
            await response.aclose()

    async def head(self, request: BucketRequest) -> httpx.Headers | None:
        """Return the headers of an answer; None if the store does not have it.

        Raises:
            AnalytiqError: see `open`.
        """
        try:
            response = await self.open(request)
        except NotFoundError:
            return None
        await response.aclose()
        return response.headers

    async def content(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """Yield the content of an object in bounded blocks, decompressed if its headers say so; close the answer.

        Raises:
            ItemRefusedError: the object is compressed in another way, or its compression is damaged.
            TransientError: the store broke off.
        """
        try:
            async for block in _decompressed(response):
                yield block
        except httpx.HTTPError as error:
            raise self._broken(error) from None
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        content = bytearray()
        try:
            async for block in _decompressed(response):
                content += block
                if len(content) > MOST_ANSWER_BYTES:
                    raise PermanentError(f"{self._store.name} answers with more than {MOST_ANSWER_BYTES:,} bytes.")
        except httpx.HTTPError as error:
            raise self._broken(error) from None
        return bytes(content)

    def _broken(self, error: httpx.HTTPError) -> TransientError:
        return TransientError(f"{self._store.name} broke off its answer ({type(error).__name__}).")

    async def _failure(self, response: httpx.Response, retry_after: float | None) -> Exception:
        body = bytearray()
        try:
            async with asyncio.timeout(TIMEOUT.read):
                async for block in response.aiter_raw():
                    body += block[:MOST_FAILURE_BYTES]
                    if len(body) >= MOST_FAILURE_BYTES:
                        break
        except (httpx.HTTPError, TimeoutError):
            body.clear()  # the status has to do
        explained = self._store.explain(Refusal(response.status_code, response.headers, bytes(body)))
        return explained or failure_of(response.status_code, retry_after, service=self._store.name)


async def _decompressed(response: httpx.Response) -> AsyncIterator[bytes]:
    told = response.headers.get("content-encoding", "")
    # Some clients store objects with the coding of their own transfer.
    codings = [
        coding for part in told.split(",") if (coding := part.strip().lower()) not in ("", "identity", "aws-chunked")
    ]
    if not codings:
        async for block in response.aiter_raw():
            yield block
        return
    if len(codings) > 1 or codings[0] not in _CODINGS:
        raise ItemRefusedError(f"It is compressed by {told[:40]!r}, which is not read.")
    inflater = Inflater()
    try:
        async for block in response.aiter_raw():
            for inflated in inflater.blocks(block):
                yield inflated
    except UnreadableError as error:
        raise ItemRefusedError(error.detail) from None
    if not inflater.is_complete:
        raise ItemRefusedError("The compressed content is cut off.")


def checked_endpoint(endpoint: str | None) -> str | None:
    """Return the address of a store as it was given; None for an empty one.

    Raises:
        ValueError: it is no such address; for a validator of settings.
    """
    if not endpoint:
        return None
    try:
        split_endpoint(endpoint, field_name="endpoint_url")
    except InvalidInputError as error:
        raise ValueError(error.errors[0].reason.rstrip(".")) from None
    return endpoint


def split_endpoint(address: str, *, field_name: str) -> tuple[str, str]:
    """Return origin and path (percent-encoded, without a slash at its end) of the address of a store.

    Raises:
        InvalidInputError: it is no such address; `field_name` is the setting.
    """
    try:
        url = httpx.URL(address)
        is_address = url.scheme in ("http", "https") and bool(url.host)
    except (httpx.InvalidURL, ValueError):
        is_address, url = False, httpx.URL("")
    if not is_address or url.userinfo or url.query or url.fragment:
        raise InvalidInputError.of_field(
            field_name, "Must be an address such as https://storage.example.com, without user, password and query."
        )
    return f"{url.scheme}://{url.netloc.decode()}", url.raw_path.decode().rstrip("/")
