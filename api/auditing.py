"""Audit records of operations, with the status of their responses."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, cast

from fastapi import Request, Response

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from api import problems
from api.access import Caller, browser_of
from api.permissions import operation_of, rule_of

LARGEST_READ_BYTES = 64 * 1024

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def audit(handle: Handle) -> Handle:
    """Record audited operations with their status; calls of unknown callers appear in the request log only."""

    async def audited(request: Request) -> Response:
        if not rule_of(request.scope).is_audited:
            return await handle(request)
        try:
            response = await handle(request)
        except AnalytiqError as error:
            await _note(request, problems.status_of(error), {})
            raise
        await _note(request, response.status_code, _ids_in(response))
        return response

    return audited


async def _note(request: Request, status: int, made: dict[str, str]) -> None:
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return
    services = cast("Services", request.app.state.services)
    target = {name: value for name, value in request.path_params.items() if name != "organization_id"}
    await services.tenancy.audit_log.note(
        caller.organization.id,
        operation_of(request.scope),
        caller.actor,
        target={**made, **target, **getattr(request.state, "audit_target", {})},
        address=browser_of(request).address,
        request_id=str(request.state.request_id),
        status=status,
    )


def _ids_in(response: Response) -> dict[str, str]:
    """Return the ids of new objects in the response."""
    body = bytes(getattr(response, "body", b""))
    if response.status_code != 201 or len(body) > LARGEST_READ_BYTES:
        return {}
    try:
        answered: object = json.loads(body)
    except ValueError:
        return {}
    fields = cast("dict[str, object]", answered) if isinstance(answered, dict) else {}
    return {name: value for name, value in fields.items() if name.endswith("_id") and isinstance(value, str)}
