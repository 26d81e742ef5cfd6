"""The collection of table rows while a document's parser runs, as `parsing.figures` collects pictures.

The collector is set in the child process that reads a document for its tables; elsewhere, rows go nowhere.
"""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from analytiq.errors import LimitExceededError

MAX_CELLS = 5_000_000
"""Most cells of all tables of a document; a cell takes about 100 bytes until it is typed."""
_LONGEST_TITLE = 200
_PART = re.compile(
    r"[\s(\[–-]{0,4}(?:\b(?:continued|cont['’]?d|cont|fortsetzung|forts|suite)\b\.?|\b\d{1,3} ?(?:/|of|von) ?\d{1,3})"
    r"[\s)\]]{0,3}$",
    re.IGNORECASE,
)
"""End of a title that only tells that a table goes on: `(continued)`, `(2 of 3)`."""


class ValuedText(str):
    """The shown text of a cell, with the value that the file states for it.

    A spreadsheet shows 12% where it has 0.1234, and sums are of what it has.
    """

    __slots__ = ("value",)

    value: object


@dataclass(slots=True, eq=False)
class CollectedTable:
    """Rows under the same names; `spans` are the rows' ranges in the text of their pages, as (page, start, end)."""

    title: str
    names: tuple[str, ...]
    rows: list[Sequence[str]] = field(default_factory=list[Sequence[str]])
    spans: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    page_number: int = 0
    page_name: str = ""


class RowCollector:
    """Collects the rows of tables that builders write, in the order of the document."""

    def __init__(self) -> None:
        self._tables: list[CollectedTable] = []
        self._unplaced: dict[int, list[tuple[CollectedTable, int]]] = {}
        """Builder → its tables, and their first row, on the page that it writes."""
        self._current: CollectedTable | None = None
        self._cells = 0

    def begin(self, title: str = "") -> None:
        """Begin another table."""
        self._current = CollectedTable(title, ())

    def resume(self, names: Sequence[str]) -> None:
        """Continue the table before, if it has these names: it goes on from another page."""
        before = self._tables[-1] if self._tables else None
        if before is not None and _are_same(before.names, names):
            self._current = before
        elif self._current is None or self._current.rows:
            self._current = CollectedTable("", ())

    def add(self, builder: int, names: Sequence[str], cells: Sequence[str], start: int, end: int) -> None:
        """Add a row that a builder wrote at `start` to `end` of its page.

        Raises:
            LimitExceededError: the document has more than `MAX_CELLS` cells.
        """
        self._cells += len(cells)
        if self._cells > MAX_CELLS:
            raise LimitExceededError(
                f"The tables of the document have more than {MAX_CELLS:,} cells: split it to query them."
            )
        table = self._current
        if table is None or (table.rows and not _are_same(table.names, names)):
            table = self._current = CollectedTable("" if table is None else table.title, tuple(names))
        if not table.rows:
            table.names = tuple(names)
            self._tables.append(table)
        placed = self._unplaced.setdefault(builder, [])
        if not placed or placed[-1][0] is not table:
            placed.append((table, len(table.rows)))
        table.rows.append(cells)
        table.spans.append((0, start, end))

    def end_page(self, builder: int, page_number: int, page_name: str) -> None:
        """Note the page of the rows that a builder has written since its last one."""
        placed = self._unplaced.pop(builder, [])
        for table, first in placed:
            if not table.page_number:
                table.page_number, table.page_name = page_number, page_name
            table.spans[first:] = [(page_number, start, end) for _, start, end in table.spans[first:]]
        if placed and page_name:
            self._join(placed[0][0])

    def _join(self, table: CollectedTable) -> None:
        """Add the first table of a page to the last one of the page before, if it goes on there by its titles."""
        place = next(place for place in reversed(range(len(self._tables))) if self._tables[place] is table)
        before = self._tables[place - 1] if place else None
        if before is None or not _are_same(before.names, table.names) or not any(table.names) or not before.page_number:
            return
        is_next = before.spans[-1][0] == table.page_number - 1
        if is_next and _titles(before) == _titles(table):
            before.rows += table.rows
            before.spans += table.spans
            del self._tables[place]
            if self._current is table:
                self._current = before

    def tables(self) -> list[CollectedTable]:
        """Return the tables on pages; rows of a reading that was given up are on none."""
        return [table for table in self._tables if table.page_number]


def _are_same(names: Sequence[str], others: Sequence[str]) -> bool:
    """Compare names of columns without blanks, which differ where a PDF repeats its header."""
    if tuple(names) == tuple(others):
        return True
    return ["".join(name.split()) for name in names] == ["".join(name.split()) for name in others]


def _titles(table: CollectedTable) -> tuple[str, str]:
    title, name = (text[-_LONGEST_TITLE:].strip() for text in (table.title, table.page_name))
    return _PART.sub("", title).casefold(), _PART.sub("", name).casefold()


_collecting: ContextVar[RowCollector | None] = ContextVar("rows_collected", default=None)


@contextmanager
def collecting_rows(collector: RowCollector) -> Generator[None]:
    """Offer the table rows of documents read within the block to `collector`."""
    token = _collecting.set(collector)
    try:
        yield
    finally:
        _collecting.reset(token)


def rows_wanted() -> RowCollector | None:
    """Return the collector, if rows are collected."""
    return _collecting.get()


def valued(text: str, value: object) -> str:
    """Return a cell's shown text with its value, if rows are collected."""
    if not text or _collecting.get() is None:
        return text
    cell = ValuedText(text)
    cell.value = value
    return cell


def sanitize_cell(text: str) -> str:
    """Return a text that UTF-8 and the query engine can hold: without NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
