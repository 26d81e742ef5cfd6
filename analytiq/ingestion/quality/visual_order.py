"""Detection of right-to-left text in visual order: words spelt from their ends, or lines whose words are reversed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_SIGNS = 3
RATIO = 2
LEAST_STOPS = 4
STOPS_RATIO = 3

_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = r"[\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3]"
_MARKS = r"[\u0591-\u05c7\u064b-\u065f\u0670]*"
# Letters that only end words: Hebrew finals, ta marbuta, alef maksura, noon ghunna, yeh barree.
_LAST = r"[\u05da\u05dd\u05df\u05e3\u05e5\u0629\u0649\u06ba\u06d2]"
_FINAL_FIRST = re.compile(rf"(?<![\w\u0591-\u05c7'\"״׳]){_LAST}{_MARKS}{_LETTER}")
_FINAL_LAST = re.compile(rf"{_LETTER}{_MARKS}{_LAST}{_MARKS}(?![\w\u0591-\u05c7])")
_STOP_FIRST = re.compile(rf"(?:(?<=\s)|^)[.,;:!?،؛؟]{_LETTER}", re.MULTILINE)
_STOP_LAST = re.compile(rf"{_LETTER}{_MARKS}[.,;:!?،؛؟](?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OrderSigns:
    """Counts of what only reversed text has, and of its opposites."""

    reversed_words: int = 0
    sound_words: int = 0
    reversed_stops: int = 0
    sound_stops: int = 0

    def __add__(self, other: "OrderSigns") -> "OrderSigns":
        return OrderSigns(
            self.reversed_words + other.reversed_words,
            self.sound_words + other.sound_words,
            self.reversed_stops + other.reversed_stops,
            self.sound_stops + other.sound_stops,
        )

    @property
    def is_reversed(self) -> bool:
        """Return True for text that would be nonsense in reading order."""
        if self.reversed_words >= LEAST_SIGNS and self.reversed_words > RATIO * self.sound_words:
            return True
        return self.reversed_stops >= LEAST_STOPS and self.reversed_stops > STOPS_RATIO * self.sound_stops


def order_signs(stretch: str) -> OrderSigns:
    """Count the signs of a stretch; zeros for other scripts."""
    if stretch.isascii() or _RIGHT_TO_LEFT.search(stretch) is None:
        return OrderSigns()
    return OrderSigns(
        *(len(pattern.findall(stretch)) for pattern in (_FINAL_FIRST, _FINAL_LAST, _STOP_FIRST, _STOP_LAST))
    )


def reversed_among(signs: Sequence[OrderSigns]) -> list[bool]:
    """Tell for each stretch of a page whether its words are reversed.

    A stretch may be too short to tell: then its page decides.
    """
    page = sum(signs, OrderSigns())
    return [one.is_reversed or (page.is_reversed and one != OrderSigns() and not _is_sound(one)) for one in signs]


def _is_sound(signs: OrderSigns) -> bool:
    return signs.sound_words > signs.reversed_words
