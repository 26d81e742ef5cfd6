"""`/events`: changes in the organization as server-sent events."""

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
            " `job`, `job_ended`, `closed`. Each batch of events ends with an id to resume from"
        ),
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    },
}


@router.get("", status_code=200, operation_id="watch_organization", response_class=EventStream, responses=_EVENTS)
async def watch_organization(
    request: Request,
    services: ServicesOf,
    caller: CurrentCaller,
    last_event_id: Annotated[str | None, Header(max_length=100, description="Continue after this event")] = None,
) -> Response:
    """Stream changes in the organization. Each event has the current state of its object.

    A `document` event has the fields of `get_document` and `extraction`, the number of pages read; `knowledge_base`
    those of `get_knowledge_base`; `job` those of `list_jobs`. Several changes of an object within a quarter of a
    second are one event. After `reset`, changes may have been missed: reload the displayed data. The stream ends with
    `closed` when its token or session expires, or when the person leaves the organization. 429 (`too_many_watchers`)
    beyond 100 connections of the organization.
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
    # A token taken over depends on another person, and a session in use expires later.
    watcher.rest_on(caller.depends_on, caller.ends_at)
    return None


def _written(batch: Batch, max_attempts: int) -> list[bytes]:
    """Return the events and then one id, so that a client interrupted in between receives all of them again."""
    events = [event(item.name.value, event_data(item, max_attempts=max_attempts)) for item in batch.events]
    return [*(events or [KEEP_ALIVE]), position(str(batch.position))]
