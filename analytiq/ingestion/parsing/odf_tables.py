"""Tables of OpenDocument: rows with repeated cells, spans, notes, hidden rows and columns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.odf_styles import attribute, local_name
from analytiq.ingestion.parsing.sheet_text import CellBudget, one_line
from analytiq.ingestion.parsing.spans import Span, SpannedRow
from analytiq.ingestion.parsing.xml_part import Element
from analytiq.ingestion.tables.collecting import valued
from analytiq.ingestion.tables.sheets import with_lines

_HIDDEN = frozenset({"collapse", "filter"})
_MOST_COLUMNS = 16_384


_VALUES = {
    "float": "value", "currency": "value", "percentage": "value", "date": "date-value", "time": "time-value",
    "boolean": "boolean-value", "string": "string-value",
}  # fmt: skip
_DECIMAL = re.compile(r"-?\d{1,15}(?:\.\d{1,20})?")


class CellReader(Protocol):
    """A reader of a paragraph's characters."""

    def characters(self, paragraph: Element, drawn: list[Element]) -> str:
        """Return a paragraph's text; collect the frames that it holds."""
        ...


@dataclass(slots=True)
class TableRead:
    """A table's rows, read as they are asked for, and what was met on the way.

    Attributes:
        header: the rows that the table states as its header.
        drawn: frames within cells.
        notes: a line for each noted cell.
        hidden_rows: number of hidden rows with content.
        hidden_columns: the hidden columns with content, from 0.
    """

    header: list[SpannedRow] = field(default_factory=list[SpannedRow])
    rows: Iterator[SpannedRow] = field(default_factory=lambda: iter(()))
    drawn: list[Element] = field(default_factory=list[Element])
    notes: list[str] = field(default_factory=list[str])
    hidden_rows: int = 0
    hidden_columns: set[int] = field(default_factory=set[int])


def table_rows(table: Element, reader: CellReader, budget: CellBudget) -> TableRead:
    """Read a table; rows in groups count as its own, tables inside its cells as words of the cell."""
    read = TableRead()
    walk = _Walk(read, reader, budget, _hidden_columns(table))
    is_body = False
    waiting: list[Element] = []
    for row in _own_rows(table):
        parent = row.getparent()
        if not is_body and parent is not None and local_name(parent) == "table-header-rows":
            read.header += walk.rows(row)
        else:
            is_body = True
            waiting.append(row)
    read.rows = (spanned for row in waiting for spanned in walk.rows(row))
    return read


def _own_rows(table: Element) -> Iterator[Element]:
    for row in table.iter("{*}table-row"):
        if next(row.iterancestors("{*}table")) is table:
            yield row


def _hidden_columns(table: Element) -> set[int]:
    hidden: set[int] = set()
    place = 0
    for column in table.iter("{*}table-column"):
        times = _times(column, "number-columns-repeated")
        if attribute(column, "visibility") in _HIDDEN:
            hidden.update(range(place, min(place + times, _MOST_COLUMNS)))
        place += times
        if place > _MOST_COLUMNS:
            break
    return hidden


