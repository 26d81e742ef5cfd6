"""Runs the jobs of one claim together: heartbeat, handler, and the outcome of each."""

import asyncio
from collections.abc import MutableMapping, Sequence

import structlog

from analytiq.errors import LeaseLostError, ProviderUnavailableError, QuotaExceededError, RateLimitedError
from analytiq.jobs.queue import retry
from analytiq.jobs.queue.claiming import Claims
from analytiq.jobs.queue.job_work import JobWork
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job
from analytiq.models.job_history import AttemptOutcome
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

LONGEST_HEARTBEAT_SECONDS = 5.0
WAITED_FOR = (RateLimitedError, ProviderUnavailableError, QuotaExceededError)
"""Errors that concern every job of the batch: asking the provider again for each would only repeat them."""


class BatchRunner:
    """Runs batches for a `QueueRunner`, which runs by itself what a batch leaves."""

    def __init__(self, jobs: JobRepository, work: JobWork, *, claims: Claims, lease_seconds: float) -> None:
        self._jobs = jobs
        self._handlers = work.batch_handlers
        self._history = work.history
        self._on_settled = work.on_settled
        self._claims = claims
        self._lease_seconds = lease_seconds

    async def run(
        self, jobs: Sequence[Job], work_of: MutableMapping[RunningJob, asyncio.Task[None]]
    ) -> tuple[int, list[Job]]:
        """Run the jobs; return the number of settled ones, and those that the caller must run now, one by one.

        `work_of` names the work of each running job, for whoever stops it. At most one of the returned jobs is not
        cancelled: the others that are left go back to the queue, where other slots may take them.
        """
        batch = RunningBatch([RunningJob(job, self._jobs) for job in jobs])
        for running in batch.members:
            running.is_of_batch = True
        structlog.contextvars.bind_contextvars(jobs=len(jobs), request_id=jobs[0].request_id)
        work = asyncio.create_task(self._traced(batch))
        heartbeat = asyncio.create_task(self._heartbeat(batch, work))
        work_of.update(dict.fromkeys(batch.members, work))
        is_interrupted = False
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done():
                is_interrupted = True
                work.cancel()
                await asyncio.wait([work])
        finally:
            for running in batch.members:
                del work_of[running]
            heartbeat.cancel()
            structlog.contextvars.unbind_contextvars("jobs", "request_id")
        await self._finish(batch)
        left = await self._settle(batch, is_interrupted=is_interrupted)
        return len(jobs) - len(batch.unfinished), left

    async def _settle(self, batch: RunningBatch, *, is_interrupted: bool) -> list[Job]:
        """Call what follows the jobs that have ended; return those to run at once."""
        for running in batch.members:
            if running.is_finished:
                self._note(running, AttemptOutcome.DONE if running.failure is None else AttemptOutcome.FAILED)
            if running.is_finished or running.is_settled:
                await self._call_settled(running.job)
        left = batch.unfinished
        if is_interrupted:
            await self._give_back([running.job for running in left], are_alone=False)
            return []
        stopped = [running.job for running in left if running.is_cancelled]
        others = [running.job for running in left if not running.is_cancelled]
        await self._give_back(others[1:], are_alone=True)
        return [job.model_copy(update={"is_cancel_wanted": True}) for job in stopped] + others[:1]

    def _note(self, running: RunningJob, outcome: AttemptOutcome, failure: Failure | None = None) -> None:
        failure = failure or running.failure
        self._history.note(running.job, outcome, started_at=running.started_at, failure=failure)

    async def _call_settled(self, job: Job) -> None:
        try:
            await self._on_settled(job)
        except Exception:
            # Follow-ups are derived from stored state, and the reconciler makes up for lost ones.
            log.exception("queue.after_job_failed", job=job.id)

    async def _give_back(self, jobs: Sequence[Job], *, are_alone: bool) -> None:
        if not jobs:
            return
        try:
            await self._jobs.give_back_many(jobs, are_alone=are_alone)
        except DatabaseError:
            # The leases expire, and another worker resumes the jobs.
            log.warning("queue.jobs_not_returned", jobs=len(jobs), exc_info=True)
        else:
            log.info("queue.jobs_returned", jobs=len(jobs), are_alone=are_alone)
            self._claims.note_returned(jobs[0])

    async def _traced(self, batch: RunningBatch) -> None:
        job = batch.members[0].job
        with traces.continued(
            f"jobs.{job.kind.value}", job.trace_parent, organization_id=job.organization_id,
            kb_id=job.subject.kb_id, jobs=len(batch.members),
        ):  # fmt: skip
            await self._work(batch)

    async def _work(self, batch: RunningBatch) -> None:
        try:
            await checkpoint("queue.claimed")
            await self._handlers[batch.members[0].job.kind](batch)
            await checkpoint("queue.handled")
        except WAITED_FOR as error:
            await self._defer(batch, error)
        except Exception as error:  # whatever it is, each job fares better alone
            log.warning(
                "queue.batch_left", jobs=len(batch.unfinished), code=retry.failure_of(error).code, exc_info=True
            )

    async def _finish(self, batch: RunningBatch) -> None:
        done = [running for running in batch.done if not running.is_lost]
        try:
            with batch.finishing(done):
                await self._jobs.finish_many([running.job for running in done])
                for running in done:
                    running.note_finished()
        except LeaseLostError:
            log.warning("queue.leases_lost", jobs=len(done))
        except DatabaseError:
            # The leases expire, and other workers repeat the jobs.
            log.exception("queue.outcome_not_written", jobs=len(done))

    async def _defer(self, batch: RunningBatch, error: Exception) -> None:
        """Return the unfinished jobs to the queue for later, with the partition."""
        waiting = [running for running in batch.unfinished if not running.is_cancelled]
        if not waiting:
            return
        longest = min(waiting, key=lambda running: running.job.waiting_since or running.started_at)
        outcome = retry.plan_of(longest.job, error, max_attempts=1)
        if not isinstance(outcome, retry.Retry):
            raise error
        failure = retry.failure_of(error)
        self._claims.defer(longest.job, outcome.delay_seconds)
        # A provider may fail because of one text: were they to wait together, it would hold up the others for ever.
        is_suspicious = isinstance(error, ProviderUnavailableError)
        alone = [running for running in waiting if is_suspicious or batch.is_left_alone(running)]
        together = [running for running in waiting if running not in alone]
        held = set[str]()
        try:
            with batch.finishing(waiting):
                for part, are_alone in ((together, False), (alone, True)):
                    held |= await self._jobs.retry_many(
                        [running.job for running in part], failure, outcome.delay_seconds,
                        is_counted=outcome.is_counted, are_alone=are_alone,
                    )  # fmt: skip
        except DatabaseError:
            log.exception("queue.outcome_not_written", jobs=len(waiting))
        for running in waiting:
            running.is_settled, running.is_lost = running.job.id in held, running.job.id not in held
            if running.is_settled:
                self._note(running, AttemptOutcome.RETRIED, failure)
        delay_seconds = round(outcome.delay_seconds, 2)
        log.warning("queue.jobs_retried", jobs=len(held), code=failure.code, delay_seconds=delay_seconds)

    async def _heartbeat(self, batch: RunningBatch, work: asyncio.Task[None]) -> None:
        """Renew the leases between transactions; stop the work once all are lost or one job is cancelled."""
        while True:
            await asyncio.sleep(min(self._lease_seconds / 3, LONGEST_HEARTBEAT_SECONDS))
            running_now = [running for running in batch.members if not (running.is_finished or running.is_settled)]
            if batch.is_finishing or not running_now:
                continue
            try:
                jobs = [running.job for running in running_now]
                held = await self._jobs.heartbeat_many(jobs, lease_seconds=self._lease_seconds)
            except DatabaseError:
                log.warning("queue.heartbeat_failed", jobs=len(running_now), exc_info=True)
                continue
            if batch.is_finishing or work.done():
                continue
            for running in running_now:
                if running.is_finished or running.is_settled:
                    continue
                state = held.get(running.job.id)
                running.is_lost = state is None
                running.is_cancelled = running.is_cancelled or (state is not None and state.is_cancel_wanted)
            if any(running.is_cancelled for running in running_now) or all(running.is_lost for running in running_now):
                log.warning("queue.batch_stopped", jobs=len(running_now))
                work.cancel()
                return
