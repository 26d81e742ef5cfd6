"""Tables with ruling lines: crossing lines make a grid, and missing lines make merged cells."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.ingestion.parsing.pdf_layout.cells import clustered, is_mostly_bold
from analytiq.ingestion.parsing.pdf_layout.joining import glued
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Edge, GridTable, Interval, Word
from analytiq.ingestion.parsing.pdf_layout.rows import chunks_of, rows_of
from analytiq.ingestion.parsing.pdf_layout.rules import PageRules
from analytiq.ingestion.parsing.pdf_layout.union import Groups

MAX_LINES = 3_000
"""Most lines of a page, after joining; a page with more is a drawing."""
MAX_CELLS = 20_000
TOLERANCE = 3.0
SAME_EDGE = 2.5
LEAST_IN_FRAME = 12
"""Least words of a cell that may hold a table of its own."""
MOST_FRAMED = 4
DOUBLE_LINE = 4.0
"""Widest column or row that may be the space in a double line."""


@dataclass(slots=True)
class RuledTable:
    """A table with its place and the indexes of its words."""

    table: GridTable
    bounds: Bounds
    used: set[int]


@dataclass(slots=True)
class _Grid:
    """The columns' and rows' edges: `xs` from left to right, `ys` from top to bottom."""

    xs: list[float]
    ys: list[float]
    across: list[Edge]
    down: list[Edge]

    @property
    def height(self) -> int:
        return len(self.ys) - 1

    @property
    def width(self) -> int:
        return len(self.xs) - 1


def ruled_tables(rules: PageRules, words: Sequence[Word]) -> list[RuledTable]:
    """Return the tables of connected groups of crossing lines."""
    across, down = rules.across, rules.down
    if len(across) + len(down) > MAX_LINES:
        return []
    tables: list[RuledTable] = []
    for group_across, group_down in _crossing(across, down):
        grid = _grid_of(group_across, group_down)
        if grid is not None:
            table = _table_of(grid, words)
            if table is not None:
                tables.append(table)
    return tables


def _crossing(across: Sequence[Edge], down: Sequence[Edge]) -> list[tuple[list[Edge], list[Edge]]]:
    ordered = sorted(across, key=lambda edge: edge.y)
    heights = [edge.y for edge in ordered]
    groups = Groups(len(ordered) + len(down))
    for index, line in enumerate(down):
        low, high = bisect_left(heights, line.x0 - TOLERANCE), bisect_right(heights, line.x1 + TOLERANCE)
        for crossed in range(low, high):
            if ordered[crossed].x0 - TOLERANCE <= line.y <= ordered[crossed].x1 + TOLERANCE:
                groups.join(crossed, len(ordered) + index)
    return [
        (
            [ordered[member] for member in members if member < len(ordered)],
            [down[member - len(ordered)] for member in members if member >= len(ordered)],
        )
        for members in groups.members()
        if len(members) >= 5
    ]


def _grid_of(across: list[Edge], down: list[Edge]) -> _Grid | None:
    xs = clustered([line.y for line in down], SAME_EDGE)
    ys = clustered([line.y for line in across], SAME_EDGE)[::-1]
    if len(across) >= 3 and xs:
        # The table may be open at its sides: the ends of its rules are the outer edges.
        low, high = min(line.x0 for line in across), max(line.x1 for line in across)
        if sum(line.x0 < xs[0] - 10 for line in across) >= 3:
            xs.insert(0, low)
        if sum(line.x1 > xs[-1] + 10 for line in across) >= 3:
            xs.append(high)
    if len(xs) < 3 or len(ys) < 3 or (len(xs) - 1) * (len(ys) - 1) > MAX_CELLS:
        return None
    return _Grid(xs, ys, across, down)


def _table_of(grid: _Grid, words: Sequence[Word]) -> RuledTable | None:
    merged = _merged_cells(grid)
    cells: defaultdict[int, list[Word]] = defaultdict(list)
    used: set[int] = set()
    heights = [-y for y in grid.ys]
    for index, word in enumerate(words):
        x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
        if grid.xs[0] - 1 < x < grid.xs[-1] + 1 and grid.ys[-1] - 1 < y < grid.ys[0] + 1:
            column = min(max(bisect_right(grid.xs, x) - 1, 0), grid.width - 1)
            row = min(max(bisect_right(heights, -y) - 1, 0), grid.height - 1)
            cells[merged.find(row * grid.width + column)].append(word)
            used.add(index)
    spans = Counter(merged.find(cell) for cell in range(grid.width * grid.height))
    if len(cells) < 3 or len(cells) < 0.15 * len(spans) or _is_frame([len(cell) for cell in cells.values()]):
        return None
    if any(_is_laid_out(words) for words in cells.values()):
        return None
    return RuledTable(_filled(grid, merged, cells), Bounds(grid.xs[0], grid.ys[-1], grid.xs[-1], grid.ys[0]), used)


def _is_laid_out(words: Sequence[Word]) -> bool:
    """Return True if a cell holds a table of its own: its lines are a frame."""
    if len(words) < LEAST_IN_FRAME:
        return False
    rows = [chunks_of(row) for row in rows_of(words)]
    return len(rows) >= MOST_FRAMED and sum(len(row) > 1 for row in rows) >= 0.5 * len(rows)


def _is_frame(counts: Sequence[int]) -> bool:
    """Return True if the lines frame text, rather than cells."""
    return (max(counts) > 0.5 * sum(counts) and max(counts) > 30) or sum(counts) > 25 * len(counts)


def _merged_cells(grid: _Grid) -> Groups:
    """Join neighbouring cells without a line between them."""
    below = _coverage(grid.across, grid.ys)
    beside = _coverage(grid.down, grid.xs)
    groups = Groups(grid.width * grid.height)
    for row in range(grid.height):
        middle = (grid.ys[row] + grid.ys[row + 1]) / 2
        for column in range(grid.width):
            cell = row * grid.width + column
            if column + 1 < grid.width and not _covers(beside[column + 1], middle):
                groups.join(cell, cell + 1)
            if row + 1 < grid.height and not _covers(below[row + 1], (grid.xs[column] + grid.xs[column + 1]) / 2):
                groups.join(cell, cell + grid.width)
    return groups


def _coverage(lines: Sequence[Edge], positions: Sequence[float]) -> list[list[Interval]]:
    """Return for each position the sorted, joined extents of its lines."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    ordered = [positions[index] for index in order]
    extents: list[list[Interval]] = [[] for _ in positions]
    for line in sorted(lines, key=lambda line: line.x0):
        at = bisect_left(ordered, line.y)
        near = min((at - 1, at), key=lambda index: abs(ordered[index] - line.y) if 0 <= index < len(ordered) else 1e9)
        extent = extents[order[near]]
        if extent and line.x0 <= extent[-1][1] + 2 * TOLERANCE:
            extent[-1] = (extent[-1][0], max(extent[-1][1], line.x1))
        else:
            extent.append((line.x0, line.x1))
    return extents


