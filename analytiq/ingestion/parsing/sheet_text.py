"""Spreadsheets as lines: each row is understandable and searchable alone, with the names of its columns.

A sheet is looser than a CSV file: titles stand above the table, blank rows divide it, and its tail may be a million
rows with nothing but a format. Rows are rendered as in `csv`, for the reason measured there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.rows import (
    MAX_HEADER_CHARACTERS,
    SAMPLE_ROWS,
    has_header,
    looks_like_number,
    render_row,
)
from analytiq.ingestion.parsing.table_lines import TableLine, TitleLine, header_line, joined_header, row_line

MAX_CELLS = 20_000_000
"""Most cells read in one file, including empty ones in the width of their row: one cell at the end of each of a million
rows gives 16 thousand million."""

_BLANKS = re.compile(r"\s+")
_YEAR = re.compile(r"\b(19|20)\d\d\b")
_MOST_TITLES = 2
"""Rows of a single cell that may be titles without a table below; more are a list."""


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


def hidden_sheets(names: Sequence[str]) -> Iterator[str]:
    """Yield a warning about sheets that are not read because they are hidden."""
    if names:
        yield f"hidden sheets are not read: {', '.join(map(repr, names[:20]))}; unhide the sheets to be searched"


def hidden_slides(numbers: Sequence[int]) -> Iterator[str]:
    """Yield a warning about slides that a show leaves out."""
    if numbers:
        listed = ", ".join(map(str, numbers[:20])) + (", …" if len(numbers) > 20 else "")
        yield f"hidden slides are read too: {listed}; delete the slides that are not to be searched"


def hidden_cells(rows: int, columns: int, cells: int) -> Iterator[str]:
    """Yield a warning about numbers of rows, columns and cells that are not read because they are hidden."""
    counts = {"rows": rows, "columns": columns, "cells": cells}
    if said := " and ".join(f"{count} hidden {what}" for what, count in counts.items() if count):
        yield f"{said} are not read; unhide what is to be searched"


def sheet_lines(rows: Iterable[Sequence[str]]) -> Iterator[TableLine]:
    """Yield the lines of rows whose file does not state their header.

    Blank rows separate tables, and single cells are titles.

    Args:
        rows: Every row with its empty cells, so that values are aligned with their names.
    """
    names: Sequence[str] = ()
    for block in _blocks(rows):
        sample = list(islice(block, SAMPLE_ROWS))
        singles = _leading_singles(sample)
        if singles == len(sample) and singles > _MOST_TITLES:
            # A long column: the rest of the block has no names above it either.
            yield from (row_line(row, names) for row in chain(sample, block))
            continue
        for row in sample[:singles]:
            yield TitleLine(next(cell for cell in row if cell))
        del sample[:singles]
        if not sample:
            continue
        header, is_below_groups = _spanned_header(sample), False
        while not header and len(sample) > 1 and _is_wider_header(sample[1], sample[0]):
            yield TitleLine(render_row(sample.pop(0), ()))
            is_below_groups = True
        if header:
            names = joined_header(header)
            yield header_line(names)
        elif is_below_groups or has_header(sample) or (not names and len(sample) == 1 and _may_be_names(sample[0])):
            names = sample.pop(0)
            yield header_line(names)
        elif not _fits(sample[0], names):
            names = ()
        yield from (row_line(row, names) for row in chain(sample, block))


def _leading_singles(sample: Sequence[Sequence[str]]) -> int:
    return next((number for number, row in enumerate(sample) if _filled(row) != 1), len(sample))


def _spanned_header(sample: list[Sequence[str]]) -> list[Sequence[str]]:
    """Remove and return the header rows of a table whose upper ones are merged over groups of columns."""
    header: list[Sequence[str]] = []
    while len(sample) > 1 and _groups(sample[0], sample[1]):
        header.append(sample.pop(0))
    return [*header, sample.pop(0)] if header else []


def _groups(above: Sequence[str], row: Sequence[str]) -> bool:
    """Return True if cells merged in the row above stand over several names of this row.

    Elsewhere the two rows say the same, because the cell above is merged downwards, or only one of them says a thing.
    """
    is_grouped = False
    for column in range(max(len(above), len(row))):
        over = above[column] if column < len(above) else ""
        name = row[column] if column < len(row) else ""
        if len(name) > MAX_HEADER_CHARACTERS or (looks_like_number(name) and not _YEAR.search(name)):
            return False
        neighbours = (*above[column - 1 : column], *above[column + 1 : column + 2])
        is_in_run = bool(over) and over in neighbours
        if not is_in_run and over and name and over != name:
            return False
        is_grouped |= is_in_run and bool(name) and name != over
    return is_grouped


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
