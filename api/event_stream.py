"""Server-sent events (WHATWG HTML, 9.2)."""

from collections.abc import AsyncGenerator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

MEDIA_TYPE = "text/event-stream"
RECONNECT_MILLISECONDS = 1000
KEEP_ALIVE = ": still here\n\n"
_HEADERS = {
    "Cache-Control": "no-store",
    # nginx gathers what is sent otherwise.
    "X-Accel-Buffering": "no",
}


class EventStream(StreamingResponse):
    """Sends the events of a generator, and closes it whenever the connection ends."""

    def __init__(self, events: AsyncGenerator[str]) -> None:
        super().__init__(events, media_type=MEDIA_TYPE, headers=_HEADERS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A generator that is left in the middle is closed when it is collected, which may be never.
            await self._events.aclose()


def event(name: str, data: str, event_id: str) -> str:
    """One event; `data` is JSON in one line."""
    return f"id: {event_id}\nevent: {name}\ndata: {data}\n\n"
