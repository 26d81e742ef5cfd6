"""Rows in reading order: bands of prose are read column by column, bands with aligned columns are tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.pdf_layout.cells import table_of
from analytiq.ingestion.parsing.pdf_layout.columns import parted_by_columns
from analytiq.ingestion.parsing.pdf_layout.gutters import Band, bands, free, inner, meet
from analytiq.ingestion.parsing.pdf_layout.model import (
    Bounds,
    Chunk,
    Edge,
    GridTable,
    Interval,
    Row,
    base_of,
    bottom_of,
    bounds_of_rows,
    size_of,
    top_of,
    width_of,
    words_of,
)
from analytiq.ingestion.parsing.pdf_layout.rows import NUMERIC
from analytiq.ingestion.parsing.pdf_layout.shapes import is_aligned, is_justified, is_list, is_prose, split_columns
from analytiq.ingestion.parsing.pdf_layout.side_by_side import parted_tables

MOST_COLUMNS = 4
DEEPEST = 4
"""Most columns within columns."""
NEAR_ABOVE = 30.0
"""Largest distance, in points, of rows above columns that belong to one of them."""


@dataclass(slots=True)
class PlacedTable:
    """A table with its place."""

    table: GridTable
    bounds: Bounds


Item = Row | PlacedTable


@dataclass(slots=True)
class ReadingOrder:
    """Lays rows out, and collects lines and tables in reading order."""

    edges: Sequence[Edge]
    items: list[Item] = field(default_factory=list[Item])

    def add(self, rows: Sequence[Row], depth: int = 0) -> None:
        """Lay out rows that go from top to bottom."""
        for part in parted_by_columns(rows) if depth < DEEPEST else [list(rows)]:
            if isinstance(part, Band):
                self._add_band(part, depth)
            elif part:
                self._add_rows(part, depth)

    def _add_rows(self, rows: Sequence[Row], depth: int) -> None:
        merged = _with_columns(bands(rows), depth)
        _release_justified(merged)
        _take_heads(merged)
        _lower_headers(merged)
        for band in merged:
            self._add_band(band, depth)

    def _add_band(self, band: Band, depth: int) -> None:
        rows, gutters = band.rows, band.gutters
        if not rows:
            return
        if band.columns:
            for column in split_columns(rows, gutters):
                if column:
                    self.add(column, depth + 1)
        elif _is_table(rows, gutters):
            for part, between in parted_tables(rows, gutters):
                self.items.append(PlacedTable(table_of(part, between, self.edges), bounds_of_rows(part)))
        else:
            self.items += (_as_one(row) if len(row) > 1 and is_list([row], gutters) else row for row in rows)


def _lower_headers(parts: list[Band]) -> None:
    """Move the header of a table below the title of its first group of rows, which parts the two."""
    for header, title, body in zip(parts, parts[1:], parts[2:], strict=False):
        if len(header.rows) != 1 or len(title.rows) != 1 or len(title.rows[0]) != 1 or len(body.rows) < 2:
            continue
        row, gutters = header.rows[0], body.gutters
        if len(gutters) < 2 or len(row) != len(gutters) + 1 or body.columns or header.columns:
            continue
        cuts = [(left + right) / 2 for left, right in gutters]
        fits = all(left.x1 < cut < right.x0 for left, cut, right in zip(row, cuts, row[1:], strict=False))
        if fits and not any(NUMERIC.match(chunk.text) for chunk in row):
            body.rows = [row, *body.rows]
            body.gutters = inner(meet(gutters, free(row), 0.0), *_edges_of(body.rows))
            header.rows = []


def _edges_of(rows: Sequence[Row]) -> tuple[float, float]:
    bounds = bounds_of_rows(rows)
    return bounds.x0, bounds.x1


def _as_one(row: Row) -> Row:
    return [Chunk.of_words(words_of(row))]


def _is_table(rows: Sequence[Row], gutters: Sequence[Interval]) -> bool:
    if not gutters or is_justified(rows):
        return False
    if len(rows) >= 3:
        return not is_prose(rows, gutters) and not is_list(rows, gutters) and is_aligned(rows, gutters)
    return (
        len(rows) == 2 and len(gutters) >= 2 and min(map(len, rows)) == len(gutters) + 1 and is_aligned(rows, gutters)
    )


def _with_columns(parts: Sequence[Band], depth: int) -> list[Band]:
    """Join bands of prose with the bands around them that keep their gutters."""
    merged: list[Band] = []
    index = 0
    while index < len(parts):
        band = parts[index]
        index += 1
        if not band.gutters or len(band.rows) < 3 or depth >= DEEPEST or not is_prose(band.rows, band.gutters):
            merged.append(band)
            continue
        gutters = _widest(band)
        rows = list(band.rows)
        while index < len(parts) and not _crosses(parts[index].rows, gutters):
            rows += parts[index].rows
            index += 1
        merged.append(Band(_taken_from_above(merged, rows, gutters) + rows, gutters, columns=True))
    return merged


def _widest(band: Band) -> list[Interval]:
    size = sorted(size_of(row) for row in band.rows)[len(band.rows) // 2]
    widest = sorted(band.gutters, key=lambda gutter: gutter[0] - gutter[1])[: MOST_COLUMNS - 1]
    return sorted(gutter for gutter in widest if gutter[1] - gutter[0] >= 0.5 * size)


def _crosses(rows: Sequence[Row], gutters: Sequence[Interval]) -> bool:
    """Return True if a chunk lies across the middle of a gutter."""
    middles = [(left + right) / 2 for left, right in gutters]
    return any(chunk.x0 < x - 2 and chunk.x1 > x + 2 for row in rows for chunk in row for x in middles)


def _taken_from_above(merged: list[Band], rows: Sequence[Row], gutters: Sequence[Interval]) -> list[Row]:
    """Remove the bands directly above that lie within one column, and return their rows."""
    taken: list[list[Row]] = []
    bounds = bounds_of_rows(rows)
    top = rows[0]
    while merged and not merged[-1].columns and (len(merged[-1].rows) == 1 or len(merged[-1].gutters) <= 1):
        last = merged[-1].rows[-1]
        is_centred = len(last) == 1 and abs((last[0].x0 + last[-1].x1) / 2 - (bounds.x0 + bounds.x1) / 2) < 4
        is_far = bottom_of(last) - top_of(top) > NEAR_ABOVE
        if is_centred or is_far or _crosses(merged[-1].rows, gutters):
            break
        taken.append(merged.pop().rows)
        top = taken[-1][0]
    return [row for part in reversed(taken) for row in part]


def _release_justified(parts: list[Band]) -> None:
    """Turn short bands at the pitch of the prose around them into prose: their gutters are wide blanks."""
    for index in range(1, len(parts) - 1):
        band = parts[index]
        if band.columns or not band.gutters or not 2 <= len(band.rows) < 6:
            continue
        above, below = parts[index - 1].rows[-1], parts[index + 1].rows[0]
        if len(above) != 1 or len(below) != 1 or len(above[0].words) <= 2:
            continue
        rows = band.rows
        pitch = (base_of(rows[0]) - base_of(rows[-1])) / (len(rows) - 1)
        around = (base_of(above) - base_of(rows[0]), base_of(rows[-1]) - base_of(below))
        widest = max(width_of(row) for row in (above, below, *rows))
        if all(abs(step - pitch) < 0.12 * pitch for step in around) and width_of(above) > 0.85 * widest:
            band.gutters = []


def _take_heads(parts: list[Band]) -> None:
    """Give a table the first line of its header where that line is wrapped and alone."""
    for index in range(1, len(parts)):
        band, above = parts[index], parts[index - 1]
        if band.columns or above.columns or len(band.rows) < 3 or len(band.gutters) < 2 or len(above.rows) != 1:
            continue
        head, first = above.rows[0], band.rows[0]
        size = first[0].words[0].size
        if len(head) > 2 or base_of(head) - base_of(first) > 1.15 * size:
            continue
        looks_alike = (
            abs(head[0].words[0].size - size) <= 0.05 * size and head[0].words[0].bold == first[0].words[0].bold
        )
        crosses = any(chunk.x0 < (left + right) / 2 < chunk.x1 for left, right in band.gutters for chunk in head)
        is_in_first = head[0].x0 < band.gutters[0][0] and head[-1].x1 < band.gutters[0][1]
        if looks_alike and not crosses and not is_in_first:
            band.rows = [head, *band.rows]
            above.rows = []
