"""A running job, as its handler sees it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator

from analytiq import clock
from analytiq.errors import LeaseLostError
from analytiq.jobs.queue.waiting_jobs import JobWait, WaitingJobs
from analytiq.models.document import Failure
from analytiq.models.job import Job, Progress
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError

PROGRESS_SECONDS = 0.5
"""Seconds between two writes of the progress, which is for people."""


class RunningJob:
    """A running job, as its handler sees it."""

    def __init__(self, job: Job, jobs: JobRepository) -> None:
        self.job = job
        self.started_at = clock.now()
        self.is_cancelled = False
        self.is_pointless = False
        """True if its subject is gone: aborting the work finishes the job."""
        self._jobs = jobs
        self._reported_at = 0.0
        self._reports: set[asyncio.Task[None]] = set()
        self.is_finishing = False
        self.is_finished = False
        self.is_settled = False
        """True if a batch has written an outcome other than success."""
        self.is_lost = False
        """True if the batch that it belongs to found its lease lost."""
        self.is_of_batch = False
        self.failure: Failure | None = None
        """The failure of the job's subject, if the job itself is complete."""
        self.waiting_jobs: WaitingJobs | None = None
        """Set by a runner whose slots the job may leave."""
        self._wait: JobWait | None = None

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Enclose a wait for an answer from elsewhere: if nothing comes for some seconds, the job leaves its slot."""
        if self.waiting_jobs is None:
            yield
            return
        with self.waiting_jobs.waiting(self.job) as self._wait:
            yield
        self._wait = None

    def note_answer(self) -> None:
        """Note a part of the answer: the job takes a slot again."""
        if self._wait is not None:
            self._wait.note_answer()

    async def report(self, done: int, total: int, unit: str) -> None:
        """Record the progress.

        Raises:
            LeaseLostError: another worker has the job.
        """
        now = asyncio.get_running_loop().time()
        if now - self._reported_at < PROGRESS_SECONDS and done < total:
            return
        self._reported_at = now
        progress = Progress(done=done, total=total, unit=unit)
        if not await self._jobs.report_progress(self.job, progress):
            raise LeaseLostError(f"The lease of job {self.job.id!r} was lost.")

    def report_soon(self, done: int, total: int, unit: str) -> None:
        """Record the progress without waiting; the heartbeat detects a lost lease."""
        report = asyncio.create_task(self._report_quietly(done, total, unit))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)

    async def _report_quietly(self, done: int, total: int, unit: str) -> None:
        with contextlib.suppress(LeaseLostError, DatabaseError):
            await self.report(done, total, unit)

    @contextlib.contextmanager
    def finishing(self) -> Generator[None]:
        """Enclose the transaction in which the handler itself finishes the job.

        Meanwhile the heartbeat stops nothing: it may find the row gone before the commit is acknowledged, and would
        stop a worker that has finished. A lost lease makes the transaction fail.
        """
        self.is_finishing = True
        try:
            yield
        finally:
            self.is_finishing = False

    def note_failure(self, failure: Failure) -> None:
        """Record for the history that the subject has failed for good, although the job is finished."""
        self.failure = failure

    def note_finished(self) -> None:
        """Record that the finishing transaction is committed."""
        self.is_finished = True


Handler = Callable[[RunningJob], Awaitable[None]]
"""Does the work; returns once the intended state holds, however it came about."""
