"""The protocol server of `api.mcp_endpoint`, in a module of its own so that it is imported at the first request."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
from fastapi import FastAPI, Request
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from analytiq.mcp_server.rest import TIMEOUT_SECONDS, RestApi
from analytiq.mcp_server.server import new_server

_IN_PROCESS = "http://in-process"


@asynccontextmanager
async def serving(app: FastAPI, *, max_body_bytes: int) -> AsyncGenerator[ASGIApp]:
    """Run a protocol server whose tools call `app`; yield the handler of its requests."""

    @asynccontextmanager
    async def open_api(context: Context[Any, Any]) -> AsyncGenerator[RestApi]:
        request = cast("Request", context.request_context.request)
        headers = {
            "Authorization": request.headers["authorization"],
            "X-Request-Id": str(request.state.request_id),
        }
        # The caller's address, not this server's, goes into the audit log.
        client = (request.client.host, request.client.port) if request.client else ("", 0)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=client)
        async with httpx.AsyncClient(
            transport=transport, base_url=_IN_PROCESS, headers=headers, timeout=TIMEOUT_SECONDS
        ) as http:
            yield RestApi(http, str(request.state.organization_id))

    server = new_server(open_api)
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=max_body_bytes,
        # That check protects servers that trust every local caller; this one requires a token.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with server.session_manager.run():
        yield server.session_manager.handle_request
