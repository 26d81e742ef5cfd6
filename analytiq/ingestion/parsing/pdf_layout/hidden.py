"""Words that no reader sees: white on white, not painted, too small, in a layer that is off, or off the page."""

from collections.abc import Sequence

from analytiq.ingestion.parsing.pdf_layout.characters import PageCharacters
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word

SMALLEST = 1.2
"""Least height of readable letters, in points."""
SMALL_PAGE = 200.0
"""A page of less height may have a unit other than the point."""
MAX_GROUNDS = 500
"""Most shades and pictures that white words are looked for on; a page with more is a drawing."""


def without_hidden(characters: PageCharacters, area: Bounds, grounds: Sequence[Bounds]) -> list[str]:
    """Remove the hidden words of a page, and return them.

    Args:
        characters: the words of the page.
        area: the visible part of the page, with the text upright.
        grounds: what is painted in another color than white.
    """
    visible: list[Word] = []
    hidden: list[str] = []
    may_be_small = area.y1 - area.y0 < SMALL_PAGE
    for word, is_white, is_off in zip(characters.words, characters.white, characters.off, strict=True):
        is_hidden = (
            is_off
            or not _touches(word, area)
            or (word.size < SMALLEST and not may_be_small)
            or (is_white and not _is_on(word, grounds))
        )
        if is_hidden:
            hidden.append(word.text)
        else:
            visible.append(word)
    characters.words = visible
    return hidden


def _touches(word: Word, area: Bounds) -> bool:
    return word.x1 > area.x0 and word.x0 < area.x1 and word.y1 > area.y0 and word.y0 < area.y1


def _is_on(word: Word, grounds: Sequence[Bounds]) -> bool:
    if len(grounds) > MAX_GROUNDS:
        return True
    x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
    return any(ground.x0 <= x <= ground.x1 and ground.y0 <= y <= ground.y1 for ground in grounds)
