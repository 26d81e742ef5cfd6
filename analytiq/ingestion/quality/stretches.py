"""Stretches: the parts of a page that are judged one by one."""

import re
from collections.abc import Iterator

LEAST_CHARACTERS = 150
"""Shorter paragraphs are judged together with the next one."""
MOST_CHARACTERS = 2_000

_PIECE = re.compile(r"[^\n]{1,2000}\n?|\n")


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of paragraphs, short ones joined and long ones cut at their lines; they cover the text."""
    start = position = 0
    for piece in _PIECE.finditer(text):
        is_blank = piece.group() == "\n"
        if position > start and piece.end() - start > MOST_CHARACTERS:
            yield start, position
            start = position
        position = piece.end()
        if is_blank and position - start >= LEAST_CHARACTERS:
            yield start, position
            start = position
    if position > start:
        yield start, position
