"""Tables as lines: the one model for the tables of every format.

A parser gives rows of cells, each with its empty cells, spans filled. What comes out are titles, the names of the
columns, and a line for each row that names each of its values (`header: value; header: value`), so that every row is
understandable and searchable alone; `rows` tells what that gains.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.rows import render_row


@dataclass(frozen=True, slots=True)
class TitleLine:
    """A line above a table that stands for all of its columns."""

    text: str


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """The names of the columns, "" for a column without one, and the line that shows them.

    An empty line shows none: the names were shown above the table's first part, on another page. A header that
    `goes_on` repeats the names of the table before, on the next page.
    """

    text: str
    names: tuple[str, ...]
    goes_on: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row, each value after the name of its column.

    A row of a table of data also has its cells and the names of its columns, for queries.
    """

    text: str
    cells: Sequence[str] = field(default=(), compare=False, repr=False)
    names: Sequence[str] = field(default=(), compare=False, repr=False)


TableLine = TitleLine | HeaderLine | RowLine


def header_line(names: Sequence[str], *, goes_on: bool = False) -> HeaderLine:
    """Return the line of a header."""
    return HeaderLine(" | ".join(name for name in names if name), tuple(names), goes_on)


def row_line(cells: Sequence[str], names: Sequence[str]) -> RowLine:
    """Return the line of a row of data."""
    return RowLine(render_row(cells, names), cells, names)


def lines_below_header(
    header_rows: Sequence[Sequence[str]], rows: Iterable[Sequence[str]], *, goes_on: bool = False
) -> Iterator[TableLine]:
    """Yield the lines of a table whose file states which rows are its header.

    Header rows are joined downwards (`2024` above `Actual` is `2024 Actual`); a header row with a single value, or
    with the same value throughout, is a title.
    """
    named: list[Sequence[str]] = []
    for row in header_rows:
        values = [cell for cell in row if cell]
        if len(row) > 1 and len(set(values)) == 1 and len(values) in {1, len(row)}:
            yield TitleLine(values[0])
        elif values:
            named.append(row)
    names = joined_header(named)
    if names:
        yield header_line(names, goes_on=goes_on)
    for row in rows:
        line = row_line(row, names)
        if line.text:
            yield line


def joined_header(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the name of each column from one or more header rows, whose spans are filled."""
    width = max(map(len, rows), default=0)
    names: list[str] = []
    for column in range(width):
        cells = (row[column] if column < len(row) else "" for row in rows)
        names.append(" ".join(dict.fromkeys(cell for cell in cells if cell)))
    return tuple(names)
