"""Quality measures of extracted tables against tables with known cells. Pure.

A table is a list of rows of cells, its header first. White space, hyphens and soft hyphens do not count, empty rows and
columns neither. Two measures: adjacency (each cell with the next cell to its right and below, as in the competitions of
ICDAR) and exact cells (the row's first cell, the column's header, the value), which is what a reader needs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

Table = Sequence[Sequence[str]]
Pairs = Counter[tuple[str, str, str]]

_IGNORED = re.compile(r"[\s\xad-]+")


def normalized(text: str) -> str:
    """Return the text without white space, hyphens and soft hyphens."""
    return _IGNORED.sub("", text)


def trimmed(table: Table) -> list[list[str]]:
    """Return the table with normalized cells, without empty rows and columns."""
    rows = [[normalized(cell) for cell in row] for row in table]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    columns = [column for column in range(width) if any(row[column] for row in rows)]
    return [[row[column] for column in columns] for row in rows]


def adjacent_pairs(tables: Iterable[Table]) -> Pairs:
    """Count each cell with its next neighbour to the right (`r`) and below (`d`)."""
    pairs: Pairs = Counter()
    for table in tables:
        rows = trimmed(table)
        for row in rows:
            _count_neighbours("r", row, pairs)
        for column in range(len(rows[0]) if rows else 0):
            _count_neighbours("d", [row[column] for row in rows], pairs)
    return pairs


def _count_neighbours(direction: str, line: Sequence[str], pairs: Pairs) -> None:
    cells = [cell for cell in line if cell]
    for cell, following in pairwise(cells):
        pairs[direction, cell, following] += 1


def exact_cells(tables: Iterable[Table]) -> Pairs:
    """Count each value below the header, with its row's first cell and its column's name."""
    cells: Pairs = Counter()
    for table in tables:
        rows = trimmed(table)
        for row in rows[1:]:
            for column, value in enumerate(row):
                if value:
                    cells[row[0], rows[0][column], value] += 1
    return cells


def f1(wanted: Pairs, found: Pairs) -> float:
    """Return the harmonic mean of precision and recall, 0 to 1; 1 where nothing is wanted and nothing found."""
    total = wanted.total() + found.total()
    return 2 * (wanted & found).total() / total if total else 1.0
