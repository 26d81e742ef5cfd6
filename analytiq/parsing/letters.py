"""Letters with their places, gathered by those who read pages: pure."""

import unicodedata
from collections.abc import Iterator

from analytiq.models.geometry import NO_PLACE, PARTS, PageLetters, Place
from analytiq.ocr.base import RecognizedWord
from analytiq.parsing.sanitize import sanitize_text


def bare_letters(text: str) -> str:
    """The text as pages are compared by: compatible forms made equal, without white space and controls."""
    return "".join(sanitize_text(unicodedata.normalize("NFKC", text)).split())


class LetterGatherer:
    """Takes what stands on a page piece by piece."""

    def __init__(self) -> None:
        self._letters: list[str] = []
        self._places: list[Place] = []

    def add(self, text: str, place: Place) -> None:
        """Letters that share a place: a character with its marks, or a word."""
        for letter in bare_letters(text):
            self._letters.append(letter)
            self._places.append(place)

    def add_words(self, words: tuple[RecognizedWord, ...]) -> None:
        """What OCR has read."""
        for word in words:
            self.add(word.text, place_of(word.left, word.top, word.right, word.bottom))

    @property
    def letters(self) -> str:
        """So far."""
        return "".join(self._letters)

    def page(self, page_number: int) -> PageLetters:
        """All of it."""
        return PageLetters(page_number, self.letters, tuple(self._places))


def place_of(left: float, top: float, right: float, bottom: float) -> Place:
    """From fractions, cut to the page; nothing where that leaves nothing."""
    edges = [round(min(max(edge, 0.0), 1.0) * PARTS) for edge in (left, top, right, bottom)]
    if edges[2] <= edges[0] or edges[3] <= edges[1]:
        return NO_PLACE
    return (edges[0], edges[1], edges[2], edges[3])


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Places [start, end) of the characters with the marks that combine with them, which NFKC may join."""
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or not unicodedata.combining(text[index]):
            yield start, index
            start = index
