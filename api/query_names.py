"""Refusal of unknown query parameters: a misspelled filter must not return everything.

FastAPI's query models with `extra="forbid"` would need one model for each operation, including those without
parameters.
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant

from analytiq.errors import FieldError, InvalidInputError
from api.access import identify, organization_id_of
from api.context import get_token_caller

MOST_NAMED = 5
LONGEST_NAME = 100
"""Characters of a parameter's name in an error."""

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def refuse_unknown_queries(dependant: Dependant, handle: Handle) -> Handle:
    """Refuse calls with query parameters that neither the route nor its dependencies declare."""
    known = frozenset(_names(dependant))
    is_of_token = _is_of_token(dependant)

    async def checked(request: Request) -> Response:
        refusal = _refusal(request, known)
        if refusal is not None:
            # A caller without access learns only that, and nothing about the parameters.
            services = request.app.state.services
            if is_of_token or "organization_id" in request.path_params:
                await identify(request, services, await organization_id_of(request, services))
            raise refusal
        return await handle(request)

    return checked


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)


def _is_of_token(dependant: Dependant) -> bool:
    """Return True for an operation of the access token's organization."""
    return any(inner.call is get_token_caller or _is_of_token(inner) for inner in dependant.dependencies)


def _refusal(request: Request, known: frozenset[str]) -> InvalidInputError | None:
    unknown = [name[:LONGEST_NAME] for name in sorted(set(request.query_params) - known)[:MOST_NAMED]]
    if not unknown:
        return None
    allowed = f"Allowed: {', '.join(sorted(known))}." if known else "This operation takes none."
    named = [FieldError(name, f"Unknown query parameter. {allowed}") for name in unknown]
    quoted = ", ".join(repr(name) for name in unknown)
    plural = "s" if len(unknown) > 1 else ""
    return InvalidInputError(
        f"Unknown query parameter{plural} {quoted}. {allowed}", errors=named, code="unknown_parameter"
    )
