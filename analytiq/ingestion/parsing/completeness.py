"""The comparison of a document's words, collected without its parser, with the words of the extracted text.

A parser that loses words must not do so silently: it appends the lost pieces, or counts them in a warning. Words are
compared as a multiset, since parsers may move text, and in linear time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\W_]+")


class SourceWords:
    """The words of a document, added piece by piece; no word goes on from one piece to the next."""

    def __init__(self) -> None:
        self._words = Counter[str]()

    def add(self, piece: str) -> None:
        """Count the words of a piece."""
        self._words.update(_WORD.findall(piece))

    def lost(self, text: Iterable[str]) -> Counter[str]:
        """Count the words that the pieces of a text lack; use the source up."""
        lost = self._words
        self._words = Counter[str]()
        for piece in text:
            for match in _WORD.finditer(piece):
                left = lost.get(match[0])
                if left == 1:
                    del lost[match[0]]
                elif left is not None:
                    lost[match[0]] = left - 1
        return lost


def lost_words(source: Iterable[str], text: Iterable[str]) -> Counter[str]:
    """Count the words of `source` that `text` lacks: a word given three times and kept once is lost twice.

    Args:
        source: Pieces of the document; no word goes on from one piece to the next.
        text: Pieces of the extracted text, likewise.
    """
    words = SourceWords()
    for piece in source:
        words.add(piece)
    return words.lost(text)


def lost_pieces(source: Iterable[str], lost: Counter[str]) -> Iterator[str]:
    """Yield the pieces that hold lost words, each word as often as it was lost; the counts are used up."""
    for piece in source:
        if not lost:
            return
        is_lost = False
        for word in _WORD.findall(piece):
            left = lost.get(word)
            if left is not None:
                is_lost = True
                if left == 1:
                    del lost[word]
                else:
                    lost[word] = left - 1
        if is_lost:
            yield piece


def squeezed(text: str) -> str:
    """Return the letters and digits of a text alone, to compare texts whose words are parted differently."""
    return "".join(_WORD.findall(text))


def count_words(text: str) -> int:
    """Count the words of a text."""
    return sum(1 for _ in _WORD.finditer(text))
