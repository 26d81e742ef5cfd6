"""Running jobs to be stopped: cancelled ones, and extractions of deleted documents."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from analytiq import clock
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.jobs import JobRepository

STOPPED_WITH_THEIR_DOCUMENT = frozenset({JobKind.EXTRACT})
"""Kinds without a purpose once the document is deleted. Not syncs, which remove it from a knowledge base."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Ids of running jobs to be stopped."""

    cancelled: frozenset[str]
    pointless: frozenset[str]
    """Jobs of deleted documents: aborting the work finishes them."""


FindStopped = Callable[[Collection[Job]], Awaitable[Stopped]]
"""Returns those of the running jobs that are to be stopped."""


def cancelled() -> Failure:
    """Return the failure shown by a cancelled job."""
    return Failure(code="cancelled", detail="Cancelled by a user. Replay the job to run it again.", at=clock.now())


class Stops:
    """Finds the running jobs of a process that are to be stopped."""

    def __init__(self, jobs: JobRepository, documents: DocumentRepository) -> None:
        self._jobs = jobs
        self._documents = documents

    async def among(self, running: Collection[Job]) -> Stopped:
        """Return the jobs to be stopped: one query for all, and one for each organization with extractions."""
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
