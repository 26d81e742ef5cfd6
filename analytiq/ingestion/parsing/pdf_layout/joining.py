"""Lines into running text: hyphens at line ends."""

import re

SOFT_HYPHEN = "\u00ad"
LONGEST_COMPOUND = 60
"""Most characters at the end of a line that are searched for another hyphen."""
_HYPHEN_AT_END = re.compile(r"\w[-\u2010\u00ad]$")
_SUSPENDED = frozenset(("and", "or", "to", "und", "bzw.", "bis", "et", "ou", "y", "o", "e", "och", "en", "of"))
"""Words after a hyphen that stands for an omitted part, as in `two- and three-year`."""
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
"""Chinese and Japanese characters, which are written without blanks."""


def glued(above: str, below: str) -> str:
    """Join two lines of a cell: a hyphen at the end of the first stays, without a blank."""
    if not above or not below:
        return above or below
    if above.endswith(SOFT_HYPHEN):
        return above[:-1] + below
    if _ends_in_hyphen(above) or _are_wide(above, below):
        return above + below
    return f"{above} {below}"


def continued(above: str, below: str) -> str:
    """Join two lines of a paragraph: a hyphen that only the line's end caused is dropped."""
    if _ends_in_hyphen(above) and below[:1].islower():
        if below.split(maxsplit=1)[0] in _SUSPENDED:
            return f"{above} {below}"
        return glued(above, below) if _is_compound(above) else above[:-1] + below
    return glued(above, below)


def _is_compound(text: str) -> bool:
    """Return True if the last hyphen is one of several, as in `state-of-the-`, or follows a single letter."""
    parts = text[-LONGEST_COMPOUND:-1].rpartition(" ")[2].split("-")
    return len(parts) > 2 or (len(parts) > 1 and len(parts[-1]) == 1)


def _ends_in_hyphen(text: str) -> bool:
    # The last characters alone: a paragraph grows line by line, and searching all of it each time takes its square.
    return _HYPHEN_AT_END.search(text[-3:]) is not None


def _are_wide(above: str, below: str) -> bool:
    return _WIDE.match(above[-1]) is not None and _WIDE.match(below[0]) is not None
