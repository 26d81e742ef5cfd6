"""The names, parameters and descriptions of the tools for sources."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from analytiq.mcp_server.parameters import READS, Limit, NamePart, Skip
from analytiq.mcp_server.rest import LONGEST_WAIT_SECONDS, RestApi
from analytiq.mcp_server.source_shapes import SourcePage, SourceRunReport
from analytiq.mcp_server.source_tools import SourceTools

_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)

SourceName = Annotated[str, Field(min_length=1, max_length=200, description="Its name or id: see list_sources")]
ItemIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=2048)]] | None,
    Field(max_length=1000, description="Fetch only these items (`external_id`) again; left out: run the whole source"),
]


def add_source_tools(
    server: MCPServer[Any], api_of: Callable[[Context[Any, Any]], AbstractAsyncContextManager[RestApi]]
) -> None:
    """Add the tools for sources; `api_of` opens the REST API for a caller and turns its errors into a tool's."""

    @server.tool(title="List sources", annotations=READS)
    async def list_sources(  # pyright: ignore[reportUnusedFunction]  # the server has it
        context: Context[Any, Any], name: NamePart = None, skip: Skip = 0, limit: Limit = 20
    ) -> SourcePage:
        """List sources, whose items become documents and stay current, each with its schedule and last run."""
        async with api_of(context) as api:
            return await SourceTools(api).list_sources(name, skip, limit)

    @server.tool(title="Run a source", annotations=_RUNS)
    async def run_source(  # pyright: ignore[reportUnusedFunction]  # the server has it
        context: Context[Any, Any],
        source: SourceName,
        *,
        dry_run: Annotated[bool, Field(description="List and compare, and change nothing")] = False,
        external_ids: ItemIds = None,
    ) -> SourceRunReport:
        """Start a run that brings a source's documents up to date; it goes on in the background."""
        async with api_of(context) as api:
            return await SourceTools(api).run_source(source, dry_run=dry_run, external_ids=external_ids or [])

    @server.tool(title="Read a run of a source", annotations=READS)
    async def read_source_run(  # pyright: ignore[reportUnusedFunction]  # the server has it
        context: Context[Any, Any],
        source: SourceName,
        source_run_id: Annotated[str | None, Field(description="Left out: the last run")] = None,
        wait_seconds: Annotated[
            float, Field(ge=0, le=LONGEST_WAIT_SECONDS, description="Wait so long for its end")
        ] = 0,
    ) -> SourceRunReport:
        """Read the state, counts and log of a run, with the items that it skipped or that failed."""
        async with api_of(context) as api:
            return await SourceTools(api).read_source_run(source, source_run_id, wait_seconds=wait_seconds)
