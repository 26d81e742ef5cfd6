"""`/mcp`: the Model Context Protocol by streamable HTTP, with the access tokens of the REST API.

Each tool calls the REST API within this process, with the caller's own token and its rights. There are no sessions, so
that any process may answer any request.

The protocol's library is imported at the first request: 21 MB, and 0.5 s of the process's start.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from api import problems
from api.access import open_with_header
from api.requests import MCP_PATH

_SESSIONS = "api.mcp_sessions"


class McpEndpoint:
    """The MCP route, active while `running` is entered."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._is_wanted: asyncio.Event | None = None
        self._serve: asyncio.Future[ASGIApp] | None = None

    def install(self) -> None:
        """Add the route outside the REST API's schema."""
        self._app.router.routes.append(Route(MCP_PATH, endpoint=self, methods=None, include_in_schema=False))

    @asynccontextmanager
    async def running(self, services: Services) -> AsyncGenerator[None]:
        """Serve; a protocol server runs once, so each start creates one."""
        self._is_wanted = asyncio.Event()
        self._serve = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(self._keep_server(services, self._is_wanted, self._serve), name="mcp-server")
        try:
            yield
        finally:
            keeper.cancel()
            await asyncio.wait((keeper,))
            self._serve.cancel()
            self._is_wanted = self._serve = None

    async def _keep_server(self, services: Services, is_wanted: asyncio.Event, serve: asyncio.Future[ASGIApp]) -> None:
        """Run the protocol server from the first request until cancelled; it must end in the task that began it."""
        await is_wanted.wait()
        try:
            serving = (await asyncio.to_thread(importlib.import_module, _SESSIONS)).serving
            async with serving(self._app, max_body_bytes=services.settings.api.max_json_bytes) as handler:
                serve.set_result(handler)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001  # each request answers with it
            if not serve.done():
                serve.set_exception(error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer callers with a token; the body is not read before authentication."""
        request = Request(scope)
        services = cast("Services", self._app.state.services)
        try:
            opened = await open_with_header(services, request.headers.get("authorization"))
        except AnalytiqError as error:
            await problems.of_library(request, error)(scope, receive, send)
            return
        request.state.organization_id = opened.organization.id
        # Requests come between the server's start and its end.
        assert self._serve is not None  # noqa: S101
        assert self._is_wanted is not None  # noqa: S101
        self._is_wanted.set()
        serve = await asyncio.shield(self._serve)
        await serve(scope, receive, send)
