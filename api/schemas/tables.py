"""Request and response bodies of tables and queries about them."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from analytiq.ingestion.documents.tables import DocumentTables, TableAnswer, table_id_of
from analytiq.ingestion.tables.engine import LONGEST_SQL
from analytiq.models.document import Document
from analytiq.models.tables import ColumnType, DocumentTable, SourceRow, TableColumn, TableQuery
from api.schemas.wire import NO_NUL, RequestBody, ResponseBody

MOST_ROWS = 1000
MOST_SOURCE_ROWS = 100


class TableColumnResponse(ResponseBody):
    """A column: its name for queries, and the type of its values."""

    name: Annotated[str, Field(description="Unique in the table, ignoring case; quote it in SQL if it has blanks")]
    type: ColumnType
    unit: Annotated[str, Field(description="Currency or % of all values, which are numbers without it")]
    value_count: int
    unfit_count: Annotated[
        int, Field(description="Cells without a value such as n/a; of a text column, values that keep it a text")
    ]
    note: Annotated[str, Field(description="Reason of the type, if it may surprise")]

    @classmethod
    def from_column(cls, column: TableColumn) -> Self:
        """Build the response."""
        return cls.from_model(column)


class TableResponse(ResponseBody):
    """A table of a document's present version."""

    table_id: str
    document_id: str
    document_name: str
    title: Annotated[str, Field(description="Caption, or name of the sheet; empty without one")]
    page_number: Annotated[int, Field(description="Page or sheet on which the table begins")]
    page_name: str
    columns: list[TableColumnResponse]
    row_count: int
    sample: Annotated[list[list[JsonValue]], Field(description="The first rows, in the order of the columns")]

    @classmethod
    def from_table(cls, document: Document, table: DocumentTable) -> Self:
        """Build the response."""
        return cls.from_model(
            table,
            table_id=table_id_of(document.id, table),
            document_id=document.id,
            document_name=document.document_name,
            columns=[TableColumnResponse.from_column(column) for column in table.columns],
            sample=[list(row) for row in table.sample],
        )


class DocumentTablesResponse(ResponseBody):
    """The tables of a document."""

    document_id: str
    document_name: str
    tables: list[TableResponse]
    warnings: Annotated[list[str], Field(description="Tables that were left out")]
    problem: Annotated[str | None, Field(description="Reason why the document's tables cannot be read")]

    @classmethod
    def from_tables(cls, found: DocumentTables) -> Self:
        """Build the response."""
        return cls(
            document_id=found.document.id,
            document_name=found.document.document_name,
            tables=[TableResponse.from_table(found.document, table) for table in found.tables],
            warnings=list(found.warnings),
            problem=found.problem,
        )


class TableList(ResponseBody):
    """Tables by document; `total_count` counts the documents."""

    documents: list[DocumentTablesResponse]
    total_count: int
    skip: int


class TableQueryBody(RequestBody):
    """A query about the rows of one table."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"sql": "SELECT count(*) AS number FROM rows"}, {"sql": "SELECT * FROM rows", "max_rows": 10}]
        }
    )

    sql: Annotated[
        str,
        StringConstraints(min_length=1, max_length=LONGEST_SQL),
        NO_NUL,
        Field(description="One SELECT of DuckDB's SQL about the table `rows`"),
    ]
    max_rows: int = Field(default=100, ge=1, le=MOST_ROWS, description="Most rows of the result")
    max_source_rows: int = Field(default=20, ge=0, le=MOST_SOURCE_ROWS, description="Most rows named as citation")

    def query(self) -> TableQuery:
        """Return the query."""
        return TableQuery(self.sql, self.max_rows, self.max_source_rows)


class ResultColumn(ResponseBody):
    """A column of a result."""

    name: str
    type: Annotated[str, Field(description="DuckDB's name of the type, in lower case")]


class SourceRowResponse(ResponseBody):
    """A row of the table that the result rests on."""

    number: Annotated[int, Field(description="Of the row in the table, from 1")]
    values: Annotated[list[JsonValue], Field(description="In the order of the table's columns")]
    page_number: Annotated[int, Field(description="Page, slide or sheet of the row")]
    start: Annotated[int | None, Field(description="Offset of the row in the document's text; null if unknown")]
    end: Annotated[int | None, Field(description="Offset after the row")]

    @classmethod
    def from_row(cls, row: SourceRow) -> Self:
        """Build the response."""
        return cls(
            number=row.number, values=list(row.values), page_number=row.page_number, start=row.start, end=row.end
        )


class TableQueryResponse(ResponseBody):
    """The answer to a query, and the rows that it rests on."""

    table_id: str
    document_id: str
    document_name: str
    text_hash: Annotated[str | None, Field(description="Hash of the text that `start` and `end` refer to")]
    page_number: int
    page_name: str
    columns: list[ResultColumn]
    rows: Annotated[
        list[list[JsonValue]],
        Field(description="Numbers that JSON readers would round are texts; dates are ISO texts"),
    ]
    is_truncated: Annotated[bool, Field(description="True if the result has further rows, or a value was cut")]
    source_rows: Annotated[list[SourceRowResponse], Field(description="The first rows that the result rests on")]
    source_row_count: Annotated[int, Field(description="Number of all of these rows")]
    rests_on: Annotated[
        Literal["exact", "all"],
        Field(
            description="`exact`: the rows shown, or those that pass WHERE. `all`: every row, as the query has joins"
        ),
    ]

    @classmethod
    def from_answer(cls, found: TableAnswer) -> Self:
        """Build the response."""
        answer = found.answer
        return cls(
            table_id=table_id_of(found.document.id, found.table),
            document_id=found.document.id,
            document_name=found.document.document_name,
            text_hash=found.document.text_hash,
            page_number=found.table.page_number,
            page_name=found.table.page_name,
            columns=[ResultColumn(name=name, type=kind) for name, kind in answer.columns],
            rows=[list(row) for row in answer.rows],
            is_truncated=answer.is_truncated,
            source_rows=[SourceRowResponse.from_row(row) for row in answer.source_rows],
            source_row_count=answer.source_row_count,
            rests_on=answer.rests_on,
        )
