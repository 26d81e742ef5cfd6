"""`analytiq tables …`: tables of documents, and queries about their rows."""

from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.documents_by_name import is_id
from analytiq.cli.options import DataDir

app = typer.Typer(help="List the tables of spreadsheets, and ask them in SQL.", no_args_is_help=True)
SHOWN_ROWS = 20


@app.command("list")
def tables_list(
    document: Annotated[str | None, typer.Argument(help="Id of a document, or a part of the name.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List tables with their ids and columns."""
    with api_client(data_dir) as client:
        if document is not None and is_id(document):
            listed = iter([client.document_tables(document)])
        else:
            listed = client.tables(name_search=document)
        rows: list[tuple[str, ...]] = []
        for found in listed:
            if found.problem is not None:
                note(f"{found.document_name}: {found.problem}")
            for table in found.tables:
                columns = ", ".join(f"{column.name} ({column.type})" for column in table.columns)
                rows.append((table.table_id, table.document_name, table.title, str(table.row_count), columns))
        print_rows(("ID", "DOCUMENT", "TITLE", "ROWS", "COLUMNS"), rows)


@app.command("query")
def tables_query(
    table_id: Annotated[str, typer.Argument(help="Id from `tables list`.")],
    sql: Annotated[str, typer.Argument(help="One SELECT about the table `rows`.")],
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most rows of the result.")] = 100,
    data_dir: DataDir = None,
) -> None:
    """Ask a table. Prints the result, and the numbers of the rows that it rests on."""
    with api_client(data_dir) as client:
        answer = client.query_table(table_id, sql, max_rows=limit, max_source_rows=SHOWN_ROWS)
        rows = [tuple("" if value is None else str(value) for value in row) for row in answer.rows]
        print_rows(tuple(column.name for column in answer.columns), rows)
        if answer.is_truncated:
            note("The result is cut: it has more rows, or longer values.")
        numbers = ", ".join(str(row.number) for row in answer.source_rows)
        more = ", …" if answer.source_row_count > len(answer.source_rows) else ""
        if answer.source_row_count:
            note(f"Rests on {answer.source_row_count} rows of {answer.document_name}: {numbers}{more}")
