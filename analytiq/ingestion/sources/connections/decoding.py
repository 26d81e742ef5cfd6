"""Answers over HTTP: decompressed in bounded blocks, and their hints about waits."""

import zlib
from collections.abc import AsyncIterator, Iterator
from email.utils import parsedate_to_datetime

import httpx

from analytiq import clock
from analytiq.errors import TransientError
from analytiq.ingestion.sources.base import ItemRefusedError

BLOCK_BYTES = 64 * 1024


class UnreadableError(TransientError):
    """The server did not answer, or its answer cannot be read."""


async def decoded(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the content in bounded blocks: a small compressed answer may hold gigabytes."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        async for block in response.aiter_raw():
            yield block
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"The server compresses by {encoding[:40]!r}, which was not asked for.")
    inflater = Inflater()
    async for block in response.aiter_raw():
        for inflated in inflater.blocks(block):
            yield inflated
    if not inflater.is_complete:
        raise UnreadableError("The compressed content is cut off.")


async def bounded(response: httpx.Response, *, most_bytes: int) -> AsyncIterator[bytes]:
    """Yield the content of an item, decompressed.

    Raises:
        ItemRefusedError: it is larger than `most_bytes`.
    """
    size = 0
    async for block in decoded(response):
        size += len(block)
        if size > most_bytes:
            raise ItemRefusedError(f"Larger than {most_bytes:,} bytes.")
        yield block


class Inflater:
    """Decompresses gzip and zlib in blocks of bounded size."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        self.is_complete = True
        """False within a compressed stream."""

    def blocks(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed blocks of some bytes, each made when it is asked for.

        Raises:
            UnreadableError: the bytes are damaged.
        """
        while True:
            if self._inflate.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # the end, or padding behind it
                self._inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            try:
                block = self._inflate.decompress(data, BLOCK_BYTES)
            except zlib.error:
                raise UnreadableError("The compressed content is damaged.") from None
            self.is_complete = self._inflate.eof
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if block:
                yield block
            if len(block) < BLOCK_BYTES and not data:
                return


def seconds_of(retry_after: str) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date; None if it is neither."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - clock.now()).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
