"""Names for a model's eyes: what people call their documents must not look like the rest of a prompt. Pure."""

import json
import unicodedata

LONGEST_NAME = 300
"""Characters; what is longer is cut, with a sign."""
_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Line breaks, and what is invisible or turns the direction of writing."""


def one_line(name: str) -> str:
    """Return a name in one line, without what cannot be seen."""
    plain = "".join(" " if unicodedata.category(character) in _NOT_SHOWN else character for character in name)
    words = " ".join(plain.split())
    return words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1]}…"


def quoted(name: str) -> str:
    """Return a name as a JSON string, so that no name ends itself and goes on as something else."""
    return json.dumps(one_line(name), ensure_ascii=False)
