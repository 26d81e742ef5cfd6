"""The pages of a workbook: each sheet's name, rows, shapes, charts, notes, and printed heads and feet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any
from zipfile import ZipFile

from lxml import etree

from analytiq.ingestion.parsing.cell_sight import CellSight
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.chart_text import write_chart
from analytiq.ingestion.parsing.completeness import SourceWords
from analytiq.ingestion.parsing.diagram_text import write_diagram
from analytiq.ingestion.parsing.drawing_text import described, shapes, visible_root, write_picture
from analytiq.ingestion.parsing.office_words import append_lost, related_pieces
from analytiq.ingestion.parsing.open_xml import relations
from analytiq.ingestion.parsing.sheet_parts import (
    SheetScan,
    SheetTable,
    cells_of,
    scan_sheet,
    shape_text,
    sheet_notes,
    sheet_tables,
    without_escapes,
)
from analytiq.ingestion.parsing.sheet_text import CellBudget, hidden_cells, one_line, sheet_lines
from analytiq.ingestion.parsing.spans import SpannedRow, filled_rows
from analytiq.ingestion.parsing.table_lines import TableLine, TitleLine, lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import parsed_xml
from analytiq.ingestion.tables.collecting import valued
from analytiq.ingestion.tables.sheets import begin_sheet, collected_rows, with_lines
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedPage

_CHARTS = frozenset({"chart", "chartEx"})
_LONGEST_KEY = 80
_HIDING_FORMAT = ";;;"
MOST_COMPARED = 1_000_000
"""Most cells of a sheet whose words are compared with its text: a distinct word takes about 100 bytes."""


@dataclass(frozen=True, slots=True)
class WorkSheet:
    """A sheet of cells, and openpyxl's reader of them."""

    name: str
    state: str
    part: str
    reader: Any


@dataclass(frozen=True, slots=True)
class ChartSheet:
    """A sheet that is a single chart."""

    name: str
    state: str
    part: str


@dataclass(slots=True)
class _Hidden:
    rows: int = 0
    cells: int = 0
    columns: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])


class SheetPages:
    """Reads sheet after sheet, and counts what is hidden in them."""

    def __init__(self, archive: ZipFile, *, read_sheets: Sequence[str]) -> None:
        self.pages: list[ParsedPage] = []
        self._archive = archive
        self._read_sheets = read_sheets
        self._budget = CellBudget()
        self._hidden = _Hidden()
        self._rows_out_of_order = self._appended_words = 0
        self._sight = CellSight()
        self._words = SourceWords()

    def add(self, page_number: int, sheet: WorkSheet | ChartSheet) -> None:
        """Read a sheet as the next page."""
        builder = TextBuilder()
        name = one_line(without_escapes(sheet.name))
        builder.heading(name, 1)
        begin_sheet(name)
        if isinstance(sheet, WorkSheet):
            self._write_cells(builder, sheet)
        else:
            self._write_drawings(builder, sheet.part)
        page = builder.page(page_number, name=name)
        self.pages.append(page if len(page.blocks) > 1 else ParsedPage(page_number, "", name=name))

    def warnings(self) -> Iterator[str]:
        """Yield what was left out because it is hidden."""
        hidden = self._hidden
        yield from hidden_cells(hidden.rows, len(hidden.columns), hidden.cells)
        if self._rows_out_of_order:
            yield f"{self._rows_out_of_order} rows are out of order and were not read; save the workbook in Excel first"
        if self._appended_words:
            yield f"{self._appended_words} words stand in unusual places; they are at the end of their sheets"

    def _write_cells(self, builder: TextBuilder, sheet: WorkSheet) -> None:
        scan = scan_sheet(self._archive, sheet.part)
        self._rows_out_of_order += scan.rows_out_of_order
        notes = _Notes(sheet_notes(self._archive, sheet.part))
        rows = self._numbered_rows(sheet, scan, notes)
        builder.table(_lines(rows, scan, sheet_tables(self._archive, sheet.part), self._budget))
        lost = self._words.lost(builder.texts())
        builder.paragraph(" ".join(lost.elements()))
        self._appended_words += lost.total()
        self._write_drawings(builder, sheet.part)
        if notes.texts:
            builder.heading("Notes", 2)
            for text in notes.lines():
                builder.list_item(text)
        for text in scan.furniture:
            builder.paragraph(text, kind=BlockKind.FURNITURE)

    def _numbered_rows(self, sheet: WorkSheet, scan: SheetScan, notes: "_Notes") -> Iterator[tuple[int, list[str]]]:
        # The declared extent of a sheet may be wrong; without it rows are as long as their cells.
        sheet.reader.reset_dimensions()
        left = MOST_COMPARED
        has_looks = scan.has_looks or any(one.kind == "pivotTable" for one in relations(self._archive, sheet.part))
        for number, row in enumerate(sheet.reader.iter_rows(), start=1):
            self._budget.spend(len(row) + 1)
            cells = [self._shown(cell, has_looks=has_looks) if cell.value is not None else "" for cell in row]
            if number in scan.hidden_rows:
                self._hidden.rows += any(cells)
                notes.forget(number)
                continue
            for column in scan.hidden_columns:
                if column <= len(cells) and cells[column - 1]:
                    self._hidden.columns.add((sheet.part, column))
            notes.note_row(number, cells)
            for column, cell in enumerate(cells, start=1):
                if cell and left > 0 and column not in scan.hidden_columns:
                    self._words.add(one_line(cell))
                    left -= 1
            yield number, cells

    def _shown(self, cell: Any, *, has_looks: bool) -> str:
        value, number_format = cell.value, cell.number_format
        is_hidden = bool(number_format) and number_format.strip() == _HIDING_FORMAT
        if is_hidden or self._sight.is_unseen(cell, has_looks=has_looks):
            self._hidden.cells += 1
            return ""
        original = without_escapes(value) if isinstance(value, str) else value
        return valued(with_lines(shown_value(original, number_format), original), value)

    def _write_drawings(self, builder: TextBuilder, part: str) -> None:
        for drawing in relations(self._archive, part):
            if drawing.kind != "drawing":
                continue
            root = visible_root(parsed_xml(self._archive.read(drawing.part)))
            related = {relation.id: relation for relation in relations(self._archive, drawing.part)}
            for anchor in root.iter("{*}twoCellAnchor", "{*}oneCellAnchor", "{*}absoluteAnchor"):
                for shape in shapes(anchor):
                    if etree.QName(shape).localname == "pic":
                        builder.paragraph(described(shape), kind=BlockKind.IMAGE)
                        write_picture(builder, self._archive, related, shape)
                    builder.paragraph(without_escapes(shape_text(shape)))
            for chart in related.values():
                if chart.kind in _CHARTS:
                    words = parsed_xml(self._archive.read(chart.part))
                    write_chart(builder, words, without_values_of=self._read_sheets)
                elif chart.kind == "diagramData":
                    write_diagram(builder, parsed_xml(self._archive.read(chart.part)))
            self._appended_words += append_lost(builder, related_pieces(self._archive, drawing.part))


