"""The collection of whole sheets while a workbook's parser runs: every shown row, before tables are told from titles.

The collector is set in the child process that reads a workbook for its rows; elsewhere, rows go nowhere. Beside it,
`collecting` keeps the rows of tables, which need names of columns.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from analytiq.errors import LimitExceededError
from analytiq.ingestion.tables.collecting import sanitize_cell
from analytiq.models.tables import SheetRows

MAX_CELLS = 1_000_000
"""Most cells of the rows that are kept; empty ones at the end of a row do not count."""
MAX_CHARACTERS = 32 * 1024 * 1024


class SheetCollector:
    """Collects the rows of sheets in the order of the workbook; those of one sheet only, if it is named."""

    def __init__(self, only: str = "") -> None:
        self._only = sheet_key(only)
        self._sheets: list[tuple[str, list[tuple[str, ...]]]] = []
        self._is_wanted = False
        self._cells = self._characters = 0

    def begin(self, name: str) -> None:
        """Begin a sheet."""
        self._is_wanted = self._only in ("", sheet_key(name))
        self._sheets.append((sanitize_cell(name), []))

    def add(self, row: Sequence[str]) -> None:
        """Add a row of the sheet, unless it is empty.

        Raises:
            LimitExceededError: the rows have too many cells or characters.
        """
        width = next((place for place in range(len(row), 0, -1) if row[place - 1]), 0)
        if not width or not self._is_wanted:
            return
        self._cells += width
        self._characters += sum(map(len, row))
        if self._cells > MAX_CELLS or self._characters > MAX_CHARACTERS:
            raise LimitExceededError(
                f"The workbook has more than {MAX_CELLS:,} cells or {MAX_CHARACTERS:,} characters: split it, or name"
                " one of its sheets."
            )
        self._sheets[-1][1].append(tuple(map(sanitize_cell, row[:width])))

    def sheets(self) -> tuple[SheetRows, ...]:
        """Return all sheets; only wanted ones have rows."""
        return tuple(SheetRows(name, tuple(rows)) for name, rows in self._sheets)


def sheet_key(name: str) -> str:
    """Return a sheet's name as it is compared: without case and surplus blanks."""
    return " ".join(name.split()).casefold()


_collecting: ContextVar[SheetCollector | None] = ContextVar("sheets_collected", default=None)


@contextmanager
def collecting_sheets(collector: SheetCollector) -> Generator[None]:
    """Offer the sheets of workbooks read within the block to `collector`."""
    token = _collecting.set(collector)
    try:
        yield
    finally:
        _collecting.reset(token)


def begin_sheet(name: str) -> None:
    """Begin a sheet, if sheets are collected."""
    collector = _collecting.get()
    if collector is not None:
        collector.begin(name)


def collected_rows(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield the rows of the sheet that has begun, and add each to it, if sheets are collected."""
    collector = _collecting.get()
    for row in rows:
        if collector is not None:
            collector.add(row)
        yield row


def with_lines(shown: str, original: object) -> str:
    """Return a cell's shown text; with the line breaks of the original text, if sheets are collected."""
    if _collecting.get() is None or not isinstance(original, str) or "\n" not in original:
        return shown
    return "\n".join(" ".join(line.split()) for line in original.splitlines()).strip()
