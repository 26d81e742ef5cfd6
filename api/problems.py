"""RFC 9457 problem details with a stable `code` for each error."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from analytiq.errors import (
    AccessDeniedError,
    AnalytiqError,
    ConflictError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermanentError,
    QuotaExceededError,
    RateLimitedError,
    StaleVersionError,
    TransientError,
)
from analytiq.storage.client import translate
from analytiq.storage.session import DatabaseError
from api.field_path import field_path, reason_of

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

STATUS_OF: tuple[tuple[type[AnalytiqError], int], ...] = (
    (InvalidInputError, 400),
    (NotFoundError, 404),
    (StaleVersionError, 412),
    (ConflictError, 409),
    (QuotaExceededError, 402),
    (RateLimitedError, 429),
    (TransientError, 503),
    (LimitExceededError, 413),
    (PermanentError, 422),
    (AccessDeniedError, 403),
)
"""The first matching class counts."""

DEFAULT_RETRY_SECONDS = 2.0
"""`Retry-After` of a 503 without a known wait: most causes pass within seconds, a failover within a minute."""

TITLE_OF = {
    400: "Invalid request",
    401: "Not signed in",
    402: "Quota used up",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    412: "Changed meanwhile",
    413: "Too large",
    415: "Unsupported media type",
    422: "Cannot be processed",
    429: "Too many requests",
    500: "Internal error",
    503: "Temporarily unavailable",
}


MOST_ERRORS = 100
"""Most field errors of a response, so that a body of 100,000 errors gets a short answer."""
MOST_IN_DETAIL = 5


def status_of(error: AnalytiqError) -> int:
    """Return the HTTP status of a library error."""
    if error.code == "unauthenticated":
        return 401
    return next((status for kind, status in STATUS_OF if isinstance(error, kind)), 500)


def body_of(error: AnalytiqError) -> dict[str, Any]:
    """Return the fields of an error that do not depend on the request."""
    body: dict[str, Any] = {"code": error.code, "detail": error.detail}
    if isinstance(error, InvalidInputError) and error.errors:
        body["errors"] = [{"field": item.field, "reason": item.reason} for item in error.errors[:MOST_ERRORS]]
    return body


def problem(
    request: Request, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a response with problem details."""
    content = {
        "type": "about:blank",
        "title": TITLE_OF.get(status, "Error"),
        "status": status,
        **body,
        "instance": request.url.path,
        "request_id": getattr(request.state, "request_id", None),
    }
    return JSONResponse(jsonable_encoder(content), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def of_library(request: Request, error: Exception) -> JSONResponse:
    """Answer a library error."""
    assert isinstance(error, AnalytiqError)  # noqa: S101  # registered for this class
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, TransientError) and (error.retry_after is not None or status == 503):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or DEFAULT_RETRY_SECONDS)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status >= 500:
        log.warning("api.unavailable", code=error.code, detail=error.detail)
    return problem(request, status, body_of(error), headers)


def _of_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for this class
    found = error.errors()
    errors = [_field_error(item) for item in found[:MOST_ERRORS]]
    named = "; ".join(f"{item['field']}: {item['reason'].rstrip('.')}" for item in errors[:MOST_IN_DETAIL])
    more = f"; and {len(found) - MOST_IN_DETAIL} more" if len(found) > MOST_IN_DETAIL else ""
    return problem(request, 400, {"code": "invalid_input", "detail": f"{named}{more}.", "errors": errors})


def _field_error(item: Mapping[str, Any]) -> dict[str, str]:
    if item["type"] == "json_invalid":  # its location is a position in the body
        return {"field": "body", "reason": f"Invalid JSON: {item['ctx']['error']}."}
    return {"field": field_path(item["loc"][1:]), "reason": reason_of(item["type"], item["msg"])}


def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for this class
    code = {404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}.get(
        error.status_code, "http_error"
    )
    headers, detail = error.headers, str(error.detail)
    if detail == HTTPStatus.NOT_FOUND.phrase:
        detail = f"Nothing is at {request.url.path}. All paths are listed at /openapi.json."
    elif detail == HTTPStatus.METHOD_NOT_ALLOWED.phrase:
        allowed = ", ".join(_allowed_methods(request))
        headers = {**(error.headers or {}), "Allow": allowed}
        detail = f"{request.method} is not allowed at {request.url.path}. Allowed: {allowed}."
    return problem(request, error.status_code, {"code": code, "detail": detail}, headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes at a path; the framework lists those of the first route only."""
    routes = request.app.router.routes
    return [
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


def _of_database(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DatabaseError)  # noqa: S101  # registered for this class
    known = translate(error)
    if known is None:
        return of_anything(request, error)
    return of_library(request, known)


def of_anything(request: Request, error: Exception) -> JSONResponse:
    """Answer an unexpected error; its text stays in the log."""
    log.error("api.internal_error", path=request.url.path, exc_info=error)
    detail = "Unexpected error. Find its details in the server's log under this request id."
    return problem(request, 500, {"code": "internal_error", "detail": detail})


def install(app: FastAPI) -> None:
    """Install the error handlers; `api.requests` handles unexpected errors."""
    app.add_exception_handler(AnalytiqError, of_library)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(DatabaseError, _of_database)
