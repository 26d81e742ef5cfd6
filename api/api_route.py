"""The route class of an organization's operations."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.auditing import audit
from api.idempotency import repeat_answers
from api.query_names import refuse_unknown_queries
from api.strict_json import read_strictly

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class ApiRoute(APIRoute):
    """A route that refuses unknown query parameters, reads JSON strictly, repeats answers by key, and is audited."""

    def get_route_handler(self) -> Handle:
        """Wrap the route's own handler, innermost first."""
        handle = audit(super().get_route_handler())
        if "POST" in (self.methods or ()):
            handle = repeat_answers(handle)
        return refuse_unknown_queries(self.dependant, read_strictly(handle))