class _Walk:
    def __init__(self, read: TableRead, reader: CellReader, budget: CellBudget, hidden: set[int]) -> None:
        self._read = read
        self._reader = reader
        self._budget = budget
        self._hidden = hidden
        self._number = 0

    def rows(self, row: Element) -> Iterator[SpannedRow]:
        """Yield a row, as often as it repeats with content."""
        number = self._number + 1
        spanned = self._row(row, number)
        is_filled = any(spanned.cells)
        self._number += _times(row, "number-rows-repeated")
        times = _times(row, "number-rows-repeated") if is_filled else 1
        if attribute(row, "visibility") in _HIDDEN:
            self._read.hidden_rows += times if is_filled else 0
            return
        self._budget.spend(times * (len(spanned.cells) + 1))
        yield from repeat(spanned, times)

    def _row(self, row: Element, number: int) -> SpannedRow:
        cells: list[str] = []
        spans: list[Span] = []
        noted: list[tuple[int, str]] = []
        skipped = 0
        is_hidden_row = attribute(row, "visibility") in _HIDDEN
        for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            text, note = self._cell(cell)
            repeats = _times(cell, "number-columns-repeated")
            if note and not is_hidden_row:
                noted.append((len(cells) + skipped, note))
            if not text:
                skipped += repeats  # the last of a row reaches to the end of the sheet
                continue
            self._budget.spend(skipped + repeats)
            cells.extend(repeat("", skipped))
            span = Span(len(cells), _times(cell, "number-columns-spanned"), _times(cell, "number-rows-spanned"))
            if span.columns > 1 or span.rows > 1:
                spans.append(span)
            cells.extend(repeat(text, repeats))
            skipped = 0
        self._read.notes += (_noted(number, column, note, cells) for column, note in noted)
        return self._without_hidden(cells, spans)

    def _without_hidden(self, cells: list[str], spans: list[Span]) -> SpannedRow:
        if not self._hidden:
            return SpannedRow(cells, spans)
        self._read.hidden_columns.update(column for column in self._hidden if column < len(cells) and cells[column])
        shown = [cell for column, cell in enumerate(cells) if column not in self._hidden]
        kept: list[Span] = []
        for span in spans:
            if span.column not in self._hidden:
                before = sum(1 for column in self._hidden if column < span.column)
                within = sum(1 for column in self._hidden if span.column < column < span.column + span.columns)
                kept.append(Span(span.column - before, span.columns - within, span.rows))
        return SpannedRow(shown, kept)

    def _cell(self, cell: Element) -> tuple[str, str]:
        """Return the words of a cell and of its note."""
        if local_name(cell) == "covered-table-cell":
            return "", ""
        if len(cell) == 0:
            return valued(_stated_value(cell), _typed_value(cell)), ""
        words: list[str] = []
        notes: list[str] = []
        has_paragraph = False
        for paragraph in cell.iter("{*}p", "{*}h"):
            inside = _holder(paragraph, cell)
            drawn: list[Element] = []
            if inside == "annotation":
                notes.append(self._reader.characters(paragraph, drawn))
            elif not inside:
                has_paragraph = True
                words.append(self._reader.characters(paragraph, drawn))
                self._read.drawn += drawn
        self._read.drawn += cell.iterchildren("{*}frame", "{*}custom-shape", "{*}rect", "{*}g")
        text = with_lines(one_line(" ".join(words)), "\n".join(words)) if has_paragraph else _stated_value(cell)
        return valued(text, _typed_value(cell)), one_line(" ".join(notes))


def _holder(paragraph: Element, cell: Element) -> str:
    """Return what a paragraph stands in, if that is read apart from the words of its cell."""
    for above in paragraph.iterancestors():
        if above is cell:
            return ""
        name = local_name(above)
        if name in {"annotation", "note", "frame", "custom-shape", "rect", "g"}:
            return name
    return ""


def _stated_value(cell: Element) -> str:
    """Return the value of a cell whose writer left its shown text to the program that opens it."""
    if not cell.attrib:
        return ""
    kind = attribute(cell, "value-type")
    value = attribute(cell, _VALUES[kind]) if kind in _VALUES else ""
    if not value:
        return ""
    if kind == "percentage":
        return shown_value(float(value), "0.##%") if _DECIMAL.fullmatch(value) else value
    if kind == "boolean":
        return value.upper()
    currency = attribute(cell, "currency") if kind == "currency" else ""
    return one_line(f"{value} {currency}")


def _typed_value(cell: Element) -> object:
    """Return the value that a cell states beside its shown text: a number, a boolean, or a moment as ISO text."""
    kind = attribute(cell, "value-type")
    value = attribute(cell, _VALUES[kind]) if kind in _VALUES else ""
    if kind in {"float", "currency", "percentage"}:
        return float(value) if _DECIMAL.fullmatch(value) else None
    if kind == "boolean":
        return value == "true"
    return value if kind == "date" else None


def _noted(number: int, column: int, note: str, cells: list[str]) -> str:
    key = next((cell for cell in cells if cell), "")
    value = cells[column] if column < len(cells) else ""
    about = ", ".join(dict.fromkeys(text for text in (key, value) if text))
    return f"{_letters(column)}{number}{f' ({about})' if about else ''}: {note}"


def _letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def _times(element: Element, name: str) -> int:
    value = attribute(element, name)
    times = int(value) if value.isdecimal() and len(value) < 12 else 1
    return max(times, 1)
