"""Rows of text between gutters as cells; lines of wrapped cells are joined by rules, gaps, or the first column."""

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import mean, median

from analytiq.ingestion.parsing.pdf_layout.gutters import free, inner, meet
from analytiq.ingestion.parsing.pdf_layout.joining import glued
from analytiq.ingestion.parsing.pdf_layout.model import (
    Bounds,
    Chunk,
    Edge,
    GridTable,
    Interval,
    Row,
    Word,
    bounds_of_rows,
    size_of,
)
from analytiq.ingestion.parsing.pdf_layout.shapes import steps_of
from analytiq.ingestion.parsing.pdf_layout.union import Groups

Placed = list[tuple[int, Chunk]]
"""The chunks of a row, each with its column."""

TIGHT = 1.12
"""Largest pitch of lines in one cell, in the smallest pitch."""
LOOSE = 1.18
LOOSEST_CELL = 1.35
"""Largest pitch of lines in one cell, in heights of letters."""
PLACED_ROWS = 4
"""Rows that may be a header, whose cells keep their places."""
MOST_LINES = 8
"""Most lines of a row between two rules; more is a table whose rows are not ruled."""


def table_of(rows: Sequence[Row], gutters: Sequence[Interval], edges: Sequence[Edge]) -> GridTable:
    """Return the cells of rows between gutters."""
    gutters = _voted(rows, gutters)
    cuts = [(left + right) / 2 for left, right in gutters]
    grid = [[(_column_of(chunk, row, cuts), chunk) for chunk in row] for row in rows]
    bounds = bounds_of_rows(rows)
    width = len(gutters) + 1
    groups = _by_edges(grid, bounds, edges) or _by_steps(rows) or _by_gaps(grid, width) or _by_first_column(grid, width)
    table = GridTable([], [round(left) for left, _ in gutters], [], gutters=tuple(gutters))
    for group in groups:
        _add_row(table, [placed for index in group for placed in grid[index]], width)
    return table


def _add_row(table: GridTable, placed: Placed, width: int) -> None:
    cells = [""] * width
    words: list[Word] = []
    for column, chunk in sorted(placed, key=lambda part: (part[0], -part[1].words[0].base, part[1].x0)):
        cells[column] = glued(cells[column], chunk.text)
        words += chunk.words
    if len(table.rows) < PLACED_ROWS:
        table.places.append(_places_of(placed, width))
    table.rows.append(cells)
    table.words += words
    table.bold.append(is_mostly_bold(words))


def _places_of(placed: Placed, width: int) -> list[Interval | None]:
    places: list[Interval | None] = [None] * width
    for column, chunk in placed:
        place = places[column]
        places[column] = (chunk.x0, chunk.x1) if place is None else (min(place[0], chunk.x0), max(place[1], chunk.x1))
    return places


def is_mostly_bold(words: Sequence[Word]) -> bool:
    """Return True if most letters are bold."""
    letters = sum(len(word.text) for word in words)
    return sum(len(word.text) for word in words if word.bold) > 0.6 * letters


def _column_of(chunk: Chunk, row: Row, cuts: Sequence[float]) -> int:
    is_alone = len(row) == 1 and any(chunk.x0 < cut < chunk.x1 for cut in cuts)
    return bisect_left(cuts, chunk.x0 if is_alone else (chunk.x0 + chunk.x1) / 2)


def _voted(rows: Sequence[Row], gutters: Sequence[Interval]) -> Sequence[Interval]:
    """Return the gutters of the fullest rows, if these are many: a total across columns must not join them."""
    most = max(len(row) for row in rows)
    fullest = [row for row in rows if len(row) >= max(3, most - 1)]
    if len(fullest) < max(2, 0.3 * len(rows)):
        return gutters
    size = median(size_of(row) for row in rows)
    common = free(fullest[0])
    for row in fullest[1:]:
        common = meet(common, free(row), 0.5 * size)
    common = inner(common, min(row[0].x0 for row in fullest), max(c.x1 for row in fullest for c in row))
    return common if len(common) > len(gutters) else gutters


