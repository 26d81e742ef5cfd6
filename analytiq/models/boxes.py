"""Where words stand on a page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle of a page as a reader sees it, turned as its rotation says.

    Fractions of the page's width and height, 0 to 1, from its left and upper edge.
    """

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A letter or a word, and where it stands."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class PageWords:
    """What a page shows, in the order in which its text was read."""

    page_number: int
    pieces: tuple[PlacedText, ...]
