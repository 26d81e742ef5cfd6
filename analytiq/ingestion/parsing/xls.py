"""Excel workbooks of the old format (XLS), read by xlrd, with a page for each sheet."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import time, timedelta
from pathlib import Path
from typing import Any, cast

import xlrd
from xlrd.biffh import XLRDError
from xlrd.formula import FormulaError
from xlrd.xldate import XLDateError, xldate_as_datetime

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.compound_file import SIGNATURE, CompoundFile
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.ingestion.parsing.sheet_text import CellBudget, hidden_cells, hidden_sheets, one_line, sheet_lines
from analytiq.ingestion.parsing.spans import Span, SpannedRow, filled_rows
from analytiq.ingestion.parsing.summary_information import stated_title
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.ingestion.tables.collecting import valued
from analytiq.ingestion.tables.sheets import begin_sheet, collected_rows, with_lines
from analytiq.models.text import ParsedDocument, ParsedPage

_NOUN = "workbook"
_HIDING_FORMAT = ";;;"
_LONGEST_KEY = 80
_DAMAGES = (FormulaError, AssertionError, struct.error, IndexError, KeyError, TypeError, ValueError)
"""Errors of xlrd on damaged workbooks; it checks little of what it reads."""


class _Silence:
    """xlrd's log, which quotes the workbook."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class _Hidden:
    sheets: list[str] = field(default_factory=list[str])
    rows: int = 0
    columns: int = 0
    cells: int = 0


