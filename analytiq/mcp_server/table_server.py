"""The tools for tables: their names, parameters, descriptions, and the calls that they make."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from analytiq.client.table_models import DocumentTables, TableAnswer
from analytiq.mcp_server.parameters import READS, NamePart, Skip
from analytiq.mcp_server.rest import RestApi

_OBJECT = TypeAdapter(dict[str, Any])
_CITED_ROWS = 10
TableId = Annotated[str, Field(pattern=r"^[0-9a-f]{24}-[0-9]{1,4}$", description="Id of a table: see list_tables")]
DocumentId = Annotated[str | None, Field(pattern=r"^[0-9a-f]{24}$", description="The tables of this document")]


class TablePage(BaseModel):
    """A page of documents with their tables; `total_count` counts the documents."""

    model_config = ConfigDict(frozen=True)

    documents: list[DocumentTables]
    total_count: int
    skip: int


def add_table_tools(
    server: MCPServer[Any], api_of: Callable[[Context[Any, Any]], AbstractAsyncContextManager[RestApi]]
) -> None:
    """Add the tools for tables; `api_of` opens the REST API for a caller and turns its errors into a tool's."""

    @server.tool(title="List tables", annotations=READS)
    async def list_tables(  # pyright: ignore[reportUnusedFunction]  # the server has it
        context: Context[Any, Any],
        name: NamePart = None,
        document_id: DocumentId = None,
        skip: Skip = 0,
        limit: Annotated[int, Field(ge=1, le=20, description="Most documents to answer")] = 10,
    ) -> TablePage:
        """List the tables of documents with their columns, types and first rows; a table over several pages is one."""
        async with api_of(context) as api:
            query = {"name_search": name, "document_id": document_id, "skip": skip, "limit": limit}
            return TablePage.model_validate(_OBJECT.validate_json(await api.get("/tables", **query)))

    @server.tool(title="Query a table", annotations=READS)
    async def query_table(  # pyright: ignore[reportUnusedFunction]  # the server has it
        context: Context[Any, Any],
        table_id: TableId,
        sql: Annotated[
            str, Field(min_length=1, max_length=10_000, description="One SELECT of DuckDB's SQL about the table `rows`")
        ],
        max_rows: Annotated[int, Field(ge=1, le=1000, description="Most rows of the result")] = 100,
    ) -> TableAnswer:
        """Compute over a table: sums, counts, averages, groups, filters; names the rows that the result rests on."""
        async with api_of(context) as api:
            body = {"sql": sql, "max_rows": max_rows, "max_source_rows": _CITED_ROWS}
            answer = await api.post(f"/tables/{table_id}/query", body, is_repeatable=True)
            return TableAnswer.model_validate_json(answer)
