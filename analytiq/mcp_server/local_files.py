"""Files on the server's machine, which a model may name by path."""

from collections.abc import Sequence
from pathlib import Path

from analytiq.errors import InvalidInputError, LimitExceededError

LARGEST_BYTES = 40 * 1024 * 1024
"""As base64, this stays below the API's limit for JSON."""


def read_file(path: str, folders: Sequence[Path]) -> tuple[str, bytes]:
    """Read the name and bytes of a file in one of the folders.

    Args:
        path: absolute, or below one of the folders.
        folders: resolved; files outside that links point to are not allowed.

    Raises:
        InvalidInputError: it is in none of them, or unreadable.
        LimitExceededError: it is larger than LARGEST_BYTES.
    """
    for folder in folders:
        try:
            found = (folder / path).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if found.is_relative_to(folder) and found.is_file():
            break
    else:
        known = ", ".join(map(str, folders))
        raise InvalidInputError.of_field("path", f"{path!r} is not a file in the open folders: {known}")
    if found.stat().st_size > LARGEST_BYTES:
        raise LimitExceededError(
            f"{found.name!r} is larger than {LARGEST_BYTES:,} bytes. Upload it with `analytiq ingest`."
        )
    try:
        return found.name, found.read_bytes()
    except OSError as error:
        raise InvalidInputError.of_field("path", f"{path!r} cannot be read: {error.strerror}") from error
