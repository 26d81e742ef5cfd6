"""Files on their way up."""

import io
import mimetypes
import os
import stat
from collections.abc import Callable
from pathlib import Path

from analytiq.errors import InvalidInputError

OCTET_STREAM = "application/octet-stream"

OnBytes = Callable[[int], None]
"""Told how many more bytes were read for sending."""


class CountedFile(io.FileIO):
    """A file that tells how far its reader is; its size is known, so the request states its length."""

    def __init__(self, path: Path, on_bytes: OnBytes | None) -> None:
        """Open for reading.

        Raises:
            InvalidInputError: it cannot be read, or has no end that is known (a device, a pipe).
        """
        try:
            # Opened without waiting: opening a pipe that nobody writes to would never return.
            super().__init__(str(path), "rb", opener=_open_at_once)
        except OSError as error:
            raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
        status = os.fstat(self.fileno())
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise InvalidInputError(f"{str(path)!r} is no file: what is uploaded needs a length.")
        self._path = path
        self._size_bytes = status.st_size
        self._on_bytes = on_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        """As a file does, up to the length that the request has stated: a log may grow meanwhile.

        Raises:
            InvalidInputError: it has become shorter.
        """
        left = self._size_bytes - self.tell()
        wanted = left if size is None or size < 0 else min(size, left)
        block = super().read(max(wanted, 0)) or b""
        if wanted > 0 and not block:
            raise InvalidInputError(f"{str(self._path)!r} has become shorter while it was sent; upload it again.")
        if self._on_bytes is not None:
            self._on_bytes(len(block))
        return block


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def content_type_of(path: Path) -> str:
    """What its name says it is; the server looks at the content too."""
    return mimetypes.guess_type(path.name)[0] or OCTET_STREAM
