"""Timeouts for clients that keep the server waiting by sending little now and then.

A request costs a connection and, for JSON, the memory of its body for as long as it takes to arrive. An attacker with
thousands of connections and a byte a minute would occupy them all; the rate distinguishes a slow line from that.
"""

import asyncio
from typing import cast

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LEAST_BYTES_PER_SECOND = 1024
"""Least rate of a body, once it has been waited for `wait_seconds`: a tenth of the slowest mobile line."""


def awaited_bodies(receive: Receive, wait_seconds: float) -> Receive:
    """Receive a body while its bytes arrive; only time spent waiting for the client counts.

    Raises:
        HTTPException: 408, no bytes for `wait_seconds`, or too few for longer.
    """
    waited_seconds, received_bytes, is_complete = 0.0, 0, False

    async def awaited() -> Message:
        nonlocal waited_seconds, received_bytes, is_complete
        if is_complete:  # the remaining wait is for the end of the connection
            return await receive()
        allowed_seconds = wait_seconds + received_bytes / LEAST_BYTES_PER_SECOND - waited_seconds
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(min(wait_seconds, allowed_seconds)):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(
                408, "The body arrived too slowly. Send the request again.", {"Connection": "close"}
            ) from error
        waited_seconds += loop.time() - began
        received_bytes += len(message.get("body", b""))
        is_complete = not message.get("more_body", False)
        return message

    return awaited


class TimedProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn with a timeout for a request's head.

    uvicorn itself limits the time between requests only: it would wait forever for a head that arrives line
    by line.
    """

    head_seconds = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the timer of a new connection's first request."""
        super().connection_made(transport)
        self._late: asyncio.TimerHandle | None = None
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a head or a body."""
        super().data_received(data)
        if self._is_answering():
            self._forget_head()
        elif self._late is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._forget_head()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._late = asyncio.get_running_loop().call_later(self.head_seconds, self._give_up)

    def _forget_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        """Return whether a request is still unanswered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before the first request
        return cycle is not None and not cycle.response_complete
