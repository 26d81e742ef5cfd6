"""Requests for pages: bounded in bytes, time and decompression."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, cast

import httpx

from analytiq.errors import TransientError
from analytiq.ingestion.sources.connections.decoding import UnreadableError, decoded, seconds_of
from analytiq.ingestion.sources.connections.outbound import outbound_client
from analytiq.ingestion.sources.systems.web.addresses import origin_of
from analytiq.settings import SourceSettings

AT_ONCE = 5
"""Requests at the same time."""
REQUEST_SECONDS = 60.0
"""Longest time for a whole answer."""
LEAST_SPARE_SECONDS = 5.0
"""Time left of a batch beside its longest request: a slow page does not make its source pass for a silent one."""
TIMEOUT = httpx.Timeout(20.0, connect=10.0, pool=None)
IN_MEMORY_BYTES = 256 * 1024
USER_AGENT = "Mozilla/5.0 (compatible; Analytiq/0.1; web source)"
ROBOT = "Analytiq"
"""The name that rules of robots.txt may use."""
LONGEST_HEADER = 1000

Headers = Mapping[str, str]
Judge = Callable[["Answer"], bool]
"""Returns True if the content of a successful answer is wanted."""


class TooLargeError(TransientError):
    """The content has more bytes than are taken."""


class SlowAnswerError(UnreadableError):
    """The server took too long."""


@dataclass(slots=True)
class Answer:
    """An answer: the content is there after a successful request that was wanted."""

    address: str
    status: int
    headers: httpx.Headers
    content: IO[bytes] | None = None
    sha256: str = ""
    byte_size: int = 0

    @property
    def is_success(self) -> bool:
        """Return True for an answer with content."""
        return 200 <= self.status < 300

    @property
    def location(self) -> str | None:
        """Return the target of a redirect as it is written."""
        return self.headers.get("location") if self.status in (301, 302, 303, 307, 308) else None

    @property
    def retry_after(self) -> float | None:
        """Return the seconds that the server wants the client to wait."""
        return seconds_of(self.header("retry-after"))

    @property
    def content_type(self) -> str:
        """Return the type without parameters, in lower case; "" if there is none."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """Return a header; "" if it is missing, too long, or could not be sent back."""
        value = self.headers.get(name, "")
        return value if len(value) <= LONGEST_HEADER and value.isascii() and value.isprintable() else ""

    def close(self) -> None:
        """Free the content."""
        if self.content is not None:
            self.content.close()
            self.content = None


class WebClient:
    """Requests of one source, with its credentials for the sites that it begins with."""

    def __init__(
        self,
        operator: SourceSettings,
        secrets: Headers,
        origins: frozenset[str],
        note_answer: Callable[[], None] = lambda: None,
    ) -> None:
        self._http = outbound_client(operator, connections=AT_ONCE * 2, timeout=TIMEOUT)
        self._secrets = secrets
        self._origins = origins
        self._note_answer = note_answer
        spare = max(LEAST_SPARE_SECONDS, operator.probe_seconds / 6)
        # Of a whole answer.
        self.longest_seconds = min(REQUEST_SECONDS, operator.call_seconds / 4, max(1.0, operator.probe_seconds - spare))

    async def get(
        self, address: str, *, most_bytes: int, headers: Headers | None = None, judge: Judge | None = None
    ) -> Answer:
        """Request an address, without following redirects.

        Args:
            address: normalized.
            most_bytes: most bytes of the content, decompressed.
            headers: further headers.
            judge: decides by the answer's headers if the content is read; None: always.

        Raises:
            ForbiddenAddressError: the host may not be connected to.
            TooLargeError: the content is larger.
            UnreadableError: there is no readable answer in time.
        """
        sent = {"user-agent": USER_AGENT, "accept": "*/*", "accept-encoding": "gzip, deflate", **(headers or {})}
        if origin_of(address) in self._origins:
            sent.update(self._secrets)
        try:
            async with (
                asyncio.timeout(self.longest_seconds),
                self._http.stream("GET", address, headers=sent) as response,
            ):
                self._note_answer()
                answer = Answer(address, response.status_code, response.headers)
                if answer.is_success and (judge is None or judge(answer)):
                    await _read(answer, response, most_bytes)
                return answer
        except TimeoutError:
            raise SlowAnswerError(f"The server did not answer in full within {self.longest_seconds:g} s.") from None
        except httpx.TimeoutException:
            raise SlowAnswerError("The server did not answer in time.") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Never its text: it may quote what was sent.
            raise UnreadableError(f"The server could not be reached or broke off ({type(error).__name__}).") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


async def _read(answer: Answer, response: httpx.Response, most_bytes: int) -> None:
    told = answer.header("content-length")
    if told.isascii() and told.isdigit() and len(told) < 20 and int(told) > most_bytes:
        raise TooLargeError(f"Larger than {most_bytes:,} bytes.")
    file = cast("IO[bytes]", SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115  # the answer closes it
    digest = hashlib.sha256()
    try:
        async for block in decoded(response):
            answer.byte_size += len(block)
            if answer.byte_size > most_bytes:
                raise TooLargeError(f"Larger than {most_bytes:,} bytes.")
            digest.update(block)
            file.write(block)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    answer.content, answer.sha256 = file, digest.hexdigest()
