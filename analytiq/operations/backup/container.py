"""The archive's frames: written and read one at a time, each chained to all before it by SHA-256.

magic (20 bytes) · format version (u16) · frames
    frame:  kind (1) · stored length (u32) · length before compression (u32) · chained SHA-256 (32) · payload (zstd)
    kinds:  H header · S section · B batch of rows · E end of section · T trailer; all but B are JSON

Numbers are little-endian. A frame's digest covers the previous frame, its own kind and lengths, and its payload as
stored: a changed, missing, repeated or moved frame is reported at that frame. The digest guards against damage, not
against forgery: the author of an archive can also write its digests.
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

import zstandard

from analytiq.errors import InvalidInputError

MAGIC = b"\x89ANALYTIQ-ARCHIVE\r\n\n"
"""A byte above 127 and both kinds of line ends reveal a transfer that converts either."""
FORMAT_VERSION = 1
LEVEL = 3
"""zstd's default. Embeddings hardly compress at any level, and texts compress at every one."""
MOST_BYTES = 64 * 1024 * 1024
"""Largest frame before compression. A batch is at most one answer of the server: 16 MB and a row of 16 MB."""

_VERSION = struct.Struct("<H")
_FRAME = struct.Struct("<cII32s")


class FrameKind(Enum):
    """The content of a frame."""

    HEADER = b"H"
    SECTION = b"S"
    BATCH = b"B"
    END = b"E"
    TRAILER = b"T"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame read whole and verified by its digest; `offset` is its start in the file."""

    kind: FrameKind
    payload: bytes
    offset: int
    chain: bytes


class FrameWriter:
    """A writer of frames with flat memory. `chain` is the digest so far."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.chain = hashlib.sha256(MAGIC).digest()
        self.byte_size = stream.write(MAGIC + _VERSION.pack(FORMAT_VERSION))

    def write(self, kind: FrameKind, payload: bytes) -> None:
        """Append a frame.

        Raises:
            ValueError: the frame is larger than MOST_BYTES.
        """
        if len(payload) > MOST_BYTES:
            raise ValueError(f"a frame of {len(payload)} bytes is more than the format allows")
        stored = self._compressor.compress(payload)
        self.chain = _chained(self.chain, kind.value, len(stored), len(payload), stored)
        self._stream.write(_FRAME.pack(kind.value, len(stored), len(payload), self.chain))
        self._stream.write(stored)
        self.byte_size += _FRAME.size + len(stored)


class FrameReader:
    """A reader of frames in order, which refuses the first damaged one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._chain = b""
        self._offset = 0

    def begin(self) -> None:
        """Read the beginning of an archive.

        Raises:
            InvalidInputError: the file is no archive, or of a newer format.
        """
        head = self._stream.read(len(MAGIC) + _VERSION.size)
        if head[: len(MAGIC)] != MAGIC:
            raise InvalidInputError(
                "This is not an archive of Analytiq. Name a file that `analytiq backup` wrote, copied byte by byte.",
                code="archive_foreign",
            )
        if len(head) < len(MAGIC) + _VERSION.size:
            raise truncated(len(head))
        (version,) = _VERSION.unpack(head[len(MAGIC) :])
        if version != FORMAT_VERSION:
            raise InvalidInputError(
                f"The archive has format {version}, and this release reads format {FORMAT_VERSION}. Restore it with"
                " the release that made it, or a newer one.",
                code="archive_too_new",
            )
        self._chain = hashlib.sha256(MAGIC).digest()
        self._offset = len(head)

    def resume(self, offset: int, chain: bytes) -> None:
        """Continue at a frame seen before: `chain` is the digest of the frame before it."""
        self._stream.seek(offset)
        self._offset, self._chain = offset, chain

    def read(self) -> Frame | None:
        """Return the next frame; None at the end of the file.

        Raises:
            InvalidInputError: the frame is cut off or damaged.
        """
        offset = self._offset
        head = self._stream.read(_FRAME.size)
        if not head:
            return None
        if len(head) < _FRAME.size:
            raise truncated(offset + len(head))
        kind, stored_length, length, digest = _FRAME.unpack(head)
        if length > MOST_BYTES or stored_length > MOST_BYTES + 1024 * 1024:
            raise damaged(offset)
        stored = self._stream.read(stored_length)
        if len(stored) < stored_length:
            raise truncated(offset + len(head) + len(stored))
        if _chained(self._chain, kind, stored_length, length, stored) != digest:
            raise damaged(offset)
        frame = Frame(self._kind(kind, offset), self._decompressed(stored, length, offset), offset, self._chain)
        self._chain = digest
        self._offset = offset + _FRAME.size + stored_length
        return frame

    @property
    def offset(self) -> int:
        """The bytes read so far, which is the start of the next frame."""
        return self._offset

    @property
    def chain(self) -> bytes:
        """The digest of the last frame read."""
        return self._chain

    def _decompressed(self, stored: bytes, length: int, offset: int) -> bytes:
        try:
            payload = self._decompressor.decompress(stored, max_output_size=length)
        except zstandard.ZstdError as error:
            raise damaged(offset) from error
        if len(payload) != length:
            raise damaged(offset)
        return payload

    def _kind(self, kind: bytes, offset: int) -> FrameKind:
        try:
            return FrameKind(kind)
        except ValueError as error:
            raise damaged(offset) from error


def damaged(offset: int) -> InvalidInputError:
    """Return the error of an archive damaged from this byte on."""
    return InvalidInputError(
        f"The archive is damaged at byte {offset}: its content has changed. Nothing was restored; use another copy.",
        code="archive_damaged",
    )


def truncated(offset: int) -> InvalidInputError:
    """Return the error of an archive without an end."""
    return InvalidInputError(
        f"The archive is incomplete: it ends after {offset} bytes, before its trailer. The backup or the copy of it"
        " did not run to its end. Nothing was restored; use another copy.",
        code="archive_truncated",
    )


def _chained(before: bytes, kind: bytes, stored_length: int, length: int, stored: bytes) -> bytes:
    digest = hashlib.sha256(before)
    digest.update(struct.pack("<cII", kind, stored_length, length))
    digest.update(stored)
    return digest.digest()
