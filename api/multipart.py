"""Reads multipart/form-data as it arrives, with at most one block in memory.

The parts come one after another: a form field with its value, a file with a stream of its bytes. The stream
of a file is read before the next part is requested; an unread rest is skipped.

RFC 7578 is read strictly wherever a lenient reading could store something unintended: a body that ends
early, a part without a name, a file without a usable name, text that is not UTF-8 and transfer encodings are
refused. A preamble and an epilogue are ignored, as RFC 2046 requires.
"""

import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from email.message import Message
from typing import cast

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser

from analytiq.errors import AnalytiqError, InvalidInputError, LimitExceededError
from analytiq.ingestion.documents.naming import is_control

_BOUNDARY = re.compile(r"[!-~](?:[ -~]{0,68}[!-~])?")
_Extended = tuple[str | None, str | None, str]
"""Charset, language and bytes of a parameter with a star."""


@dataclass(frozen=True, slots=True)
class MultipartLimits:
    """Limits of a body; file sizes are limited by the storage and by the total."""

    max_field_bytes: int = 1024 * 1024
    max_parts: int = 1100
    max_total_bytes: int = 1 << 40


@dataclass(frozen=True, slots=True)
class FieldPart:
    """A form field."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file: its name without folders; its type as the client declares it, in lower case, without parameters.

    `stream` yields the bytes once, in blocks, and raises the errors of `read_parts`. It ends with the file, and
    is invalid once the next part has been requested.
    """

    field: str
    filename: str
    content_type: str | None
    stream: AsyncIterator[bytes]


async def read_parts(
    source: AsyncIterator[bytes], *, content_type: str, limits: MultipartLimits
) -> AsyncGenerator[FieldPart | FilePart, None]:
    """Read the parts of a body in their order.

    Args:
        source: the body, in blocks of any length, possibly empty.
        content_type: the request's `Content-Type` with the boundary.
        limits: limits of the body.

    Raises:
        InvalidInputError: the body or its content type is not well-formed multipart/form-data.
        LimitExceededError: a limit is exceeded.
    Source: RFC 7578, RFC 2046.
    """
    events = _Events(source, _boundary(content_type), limits)
    while (segment := await events.next_segment()) is not None:
        name = _part_name(segment)
        filename = _filename(segment, name)
        body = _Body(events)
        if filename is None:
            yield FieldPart(name, await _field_value(segment, name, body, limits.max_field_bytes))
        else:
            yield FilePart(name, filename, segment.content_type or None, body)
            await body.skip()


class _Events:
    """The parser's events, read from the source on demand: a head, blocks and an end for each part."""

    def __init__(self, source: AsyncIterator[bytes], boundary: str, limits: MultipartLimits) -> None:
        self._source = source
        # Not its strict mode: that refuses the line break after the last boundary, which most clients send,
        # if and only if it arrives in a block of its own.
        self._parser = PushMultipartParser(boundary, max_segment_count=limits.max_parts)
        self._events: Iterator[MultipartSegment | bytes | bytearray | None] = iter(())
        self._max_total_bytes = limits.max_total_bytes
        self._total_bytes = 0
        self._failure: AnalytiqError | None = None

    async def next_segment(self) -> MultipartSegment | None:
        """Return the head of the next part after the end of the previous one; None at the body's end."""
        event = await self._next()
        return event if isinstance(event, MultipartSegment) else None

    async def next_block(self) -> bytes | None:
        """Return the next bytes of the part; None at its end."""
        event = await self._next()
        return bytes(event) if isinstance(event, bytes | bytearray) else None

    async def _next(self) -> MultipartSegment | bytes | bytearray | None:
        if self._failure is not None:
            raise self._failure
        try:
            while True:
                for event in self._events:
                    return event
                block = await self._next_source_block()
                if block is None:
                    self._parser.close()
                    return None
                self._events = self._parser.parse(block)
        except MultipartError as error:
            self._failure = _refusal(error)
            raise self._failure from error
        except AnalytiqError as error:
            self._failure = error
            raise

    async def _next_source_block(self) -> bytes | None:
        async for block in self._source:
            self._total_bytes += len(block)
            if self._total_bytes > self._max_total_bytes:
                raise LimitExceededError(
                    f"The body has more than {self._max_total_bytes} bytes; send the files in several calls."
                )
            if block:
                return block
        return None


