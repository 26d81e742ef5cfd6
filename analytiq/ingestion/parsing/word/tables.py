"""Tables of Word: merged cells filled, rows of the header found, a line for each row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from analytiq.ingestion.parsing.rows import (
    MAX_HEADER_CHARACTERS,
    SAMPLE_ROWS,
    has_header,
    looks_like_number,
)
from analytiq.ingestion.parsing.table_lines import HeaderLine, RowLine, joined_header, lines_below_header, row_line
from analytiq.ingestion.parsing.word.inline import HIDDEN_BY_CHANGES, Changes
from analytiq.ingestion.parsing.word.names import attribute, child_of, is_on, local_name, number_of, value_of
from analytiq.ingestion.parsing.word.styles import Styles, is_shaded
from analytiq.ingestion.parsing.word.writers import PAGE_START, LineWriter, TablePart
from analytiq.ingestion.parsing.xml_part import Element

MOST_COLUMNS = 63
"""Word's own limit; no span is wider."""
_FREE_FILLING = 64 * 1024
_FILLING_RATIO = 4
_FIRST_ROW = 0x0020
"""The bit of `w:tblLook` for a first row that is set off."""
_WRAPPERS = frozenset({"sdt", "sdtContent", "customXml", "smartTag", "ins", "del", "moveFrom", "moveTo"})

ReadCell = Callable[[Element], LineWriter]


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    span: int
    merge: str
    """`restart` and `continue` of a cell that spans rows, else ""."""
    is_set_off: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[_Cell, ...]
    before: int
    is_header: bool
    starts_page: bool
    breaks: int

    @property
    def is_spanned(self) -> bool:
        """Return True for a single cell across the table."""
        return len(self.cells) == 1 and self.cells[0].span > 1


def visible_rows(element: Element, changes: Changes) -> Iterator[Element]:
    """Yield the row that a child of a table is, or those in a content control, without deleted and hidden ones."""
    yield from _within(element, "tr", HIDDEN_BY_CHANGES[changes])


def visible_cells(row: Element, changes: Changes) -> Iterator[Element]:
    """Yield the cells of a row, without deleted ones."""
    hidden = HIDDEN_BY_CHANGES[changes]
    for child in row:
        for cell in _within(child, "tc", hidden):
            marks = {"del": "cellDel", "ins": "cellIns"}
            properties = child_of(cell, "tcPr")
            if not any(child_of(properties, mark) is not None for name, mark in marks.items() if name in hidden):
                yield cell


def _within(element: Element, name: str, hidden: frozenset[str]) -> Iterator[Element]:
    own = local_name(element)
    if own in hidden:
        return
    if own == name:
        properties = child_of(element, f"{name}Pr")
        is_gone = properties is not None and any(local_name(child) in hidden for child in properties)
        if not is_gone and not is_on(child_of(properties, "hidden")):
            yield element
    elif own in _WRAPPERS:
        for child in element:
            yield from _within(child, name, hidden)


