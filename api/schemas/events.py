"""Data of the events of an organization."""

from typing import Literal

from pydantic import Field

from analytiq.ingestion.documents.indexing_state import StandingDocument
from analytiq.ingestion.knowledge_bases.standing import StandingKnowledgeBase
from analytiq.models.job import Job
from analytiq.operations.live_events.events import Event, EventName
from api.schemas.documents import DocumentDetail, ProgressResponse
from api.schemas.jobs import JobResponse
from api.schemas.knowledge_bases import KnowledgeBaseResponse
from api.schemas.wire import ResponseBody


class DocumentEvent(DocumentDetail):
    """A document's current state; `extraction` counts extracted pages."""

    extraction: ProgressResponse | None


class GoneEvent(ResponseBody):
    """A deleted object."""

    id: str


class ReadyEvent(ResponseBody):
    """The start of the connection, or a reset after possibly missed changes."""

    action: Literal["none", "read_anew"]


class ClosedEvent(ResponseBody):
    """The reason for the end of the stream."""

    code: str = Field(description="As in problem details: `unauthenticated`, `access_denied` or `not_found`")
    detail: str


def event_data(event: Event, *, max_attempts: int) -> ResponseBody:
    """Return the data of an event."""
    match event.content:
        case StandingDocument() as standing:
            return DocumentEvent.from_model(standing.document, standing)
        case StandingKnowledgeBase() as standing_base:
            return KnowledgeBaseResponse.from_standing(standing_base)
        case Job() as job:
            return JobResponse.from_job(job, max_attempts=max_attempts)
        case None if event.name is EventName.RESET:
            return ReadyEvent(action="read_anew")
        case None if event.name is EventName.READY:
            return ReadyEvent(action="none")
        case None:
            return GoneEvent(id=event.subject_id)
