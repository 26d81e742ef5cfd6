"""Spreadsheets as lines: each row is understandable and searchable alone, with the names of its columns.

A sheet is looser than a CSV file: titles stand above the table, blank rows divide it, and its tail may be a million
rows with nothing but a format. Rows are rendered as in `csv`, for the reason measured there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.csv import MAX_HEADER_CHARACTERS, SAMPLE_ROWS, has_header, looks_like_number, render_row
from analytiq.ingestion.parsing.table_lines import RowLine, TableLine, TitleLine, header_line

MAX_CELLS = 20_000_000
"""Most cells read in one file, including empty ones in the width of their row: one cell at the end of each of a million
rows gives 16 thousand million."""

_BLANKS = re.compile(r"\s+")


class CellBudget:
    """Counts the cells of one file."""

    def __init__(self, max_cells: int = MAX_CELLS) -> None:
        self._max_cells = max_cells
        self._left = max_cells

    def spend(self, cells: int) -> None:
        """Count cells.

        Raises:
            LimitExceededError: there are more than the file may have.
        """
        self._left -= cells
        if self._left < 0:
            raise LimitExceededError(
                f"The spreadsheet spans more than {self._max_cells} cells: split it, or delete what its sheets hold "
                "far below or beside their tables."
            )


def one_line(text: str) -> str:
    """Return the text of a cell without line breaks and surrounding blanks."""
    return _BLANKS.sub(" ", text).strip()


def render_sheet(title: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a sheet's page: its name as a heading, then its rows as lines."""
    lines = list(table_lines(rows))
    return "\n".join([f"# {one_line(title)}", "", *lines]) if lines else ""


def table_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of `sheet_lines` as text."""
    return (line.text for line in sheet_lines(rows))


def sheet_lines(rows: Iterable[Sequence[str]]) -> Iterator[TableLine]:
    """Yield the lines of rows whose file does not state their header.

    Blank rows separate tables, and single cells are titles.

    Args:
        rows: Every row with its empty cells, so that values are aligned with their names.
    """
    names: Sequence[str] = ()
    for block in _blocks(rows):
        sample = list(islice(block, SAMPLE_ROWS))
        while sample and _filled(sample[0]) == 1:
            yield TitleLine(next(cell for cell in sample.pop(0) if cell))
        if not sample:
            # A long column: the rest of the block has no names above it either.
            yield from (RowLine(render_row(row, names)) for row in block)
            continue
        is_below_groups = False
        while len(sample) > 1 and _is_wider_header(sample[1], sample[0]):
            yield TitleLine(render_row(sample.pop(0), ()))
            is_below_groups = True
        if is_below_groups or has_header(sample) or (not names and len(sample) == 1 and _may_be_names(sample[0])):
            names = sample.pop(0)
            yield header_line(names)
        elif not _fits(sample[0], names):
            names = ()
        yield from (RowLine(render_row(row, names)) for row in chain(sample, block))


def _blocks(rows: Iterable[Sequence[str]]) -> Iterator[Iterator[Sequence[str]]]:
    """Yield the runs of rows between blank rows; use each up before requesting the next."""
    source = iter(rows)
    for row in source:
        if any(row):
            yield chain([row], _until_blank(source))


def _until_blank(source: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    for row in source:
        if not any(row):
            return
        yield row


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell)


def _may_be_names(row: Sequence[str]) -> bool:
    """Return True if a row alone between blank ones can name the columns of the following block."""
    names = [cell for cell in row if cell]
    return len(names) == len(set(names)) > 1 and not any(_is_no_name(name) for name in names)


def _is_wider_header(row: Sequence[str], above: Sequence[str]) -> bool:
    """Return True if the row above only groups this row's columns, as `January–June` does above three amounts.

    Names with a nameless column at their right are no such groups: those are gaps, or groups of many columns.
    """
    names = [cell for cell in row if cell]
    if len(names) <= _filled(above) or any(_is_no_name(name) for name in names):
        return False
    last = max(column for column, cell in enumerate(above) if cell)
    gaps = any(cell and not above[column] for column, cell in enumerate(row[:last]))
    return gaps or len(names) >= 2 * _filled(above)


def _is_no_name(text: str) -> bool:
    return len(text) > MAX_HEADER_CHARACTERS or looks_like_number(text)


def _fits(row: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if a table that continues below a blank row is still as wide as its names."""
    return not any(row[len(names) :])
