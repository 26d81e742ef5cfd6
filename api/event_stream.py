"""Server-sent events (WHATWG HTML, 9.2), written by FastAPI's own formatter.

FastAPI's `EventSourceResponse` does not fit: it cannot answer 204 to a reader that has everything, permits caches to
keep the stream, and leaves the generator to the garbage collector when a connection ends between two events.
"""

from collections.abc import AsyncGenerator

from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

MEDIA_TYPE = "text/event-stream"
RECONNECT = format_sse_event(retry=1000)
KEEP_ALIVE = format_sse_event(comment="still here")
_HEADERS = {
    "Cache-Control": "no-store",
    # Otherwise nginx buffers the answer.
    "X-Accel-Buffering": "no",
}


class EventStream(StreamingResponse):
    """Sends the events of a generator, and closes the generator when the connection ends."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, media_type=MEDIA_TYPE, headers=_HEADERS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A suspended generator is closed when it is collected, which may be never.
            await self._events.aclose()


def event(name: str, data: BaseModel, event_id: str | None = None) -> bytes:
    """Return one event."""
    return format_sse_event(event=name, data_str=data.model_dump_json(), id=event_id)


def position(event_id: str) -> bytes:
    """Return an id without data: the reader resumes after it, and no event is dispatched."""
    return format_sse_event(id=event_id)
