"""The organization's live events."""

from typing import Any

from analytiq.client.answers import Answer
from analytiq.client.calls import open_stream
from analytiq.client.errors import ProblemError, UnreachableError
from analytiq.client.operations import Calls, listing
from analytiq.client.patience import Patience
from analytiq.client.server_events import next_event
from analytiq.client.steps import Emit, Items, Pause, Request


class OrganizationEvent(Answer):
    """A change in the organization.

    `name` is document, knowledge_base, job, document_deleted, knowledge_base_deleted, job_ended, ready, reset or
    closed; `data` is the object's present state, or its id. After `reset`, events may have been lost: read again what
    you show. `id` is set on the last event of each batch; `watch(after=id)` goes on there.
    """

    id: str
    name: str
    data: dict[str, Any]


class WatchCalls(Calls):
    """Live events."""

    @listing
    def watch(self, *, after: str | None = None) -> Items[OrganizationEvent]:
        """Yield the organization's events until `closed`; reconnect without losing an event silently.

        Args:
            after: the id of the last event received.

        Raises:
            ProblemError: the API refuses the connection.
            UnreachableError: reconnecting failed for 90 s.
        """
        patience = Patience(has_key=False, may_wait_long=False)
        while True:
            try:
                headers = {"Last-Event-ID": after} if after else {}
                yield from open_stream(Request("GET", "/events", headers=headers))
                while (event := (yield from next_event())) is not None:
                    patience = Patience(has_key=False, may_wait_long=False)
                    after = event.id or after
                    if event.name:
                        yield Emit(OrganizationEvent(id=event.id, name=event.name, data=event.data))
                    if event.name == "closed":
                        return
                pause = patience.next_pause()
                if pause is None:
                    raise UnreachableError("The API keeps ending the connection; call again.")
            except (ProblemError, UnreachableError) as error:
                pause = patience.pause_after(error)
            yield Pause(pause)
