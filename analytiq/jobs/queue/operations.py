"""Operations on an organization's jobs: list, replay, cancel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from analytiq.errors import ConflictError, NotFoundError
from analytiq.jobs.queue.handling import OnDead, OnSettled
from analytiq.jobs.queue.stops import cancelled
from analytiq.models.document import DocumentState
from analytiq.models.job import Job, JobKind, JobState
from analytiq.models.job_history import JobAttempt
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.jobs import ErrorGroup, JobPage, JobQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

LATEST_ATTEMPTS = 20
"""Number of attempts shown with a job."""
JOBS_AT_ONCE = 500
MOST_ERRORS = 50
"""Most distinct error codes; there are about forty."""
DOCUMENTS_AT_ONCE = 100
"""Documents in one transaction, which takes about 0.1 s; a conflict with one of them repeats it."""
DELETIONS = frozenset(
    {JobKind.SWEEP, JobKind.CLEAN_DOCUMENT, JobKind.DROP_KB, JobKind.CLEAN_PROMPT, JobKind.CLEAN_SOURCE, JobKind.ERASE}
)
"""Kinds that complete a confirmed deletion."""


@dataclass(frozen=True, slots=True)
class JobWithAttempts:
    """A job, and its latest attempts, latest first."""

    job: Job
    attempts: list[JobAttempt]


@dataclass(frozen=True, slots=True)
class DocumentLog:
    """A page of the attempts of a document's jobs, latest first, with their number and the unfinished jobs."""

    attempts: list[JobAttempt]
    total_count: int
    jobs: list[Job]


