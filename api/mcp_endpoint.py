"""`/mcp`: the Model Context Protocol by streamable HTTP, with the access tokens of the REST API.

Each tool calls the REST API within this process, with the caller's own token and its rights. There are no sessions, so
that any process may answer any request.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
from fastapi import FastAPI, Request
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from analytiq.mcp_server.rest import TIMEOUT_SECONDS, RestApi
from analytiq.mcp_server.server import new_server
from api import problems
from api.access import open_with_header
from api.requests import MCP_PATH

_IN_PROCESS = "http://in-process"


class McpEndpoint:
    """The MCP route, active while `running` is entered."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._serve: ASGIApp | None = None

    def install(self) -> None:
        """Add the route outside the REST API's schema."""
        self._app.router.routes.append(Route(MCP_PATH, endpoint=self, methods=None, include_in_schema=False))

    @asynccontextmanager
    async def running(self, services: Services) -> AsyncGenerator[None]:
        """Serve; a protocol server runs once, so each start creates one."""
        server = new_server(self._open_api)
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=services.settings.api.max_json_bytes,
            # That check protects servers that trust every local caller; this one requires a token.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with server.session_manager.run():
            self._serve = server.session_manager.handle_request
            try:
                yield
            finally:
                self._serve = None

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
        assert self._serve is not None  # noqa: S101  # requests come between the server's start and its end
        await self._serve(scope, receive, send)

    @asynccontextmanager
    async def _open_api(self, context: Context[Any, Any]) -> AsyncGenerator[RestApi]:
        request = cast("Request", context.request_context.request)
        headers = {
            "Authorization": request.headers["authorization"],
            "X-Request-Id": str(request.state.request_id),
        }
        # The caller's address, not this server's, goes into the audit log.
        client = (request.client.host, request.client.port) if request.client else ("", 0)
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False, client=client)
        async with httpx.AsyncClient(
            transport=transport, base_url=_IN_PROCESS, headers=headers, timeout=TIMEOUT_SECONDS
        ) as http:
            yield RestApi(http, str(request.state.organization_id))
