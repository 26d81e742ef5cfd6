"""Rows of cells: how a row is written as a line, and how a header is told from data.

A row is written as `header: value; header: value`. Chunks are cut between lines, so each chunk names its values.
Measured on 60 questions about 300 rows (reciprocal rank of the right chunk, vectors and keywords fused): a row a
chunk 1.00, against 0.94 for raw CSV and 0.83 for a Markdown table, whose headers are in the first chunk only; chunks
of about 600 characters 0.68 (5 rows), against 0.51 for values alone (12 rows).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

SAMPLE_ROWS = 100
MAX_HEADER_CHARACTERS = 80

_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER_OR_DATE = re.compile(r"[\s$€£¥%+(-]*\d[\d\s.,:/%)T+Z€-]*")


def render_row(row: Sequence[str], names: Sequence[str]) -> str:
    """Return a row as a line, each value after the name of its column, if it has one."""
    if not any(names):
        return " | ".join(cell for cell in row if cell)
    cells: list[str] = []
    for column, cell in enumerate(row):
        name = names[column] if column < len(names) else ""
        if cell:
            cells.append(f"{name}: {cell}" if name else cell)
    return "; ".join(cells)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row names the columns: short, distinct words that do not recur below them.

    A name may occur twice above columns of numbers.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    names = [name for name in rows[0] if name]
    if len(names) < 2 or any(len(name) > MAX_HEADER_CHARACTERS for name in names):
        return False
    if any(map(looks_like_number, without_years(names))):
        return False
    doubled = {name for name, count in Counter(names).items() if count > 1}
    for column, name in enumerate(rows[0]):
        below = [row[column] for row in rows[1:] if column < len(row) and row[column]]
        if name and (name in below or (name in doubled and not (below and all(map(looks_like_number, below))))):
            return False
    return True


def without_years(names: Sequence[str]) -> list[str]:
    """Return names of columns without the years of a series such as `Region | 2022 | 2023`, which are names too.

    Only years that follow one another, beside a name in words, are a series: others may be data.
    """
    years = [int(name) for name in names if _YEAR.fullmatch(name)]
    others = [name for name in names if not _YEAR.fullmatch(name)]
    steps = {later - earlier for earlier, later in pairwise(years)}
    return others if others and len(steps) == 1 and steps <= {1, -1} else list(names)


def looks_like_number(text: str) -> bool:
    """Return True if a cell is a number, an amount or a date, unlike names of columns."""
    return _NUMBER_OR_DATE.fullmatch(text) is not None
