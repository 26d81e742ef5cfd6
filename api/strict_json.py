"""Strict reading of JSON bodies."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from pydantic_core import from_json


class StrictJsonRequest(Request):
    """A request whose body is JSON by RFC 8259: UTF-8, no NaN, no lone surrogates, bounded depth.

    Python's parser accepts all of these, and UTF-16. They would become strings that neither MongoDB nor the response
    can contain, and 50,000 nested lists would exhaust its stack.
    """

    async def json(self) -> Any:
        """Decode the body.

        Raises:
            json.JSONDecodeError: FastAPI turns it into a validation error.
        """
        if not hasattr(self, "_decoded"):
            content = await self.body()
            try:
                self._decoded: Any = from_json(content, allow_inf_nan=False)
            except ValueError as error:
                raise json.JSONDecodeError(str(error), "", 0) from error
        return self._decoded


def read_strictly(
    handle: Callable[[Request], Coroutine[Any, Any, Response]],
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Have a handler read JSON strictly."""

    async def reading(request: Request) -> Response:
        return await handle(StrictJsonRequest(request.scope, request.receive))

    return reading
