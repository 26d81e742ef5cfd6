"""Gutters: the vertical blanks that rows have in common, and the bands of rows that share them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.pdf_layout.model import Chunk, Interval, Row, bottom_of, size_of, top_of
from analytiq.ingestion.parsing.pdf_layout.shapes import has_equal_blanks, is_prose

FAR = 1e5
GUTTER = 0.6
"""Least width of a gutter, in heights of letters."""
NARROW_GUTTER = 0.4
"""The same beside a row of five or more chunks."""
MANY_CHUNKS = 5
SAME_EDGE = 2.0
"""Largest distance, in points, of the ends of justified lines."""
BAND_BREAK = 2.2
"""Blank below a row that ends a band, in heights of letters."""


AIRY_BREAK = 5.0
"""The same before a row under the same columns."""
MOST_BEFORE = 2
"""Most chunks of a row of addresses, or of labels and values, above a table of its own."""
MOST_ABOVE_TABLE = 12
RECENT_ROWS = 100
"""Rows of a band that the next one is compared with."""


@dataclass(slots=True)
class Band:
    """Rows that keep common gutters."""

    rows: list[Row]
    gutters: list[Interval] = field(default_factory=list[Interval])
    columns: bool = False
    """True for columns of prose, each of which is laid out by itself."""


def free(row: Sequence[Chunk]) -> list[Interval]:
    """Return the blanks of a row, those at its sides included."""
    out: list[Interval] = []
    x = -FAR
    for chunk in sorted(row, key=lambda chunk: chunk.x0):
        if chunk.x0 > x:
            out.append((x, chunk.x0))
        x = max(x, chunk.x1)
    out.append((x, FAR))
    return out


def meet(one: Sequence[Interval], other: Sequence[Interval], least: float) -> list[Interval]:
    """Return the common parts of two sorted lists of intervals, if as wide as `least`."""
    out: list[Interval] = []
    first = second = 0
    while first < len(one) and second < len(other):
        left, right = max(one[first][0], other[second][0]), min(one[first][1], other[second][1])
        if right - left >= least:
            out.append((left, right))
        if one[first][1] < other[second][1]:
            first += 1
        else:
            second += 1
    return out


def inner(gutters: Sequence[Interval], low: float, high: float) -> list[Interval]:
    """Return the gutters between the outer edges of the rows."""
    return [(left, right) for left, right in gutters if left > low - 0.1 and right < high + 0.1]


def kept(before: Sequence[Interval], now: Sequence[Interval]) -> int:
    """Count the gutters that still have a part in `now`."""
    return sum(any(low < right and high > left for low, high in now) for left, right in before)


def bands(rows: Sequence[Row]) -> list[Band]:
    """Part rows into bands, from top to bottom."""
    out: list[Band] = []
    start = 0
    while start < len(rows):
        if len(rows[start]) < 2 or (start and _goes_on_justified(rows[start - 1], rows[start])):
            out.append(Band([rows[start]]))
            start += 1
            continue
        growing = _GrowingBand(rows, start)
        while growing.end < len(rows) and growing.take():
            pass
        out.append(Band(list(rows[start : growing.end]), growing.inner))
        start = growing.end
    return out


def _goes_on_justified(above: Row, row: Row) -> bool:
    """Return True for a justified line below another of the same width."""
    return (
        len(above) == 1
        and abs(above[0].x0 - row[0].x0) < SAME_EDGE
        and abs(above[0].x1 - row[-1].x1) < SAME_EDGE
        and bottom_of(above) - top_of(row) < 0.5 * size_of(row)
        and has_equal_blanks(row) is True
    )


class _GrowingBand:
    """A band that takes one row after the other, as long as gutters remain."""

    def __init__(self, rows: Sequence[Row], start: int) -> None:
        self._rows = rows
        self._start = start
        self._size = size_of(rows[start])
        self._least = (NARROW_GUTTER if len(rows[start]) >= MANY_CHUNKS else GUTTER) * self._size
        self._free = free(rows[start])
        self._low, self._high = min(c.x0 for c in rows[start]), max(c.x1 for c in rows[start])
        self.inner = inner(self._free, self._low, self._high)
        self.end = start + 1

    def take(self) -> bool:
        """Take the next row; return False if it does not belong to the band."""
        row, above = self._rows[self.end], self._rows[self.end - 1]
        gap = bottom_of(above) - top_of(row)
        if (gap > BAND_BREAK * self._size and not self._is_airy(row, gap)) or abs(
            size_of(row) - self._size
        ) > 0.35 * self._size:
            return False
        if len(row) == 1 and self._is_line_of_its_own(row[0], above, gap):
            return False
        if self._begins_table(row, gap):
            return False
        gutters, now = self._with(row)
        if len(row) == 1 and self._is_bridge(row, now, gap):
            self.end += 1
            return True
        if not now:
            return False
        remaining = kept(self.inner, now)
        if remaining < len(self.inner):
            if len(row) < 2 or remaining < max(1, len(self.inner) - 2):
                return False
            if self.end - self._start >= 2 and remaining < len(self.inner) - 1:
                return False
        self._free, self.inner = gutters, now
        self._low, self._high = min(self._low, row[0].x0), max(self._high, *(chunk.x1 for chunk in row))
        self.end += 1
        return True

    def _is_airy(self, row: Row, gap: float) -> bool:
        """Return True for a row of a table with wide spaces between its rows, under the same columns."""
        first = self._rows[self._start]
        if gap > AIRY_BREAK * self._size or len(row) < 3 or len(first) < 3:
            return False
        aligned = sum(
            any(abs(chunk.x0 - other.x0) < 3 or abs(chunk.x1 - other.x1) < 3 for other in first) for chunk in row[:50]
        )
        return aligned >= 0.6 * min(len(row), 50)

    def _begins_table(self, row: Row, gap: float) -> bool:
        """Return True for a row of many chunks that stands apart below rows of few, such as addresses."""
        rows = self._rows[self._start : self.end]
        below = self._rows[self.end + 1 : self.end + 2]
        words = sum(len(chunk.text) > 1 for chunk in row[:50])
        if not below or len(below[0]) <= MOST_BEFORE or words < 0.5 * min(len(row), 50):
            return False
        if len(rows) > MOST_ABOVE_TABLE or len(row) < MOST_BEFORE + 2 or max(map(len, rows)) > MOST_BEFORE:
            return False
        gaps = [bottom_of(one) - top_of(other) for one, other in itertools.pairwise(rows)]
        return gap > max(gaps, default=0.0) + 0.4 * self._size and (len(rows) > 1 or gap > 0.8 * self._size)

    def _with(self, row: Row) -> tuple[list[Interval], list[Interval]]:
        gutters = meet(self._free, free(row), self._least)
        low, high = min(self._low, row[0].x0), max(self._high, *(chunk.x1 for chunk in row))
        return gutters, inner(gutters, low, high)

    def _is_line_of_its_own(self, chunk: Chunk, above: Row, gap: float) -> bool:
        """Return True for a heading or paragraph below a table, which keeps the gutters only by its shortness."""
        size, taken = self._size, self.end - self._start
        if taken < 3 or not self.inner or chunk.x0 >= self._low + 0.5 * size:
            return False
        first = chunk.words[0]
        recent = self._rows[max(self._start, self.end - RECENT_ROWS) : self.end]
        gaps = sorted(bottom_of(one) - top_of(other) for one, other in itertools.pairwise(recent))
        usual = gaps[len(gaps) // 2]
        differs = (
            abs(first.size - size) > 0.08 * size
            or gap > max(usual, 0) + 0.5 * size
            or (first.bold and not above[0].words[0].bold and gap > usual + 1)
        )
        return differs and not is_prose(recent, self.inner)

    def _is_bridge(self, row: Row, now: Sequence[Interval], gap: float) -> bool:
        """Return True for a single title or total across columns, below which all gutters go on."""
        following = self.end + 1
        if following >= len(self._rows) or len(self.inner) < 2 or self.end - self._start < 2:
            return False
        if kept(self.inner, now) >= len(self.inner) or len(self._rows[following]) < 3:
            return False
        if abs(row[0].x0 - self._rows[self._start][0].x0) >= 20 or gap >= 1.2 * self._size:
            return False
        _, beyond = self._with(self._rows[following])
        return kept(self.inner, beyond) == len(self.inner)
