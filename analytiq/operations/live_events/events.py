"""Events for watchers, and the backlog of a slow one."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from analytiq.ingestion.documents.indexing_state import StandingDocument
from analytiq.ingestion.knowledge_bases.standing import StandingKnowledgeBase
from analytiq.models.job import Job


class EventName(StrEnum):
    """The names of the events."""

    READY = "ready"
    """Changes are sent from now on; none were missed since the watcher's position, if it sent one."""
    RESET = "reset"
    """Changes may have been missed: reload what is displayed."""
    DOCUMENT = "document"
    DOCUMENT_DELETED = "document_deleted"
    KNOWLEDGE_BASE = "knowledge_base"
    KNOWLEDGE_BASE_DELETED = "knowledge_base_deleted"
    JOB = "job"
    JOB_ENDED = "job_ended"
    CLOSED = "closed"
    """The right to watch has ended; the connection closes."""


@dataclass(frozen=True, slots=True)
class Event:
    """The present state of a row; of a deleted row, an id only."""

    name: EventName
    organization_id: str = ""
    subject_id: str = ""
    content: StandingDocument | StandingKnowledgeBase | Job | None = None


RESET = Event(EventName.RESET)
MOST_UNTOLD = 1_000
"""Most unread events of a watcher; a slower one is told to reload instead of receiving outdated events."""


class Untold:
    """A watcher's unread events; only the latest state of each row, so that memory is bounded."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], Event] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Add an event; a reset replaces all earlier ones."""
        for event in events:
            if event.name is EventName.RESET or len(self._events) >= MOST_UNTOLD:
                self._events = {("", ""): RESET}
                continue
            subject = (event.name.value.split("_")[0], event.subject_id)
            self._events.pop(subject, None)
            self._events[subject] = event

    def take(self) -> list[Event]:
        """Remove and return all events, in order."""
        taken, self._events = list(self._events.values()), {}
        return taken
