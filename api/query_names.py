"""Refuses query parameters that a call does not take: one that is misspelt would be a filter that does not filter."""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant

from analytiq.errors import FieldError, InvalidInputError

MOST_NAMED = 5
LONGEST_NAME = 100
"""Of those that an error names, in characters."""


def query_names(dependant: Dependant) -> frozenset[str]:
    """The query parameters that a route and what it depends on take."""
    return frozenset(_names(dependant))


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)


def unknown_query(request: Request, known: frozenset[str]) -> InvalidInputError | None:
    """What to answer a call that asks by what the route does not take; None where it takes all."""
    unknown = [name[:LONGEST_NAME] for name in sorted(set(request.query_params) - known)[:MOST_NAMED]]
    if not unknown:
        return None
    there = f"there are {', '.join(sorted(known))}" if known else "this call takes none"
    reason = f"there is no such query parameter; {there}"
    named = [FieldError(name, reason) for name in unknown]
    return InvalidInputError(f"{', '.join(unknown)}: {reason}", errors=named, code="unknown_parameter")
