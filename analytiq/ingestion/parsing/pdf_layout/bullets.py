"""Bullets of lists that are drawn as shapes, as words before their lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Row, Word
from analytiq.ingestion.parsing.pdf_layout.rules import MAX_DOTS

FARTHEST = 2.5
"""Largest distance of a bullet from its line, in heights of letters."""
SAME_EDGE = 1.0
BULLET = "\u2022"


def mark_bullets(rows: Sequence[Row], dots: Sequence[Bounds]) -> None:
    """Put a bullet before the first word of each line that has a dot beside it, where several dots are aligned."""
    if not 1 < len(dots) < MAX_DOTS:
        return
    lefts = sorted(dot.x0 for dot in dots)
    ordered = sorted(dots, key=_middle)
    heights = [_middle(dot) for dot in ordered]
    for row in rows:
        first = row[0].words[0]
        low, high = first.base - 0.1 * first.size, first.base + 0.7 * first.size
        for dot in ordered[bisect_left(heights, low) : bisect_right(heights, high)]:
            aligned = bisect_right(lefts, dot.x0 + SAME_EDGE) - bisect_left(lefts, dot.x0 - SAME_EDGE)
            if aligned > 1 and 0 <= first.x0 - dot.x1 < FARTHEST * first.size:
                _put_before(row, dot)
                break


def _put_before(row: Row, dot: Bounds) -> None:
    chunk = row[0]
    first = chunk.words[0]
    chunk.words.insert(0, Word(BULLET, dot.x0, first.y0, dot.x1, first.y1, first.size, first.base, font=first.font))
    chunk.x0 = dot.x0


def _middle(dot: Bounds) -> float:
    return (dot.y0 + dot.y1) / 2
