"""`analytiq mcp`: the Model Context Protocol on standard input and output."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from mcp.server.mcpserver import Context

from analytiq.cli.connection import find_connection
from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir
from analytiq.errors import InvalidInputError
from analytiq.mcp_server.rest import TIMEOUT_SECONDS, RestApi
from analytiq.mcp_server.server import new_server
from analytiq.settings import Settings, read_settings
from analytiq.standalone.data_directory import ConnectionFile
from analytiq.telemetry import logs

app = typer.Typer()


@app.command()
def mcp(
    *,
    files: Annotated[
        list[Path] | None,
        typer.Option("--files", help="Folder whose files may be uploaded by path. Repeatable."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the Model Context Protocol on standard input and output, for Claude Desktop, Cursor and others."""
    with errors_as_sentences():
        run_mcp(read_settings(), data_dir, files or [])


def run_mcp(settings: Settings, data_dir: Path | None, folders: Sequence[Path]) -> None:
    """Serve the tools until standard input ends. Logs go to standard error: standard output is the protocol's.

    Args:
        settings: read from the environment.
        data_dir: the platform's; None for the environment's or the default one.
        folders: directories from which the model may upload files.

    Raises:
        InvalidInputError: a folder does not exist.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InvalidInputError(f"{str(folder)!r} is not a folder. Name an existing folder.")
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="mcp")
    asyncio.run(_serve(find_connection(settings, data_dir), [folder.resolve() for folder in folders]))


async def _serve(connection: ConnectionFile, folders: Sequence[Path]) -> None:
    headers = {"Authorization": f"Bearer {connection.token.get_secret_value()}"}
    # Proxies of the environment do not reach this machine's loopback.
    is_local = httpx.URL(connection.url).host in ("127.0.0.1", "localhost", "::1")
    async with httpx.AsyncClient(
        base_url=connection.url.rstrip("/"), headers=headers, timeout=TIMEOUT_SECONDS, trust_env=not is_local
    ) as http:
        api = RestApi(http, connection.organization_id)

        @asynccontextmanager
        async def open_api(_: Context[Any, Any]) -> AsyncGenerator[RestApi]:
            yield api

        await new_server(open_api, folders).run_stdio_async()
