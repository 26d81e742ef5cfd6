"""Files on their way up."""

import io
import mimetypes
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
            InvalidInputError: it cannot be read.
        """
        try:
            super().__init__(str(path), "rb")
        except OSError as error:
            raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
        self._on_bytes = on_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        """As a file does."""
        block = super().read(-1 if size is None else size) or b""
        if self._on_bytes is not None:
            self._on_bytes(len(block))
        return block


def content_type_of(path: Path) -> str:
    """What its name says it is; the server looks at the content too."""
    return mimetypes.guess_type(path.name)[0] or OCTET_STREAM
