"""Wire shapes of what watchers of an organization are told."""

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
    """A document as it is now; `extraction` counts pages while they are read."""

    extraction: ProgressResponse | None


class GoneEvent(ResponseBody):
    """Something that is there no longer."""

    id: str


class ReadyEvent(ResponseBody):
    """How the connection begins, or what is to be done when changes may have been missed."""

    action: Literal["none", "read_anew"]


class ClosedEvent(ResponseBody):
    """Why nothing more is told."""

    code: str = Field(description="As in problem details: `unauthenticated`, `access_denied` or `not_found`")
    detail: str


def event_data(event: Event, *, max_attempts: int) -> ResponseBody:
    """What is sent with an event."""
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
