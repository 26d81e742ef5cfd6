"""Positions of words on a page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle of a page as a reader sees it, after rotation.

    Fractions of the page's width and height, 0 to 1, from its left and upper edge.
    """

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A letter or a word with its position."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page, in reading order."""

    page_number: int
    pieces: tuple[PlacedText, ...]
