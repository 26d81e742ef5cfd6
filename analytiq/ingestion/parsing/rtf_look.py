"""The look of words of rich text: which of them nobody sees."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

LEAST_HALF_POINTS = 3
"""Least size of letters that can be read, in halves of a point."""
NEARLY_WHITE = 247
_COLOR_TABLE = re.compile(r"\{\\colortbl([^{}]{0,20000})\}")
_COLOR = re.compile(r"\\(red|green|blue)(\d{1,3})")
LOOKS = frozenset({"cf", "fs", "highlight", "chcbpat", "cb", "chshdng", "plain"})
"""Control words that change the look of what follows."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of words; `is_painted`: their ground may have another color than white."""

    is_white: bool = False
    is_tiny: bool = False
    is_painted: bool = False

    def changed(self, word: str, number: int | None, whites: Sequence[bool]) -> "Look":
        """Return the look after one of `LOOKS`."""
        if word == "plain":
            return Look()
        if word == "cf":
            return replace(self, is_white=_is_white(number, whites))
        if word == "fs":
            return replace(self, is_tiny=number is not None and number < LEAST_HALF_POINTS)
        return replace(self, is_painted=is_shade(number, whites))


def colors_that_are_white(source: str) -> list[bool]:
    """Return for each color of the table of colors whether it is white; the first is mostly the automatic one."""
    table = _COLOR_TABLE.search(source)
    if table is None:
        return []
    return [_is_white_color(color) for color in table[1].split(";")[:-1]]


def is_shade(number: int | None, whites: Sequence[bool]) -> bool:
    """Return True if a ground has a color other than white and the automatic one, which is 0."""
    return bool(number) and not _is_white(number, whites)


def _is_white(number: int | None, whites: Sequence[bool]) -> bool:
    return number is not None and 0 < number < len(whites) and whites[number]


def _is_white_color(color: str) -> bool:
    parts = {name: int(value) for name, value in _COLOR.findall(color)}
    return len(parts) == 3 and all(value >= NEARLY_WHITE for value in parts.values())
