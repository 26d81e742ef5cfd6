"""Ids within paths."""

from urllib.parse import quote

from analytiq.errors import InvalidInputError


def segment(value: str) -> str:
    """Quote an id as one path segment, so that no value reaches another route.

    Raises:
        InvalidInputError: no path can contain it, such as `.` and `..`, which are removed on the way.
    """
    if value in {"", ".", ".."}:
        raise InvalidInputError(f"{value!r} is not an id. Copy the id once more.")
    return quote(value, safe=":", errors="replace")