@dataclass(frozen=True, slots=True)
class KindCounts:
    """The numbers of an organization's waiting, running and failed jobs of a kind."""

    kind: JobKind
    waiting: int
    running: int
    dead: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The numbers of cancelled waiting jobs and of running jobs being stopped."""

    cancelled: int
    stopping: int


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """Names of documents and knowledge bases by id."""

    documents: Mapping[str, str]
    knowledge_bases: Mapping[str, str]


class Jobs:
    """Jobs of an organization."""

    def __init__(self, rows: Repositories, *, on_dead: OnDead, on_settled: OnSettled) -> None:
        """Store the repositories, and the callbacks for jobs that are cancelled before running."""
        self._connection = rows.connection
        self._jobs = rows.jobs
        self._history = rows.job_history
        self._documents = rows.documents
        self._knowledge_bases = rows.knowledge_bases
        self._on_dead = on_dead
        self._on_settled = on_settled

    async def page(self, organization_id: str, query: JobQuery, *, skip: int, limit: int) -> JobPage:
        """Return a page of waiting, running and failed jobs, latest change first, and the number of matches."""
        return await self._jobs.page(organization_id, query, skip=skip, limit=limit)

    async def names_in(self, organization_id: str, jobs: Sequence[Job]) -> SubjectNames:
        """Return the names of the documents and KBs of jobs, by at most two queries; deleted ones have none."""
        document_ids = {job.subject.document_id for job in jobs if job.subject.document_id}
        kb_ids = {job.subject.kb_id for job in jobs if job.subject.kb_id}
        return SubjectNames(
            await self._documents.names(organization_id, document_ids) if document_ids else {},
            await self._knowledge_bases.names(organization_id, kb_ids) if kb_ids else {},
        )

    async def counts(self, organization_id: str) -> list[KindCounts]:
        """Count the jobs of each kind; omit kinds without jobs."""
        found = await self._jobs.counts(organization_id)
        kinds = {kind for kind, _ in found}

        def count(kind: JobKind, state: JobState) -> int:
            return found.get((kind.value, state.value), 0)

        return [
            KindCounts(kind, count(kind, JobState.AVAILABLE), count(kind, JobState.RUNNING), count(kind, JobState.DEAD))
            for kind in JobKind
            if kind.value in kinds
        ]

    async def errors(self, organization_id: str, query: JobQuery) -> list[ErrorGroup]:
        """Return the matching failed jobs, grouped by error; most frequent first, at most MOST_ERRORS."""
        return await self._jobs.dead_by_error(organization_id, query, limit=MOST_ERRORS)

    async def get(self, organization_id: str, job_id: str) -> JobWithAttempts:
        """Return the job with this id.

        Raises:
            NotFoundError: it is finished, was never enqueued, or belongs to another organization.
        """
        job = await self._existing(organization_id, job_id)
        attempts = await self._history.of_job(organization_id, job_id, limit=LATEST_ATTEMPTS)
        return JobWithAttempts(job, attempts)

    async def of_document(self, organization_id: str, document_id: str) -> list[Job]:
        """Return the document's waiting, running and failed jobs, oldest first."""
        jobs = await self._jobs.of_document(organization_id, document_id)
        return sorted(jobs, key=lambda job: (job.created_at, job.id))

    async def log_of_document(self, organization_id: str, document_id: str, *, skip: int, limit: int) -> DocumentLog:
        """Return the finished and pending jobs of a document."""
        # The jobs first: a job that ends in between is then shown twice rather than not at all.
        jobs = await self.of_document(organization_id, document_id)
        attempts, count = await self._history.of_document(organization_id, document_id, skip=skip, limit=limit)
        return DocumentLog(attempts, count, [job for job in jobs if job.state is not JobState.DEAD])

    async def replay(self, organization_id: str, job_id: str) -> None:
        """Run a failed job again, as if it had never been tried.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: the job has not failed.
        """
        job = await self._existing(organization_id, job_id)
        if job.state is not JobState.DEAD:
            raise _not_dead(job)
        if job.kind is JobKind.EXTRACT:
            await self._let_wait(organization_id, [job])
        if not await self._jobs.replay(organization_id, JobQuery(), job_id=job_id):
            raise _not_dead(await self._existing(organization_id, job_id))
        log.info("queue.replayed", organization_id=organization_id, job=job_id)

    async def replay_all(self, organization_id: str, query: JobQuery) -> int:
        """Run the matching failed jobs again and return their number. The query's states are ignored."""
        if not query.kinds or JobKind.EXTRACT in query.kinds:
            extractions = await self._dead_extractions(organization_id, query)
            for start in range(0, len(extractions), DOCUMENTS_AT_ONCE):
                await self._let_wait(organization_id, extractions[start : start + DOCUMENTS_AT_ONCE])
        count = await self._jobs.replay(organization_id, query)
        log.info("queue.replayed", organization_id=organization_id, jobs=count)
        return count

    async def cancel(self, organization_id: str, job_id: str) -> Job:
        """Cancel a job: a waiting one ends at once, a running one within a heartbeat of its worker.

        Return the job's new state: failed, or running with `is_cancel_wanted`. A failed job stays unchanged.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: the job deletes data, or has just finished.
        """
        job = await self._existing(organization_id, job_id)
        if job.kind in DELETIONS:
            raise ConflictError(
                f"The job {job_id!r} deletes invisible data and cannot be cancelled.",
                code="job_not_cancellable",
            )
        if job.state is JobState.DEAD:
            return job
        failure = cancelled()
        was = await self._jobs.cancel(organization_id, job_id, failure)
        if was is JobState.AVAILABLE:
            # No worker owns the job and could do this. After a crash in between, the reconciler makes up for it.
            await self._on_dead(job, failure)
            await self._on_settled(job)
        after = await self._jobs.of_organization(organization_id, job_id)
        if was is None or after is None:
            raise ConflictError(f"The job {job_id!r} finished before it could be cancelled.", code="job_done")
        log.info("queue.cancel_wanted", organization_id=organization_id, job=job_id, was=was.value)
        return after

    async def cancel_all(self, organization_id: str, query: JobQuery) -> Cancelled:
        """Cancel matching jobs: waiting ones end at once, running ones within a heartbeat of their workers.

        Jobs that delete data are completed. States missing from the query stay unchanged, and so do
        failed jobs.
        """
        kinds = tuple(kind for kind in query.kinds or JobKind if kind not in DELETIONS)
        if not kinds:
            raise ConflictError("Jobs that delete invisible data cannot be cancelled.", code="job_not_cancellable")
        wanted = replace(query, kinds=kinds)
        cancelled_count = stopping = 0
        if not query.states or JobState.AVAILABLE in query.states:
            async for batch in self._jobs.waiting(organization_id, wanted):
                cancelled_count += await self._cancel_batch(organization_id, batch)
        if not query.states or JobState.RUNNING in query.states:
            stopping = await self._jobs.stop_running(organization_id, wanted)
        log.info("queue.cancel_wanted", organization_id=organization_id, cancelled=cancelled_count, stopping=stopping)
        return Cancelled(cancelled_count, stopping)

    async def _cancel_batch(self, organization_id: str, batch: Sequence[Job]) -> int:
        failure = cancelled()
        dead = await self._jobs.cancel_waiting(organization_id, batch, failure)
        settled: dict[str | None, Job] = {}
        for job in dead:
            await self._on_dead(job, failure)
            if job.kind in (JobKind.SYNC, JobKind.MEMBERSHIP_KB):
                settled[job.subject.kb_id] = job
        for job in settled.values():
            # Once for each knowledge base: it counts all of its jobs.
            await self._on_settled(job)
        return len(dead)

    async def _existing(self, organization_id: str, job_id: str) -> Job:
        job = await self._jobs.of_organization(organization_id, job_id)
        if job is None:
            raise NotFoundError(
                f"No job has the id {job_id!r}. Finished jobs are listed in the log of their document only."
            )
        return job

    async def _dead_extractions(self, organization_id: str, query: JobQuery) -> list[Job]:
        wanted = replace(query, states=(JobState.DEAD,), kinds=(JobKind.EXTRACT,))
        found: list[Job] = []
        while True:
            page = await self._jobs.page(organization_id, wanted, skip=len(found), limit=JOBS_AT_ONCE)
            found += page.jobs
            if len(page.jobs) < JOBS_AT_ONCE:
                return found

    async def _let_wait(self, organization_id: str, extractions: Sequence[Job]) -> None:
        """Mark the documents of failed extractions as waiting, before their replay can run.

        Documents extracted meanwhile are excluded: another request has revived their job.
        """
        document_ids = [job.subject.document_id for job in extractions if job.subject.document_id is not None]

        async def commit(session: Session) -> None:
            for document_id in document_ids:
                document = await self._documents.get(organization_id, document_id, session=session)
                if document is not None and document.state is not DocumentState.EXTRACTED:
                    waiting = {"state": DocumentState.UPLOADED.value, "error": None}
                    await self._documents.change(session, organization_id, document_id, waiting)

        await run_in_transaction(self._connection, commit)


def _not_dead(job: Job) -> ConflictError:
    state = "waits for its turn" if job.state is JobState.AVAILABLE else "runs"
    return ConflictError(f"The job {job.id!r} {state}. Only dead jobs can be replayed.", code="job_not_dead")
