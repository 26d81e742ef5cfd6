"""Names for models: a document's name must not look like the rest of a prompt. Pure."""

import json
import unicodedata

LONGEST_NAME = 300
"""Most characters; longer names are cut, with a sign."""
_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Line breaks, invisible characters, and those that reverse the writing direction."""


def one_line(name: str) -> str:
    """Return a name in one line, without invisible characters."""
    plain = "".join(" " if unicodedata.category(character) in _NOT_SHOWN else character for character in name)
    words = " ".join(plain.split())
    return words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1]}…"


def quoted(name: str) -> str:
    """Return a name as a JSON string, so that no name can end its quotation."""
    return json.dumps(one_line(name), ensure_ascii=False)
