"""Common handling of all requests: request id, body limit, one log line."""

import re
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import cast
from uuid import uuid4

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from analytiq.composition import Services
from analytiq.settings import ApiSettings
from analytiq.telemetry import traces
from api import problems
from api.slow_clients import awaited_bodies

log = structlog.get_logger("api")

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
MAX_BODY_BYTES = 2 * 1024 * 1024
"""Largest body, except of uploads."""
MCP_PATH = "/mcp"
INBOUND_PREFIX = "/v0/inbound/"
UPLOAD_PATH = re.compile(r"/v0/orgs/[^/]+/documents")
STREAMED_TYPES = ("multipart/", "application/x-ndjson", "application/zip")
QUIET_PATHS = ("/health", "/ready", "/metrics")
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""Content-Security-Policy for API responses opened as pages. Pages and originals have policies of their own; scripts
get none, since the policy of a worker's script applies to the worker."""
NO_STORE = (b"cache-control", b"no-store")
PASSIVE_TYPES = (b"application/json", b"application/problem+json", b"text/event-stream", b"text/plain")


class RequestContext:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Bind the request id to the log and the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        status: int | None = None
        started = perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-request-id", request_id.encode()),
                    *SECURITY_HEADERS,
                    *_policy(message),
                    *_storage(scope, message),
                ]
            await send(message)

        receive = awaited_bodies(receive, _body_wait_seconds(scope))
        if (max_body_bytes := _body_limit(scope)) is not None:
            receive = _limited(receive, max_body_bytes)
        with structlog.contextvars.bound_contextvars(request_id=request_id), _span(scope, request_id):
            try:
                await self._app(scope, receive, send_with_headers)
                traces.note(status=status, **_route_of(scope))
            except ClientDisconnect:
                log.info("api.client_gone", method=scope["method"], path=scope["path"])
            except Exception as error:
                # Here, so that the answer has the request id; once it has begun, only the server can end it.
                if status is not None:
                    raise
                await problems.of_anything(Request(scope), error)(scope, receive, send_with_headers)
            finally:
                if scope["path"] not in QUIET_PATHS:
                    milliseconds = round((perf_counter() - started) * 1000, 1)
                    log.info(
                        "api.request", method=scope["method"], path=scope["path"], status=status,
                        milliseconds=milliseconds,
                    )  # fmt: skip


def _policy(message: Message) -> tuple[tuple[bytes, bytes], ...]:
    """Return the default policy headers of a response without a policy."""
    headers = dict(message.get("headers", []))
    kind = headers.get(b"content-type", b"").partition(b";")[0]
    is_plain = POLICY[0] not in headers and (kind in PASSIVE_TYPES or not kind)
    return (POLICY,) if is_plain else ()


def _storage(scope: Scope, message: Message) -> tuple[tuple[bytes, bytes], ...]:
    """Keep callers' data out of all caches: proxies', and the disk of a shared browser."""
    is_of_a_caller = scope["path"].startswith(("/v0/", "/api/")) or scope["path"] == MCP_PATH
    has_own = any(name.lower() == NO_STORE[0] for name, _ in message.get("headers", []))
    return (NO_STORE,) if is_of_a_caller and not has_own else ()


def _body_wait_seconds(scope: Scope) -> float:
    services = cast("Services | None", getattr(scope["app"].state, "services", None))
    # Before the application is open, clients can store nothing.
    return ApiSettings().body_wait_seconds if services is None else services.settings.api.body_wait_seconds


def _span(scope: Scope, request_id: str) -> AbstractContextManager[None]:
    if scope["path"] in QUIET_PATHS:
        return nullcontext()
    traceparent = Headers(scope=scope).get("traceparent")
    return traces.requested(f"http.{scope['method']}", traceparent, request_id=request_id)


def _route_of(scope: Scope) -> dict[str, str]:
    """Return the declared route, since paths with ids would flood a trace index."""
    route = scope.get("route")
    return {} if route is None else {"route": str(route.path)}


def _request_id(scope: Scope) -> str:
    """Return the caller's own request id if harmless, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return value.decode()
    return uuid4().hex


def _body_limit(scope: Scope) -> int | None:
    """Return the body's maximum bytes; None for streamed uploads, counted while streaming."""
    is_upload = UPLOAD_PATH.fullmatch(scope["path"]) is not None
    if scope["method"] == "POST" and scope["path"].startswith(INBOUND_PREFIX):
        services = cast("Services", scope["app"].state.services)
        return services.settings.sources.max_push_bytes
    if scope["method"] != "POST" or not (is_upload or scope["path"] == MCP_PATH):
        return MAX_BODY_BYTES
    if is_upload and Headers(scope=scope).get("content-type", "").lower().startswith(STREAMED_TYPES):
        return None
    services = cast("Services", scope["app"].state.services)
    return services.settings.api.max_json_bytes


def _limited(receive: Receive, max_body_bytes: int) -> Receive:
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > max_body_bytes:
            raise HTTPException(
                413,
                f"The body exceeds {max_body_bytes:,} bytes. Send large files as multipart/form-data.",
            )
        return message

    return limited
