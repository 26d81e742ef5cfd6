"""Names of fields and reasons in validation errors."""

from collections.abc import Sequence


def field_path(location: Sequence[str | int]) -> str:
    """Return a field's name: `("tag_ids", 0)` → `tag_ids[0]`; the body itself is `body`."""
    name = ""
    for part in location:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "body"


def reason_of(kind: str, message: str) -> str:
    """Return the reason of a validation error by its kind and message."""
    known = {"extra_forbidden": "Unknown field.", "missing": "Required."}
    return known.get(kind, message.removeprefix("Value error, ").replace(" after validation", ""))
