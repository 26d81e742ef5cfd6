"""Tables of documents: their columns, and the answers to queries about their rows."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import JsonValue


class ColumnType(StrEnum):
    """The type of a column's values."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        name: unique in the table, ignoring case; queries quote it.
        stored_type: the type that the query engine stores.
        unit: the currency or `%` of all values, "" without one; values are numbers without it.
        value_count: cells with a value.
        unfit_count: values that do not fit `type`, or, of a text column, the type that most values have.
        note: the reason of the type, if it may surprise.
    """

    name: str
    type: ColumnType
    stored_type: str
    unit: str = ""
    value_count: int = 0
    unfit_count: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table of a document.

    Attributes:
        number: of the table in the document, from 1.
        title: the caption or the sheet's name.
        page_number: the page or sheet on which the table begins.
        page_name: the sheet's name, "" without one.
        sample: the first rows.
        start: offset of the table's rows in the file of all rows.
        end: offset after them.
    """

    number: int
    title: str
    page_number: int
    page_name: str
    columns: tuple[TableColumn, ...]
    row_count: int
    sample: tuple[tuple[JsonValue, ...], ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TablesRead:
    """The tables of a document; their rows lie in front of this outcome.

    `page_digests`: number and digest of each page that the places of rows refer to. `warnings`: tables that were left
    out.
    """

    tables: tuple[DocumentTable, ...]
    page_digests: tuple[tuple[int, str], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SheetRows:
    """A sheet of a workbook: the shown text of each row's cells, without empty rows and empty cells at a row's end."""

    name: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class WorkbookRows:
    """The visible sheets of a workbook in order; `warnings` tell what was left out."""

    sheets: tuple[SheetRows, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query about one table.

    `max_rows` bounds the result, `max_source_rows` the cited rows.
    """

    sql: str
    max_rows: int = 100
    max_source_rows: int = 100


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row that an answer rests on.

    `number` counts the table's rows from 1. `start` and `end` are offsets in the document's text, or in that of the
    row's page where the engine answers; None if unknown.
    """

    number: int
    values: tuple[JsonValue, ...]
    page_number: int
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer to a query.

    Attributes:
        columns: names and DuckDB's types of the result.
        rows: values in the order of the columns.
        is_truncated: True if the result has further rows, or a value was cut.
        source_rows: the first rows of the table that the result rests on.
        source_row_count: the number of all of these rows.
        rests_on: `exact`: the rows that pass the conditions; `all`: every row, if the query is too complex to tell.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    is_truncated: bool
    source_rows: tuple[SourceRow, ...]
    source_row_count: int
    rests_on: Literal["exact", "all"] = "exact"
