"""How errors name a field of a body."""

from collections.abc import Sequence


def field_path(location: Sequence[str | int]) -> str:
    """`("tag_ids", 0)` → `tag_ids[0]`; the body itself is `body`."""
    name = ""
    for part in location:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "body"
