"""Where words stand on a page. Everything is in fractions of the page as it is shown, turned by its own rotation."""

from dataclasses import dataclass
from enum import StrEnum

PARTS = 1_000_000
"""`PageLetters` counts places in millionths of the page's width and height."""

Place = tuple[int, int, int, int]
"""Left, top, right and bottom; all zero: it is not known."""

NO_PLACE: Place = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class PageLetters:
    """The letters of a page in their reading order, without white space, and the place of each."""

    page_number: int
    letters: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; 0 is the left or upper edge of the page, 1 the right or lower."""

    left: float
    top: float
    width: float
    height: float


class Unplaced(StrEnum):
    """Why a passage has no boxes on a page."""

    FORMAT = "format"
    """Files of this format have no pages that can be shown."""
    NEEDS_OCR = "needs_ocr"
    """The page is an image that was not read."""
    UNREADABLE = "unreadable"
    """The page could not be read again, or not within its limits."""
    DIFFERS = "differs"
    """What stands on the page is not, letter by letter, what was extracted."""


@dataclass(frozen=True, slots=True)
class PageBoxes:
    """The part `[start, end)` of a document's text that lies on one page: a box for each line, or why there is none."""

    page_number: int
    start: int
    end: int
    boxes: tuple[Box, ...]
    unplaced: Unplaced | None = None
