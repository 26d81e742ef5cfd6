"""Files being uploaded."""

import io
import mimetypes
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from analytiq.errors import InvalidInputError

OCTET_STREAM = "application/octet-stream"
FILES_A_CALL = 64
BYTES_A_CALL = 8 * 1024 * 1024

T = TypeVar("T")

OnBytes = Callable[[int], None]
"""Receives the number of bytes read for sending; negative if an upload is repeated."""


def document_path(path: Path, root: Path, folder: str | None = None) -> str:
    """Return the name of a document below a directory: the directory's own name first, as in browsers.

    Args:
        path: the file.
        root: the directory, or the file's own.
        folder: a name instead of the directory's own; empty for none.

    Raises:
        InvalidInputError: the file is not below the directory.
    """
    try:
        below = path.relative_to(root)
    except ValueError as error:
        raise InvalidInputError(f"{str(path)!r} is not below {str(root)!r}.") from error
    first = root.resolve().name if folder is None else folder
    return unicodedata.normalize("NFC", "/".join([*filter(None, [first]), *below.parts]))


class CountedFile(io.FileIO):
    """A file that reports the progress of its reader; its size is known, so the request states its length."""

    def __init__(self, path: Path, on_bytes: OnBytes | None) -> None:
        """Open for reading.

        Raises:
            InvalidInputError: it is unreadable, or has no known size (a device, a pipe).
        """
        try:
            # Opened without blocking: opening a pipe without a writer would never return.
            super().__init__(str(path), "rb", opener=_open_at_once)
        except OSError as error:
            raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
        status = os.fstat(self.fileno())
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise InvalidInputError(f"{str(path)!r} is not a regular file: an upload needs a known length.")
        self._path = path
        self._size_bytes = status.st_size
        self._on_bytes = on_bytes
        self._told_bytes = 0
        self._read_bytes = 0
        self.reports_later = False

    def begin_again(self) -> None:
        """Reset the reported progress: the upload restarts."""
        self.seek(0)
        if self._on_bytes is not None:
            self._on_bytes(-self._told_bytes)
        self._told_bytes = self._read_bytes = 0

    def report(self) -> None:
        """Report the bytes that were read since the last report."""
        untold = self._read_bytes - self._told_bytes
        if untold and self._on_bytes is not None:
            self._on_bytes(untold)
        self._told_bytes = self._read_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as a file does, up to the length stated by the request: a log may grow meanwhile.

        Raises:
            InvalidInputError: the file has become shorter.
        """
        left = self._size_bytes - self.tell()
        wanted = left if size is None or size < 0 else min(size, left)
        block = super().read(max(wanted, 0)) or b""
        if wanted > 0 and not block:
            raise InvalidInputError(f"{str(self._path)!r} has become shorter while it was sent; upload it again.")
        self._read_bytes += len(block)
        if not self.reports_later:
            self.report()
        return block


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def in_batches(files: Sequence[T], path_of: Callable[[T], Path]) -> Iterator[list[T]]:
    """Yield files in their order, as many as one call takes at little cost: at most 64, and 8 MB or one file."""
    batch: list[T] = []
    batch_bytes = 0
    for file in files:
        try:
            byte_size = path_of(file).stat().st_size
        except OSError:
            byte_size = 0  # its upload tells
        if batch and (len(batch) >= FILES_A_CALL or batch_bytes + byte_size > BYTES_A_CALL):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(file)
        batch_bytes += byte_size
    if batch:
        yield batch


def content_type_of(path: Path) -> str:
    """Guess the MIME type by the file name; the server checks the content too."""
    return mimetypes.guess_type(path.name)[0] or OCTET_STREAM


class CountedStream(io.RawIOBase):
    """A binary stream that reports the progress of its reader; it stays open, and is the caller's to close."""

    def __init__(self, stream: IO[bytes], on_bytes: OnBytes | None) -> None:
        super().__init__()
        self._stream = stream
        self._on_bytes = on_bytes
        self._begin = stream.tell() if stream.seekable() else None
        self._told_bytes = 0
        self._read_bytes = 0
        self.reports_later = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the stream can be rewound."""
        return self._begin is not None

    def tell(self) -> int:
        """Return the position from the upload's beginning."""
        return self._stream.tell() - (self._begin or 0)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a position from the upload's beginning."""
        place = offset + (self._begin or 0) if whence == io.SEEK_SET else offset
        return self._stream.seek(place, whence) - (self._begin or 0)

    def begin_again(self) -> None:
        """Reset the reported progress: the upload restarts.

        Raises:
            InvalidInputError: the stream cannot be read again.
        """
        if self._begin is None:
            raise InvalidInputError("The upload was interrupted, and its stream cannot be read again: open it anew.")
        self._stream.seek(self._begin)
        if self._on_bytes is not None:
            self._on_bytes(-self._told_bytes)
        self._told_bytes = self._read_bytes = 0

    def report(self) -> None:
        """Report the bytes that were read since the last report."""
        untold = self._read_bytes - self._told_bytes
        if untold and self._on_bytes is not None:
            self._on_bytes(untold)
        self._told_bytes = self._read_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        """Read from the stream."""
        block = self._stream.read(-1 if size is None else size)
        self._read_bytes += len(block)
        if not self.reports_later:
            self.report()
        return block