class XlsParser:
    """The visible sheets in order, each a page that begins with the sheet's name."""

    content_types = ("application/vnd.ms-excel",)
    extensions = (".xls", ".xlt")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the values last computed by Excel; skip what is hidden, and tell it in a warning."""
        try:
            return _read(*_opened(path), options, report_progress)
        except XLRDError as error:
            if "encrypted" in str(error):
                raise needs_password(_NOUN) from error
            raise _damaged(error) from error
        except _DAMAGES as error:
            raise _damaged(error) from error


def _opened(path: Path) -> tuple[Any, str]:
    """Return the workbook and its title; the oldest workbooks are no compound files."""
    with path.open("rb") as file:
        is_compound = file.read(len(SIGNATURE)) == SIGNATURE
    container = CompoundFile(path, noun=_NOUN) if is_compound else None
    if container is None:
        content, title = path.read_bytes(), ""
    else:
        content = container.read(container.root, "Workbook") or container.read(container.root, "Book") or b""
        title = stated_title(container)
    # Rows only as long as their cells: a single cell in the last row and column would span 16 million.
    book = cast("Any", xlrd).open_workbook(
        file_contents=content, logfile=_Silence(), formatting_info=True, ragged_rows=True, on_demand=True
    )
    return book, title


def _damaged(error: Exception) -> CorruptFileError:
    return CorruptFileError(f"The {_NOUN} is damaged ({error}): save it again, then upload it.")


def _read(book: Any, title: str, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
    names = [str(name) for name in book.sheet_names()]
    shown = [index for index in range(len(names)) if book._sheet_visibility[index] == 0]  # noqa: SLF001
    if len(shown) > options.max_pages:
        raise LimitExceededError(f"The workbook has {len(shown)} sheets; at most {options.max_pages} are read.")
    if not shown:
        raise CorruptFileError("The workbook has no visible sheet: unhide one, then upload it again.")
    hidden = _Hidden([name for index, name in enumerate(names) if index not in set(shown)])
    budget, pages = CellBudget(), list[ParsedPage]()
    for page_number, index in enumerate(shown, start=1):
        sheet = book.sheet_by_index(index)
        pages.append(_page(page_number, one_line(names[index]), _Sheet(book, sheet, hidden, budget)))
        book.unload_sheet(index)
        report_progress(page_number, len(shown))
    warnings = (*hidden_sheets(hidden.sheets), *hidden_cells(hidden.rows, hidden.columns, hidden.cells))
    return ParsedDocument(tuple(pages), tuple(warnings), telling_title(title))


def _page(page_number: int, name: str, sheet: "_Sheet") -> ParsedPage:
    builder = TextBuilder()
    builder.heading(name, 1)
    begin_sheet(name)
    builder.table(sheet_lines(collected_rows(filled_rows(sheet.rows(), sheet.budget))))
    if notes := list(sheet.notes()):
        builder.heading("Notes", 2)
        for note in notes:
            builder.list_item(note)
    page = builder.page(page_number, name=name)
    return page if len(page.blocks) > 1 else ParsedPage(page_number, "", name=name)


class _Sheet:
    """A sheet's rows as they are shown."""

    def __init__(self, book: Any, sheet: Any, hidden: _Hidden, budget: CellBudget) -> None:
        self._book = book
        self._sheet = sheet
        self._hidden = hidden
        self.budget = budget
        self._about: dict[tuple[int, int], str] = {}
        self._noted: dict[int, list[int]] = {}
        for row, column in sheet.cell_note_map:
            self._noted.setdefault(row, []).append(column)

    def rows(self) -> Iterator[SpannedRow]:
        """Yield the visible rows."""
        spans: dict[int, list[Span]] = {}
        for first_row, end_row, first_column, end_column in self._sheet.merged_cells:
            spans.setdefault(first_row, []).append(Span(first_column, end_column - first_column, end_row - first_row))
        hidden_columns = {number for number, info in self._sheet.colinfo_map.items() if info.hidden}
        seen_hidden = set[int]()
        for number in range(self._sheet.nrows):
            cells = [self._shown(cell) for cell in self._sheet.row(number)]
            self.budget.spend(len(cells) + 1)
            info = self._sheet.rowinfo_map.get(number)
            if info is not None and info.hidden:
                self._hidden.rows += any(cells)
                continue
            for column in hidden_columns:
                if column < len(cells) and cells[column]:
                    seen_hidden.add(column)
                    cells[column] = ""
            self._note(number, cells)
            yield SpannedRow(cells, spans.get(number, ()))
        self._hidden.columns += len(seen_hidden)

    def notes(self) -> Iterator[str]:
        """Yield the notes of visible cells, each with its cell and the value in it."""
        for (row, column), about in self._about.items():
            if text := one_line(str(self._sheet.cell_note_map[row, column].text)):
                yield f"{about}: {text}"

    def _note(self, row: int, cells: list[str]) -> None:
        """Keep the noted cells' values, and the first cell of their row as its key."""
        for column in self._noted.get(row, ()):
            value = cells[column] if column < len(cells) else ""
            key = next((cell for cell in cells if cell), "")
            about = ", ".join(dict.fromkeys(text[:_LONGEST_KEY] for text in (key, value) if text))
            self._about[row, column] = f"{xlrd.cellname(row, column)}{f' ({about})' if about else ''}"

    def _shown(self, cell: Any) -> str:
        kind, value = cell.ctype, cell.value
        if kind in {xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}:
            return ""
        number_format = self._number_format(cell)
        if number_format.strip() == _HIDING_FORMAT:
            self._hidden.cells += 1
            return ""
        if kind == xlrd.XL_CELL_BOOLEAN:
            return valued(shown_value(bool(value)), bool(value))
        if kind == xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(value, ""))
        if kind == xlrd.XL_CELL_DATE:
            moment = self._moment(value, number_format)
            return valued(shown_value(moment, number_format), moment)
        return valued(with_lines(shown_value(value, number_format), value), value)

    def _number_format(self, cell: Any) -> str:
        formats = self._book.xf_list
        if cell.xf_index is None or cell.xf_index >= len(formats):
            return "General"
        found = self._book.format_map.get(formats[cell.xf_index].format_key)
        return "General" if found is None else str(found.format_str)

    def _moment(self, value: float, number_format: str) -> object:
        if "[h" in number_format.lower():
            return timedelta(days=value)
        try:
            moment = xldate_as_datetime(value, self._book.datemode)
        except (XLDateError, OverflowError, ValueError):
            return value
        return time(moment.hour, moment.minute, moment.second) if 0 <= value < 1 else moment
