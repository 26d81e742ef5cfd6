"""Tables of rich text: a grid by the right edges of cells, with the spans that they form."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from analytiq.ingestion.parsing.html_table import names_above_numbers
from analytiq.ingestion.parsing.rtf_look import is_shade
from analytiq.ingestion.parsing.sheet_text import CellBudget, sheet_lines
from analytiq.ingestion.parsing.spans import Span, SpannedRow, filled_rows
from analytiq.ingestion.parsing.table_lines import RowLine, TableLine, lines_below_header

MAX_CELLS = 1000
"""Most cells of a row; a longer one goes on as another."""
_SAME_EDGE = 60
"""Twips (1/20 point) by which edges of one column differ from row to row."""


@dataclass(slots=True)
class _Definition:
    """The properties that stand before the cells of a row.

    Attributes:
        edges: the right edge of each cell, in twips.
        merges: for each cell the control words of merging.
    """

    edges: list[int] = field(default_factory=list[int])
    merges: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    is_header: bool = False
    is_painted: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    cells: Sequence[str]
    definition: _Definition


class RtfTable:
    """Collects the rows of one table."""

    def __init__(self) -> None:
        self._definition = _Definition()
        self._marks: set[str] = set()
        self._rows: list[_Row] = []

    @property
    def is_painted(self) -> bool:
        """Return True if a cell of the present row has a ground of its own."""
        return self._definition.is_painted

    def define(self, word: str, number: int | None, whites: Sequence[bool]) -> None:
        """Take in a control word of a row's definition."""
        definition = self._definition
        if word == "trowd":
            self._definition, self._marks = _Definition(), set()
        elif word == "trhdr":
            definition.is_header = True
        elif word in {"clmrg", "clvmgf", "clvmrg"}:
            self._marks.add(word)
        elif word in {"clcbpat", "trcbpat", "clshdng"}:
            definition.is_painted |= word == "clshdng" or is_shade(number, whites)
        elif word == "cellx" and len(definition.edges) < MAX_CELLS:
            definition.edges.append(number or 0)
            definition.merges.append(frozenset(self._marks))
            self._marks = set()

    def add(self, cells: Sequence[str]) -> None:
        """Add a row, which the present definition describes."""
        if any(cells):
            self._rows.append(_Row(cells, self._definition))

    def take(self) -> list[TableLine]:
        """Return the lines of the table, and begin another."""
        rows, self._rows = self._rows, []
        return list(_lines(rows))


def _lines(rows: list[_Row]) -> Iterator[TableLine]:
    headers = sum(1 for _ in takewhile(lambda row: row.definition.is_header, rows))
    spanned = _spanned(rows)
    has_spans = any(row.spans for row in spanned)
    cells = list(filled_rows(spanned, CellBudget()))
    if 0 < headers < len(rows):
        yield from lines_below_header(cells[:headers], cells[headers:])
    elif has_spans:
        yield from sheet_lines(cells)
    elif names_above_numbers(cells):
        yield from lines_below_header(cells[:1], cells[1:])
    else:
        yield from (RowLine(" | ".join(filter(None, row))) for row in cells)


def _spanned(rows: list[_Row]) -> list[SpannedRow]:
    if not all(len(row.definition.edges) >= len(row.cells) for row in rows):
        return [SpannedRow(row.cells) for row in rows]
    grid = _grid(sorted({edge for row in rows for edge in row.definition.edges}))
    if len(grid) > MAX_CELLS:
        return [SpannedRow(row.cells) for row in rows]
    placed = [dict(_placed(row, grid)) for row in rows]
    going_on = _rows_below(placed)
    return [_on_grid(number, cells, going_on) for number, cells in enumerate(placed)]


@dataclass(slots=True)
class _Cell:
    text: str
    columns: int
    goes_on: bool
    """True for the upper cell of a vertical merge."""
    is_covered: bool


def _grid(edges: Sequence[int]) -> list[int]:
    grid: list[int] = []
    for edge in edges:
        if not grid or edge - grid[-1] > _SAME_EDGE:
            grid.append(edge)
    return grid


def _placed(row: _Row, grid: Sequence[int]) -> Iterator[tuple[int, _Cell]]:
    """Yield the cells of a row by their first columns; a cell merged to the left widens its neighbour."""
    begin = 0
    last: _Cell | None = None
    for place, (edge, merges) in enumerate(zip(row.definition.edges, row.definition.merges, strict=True)):
        end = max(bisect_left(grid, edge - _SAME_EDGE) + 1, begin + 1)
        text = row.cells[place] if place < len(row.cells) else ""
        if "clmrg" in merges and last is not None and not text:
            last.columns += end - begin
        else:
            last = _Cell(text, end - begin, "clvmgf" in merges, "clvmrg" in merges and not text)
            yield begin, last
        begin = end


def _rows_below(rows: Sequence[dict[int, _Cell]]) -> dict[tuple[int, int], int]:
    """Return the number of rows of each vertical merge, by the row and column of its upper cell."""
    heights: dict[tuple[int, int], int] = {}
    open_at: dict[int, int] = {}
    for number, cells in enumerate(rows):
        for column, cell in cells.items():
            if cell.goes_on:
                open_at[column] = number
            elif cell.is_covered and column in open_at:
                heights[open_at[column], column] = number - open_at[column] + 1
            else:
                open_at.pop(column, None)
    return heights


def _on_grid(number: int, cells: dict[int, _Cell], heights: dict[tuple[int, int], int]) -> SpannedRow:
    width = max((column + cell.columns for column, cell in cells.items()), default=0)
    texts = [""] * width
    spans: list[Span] = []
    for column, cell in cells.items():
        texts[column] = cell.text
        height = heights.get((number, column), 1)
        if cell.text and (cell.columns > 1 or height > 1):
            spans.append(Span(column, cell.columns, height))
    return SpannedRow(texts, spans)