class _Body:
    """The bytes of a part, readable once."""

    def __init__(self, events: _Events) -> None:
        self._events = events
        self._is_at_end = False
        self._is_skipped = False

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        if self._is_skipped:
            # A normal end instead would make half a file look complete.
            raise RuntimeError("the next part has been asked for; read a file's stream before that")
        block = None if self._is_at_end else await self._events.next_block()
        if block is None:
            self._is_at_end = True
            raise StopAsyncIteration
        return block

    async def skip(self) -> None:
        """Skip the remaining bytes."""
        if self._is_at_end:
            return
        self._is_skipped = True
        while await self._events.next_block() is not None:
            pass


async def _field_value(segment: MultipartSegment, name: str, body: _Body, max_bytes: int) -> str:
    content = bytearray()
    async for block in body:
        content += block
        if len(content) > max_bytes:
            raise LimitExceededError(
                f"The form field {name!r} has more than {max_bytes} bytes; only files may be longer."
            )
    if (segment.charset or "utf-8").lower() not in ("utf-8", "utf8", "us-ascii"):
        raise InvalidInputError.of_field(name, f"Form fields must be UTF-8, not {segment.charset}.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError.of_field(name, "The form field is not UTF-8.") from error


def _refusal(error: MultipartError) -> AnalytiqError:
    if isinstance(error, ParserLimitReached):
        return LimitExceededError(f"The multipart body asks for too much: {error}; send several smaller ones.")
    return InvalidInputError.of_field("body", f"Malformed multipart/form-data: {error}.")


def _boundary(content_type: str) -> str:
    """Return the boundary of a request's content type."""
    kind = content_type.partition(";")[0]
    if kind.strip().lower() != "multipart/form-data":
        raise InvalidInputError.of_field("Content-Type", f"Must be multipart/form-data, not {kind!r}.")
    values = [value for key, value in _parameters(content_type) if key == "boundary"]
    boundary = values[0] if len(values) == 1 and isinstance(values[0], str) else ""
    if not _BOUNDARY.fullmatch(boundary):
        raise InvalidInputError.of_field("Content-Type", "Must name one boundary of 1 to 70 ASCII characters.")
    return boundary


def _part_name(segment: MultipartSegment) -> str:
    """Return the form field's name after checking the part's header."""
    if not segment.name:
        raise InvalidInputError.of_field("body", "A part of the form has no name.")
    if [header for header, _ in segment.headerlist].count("Content-Disposition") > 1:
        raise InvalidInputError.of_field(segment.name, "The part has several Content-Disposition headers.")
    encoding = _header(segment, "Content-Transfer-Encoding", "binary").lower()
    if encoding not in ("binary", "8bit", "7bit"):
        raise InvalidInputError.of_field(
            segment.name,
            f"The part is encoded as {encoding!r}, which RFC 7578 forbids. Send the bytes themselves.",
        )
    return segment.name


def _filename(segment: MultipartSegment, field: str) -> str | None:
    """Return the file's name without folders and control characters; None for a field."""
    raw = segment.filename
    for key, value in _parameters(_header(segment, "Content-Disposition", "")):
        if key == "filename" and not isinstance(value, str):
            raw = _extended_value(value, field)
            break
        if key == "filename" and isinstance(value, str) and value.startswith(raw or ""):
            raw = value  # the library ends an unquoted name at its first space or accent
    if raw is None:
        return None
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", raw)[-1])
    name = "".join(character for character in name if not is_control(character)).strip()
    if name in ("", ".", ".."):
        raise InvalidInputError.of_field(field, "The file has no name. Give its part a filename.")
    return name


def _extended_value(value: _Extended, field: str) -> str:
    """Decode a `filename*` (RFC 8187), whose percent-encoded bytes are given as Latin-1."""
    charset, _, text = value
    if (charset or "").lower() not in ("utf-8", "iso-8859-1"):
        raise InvalidInputError.of_field(field, "Must be written as UTF-8''name, percent-encoded.")
    try:
        return text.encode("latin-1").decode(charset or "utf-8")
    except UnicodeError as error:
        raise InvalidInputError.of_field(
            field, f"The bytes of filename* are not {charset}. Encode the name in UTF-8."
        ) from error


def _header(segment: MultipartSegment, name: str, default: str) -> str:
    return next((value.strip() for header, value in segment.headerlist if header == name), default)


def _parameters(header: str) -> list[tuple[str, str | _Extended]]:
    """Return the parameters of a header: names in lower case, values without quotes."""
    message = Message()
    message["Content-Disposition"] = header
    found = cast("list[tuple[str, str | _Extended]]", message.get_params([], "content-disposition"))
    return [(key.lower(), value) for key, value in found]