class _Notes:
    """The notes of a sheet with the cells to which they belong."""

    def __init__(self, by_cell: dict[str, list[str]]) -> None:
        self.texts = by_cell
        self._rows: dict[int, list[tuple[int, str]]] = {}
        self._about: dict[str, str] = {}
        for reference in by_cell:
            cells = cells_of(reference)
            if cells is not None:
                self._rows.setdefault(cells[0], []).append((cells[1], reference))

    def forget(self, row: int) -> None:
        """Leave out the notes of a hidden row."""
        for _, reference in self._rows.get(row, ()):
            self.texts.pop(reference, None)

    def note_row(self, row: int, cells: Sequence[str]) -> None:
        """Keep the noted cells' values, and the first cell of their row as its key."""
        for column, reference in self._rows.get(row, ()):
            value = cells[column - 1] if column <= len(cells) else ""
            key = next((cell for cell in cells if cell), "")
            about = dict.fromkeys(text[:_LONGEST_KEY] for text in (key, value) if text)
            self._about[reference] = ", ".join(about)

    def lines(self) -> Iterator[str]:
        """Yield a line for each noted cell: `B2 (Tea, 5): ask Ann`."""
        for reference, texts in self.texts.items():
            about = self._about.get(reference)
            yield f"{reference}{f' ({about})' if about else ''}: {' / '.join(texts)}"


def _lines(
    rows: Iterator[tuple[int, list[str]]], scan: SheetScan, tables: Sequence[SheetTable], budget: CellBudget
) -> Iterator[TableLine]:
    """Yield a sheet's lines: the tables that it defines under their own headers, the others by their looks."""
    left = list(reversed(tables))

    def table_of(row: tuple[int, list[str]]) -> SheetTable | None:
        while left and left[-1].last_row < row[0]:
            left.pop()
        return left[-1] if left and left[-1].first_row <= row[0] else None

    def cells(group: Iterable[tuple[int, list[str]]]) -> Iterator[list[str]]:
        spanned = (SpannedRow(row, scan.spans.get(number, ())) for number, row in group)
        for row in filled_rows(spanned, budget):
            if scan.hidden_columns:
                yield [cell for column, cell in enumerate(row, start=1) if column not in scan.hidden_columns]
            else:
                yield row

    for table, group in groupby(rows, key=table_of):
        if table is None:
            yield from sheet_lines(collected_rows(cells(group)))
            continue
        if table.name:
            yield TitleLine(table.name)
        body = collected_rows(cells(group))
        header = list(islice(body, table.header_rows))
        yield from lines_below_header(header, body)
