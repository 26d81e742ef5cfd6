"""Reads JSON bodies more strictly than Python's own reader does."""

import json
from typing import Any

from pydantic_core import from_json
from starlette.requests import Request


class StrictJsonRequest(Request):
    """A request whose body is JSON as RFC 8259 has it: UTF-8, no NaN, no half surrogate pair, bounded depth.

    Python's reader takes all of these (UTF-16 too). They would travel on as strings that neither MongoDB nor
    the answer can hold, and one list in another 50,000 times would exhaust its stack.
    """

    async def json(self) -> Any:
        """The body as it was decoded.

        Raises:
            json.JSONDecodeError: FastAPI makes a validation error of it.
        """
        if not hasattr(self, "_decoded"):
            content = await self.body()
            try:
                self._decoded: Any = from_json(content, allow_inf_nan=False)
            except ValueError as error:
                raise json.JSONDecodeError(str(error), "", 0) from error
        return self._decoded
