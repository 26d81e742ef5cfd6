"""`/events`: what changes in the organization, by server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from analytiq.models.change import ChangeMoment
from analytiq.operations.live_events.events import EventName
from analytiq.operations.live_events.watcher import Batch, Watcher
from api.access import identify
from api.api_route import ApiRoute
from api.context import CurrentCaller, ServicesOf
from api.event_stream import KEEP_ALIVE, MEDIA_TYPE, RECONNECT, EventStream, event, position
from api.schemas.events import ClosedEvent, event_data

router = APIRouter(prefix="/events", tags=["events"], route_class=ApiRoute)

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "Events `ready`, `reset`, `document`, `document_deleted`, `knowledge_base`, `knowledge_base_deleted`,"
            " `job`, `job_ended`, `closed`. An id to go on after follows those that come together"
        ),
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    },
}


@router.get("", status_code=200, operation_id="watch_organization", response_class=EventStream, responses=_EVENTS)
async def watch_organization(
    request: Request,
    services: ServicesOf,
    caller: CurrentCaller,
    last_event_id: Annotated[str | None, Header(max_length=100, description="Go on after this event")] = None,
) -> Response:
    """What changes in the organization, as it changes: each event is the state that something is in now.

    A `document` is as `get_document` answers it, with `extraction`: pages read so far; a `knowledge_base` as
    `get_knowledge_base`, a `job` as `list_jobs`. What changes several times within a quarter of a second is told once.
    After `reset`, changes may have been missed: read anew what you show. The connection ends, with `closed`, when its
    token or session does, or when its person is no member any more. 429 (`too_many_watchers`) where the organization
    has 100 connections.
    """
    after = ChangeMoment.of(last_event_id)
    watcher = await services.operations.watching.enter(caller.organization.id, caller.depends_on, after, caller.ends_at)
    return EventStream(_events(request, services, watcher))


async def _events(request: Request, services: Services, watcher: Watcher) -> AsyncGenerator[bytes]:
    try:
        yield RECONNECT
        async with aclosing(watcher.batches()) as batches:
            async for batch in batches:
                refusal = await _refusal(request, services, watcher) if batch.must_check else None
                if refusal is not None:
                    yield event(EventName.CLOSED.value, ClosedEvent.from_model(refusal))
                    return
                for written in _written(batch, services.settings.queue.max_attempts):
                    yield written
    finally:
        services.operations.watching.leave(watcher)


async def _refusal(request: Request, services: Services, watcher: Watcher) -> AnalytiqError | None:
    try:
        caller = await identify(request, services, watcher.organization_id)
    except AnalytiqError as error:
        return error
    # A token that was taken over depends on somebody else, and a session that is used ends later.
    watcher.rest_on(caller.depends_on, caller.ends_at)
    return None


def _written(batch: Batch, max_attempts: int) -> list[bytes]:
    """Return the events, then one id: a reader that is cut off in between receives all of them again."""
    events = [event(item.name.value, event_data(item, max_attempts=max_attempts)) for item in batch.events]
    return [*(events or [KEEP_ALIVE]), position(str(batch.position))]
