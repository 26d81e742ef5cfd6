"""Tables of HTML: spans filled, header cells found, rows as lines of the one table model."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.html_tree import CELLS, HEADINGS, Element
from analytiq.ingestion.parsing.rows import looks_like_number, render_row, without_years
from analytiq.ingestion.parsing.table_lines import (
    HeaderLine,
    RowLine,
    TableLine,
    TitleLine,
    header_line,
    joined_header,
    row_line,
)

MAX_SPAN = 1000
MAX_FILLED = 200_000
"""Most cells that spans of one table fill: a thousand cells, a thousand wide and high each, are a thousand million."""
MAX_NAME_CHARACTERS = 60
LIKELY_DATA_ROWS = 5

_HOLDS_BLOCKS = HEADINGS | {
    "ul",
    "ol",
    "dl",
    "table",
    "pre",
    "blockquote",
    "form",
    "figure",
    "hr",
    "article",
    "section",
}
_PLAIN_ROLES = frozenset({"presentation", "none"})
_DIGITS = re.compile(r"\d{1,6}")
_BOLD = frozenset({"b", "strong"})

CellText = Callable[[Element], str]


@dataclass(slots=True)
class _Row:
    cells: list[Element]
    is_head: bool = False
    texts: list[str] = field(default_factory=list[str])
    is_one_cell: bool = False

    @property
    def names_columns(self) -> bool:
        """Return True if every cell with words is a header cell."""
        filled = [cell for cell in self.cells if cell.tag == "th" or cell.text().strip()]
        return bool(filled) and all(cell.tag == "th" for cell in filled)


def cells_in_order(table: Element) -> Iterator[Element]:
    """Yield the captions and cells of a table, row by row."""
    for child in table.elements():
        if child.tag == "caption":
            yield child
    for row in _rows(table):
        yield from row.cells


def is_layout(table: Element) -> bool:
    """Return True if the table only places text on the page: nothing names its columns, and its cells hold blocks."""
    if table.get("role") in _PLAIN_ROLES:
        return True
    rows = _rows(table)
    cells = [cell for row in rows for cell in row.cells]
    if any(row.is_head for row in rows) or any(child.tag == "caption" for child in table.elements()):
        return False
    if any(cell.tag == "th" for cell in cells):
        return False
    if max((len(row.cells) for row in rows), default=0) < 2:
        return True
    with_blocks = sum(map(_holds_blocks, cells))
    is_long = len(rows) >= LIKELY_DATA_ROWS and with_blocks * 5 < len(cells)
    return with_blocks > 0 and not is_long


def html_table_lines(table: Element, cell_text: CellText) -> Iterator[TableLine]:
    """Yield the lines of a table of data."""
    for child in table.elements():
        if child.tag == "caption" and (title := cell_text(child)):
            yield TitleLine(title)
    rows = _rows(table)
    _fill(rows, cell_text)
    rows = [row for row in rows if any(row.texts)]
    head = _head_size(rows)
    names: tuple[str, ...] = ()
    named: list[Sequence[str]] = []
    for row in rows[:head]:
        if row.is_one_cell:
            yield TitleLine(row.texts[0])
        else:
            named.append(row.texts)
    if named:
        names = joined_header(named)
        yield header_line(names)
    yield from _body_lines(rows[head:], names)


def _body_lines(rows: Sequence[_Row], names: tuple[str, ...]) -> Iterator[TableLine]:
    for row in rows:
        if row.is_one_cell:
            yield RowLine(row.texts[0])
        elif names and row.names_columns and len(set(filter(None, row.texts))) > 1:
            names = tuple(row.texts)
            yield HeaderLine(header_line(names).text, names)
        elif not names and row.cells[0].tag == "th" and row.texts[0]:
            label = row.texts[0].rstrip(" :")
            yield RowLine(f"{label}: {render_row(row.texts[1:], ())}" if any(row.texts[1:]) else label)
        else:
            yield row_line(row.texts, names)


def _rows(table: Element) -> list[_Row]:
    """Return the rows in the order of a screen: head, bodies, foot."""
    head: list[_Row] = []
    body: list[_Row] = []
    foot: list[_Row] = []
    for child in table.elements():
        if child.tag == "tr":
            body.append(_Row(_cells(child)))
        elif child.tag in {"thead", "tbody", "tfoot"}:
            part = {"thead": head, "tbody": body, "tfoot": foot}[child.tag]
            part += [_Row(_cells(row), child.tag == "thead") for row in child.elements() if row.tag == "tr"]
        elif child.tag in CELLS:  # a cell without a row
            body.append(_Row([child]))
    return [row for row in (*head, *body, *foot) if row.cells]


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row.elements() if cell.tag in CELLS]


def _fill(rows: list[_Row], cell_text: CellText) -> None:
    """Set the texts of all rows, those of spans in every column and row that they cover."""
    below: dict[int, tuple[str, int]] = {}
    left = MAX_FILLED
    for row in rows:
        row.is_one_cell = len(row.cells) == 1 and not below
        for cell in row.cells:
            _take_from_above(row.texts, below)
            text = " ".join(cell_text(cell).split())
            width, height = _span(cell, "colspan"), _span(cell, "rowspan")
            left -= width * height - 1
            if left < 0:
                width = height = 1
            for _ in range(width):
                if height > 1:
                    below[len(row.texts)] = (text, height - 1)
                row.texts.append(text)
        _take_from_above(row.texts, below)
    if max((len(row.texts) for row in rows), default=0) < 2:
        for row in rows:
            row.is_one_cell = False


def _take_from_above(texts: list[str], below: dict[int, tuple[str, int]]) -> None:
    """Append the texts of the cells above that reach down to the next columns."""
    while (covered := below.pop(len(texts), None)) is not None:
        text, height = covered
        if height > 1:
            below[len(texts)] = (text, height - 1)
        texts.append(text)


def _span(cell: Element, name: str) -> int:
    found = _DIGITS.match(cell.get(name).strip())
    return min(max(int(found[0]), 1), MAX_SPAN) if found else 1


def _head_size(rows: Sequence[_Row]) -> int:
    """Return the number of rows that name the columns: stated, in bold, or words above numbers."""
    stated = 0
    while stated < len(rows) and rows[stated].is_head:
        stated += 1
    if stated:
        return stated
    while stated < len(rows) and rows[stated].names_columns:
        stated += 1
    if stated == len(rows):
        return 1 if stated > 1 else 0
    if stated and not (stated == 1 and rows[0].is_one_cell):
        return stated
    first = stated
    if len(rows) - first < 2 or any(cell.tag == "th" for cell in rows[first].cells):
        return stated
    return first + 1 if _is_bold(rows[first]) or _is_above_numbers(rows[first:]) else stated


def _is_bold(row: _Row) -> bool:
    filled = [cell for cell in row.cells if cell.text().strip()]
    return len(filled) > 1 and all(_is_all_bold(cell) for cell in filled)


def _is_all_bold(cell: Element) -> bool:
    bold = sum(len("".join(child.text().split())) for child in cell.walk() if child.tag in _BOLD)
    return bold >= len("".join(cell.text().split()))


def _is_above_numbers(rows: Sequence[_Row]) -> bool:
    return not rows[0].is_one_cell and names_above_numbers([row.texts for row in rows])


def names_above_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row holds distinct short words, and a column below it numbers alone."""
    if len(rows) < 3:
        return False
    names, body = rows[0], rows[1:]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        return False
    if any(len(name) > MAX_NAME_CHARACTERS for name in names) or any(map(looks_like_number, without_years(names))):
        return False
    return any(
        all(column < len(row) and looks_like_number(row[column]) for row in body) for column in range(len(names))
    )


def _holds_blocks(cell: Element) -> bool:
    paragraphs = divisions = 0
    for child in cell.walk():
        if child.tag in _HOLDS_BLOCKS:
            return True
        paragraphs += child.tag == "p"
        divisions += child.tag == "div"
    return paragraphs > 1 or divisions > 3
