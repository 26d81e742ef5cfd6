"""Jobs to be stopped while they run: cancelled ones, and extractions of documents that were deleted."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from analytiq import clock
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.jobs import JobRepository

STOPPED_WITH_THEIR_DOCUMENT = frozenset({JobKind.EXTRACT})
"""Not a sync: that of a deleted document takes it out of a knowledge base."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ids of running jobs that are to end."""

    cancelled: frozenset[str]
    pointless: frozenset[str]
    """Their documents are gone: the work is done when it is dropped."""


FindStopped = Callable[[Collection[Job]], Awaitable[Stopped]]
"""Returns which of the running jobs are to end."""


def cancelled() -> Failure:
    """Return the failure that a cancelled job shows."""
    return Failure(
        code="cancelled", detail="somebody cancelled it; replay it to have it done after all", at=clock.now()
    )


class Stops:
    """Finds the running jobs of a process that are to end."""

    def __init__(self, jobs: JobRepository, documents: DocumentRepository) -> None:
        self._jobs = jobs
        self._documents = documents

    async def among(self, running: Collection[Job]) -> Stopped:
        """Return which of the jobs are to end: one query for all, and one for each organization that extracts."""
        cancelled = await self._jobs.cancel_wanted_among([job.id for job in running])
        extracted: dict[str, dict[str, str]] = {}
        for job in running:
            if job.kind in STOPPED_WITH_THEIR_DOCUMENT and job.subject.document_id is not None:
                extracted.setdefault(job.organization_id, {})[job.subject.document_id] = job.id
        pointless: set[str] = set()
        for organization_id, job_of in extracted.items():
            present = await self._documents.names(organization_id, job_of.keys())
            pointless |= {job_id for document_id, job_id in job_of.items() if document_id not in present}
        return Stopped(frozenset(cancelled - pointless), frozenset(pointless))
