"""The key of a table's row, for the chunks that continue a wide row. Pure."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from analytiq.models.blocks import TableShape

MOST_CHARACTERS = 120
"""Characters of a key's cell, and of a column's name: what is longer says no more."""
MOST_CELLS = 3
CELLS_LOOKED_BACK, CHARACTERS_LOOKED_BACK = 64, 20_000
"""Characters before a chunk that are searched for the beginning of its cell: a cell of megabytes has many pieces."""

_BETWEEN_CELLS = re.compile(r"; | \| |\t|\n")
_NAME_END = ": "
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class RowContext:
    """The context of a chunk that continues a row.

    Attributes:
        key: the first cells of the row with the names of their columns, up to the first that is no number.
        column: name of the column whose cell the chunk continues, "" if it begins with a cell.
        names_columns: the row names the column of each of its cells.
    """

    key: str
    column: str
    names_columns: bool


def row_context(text: str, table: TableShape, start: int) -> RowContext | None:
    """Return the context of a chunk that begins at `start`; None if it does not begin inside a row of the table."""
    number = bisect_right(table.rows, start, key=lambda row: row[0]) - 1
    if number < 0:
        return None
    row_start, row_end = table.rows[number]
    if not row_start < start < row_end:
        return None
    names = {name for name in table.header if name}
    names_columns = _name_at(text, row_start, names) != ""
    column = _column(text, row_start, start, names) if names_columns else ""
    return RowContext(_key(text, row_start, start, names), column, names_columns)


def _key(text: str, start: int, end: int, names: set[str]) -> str:
    """Return the cells that say which row it is: a number alone, such as a position, does not."""
    cells: list[str] = []
    while start < end and len(cells) < MOST_CELLS:
        found = _BETWEEN_CELLS.search(text, start, end)
        stop = found.start() if found else end
        cell = text[start : min(stop, start + MOST_CHARACTERS)]
        cells.append(cell)
        name = _name_at(text, start, names)
        if _LETTERS.search(cell, len(name)):
            break
        start = found.end() if found else end
    return "; ".join(cell for cell in cells if cell.strip())


def _column(text: str, row_start: int, start: int, names: set[str]) -> str:
    """Return the name of the column whose cell goes on at `start`."""
    if _name_at(text, start, names):
        return ""
    least = max(row_start, start - CHARACTERS_LOOKED_BACK)
    position = start
    for _ in range(CELLS_LOOKED_BACK):
        position = text.rfind("; ", least, position)
        if position < 0:
            return _name_at(text, row_start, names) if least == row_start else ""
        if name := _name_at(text, position + 2, names):
            return name
    return ""


def _name_at(text: str, position: int, names: set[str]) -> str:
    """Return the name of a column that a cell begins with, followed by its value; names may have a colon in them."""
    stop = min(len(text), position + MOST_CHARACTERS)
    end = text.find(_NAME_END, position, stop)
    while end >= 0:
        if text[position:end] in names:
            return text[position:end]
        end = text.find(_NAME_END, end + 1, stop)
    return ""
