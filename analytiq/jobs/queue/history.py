"""History of attempts, for people: written in batches, so that it delays no job."""

import asyncio
from datetime import datetime

import structlog

from analytiq import clock
from analytiq.models.document import Failure
from analytiq.models.job import Job
from analytiq.models.job_history import AttemptOutcome, JobAttempt
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

FLUSH_SECONDS = 0.5
MOST_WAITING = 10_000
"""Most unwritten attempts; beyond, they are dropped, since jobs matter more than their history."""


class History:
    """Collects attempts of this process and writes them every FLUSH_SECONDS."""

    def __init__(
        self,
        history: JobHistoryRepository,
        documents: DocumentRepository,
        knowledge_bases: KnowledgeBaseRepository,
    ) -> None:
        self._history = history
        self._documents = documents
        self._knowledge_bases = knowledge_bases
        self._waiting: list[JobAttempt] = []
        self._has_waiting = asyncio.Event()

    def note(self, job: Job, outcome: AttemptOutcome, *, started_at: datetime, failure: Failure | None = None) -> None:
        """Record an attempt that has just ended."""
        if len(self._waiting) >= MOST_WAITING:
            return
        self._waiting.append(
            JobAttempt(
                job_id=job.id,
                kind=job.kind,
                organization_id=job.organization_id,
                subject=job.subject,
                outcome=outcome,
                attempt=job.attempt,
                worker=job.worker,
                request_id=job.request_id,
                error=failure,
                started_at=started_at,
                ended_at=clock.now(),
            )
        )
        self._has_waiting.set()

    async def write_continuously(self) -> None:
        """Write recorded attempts until cancelled."""
        while True:
            await self._has_waiting.wait()
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write recorded attempts now, except those of deleted documents and knowledge bases."""
        attempts, self._waiting = self._waiting, []
        self._has_waiting.clear()
        try:
            kept = await self._of_what_exists(attempts)
            await self._history.add(kept)
            await self._forget_what_went(kept)
        except DatabaseError:
            log.warning("queue.history_not_written", attempts=len(attempts), exc_info=True)
            self._waiting = [*attempts, *self._waiting][:MOST_WAITING]
            self._has_waiting.set()

    async def _forget_what_went(self, attempts: list[JobAttempt]) -> None:
        """Delete written attempts of deleted subjects, whose cleaning may have run before the write."""
        # By identity: comparing the rows of a bulk load with each other takes the square of their number.
        existing = {id(attempt) for attempt in await self._of_what_exists(attempts)}
        for attempt in attempts:
            if id(attempt) in existing:
                continue
            if attempt.subject.document_id is not None:
                await self._history.delete_of_document(attempt.organization_id, attempt.subject.document_id)
            elif attempt.subject.kb_id is not None:
                await self._history.delete_of_kb(attempt.organization_id, attempt.subject.kb_id)

    async def _of_what_exists(self, attempts: list[JobAttempt]) -> list[JobAttempt]:
        named: dict[str, set[str]] = {}
        kb_ids: set[str] = set()
        for attempt in attempts:
            if attempt.subject.document_id is not None:
                named.setdefault(attempt.organization_id, set()).add(attempt.subject.document_id)
            if attempt.subject.kb_id is not None:
                kb_ids.add(attempt.subject.kb_id)
        existing: set[str | None] = {None}
        for organization_id, document_ids in named.items():
            existing |= (await self._documents.names(organization_id, document_ids)).keys()
        if kb_ids:
            existing |= await self._knowledge_bases.shown(kb_ids)
        return [item for item in attempts if item.subject.document_id in existing and item.subject.kb_id in existing]