class TableReader:
    """Takes the children of a table one by one; `lines` returns what they hold."""

    def __init__(self, read_cell: ReadCell, styles: Styles, changes: Changes) -> None:
        self._read_cell = read_cell
        self._styles = styles
        self._changes: Changes = changes
        self._rows: list[_Row] = []
        self._sets_off_first_row = False
        self._filling = _FREE_FILLING
        self.is_single_column = False

    def take(self, child: Element) -> None:
        """Read a child of the table: its properties, its grid, or rows."""
        match local_name(child):
            case "tblPr":
                look = child_of(child, "tblLook")
                has_look = look is not None and _has_first_row(look)
                self._sets_off_first_row = has_look and self._styles.has_header_row(
                    value_of(child_of(child, "tblStyle"))
                )
            case "tblGrid":
                self.is_single_column = sum(1 for _ in child.iterchildren("{*}gridCol")) == 1
            case _:
                for row in visible_rows(child, self._changes):
                    self._rows.append(self._row(row))

    def lines(self) -> Iterator[TablePart]:
        """Yield the lines of the table and the starts of pages among them."""
        grid = [self._filled(row, above) for row, above in self._with_merges()]
        height = self._header_height(grid)
        names: Sequence[str] = ()
        if self._rows and self._rows[0].starts_page:
            yield PAGE_START
        for line in lines_below_header(grid[:height], ()):
            if isinstance(line, HeaderLine):
                names = [_short(name) for name in line.names]
            yield line
        for row, values in zip(self._rows[height:], grid[height:], strict=True):
            if row.starts_page:
                yield PAGE_START
            line = RowLine(row.cells[0].text) if row.is_spanned else row_line(values, names)
            if line.text:
                yield line
            if row.breaks:
                yield PAGE_START

    def _row(self, element: Element) -> _Row:
        properties = child_of(element, "trPr")
        cells: list[_Cell] = []
        breaks, starts_page = 0, False
        for cell in visible_cells(element, self._changes):
            read = self._read_cell(cell)
            breaks = max(breaks, read.breaks)
            starts_page = starts_page or read.leading_breaks > 0
            cells.append(self._cell(cell, read.cell))
            self._filling += _FILLING_RATIO * len(cells[-1].text)
        before = min(max(number_of(child_of(properties, "gridBefore")), 0), MOST_COLUMNS)
        return _Row(tuple(cells), before, is_on(child_of(properties, "tblHeader")), starts_page, breaks)

    def _cell(self, element: Element, text: str) -> _Cell:
        properties = child_of(element, "tcPr")
        span = min(max(number_of(child_of(properties, "gridSpan"), 1), 1), MOST_COLUMNS)
        merged, beside = child_of(properties, "vMerge"), child_of(properties, "hMerge")
        merge = "" if merged is None else value_of(merged, "continue")
        if beside is not None and value_of(beside, "continue") == "continue":
            merge = "beside"
        is_set_off = not self._rows and (is_shaded(child_of(properties, "shd")) or _is_bold(element))
        return _Cell(text, span, merge, is_set_off)

    def _with_merges(self) -> Iterator[tuple[_Row, dict[int, str]]]:
        """Yield each row with the texts of the cells that reach into it from above, by column."""
        above: dict[int, str] = {}
        for row in self._rows:
            yield row, above
            below: dict[int, str] = {}
            column = row.before
            for cell in row.cells:
                if cell.merge in {"restart", "continue"}:
                    text = cell.text or (above.get(column, "") if cell.merge == "continue" else "")
                    below.update(dict.fromkeys(range(column, column + cell.span), text))
                column += cell.span
            above = below

    def _filled(self, row: _Row, above: dict[int, str]) -> list[str]:
        values = [""] * row.before
        for cell in row.cells:
            text = cell.text
            if not text and cell.merge == "continue":
                text = self._afforded(above.get(len(values), ""))
            elif not text and cell.merge == "beside":
                text = self._afforded(values[-1] if values else "")
            values.append(text)
            for _ in range(cell.span - 1):
                values.append(self._afforded(text))
        return values

    def _afforded(self, text: str) -> str:
        """Return a text to repeat, "" once a table would grow to a multiple of what it holds."""
        self._filling -= len(text)
        return text if self._filling >= 0 else ""

    def _header_height(self, grid: list[list[str]]) -> int:
        """Return the number of rows that name the columns, titles above them included; 0 without any."""
        stated = sum(1 for _ in takewhile(lambda row: row.is_header, self._rows))
        if stated:
            return stated if stated < len(self._rows) else min(1, len(self._rows) - 1)
        first = sum(1 for _ in takewhile(lambda row: row.is_spanned, self._rows))
        if len(self._rows) - first < 2 or self._has_names_at_the_side(grid):
            return 0
        top = self._rows[first]
        is_set_off = self._sets_off_first_row or (first == 0 and all(cell.is_set_off for cell in top.cells))
        for height in (2, 1) if any(cell.span > 1 for cell in top.cells) else (1,):
            end = first + height
            names = joined_header(grid[first:end])
            if end < len(grid) and (is_set_off and _may_name(names)):
                return end
            if has_header([names, *grid[end : end + SAMPLE_ROWS]]):
                return end
        return 0

    def _has_names_at_the_side(self, grid: list[list[str]]) -> bool:
        """Return True for a form of two columns, each row of which is a name and its value."""
        looks = [cell.is_set_off for cell in self._rows[0].cells]
        if len(looks) == 2 and looks == [True, False]:
            return True
        firsts = [row[0] for row in grid[:SAMPLE_ROWS] if row and row[0]]
        return bool(firsts) and 2 * sum(text.endswith((":", "：")) for text in firsts) > len(firsts)


def _has_first_row(look: Element) -> bool:
    stated = attribute(look, "firstRow")
    if stated is not None:
        return stated.lower() in {"1", "true", "on"}
    try:
        return bool(int(value_of(look, "0"), 16) & _FIRST_ROW)
    except ValueError:
        return False


def _is_bold(cell: Element) -> bool:
    """Return True if a cell has text, all of it bold."""
    found = False
    for text in cell.iter("{*}t"):
        run = text.getparent()
        if (text.text or "").strip():
            if run is None or not is_on(child_of(run, "rPr", "b")):
                return False
            found = True
    return found


def _may_name(names: Sequence[str]) -> bool:
    return sum(map(bool, names)) > 1 and not all(looks_like_number(name) for name in names if name)


def _short(name: str) -> str:
    """Return a name for each row to repeat; the header's own line has it whole."""
    return name if len(name) <= MAX_HEADER_CHARACTERS else f"{name[:MAX_HEADER_CHARACTERS].rstrip()}…"
