"""Answers about tables and queries."""

from typing import Any

from analytiq.client.answers import Answer


class TableColumn(Answer):
    """A column. Types: integer, decimal, date, timestamp, boolean, text."""

    name: str
    type: str
    unit: str
    value_count: int
    unfit_count: int
    note: str


class Table(Answer):
    """A table of a document's present version; `sample` are its first rows."""

    table_id: str
    document_id: str
    document_name: str
    title: str
    page_number: int
    page_name: str
    columns: list[TableColumn]
    row_count: int
    sample: list[list[Any]]


class DocumentTables(Answer):
    """The tables of a document; `problem` tells why they cannot be read."""

    document_id: str
    document_name: str
    tables: list[Table]
    warnings: list[str]
    problem: str | None


class ResultColumn(Answer):
    """A column of a result, with DuckDB's name of its type."""

    name: str
    type: str


class SourceRow(Answer):
    """A row that a result rests on; `start` and `end` are offsets in the document's text."""

    number: int
    values: list[Any]
    page_number: int
    start: int | None
    end: int | None


class TableAnswer(Answer):
    """The answer to a query, and the first of the `source_row_count` rows that it rests on."""

    table_id: str
    document_id: str
    document_name: str
    text_hash: str | None
    page_number: int
    page_name: str
    columns: list[ResultColumn]
    rows: list[list[Any]]
    is_truncated: bool
    source_rows: list[SourceRow]
    source_row_count: int
    rests_on: str
