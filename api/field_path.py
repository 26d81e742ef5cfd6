"""How errors name a field of a body, and say what is wrong with it."""

from collections.abc import Sequence


def field_path(location: Sequence[str | int]) -> str:
    """`("tag_ids", 0)` → `tag_ids[0]`; the body itself is `body`."""
    name = ""
    for part in location:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "body"


def reason_of(kind: str, message: str) -> str:
    """Why a field is refused, from the kind and message of a validation error."""
    known = {"extra_forbidden": "there is no such field", "missing": "is required"}
    return known.get(kind, message.removeprefix("Value error, ").replace(" after validation", ""))
