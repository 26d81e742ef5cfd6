"""From collected rows to typed tables, written one after the other as CSV for the query engine."""

import csv
import hashlib
import io
from collections.abc import Sequence
from typing import BinaryIO, Final, TextIO

from pydantic import JsonValue

from analytiq.ingestion.tables.collecting import CollectedTable, sanitize_cell
from analytiq.ingestion.tables.columns import TypedColumn, style_of, typed_column
from analytiq.models.tables import ColumnType, DocumentTable, TablesRead
from analytiq.models.text import DocumentText, PageSpan

MAX_TABLES = 200
MAX_COLUMNS = 500
SAMPLE_ROWS = 5
LONGEST_NAME = 120
LONGEST_CELL = 32_768
"""Characters of a cell that a query sees."""
LONGEST_ROW = 1_000_000
"""Characters of a row that a query sees."""
_SHOWN_CELL = 200
PLACE_COLUMNS: Final = ("__row", "__page", "__start", "__end")
"""Columns before those of the table: the row's number, its page, and its range in the text of the page."""


def write_tables(
    collected: Sequence[CollectedTable], text: DocumentText, file: BinaryIO, *, needs_header: bool
) -> TablesRead:
    """Type the tables and write their rows to the file.

    Args:
        collected: the rows of the document.
        text: of the same reading, for the digests of its pages.
        file: takes the rows.
        needs_header: True for formats whose tables may only lay out a page: those need names of columns.
    """
    tables: list[DocumentTable] = []
    warnings: list[str] = []
    for table in collected:
        if not _is_data(table, needs_header=needs_header):
            continue
        width = max(map(len, table.rows))
        if width > MAX_COLUMNS:
            warnings.append(f"A table with {width} columns was left out: at most {MAX_COLUMNS} can be queried.")
        elif len(tables) == MAX_TABLES:
            warnings.append(f"Only the first {MAX_TABLES} tables can be queried.")
            break
        else:
            tables.append(_write(len(tables) + 1, table, file))
    used = {page for table in collected for page, _, _ in table.spans}
    digests = tuple((page.page_number, digest_of(text, page)) for page in text.pages if page.page_number in used)
    return TablesRead(tuple(tables), digests, tuple(warnings))


def digest_of(text: DocumentText, page: PageSpan) -> str:
    """Return the digest of a page's text: places of rows hold in another reading whose page has the same."""
    return hashlib.sha256(text.text[page.start : page.end].encode("utf-8", "surrogatepass")).hexdigest()


def unique_names(names: Sequence[str], width: int) -> list[str]:
    """Return a name for each column, unique ignoring case: `Total`, `total` becomes `Total`, `total_2`."""
    taken = {*PLACE_COLUMNS, *(name.strip().lower() for name in names)}
    seen: set[str] = set(PLACE_COLUMNS)
    unique: list[str] = []
    for place in range(width):
        own = sanitize_cell(names[place] if place < len(names) else "").strip()[:LONGEST_NAME].strip()
        name = base = own or f"column_{place + 1}"
        number = 2
        while name.lower() in seen or (name != own and name.lower() in taken):
            name = f"{base}_{number}"
            number += 1
        seen.add(name.lower())
        unique.append(name)
    return unique


def _is_data(table: CollectedTable, *, needs_header: bool) -> bool:
    """Return True for rows of several columns, or of one with a name."""
    has_names = any(table.names)
    if needs_header and not (has_names and len(table.names) > 1):
        return False
    return has_names or (len(table.rows) > 1 and max(map(len, table.rows)) > 1)


def _write(number: int, table: CollectedTable, file: BinaryIO) -> DocumentTable:
    width = max(len(table.names), max(map(len, table.rows)))
    longest = max(1, min(LONGEST_CELL, LONGEST_ROW // width))
    columns = [[_cell(row, place, longest) for row in table.rows] for place in range(width)]
    kept = [place for place in range(width) if any(columns[place]) or (place < len(table.names) and table.names[place])]
    names = unique_names([table.names[place] if place < len(table.names) else "" for place in kept], len(kept))
    style = style_of([columns[place] for place in kept])
    typed = [typed_column(name, columns[place], style=style) for name, place in zip(names, kept, strict=True)]
    start = file.tell()
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    _write_rows(lines, typed, table)
    lines.detach()  # it would close the file
    return DocumentTable(
        number=number,
        title=table.title or table.page_name,
        page_number=table.page_number,
        page_name=table.page_name,
        columns=tuple(one.column for one in typed),
        row_count=len(table.rows),
        sample=tuple(tuple(shown(one, row) for one in typed) for row in range(min(SAMPLE_ROWS, len(table.rows)))),
        start=start,
        end=file.tell(),
    )


def _write_rows(lines: TextIO, typed: Sequence[TypedColumn], table: CollectedTable) -> None:
    writer = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    texts = [one.texts for one in typed]
    for row, place in enumerate(table.spans):
        writer.writerow((row + 1, *place, *(column[row] for column in texts)))


def _cell(row: Sequence[str], place: int, longest: int) -> str:
    cell = row[place] if place < len(row) else ""
    if cell.isprintable():  # ValuedText stays as it is
        return cell if len(cell) <= longest else cell[:longest]
    return sanitize_cell(cell)[:longest]


def shown(column: TypedColumn, row: int) -> JsonValue:
    """Return a value of a column as it is shown in JSON."""
    text = column.texts[row]
    if text is None:
        return None
    match column.column.type:
        case ColumnType.INTEGER:
            return int(text)
        case ColumnType.DECIMAL:
            return float(text)
        case ColumnType.BOOLEAN:
            return text == "true"
        case ColumnType.TEXT:
            return text if len(text) <= _SHOWN_CELL else text[: _SHOWN_CELL - 1] + "…"
        case ColumnType.DATE | ColumnType.TIMESTAMP:
            return text
