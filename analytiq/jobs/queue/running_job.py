"""A job in its handler's hands."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator

from analytiq import clock
from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, Progress
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError

PROGRESS_SECONDS = 0.5
"""Progress is written at most this often: it is for people to look at."""


class RunningJob:
    """A job in its handler's hands."""

    def __init__(self, job: Job, jobs: JobRepository) -> None:
        self.job = job
        self.started_at = clock.now()
        self.is_cancelled = False
        self.is_pointless = False
        """What it is about is gone: dropping the work finishes the job."""
        self._jobs = jobs
        self._reported_at = 0.0
        self._reports: set[asyncio.Task[None]] = set()
        self.is_finishing = False
        self.is_finished = False
        self.failure: Failure | None = None
        """The failure of the job's subject, where the job itself has done all there is to do."""

    async def report(self, done: int, total: int, unit: str) -> None:
        """Show how far it is.

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
        """As `report`, for callers that cannot wait; that a lease was lost is the heartbeat's to find."""
        report = asyncio.create_task(self._report_quietly(done, total, unit))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)

    async def _report_quietly(self, done: int, total: int, unit: str) -> None:
        with contextlib.suppress(LeaseLostError, DatabaseError):
            await self.report(done, total, unit)

    @contextlib.contextmanager
    def finishing(self) -> Generator[None]:
        """Around what ends the job, where the handler ends it in a transaction of its own.

        Meanwhile the heartbeat stops nothing: it may find the row gone before the commit is acknowledged, and would
        stop a worker that has done its work. A lease that is really lost makes the transaction fail.
        """
        self.is_finishing = True
        try:
            yield
        finally:
            self.is_finishing = False

    def note_failure(self, failure: Failure) -> None:
        """Let the history tell that the subject failed for good, though the job is done."""
        self.failure = failure

    def note_finished(self) -> None:
        """Note that the finishing transaction is committed."""
        self.is_finished = True


Handler = Callable[[RunningJob], Awaitable[None]]
"""Does the work. It returns when the truth is as the job wants it, however that came about."""