def _by_edges(grid: Sequence[Placed], bounds: Bounds, edges: Sequence[Edge]) -> list[list[int]]:
    """Group lines between rules and edges of shades across the table, where these part most of its rows."""
    width = bounds.x1 - bounds.x0
    heights = clustered(
        [
            edge.y
            for edge in edges
            if min(edge.x1, bounds.x1) - max(edge.x0, bounds.x0) > 0.85 * width
            and bounds.y0 - 12 < edge.y < bounds.y1 + 12
        ],
        2,
    )
    if len(heights) < 3:
        return []
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(grid):
        word = row[0][1].words[0]
        groups[bisect_left(heights, word.base + 0.25 * word.size)].append(index)
    if len(groups) < max(3, 0.4 * len(grid)) or max(map(len, groups.values())) > MOST_LINES:
        return []
    # Rules may part groups of rows alone, or stand below the header and the first row together.
    return [part for key in sorted(groups, reverse=True) for part in _parted_by_pitch(grid, groups[key])]


def _parted_by_pitch(grid: Sequence[Placed], group: Sequence[int]) -> list[list[int]]:
    """Part lines between two rules: full lines too far apart for one cell, or a bold header above others."""
    most = max(len(grid[index]) for index in group)
    out = [[group[0]]]
    for above, below in itertools.pairwise(group):
        first, second = grid[above][0][1].words[0], grid[below][0][1].words[0]
        is_header = first.bold and not second.bold and len(grid[above]) > 1 and len(grid[below]) > 1
        is_full = len(grid[below]) >= max(2, most - 1) and grid[below][0][0] == 0
        is_far = first.base - second.base > LOOSEST_CELL * second.size
        if (is_full and is_far) or is_header:
            out.append([below])
        else:
            out[-1].append(below)
    return out


def _by_steps(rows: Sequence[Row]) -> list[list[int]]:
    """Group lines between blanks across all columns."""
    starts = steps_of(rows)
    return [list(range(*ends)) for ends in itertools.pairwise([*starts, len(rows)])] if starts else []


def _by_gaps(grid: Sequence[Placed], width: int) -> list[list[int]]:
    """Group by runs of close lines in a column; needs two kinds of pitch, within cells and between rows."""
    columns: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for index, row in enumerate(grid):
        for column, chunk in dict(reversed(row)).items():
            columns[column].append((index, chunk.words[0].base))
    pitches = sorted(above[1] - below[1] for lines in columns.values() for above, below in itertools.pairwise(lines))
    if len(pitches) < 4:
        return []
    lead, size = pitches[len(pitches) // 50], grid[0][0][1].words[0].size
    loose = [pitch for pitch in pitches if pitch > TIGHT * lead]
    if not loose or min(loose) < LOOSE * lead or not 0.8 * size <= lead <= 1.5 * size:
        return []
    joined = Groups(len(grid))
    for lines in columns.values():
        for (above, high), (below, low) in itertools.pairwise(lines):
            if high - low <= TIGHT * lead:
                # Lines of other columns between the two belong to the same row.
                for index in range(above, below):
                    joined.join(index, index + 1)
    groups = joined.members()
    several = [_lines_beyond_first(grid, group) for group in groups if len(group) > 1]
    if not several or len(groups) < 3 or mean(several) > max(1.6, 0.5 * width):
        return []
    return groups


def _lines_beyond_first(grid: Sequence[Placed], group: Sequence[int]) -> int:
    """Count the columns in which a row has several lines."""
    counts = Counter(column for index in group for column, _ in grid[index])
    return sum(count > 1 for count in counts.values())


def _by_first_column(grid: Sequence[Placed], width: int) -> list[list[int]]:
    """Begin a row wherever the first column is filled, or most others are."""
    bases = [max(chunk.words[0].base for _, chunk in row) for row in grid]
    size = median(chunk.words[0].size for row in grid for _, chunk in row)
    full = {index for index, row in enumerate(grid) if len(row) >= max(2, (width + 1) // 2)}
    steps = [bases[index - 1] - bases[index] for index in full if index - 1 in full]
    usual = median(steps) if steps else 0.0
    out: list[list[int]] = []
    for index, row in enumerate(grid):
        filled = {column for column, _ in row}
        pitch = bases[index - 1] - bases[index] if index else 0
        is_near = pitch < 1.32 * size and (not steps or pitch < 0.85 * usual)
        if out and is_near and 0 not in filled and len(filled) < max(2, width - 1):
            out[-1].append(index)
        else:
            out.append([index])
    return out


def clustered(values: Sequence[float], tolerance: float) -> list[float]:
    """Return the means of groups of values whose neighbours are within the tolerance."""
    groups: list[list[float]] = []
    for value in sorted(values):
        if groups and value - groups[-1][-1] <= tolerance:
            groups[-1].append(value)
        else:
            groups.append([value])
    return [mean(group) for group in groups]