def _covers(extents: Sequence[Interval], position: float) -> bool:
    at = bisect_right(extents, (position + TOLERANCE, float("inf"))) - 1
    return at >= 0 and position <= extents[at][1] + TOLERANCE


def _filled(grid: _Grid, merged: Groups, cells: dict[int, list[Word]]) -> GridTable:
    """Return the rows of a grid; merged cells repeat their text in each row and, above the body, in each column."""
    table = GridTable([], [round(x) for x in grid.xs], [])
    lines = {cell: rows_of(words) for cell, words in cells.items()}
    for row in range(grid.height):
        roots = [merged.find(row * grid.width + column) for column in range(grid.width)]
        own = {root: lines[root] for root in dict.fromkeys(roots) if root in lines and root // grid.width == row}
        count = _packed_rows(own)
        for line in range(count):
            texts = [_cell_text(lines.get(root, []), line if root in own else -1, count) for root in roots]
            if not any(texts):
                continue
            table.across.append(_repeats(texts, roots))
            words = [word for parts in own.values() for word in _line_words(parts, line, count)]
            table.rows.append(texts)
            table.words += words
            table.bold.append(is_mostly_bold(words) if words else False)
    _drop_double_lines(table, grid)
    return table


def _line_words(lines: list[list[Word]], line: int, count: int) -> list[Word]:
    if count > 1 and len(lines) == count:
        return lines[line]
    return [word for row in lines for word in row] if line == 0 else []


def _packed_rows(lines: dict[int, list[list[Word]]]) -> int:
    """Return how many rows of text in step one ruled row holds."""
    counts = Counter(map(len, lines.values()))
    if len(lines) < 3:
        return 1
    most, cells = counts.most_common(1)[0]
    if most < 2 or cells < 0.7 * len(lines):
        return 1
    packed = [rows for rows in lines.values() if len(rows) == most]
    for index in range(most):
        bases = [rows[index][0].base for rows in packed]
        if max(bases) - min(bases) >= 2:
            return 1
    return most


def _cell_text(lines: list[list[Word]], line: int, count: int) -> str:
    if line >= 0 and count > 1 and len(lines) == count:
        return " ".join(word.text for word in lines[line])
    if line > 0:
        return ""
    text = ""
    for row in lines:
        text = glued(text, " ".join(word.text for word in row))
    return text


def _repeats(texts: Sequence[str], roots: Sequence[int]) -> frozenset[int]:
    """Return the columns whose cell is the one at its left."""
    return frozenset(column for column in range(1, len(roots)) if roots[column] == roots[column - 1] and texts[column])


def _drop_double_lines(table: GridTable, grid: _Grid) -> None:
    kept = [
        column
        for column in range(grid.width)
        if grid.xs[column + 1] - grid.xs[column] > DOUBLE_LINE or any(row[column] for row in table.rows)
    ]
    if len(kept) < grid.width:
        table.rows = [[row[column] for column in kept] for row in table.rows]
        table.across = [frozenset(kept.index(c) for c in columns if c in kept) for columns in table.across]
