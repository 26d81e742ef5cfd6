"""The comparison of a document's words, collected without its parser, with the words of the extracted text.

A parser that loses words must not do so silently: it appends the lost pieces, or counts them in a warning. Words are
compared as a multiset, since parsers may move text, and in linear time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"\w+")


def lost_words(source: Iterable[str], text: Iterable[str]) -> Counter[str]:
    """Count the words of `source` that `text` lacks: a word given three times and kept once is lost twice.

    Args:
        source: Pieces of the document; no word goes on from one piece to the next.
        text: Pieces of the extracted text, likewise.
    """
    lost = Counter[str]()
    for piece in source:
        lost.update(_WORD.findall(piece))
    for piece in text:
        for match in _WORD.finditer(piece):
            word = match[0]
            left = lost.get(word)
            if left is None:
                continue
            if left == 1:
                del lost[word]
            else:
                lost[word] = left - 1
    return lost


def lost_pieces(source: Iterable[str], lost: Counter[str]) -> Iterator[str]:
    """Yield the pieces that hold lost words, each word as often as it was lost; the counts are used up."""
    for piece in source:
        if not lost:
            return
        words = Counter(_WORD.findall(piece))
        found = words & lost
        if found:
            lost -= found
            yield piece
