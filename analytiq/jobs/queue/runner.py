"""Runs jobs: claims them, renews their leases, calls the handler, and writes the outcome."""

import asyncio
import math
import secrets
from collections.abc import Sequence

import structlog

from analytiq.jobs.queue import retry
from analytiq.jobs.queue.batch_runner import LONGEST_HEARTBEAT_SECONDS, BatchRunner
from analytiq.jobs.queue.claiming import Claims
from analytiq.jobs.queue.job_work import JobWork
from analytiq.jobs.queue.lanes import Wanted
from analytiq.jobs.queue.running_job import Handler, RunningJob
from analytiq.jobs.queue.stops import cancelled
from analytiq.jobs.queue.waiting_jobs import WAITING_A_SLOT, WaitingJobs
from analytiq.models.document import Failure
from analytiq.models.job import Job
from analytiq.models.job_history import AttemptOutcome
from analytiq.settings import QueueSettings
from analytiq.storage.client import translate
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

__all__ = ["Handler", "JobWork", "QueueRunner", "RunningJob"]

log = structlog.get_logger(__name__)

STOP_LOOK_SECONDS = 0.5
"""Seconds between checks for running jobs that were cancelled, or whose document was deleted."""
SLOTS_AN_EXPRESS_SLOT = 2


class QueueRunner:
    """Runs jobs in `concurrency` slots of this process until stopped."""

    def __init__(self, jobs: JobRepository, work: JobWork, *, settings: QueueSettings, concurrency: int) -> None:
        self._jobs = jobs
        self._job_work = work
        self._history = work.history
        self._settings = settings
        self._concurrency = concurrency
        self._is_stopping = False
        self._has_changed = asyncio.Event()
        self._slots: list[asyncio.Task[None]] = []
        """The first of several takes no heavy jobs: short jobs need not wait for long ones."""
        self._express_slots: list[asyncio.Task[None]] = []
        """Slots beyond `concurrency`, for organizations that hold no slot while others hold all of them."""
        self._idle_slots = 0
        self._running: set[asyncio.Task[int]] = set()
        self._work_of: dict[RunningJob, asyncio.Task[None]] = {}
        # Organizations see it with their jobs: it reveals nothing about the machine, unlike the row of `workers`.
        self.worker = f"worker-{secrets.token_hex(4)}"
        self._claims = Claims(
            jobs,
            work,
            worker=self.worker,
            settings=settings,
        )
        self._waiting = WaitingJobs(on_leave=self._note_waiting, on_enter=self._claims.enter)
        self._batches = BatchRunner(jobs, work, claims=self._claims, lease_seconds=settings.lease_seconds)

    async def run(self) -> None:
        """Run until `stop`; return when every slot has ended."""
        async with asyncio.TaskGroup() as group:
            watchers = [
                group.create_task(watching)
                for watching in (
                    self._claims.watch(),
                    self._claims.look(),
                    self._rescue(),
                    self._stop_continuously(),
                    self._history.write_continuously(),
                )
            ]
            while not self._is_stopping:
                self._fill_slots(group)
                await self._resized_or_stopped()
            await asyncio.wait([*self._slots, *self._express_slots])
            for watcher in watchers:
                watcher.cancel()
        await self._history.flush()

    def resize(self, concurrency: int) -> None:
        """Set the number of concurrent jobs; running jobs finish."""
        if concurrency != self._concurrency:
            log.info("queue.resized", concurrency=concurrency)
            self._concurrency = concurrency
            self._has_changed.set()
            self._claims.wake()

    @property
    def running_jobs(self) -> int:
        """Count the jobs that this process is running; those that share a slot count as one."""
        return len(self._running)

    @property
    def concurrency(self) -> int:
        """Return the maximum number of concurrent jobs of this process."""
        return self._concurrency

    def _fill_slots(self, group: asyncio.TaskGroup) -> None:
        self._slots = [slot for slot in self._slots if not slot.done()]
        self._waiting.most = self._concurrency * WAITING_A_SLOT
        for _ in range(self._slot_count() - len(self._slots)):
            self._slots.append(group.create_task(self._slot()))
        self._express_slots = [slot for slot in self._express_slots if not slot.done()]
        for number in range(len(self._express_slots), self._express_count()):
            self._express_slots.append(group.create_task(self._express_slot(number)))

    def _note_waiting(self, job: Job) -> None:
        self._claims.leave(job)
        self._has_changed.set()  # for another slot

    def _slot_count(self) -> int:
        """Return the number of slots with those of jobs that wait for an answer."""
        return self._concurrency + self._waiting.count

    def _express_count(self) -> int:
        return math.ceil(self._concurrency / SLOTS_AN_EXPRESS_SLOT)

    async def _resized_or_stopped(self) -> None:
        await self._has_changed.wait()
        self._has_changed.clear()

    async def stop(self, *, drain_seconds: float) -> None:
        """Stop claiming; wait for running jobs for a time, then return them to the queue."""
        self._is_stopping = True
        self._has_changed.set()
        self._claims.wake()
        running = list(self._running)
        if running:
            log.info("queue.draining", jobs=len(running), drain_seconds=drain_seconds)
            _, unfinished = await asyncio.wait(running, timeout=drain_seconds)
            for task in unfinished:
                task.cancel()
            if unfinished:
                await asyncio.wait(unfinished)

    async def run_until_idle(self) -> int:
        """Run due jobs one after another until none is left; return their number. For commands and tests."""
        count = 0
        kinds = list(self._job_work.handlers)
        while True:
            jobs = await self._claims.claim_any()
            if jobs:
                begun_at = asyncio.get_running_loop().time()
                count += await self._run_jobs(jobs)
                self._claims.note_pace(jobs, asyncio.get_running_loop().time() - begun_at)
            elif not await self._jobs.has_due(kinds):
                await self._history.flush()
                return count

    async def _slot(self) -> None:
        while not self._is_stopping:
            own = asyncio.current_task()
            if len(self._slots) > self._slot_count():
                self._slots = [slot for slot in self._slots if slot is not own]
                return
            with_heavy = len(self._slots) == 1 or own is not self._slots[0]
            wanted = Wanted(with_heavy=with_heavy, capacity=self._concurrency)
            if not await self._serve(wanted):
                self._idle_slots += 1
                try:
                    await self._wait(wanted)
                finally:
                    self._idle_slots -= 1

    async def _express_slot(self, number: int) -> None:
        """Serve organizations that hold no slot while all slots are taken; the first takes no heavy jobs."""
        wanted = Wanted(with_heavy=number > 0, for_newcomers=True)
        while not self._is_stopping and number < self._express_count():
            if self._idle_slots or not await self._serve(wanted):
                await self._wait(wanted)

    async def _wait(self, wanted: Wanted) -> None:
        # Another slot may have taken the news of the stop while this one looked for jobs.
        if not self._is_stopping:
            await self._claims.wait(wanted)

    async def _serve(self, wanted: Wanted) -> bool:
        """Claim jobs of a partition and run them to their end; return False without any."""
        try:
            jobs = await self._claims.claim(wanted)
        except DatabaseError:
            log.warning("queue.claim_failed", exc_info=True)
            await asyncio.sleep(self._settings.poll_seconds)
            return True
        if not jobs:
            return False
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        try:
            if self._is_stopping:
                # `stop` has already read the running jobs: these would run without a limit.
                for job in jobs:
                    await self._return(job)
                return True
            task = asyncio.create_task(self._run_jobs(jobs))
            self._running.add(task)
            try:
                await asyncio.wait([task])
            finally:
                self._running.discard(task)
        finally:
            waited = sum(self._waiting.forget(job) for job in jobs)
            self._claims.ended(jobs, max(0.0, loop.time() - begun_at - waited))
        return True

    async def _run_jobs(self, jobs: Sequence[Job]) -> int:
        """Run the jobs of a claim; return the number of those that were not returned to the queue."""
        count, left = 0, list(jobs)
        if len(jobs) > 1:
            count, left = await self._batches.run(jobs, self._work_of)
        for job in left:
            await self._run_job(job)
        return count + len(left)

    async def _stop_continuously(self) -> None:
        """Stop running jobs whose cancellation was decided in any process."""
        while True:
            await asyncio.sleep(STOP_LOOK_SECONDS)
            if not self._work_of:
                continue
            try:
                stopped = await self._job_work.find_stopped([running.job for running in self._work_of])
            except DatabaseError:
                log.warning("queue.stop_look_failed", exc_info=True)
                continue
            for running, work in list(self._work_of.items()):
                is_cancelled, is_pointless = running.job.id in stopped.cancelled, running.job.id in stopped.pointless
                if not (is_cancelled or is_pointless) or running.is_finishing or work.done():
                    continue
                running.is_cancelled, running.is_pointless = is_cancelled, is_pointless
                if running.is_of_batch and not is_cancelled:
                    continue  # its companions go on, and soon end
                log.warning("queue.job_cancelled" if is_cancelled else "queue.job_pointless", job=running.job.id)
                work.cancel()

    async def _run_job(self, job: Job) -> None:
        structlog.contextvars.bind_contextvars(job_id=job.id, request_id=job.request_id)
        running = RunningJob(job, self._jobs)
        running.waiting_jobs = self._waiting
        work = asyncio.create_task(self._traced(running))
        heartbeat = asyncio.create_task(self._heartbeat(running, work))
        self._work_of[running] = work
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done():
                await self._interrupt(running, work)
        finally:
            del self._work_of[running]
            heartbeat.cancel()
            structlog.contextvars.unbind_contextvars("job_id", "request_id")

    async def _interrupt(self, running: RunningJob, work: asyncio.Task[None]) -> None:
        work.cancel()
        await asyncio.wait([work])
        if not running.is_finished:
            await self._return(running.job)

    async def _return(self, job: Job) -> None:
        try:
            await self._jobs.give_back(job)
        except DatabaseError:
            # The lease expires, and another worker resumes the job.
            log.warning("queue.job_not_returned", job=job.id, exc_info=True)
        else:
            log.info("queue.job_returned", job=job.id)

    async def _traced(self, running: RunningJob) -> None:
        job = running.job
        with traces.continued(
            f"job.{job.kind.value}", job.trace_parent, organization_id=job.organization_id,
            kb_id=job.subject.kb_id, document_id=job.subject.document_id, attempt=job.attempt,
        ):  # fmt: skip
            await self._work(running)

    async def _work(self, running: RunningJob) -> None:
        job = running.job
        if job.is_cancel_wanted:
            # Its last attempt ended, or its worker died, before a heartbeat could report it.
            if await self._give_up(running, cancelled(), AttemptOutcome.CANCELLED):
                await self._settled(job)
            return
        try:
            await checkpoint("queue.claimed")
            await self._job_work.handlers[job.kind](running)
            await checkpoint("queue.handled")
            if not running.is_finished:
                with running.finishing():
                    await self._jobs.finish(job)
                    running.note_finished()
            self._note_done(running)
        except asyncio.CancelledError:
            if running.is_pointless and not running.is_finished:
                await self._jobs.finish(job)
                return
            if not running.is_cancelled or running.is_finished:
                raise
            if not await self._give_up(running, cancelled(), AttemptOutcome.CANCELLED):
                return
        except Exception as error:  # noqa: BLE001  # the table in `retry` decides over every class
            if not await self._settle_failure(running, error):
                return
        await self._settled(job)

    def _note_done(self, running: RunningJob) -> None:
        outcome = AttemptOutcome.DONE if running.failure is None else AttemptOutcome.FAILED
        self._history.note(running.job, outcome, started_at=running.started_at, failure=running.failure)

    async def _settled(self, job: Job) -> None:
        try:
            await self._job_work.on_settled(job)
        except Exception:
            # Follow-ups are derived from stored state, and the reconciler makes up for lost ones.
            log.exception("queue.after_job_failed", job=job.id)

    async def _settle_failure(self, running: RunningJob, error: Exception) -> bool:
        """Write the outcome of a failed attempt; return True once written."""
        job = running.job
        if isinstance(error, DatabaseError):
            error = translate(error) or error
        outcome = retry.plan_of(job, error, max_attempts=self._settings.max_attempts)
        failure = retry.failure_of(error)
        unforeseen = error if failure.code == "internal_error" else None
        match outcome:
            case retry.Abandon():
                log.warning("queue.lease_lost", job=job.id)
                return False
            case retry.Retry(delay_seconds, _):
                if not await self._try_later(running, failure, outcome):
                    return False
                log.warning(
                    "queue.job_retried", job=job.id, attempt=job.attempt, code=failure.code,
                    delay_seconds=round(delay_seconds, 2), exc_info=unforeseen,
                )  # fmt: skip
                return True
            case retry.Bury():
                if not await self._give_up(running, failure, AttemptOutcome.DEAD):
                    return False
                log.error(
                    "queue.job_dead", job=job.id, attempt=job.attempt, code=failure.code,
                    detail=failure.detail, exc_info=unforeseen,
                )  # fmt: skip
                return True

    async def _try_later(self, running: RunningJob, failure: Failure, outcome: retry.Retry) -> bool:
        """Return the job to the queue for later; return True once written."""
        job = running.job
        if not outcome.is_counted:
            # A requested wait concerns the whole partition: its 10,000 jobs need not each find out.
            self._claims.defer(job, outcome.delay_seconds)
        try:
            delay, is_counted = outcome.delay_seconds, outcome.is_counted
            if not await self._jobs.retry(job, failure, delay_seconds=delay, is_counted=is_counted):
                log.warning("queue.lease_lost", job=job.id, code=failure.code)
                return False
        except DatabaseError:
            # The lease expires, and another worker resumes the job.
            log.exception("queue.outcome_not_written", job=job.id)
            return False
        self._history.note(job, AttemptOutcome.RETRIED, started_at=running.started_at, failure=failure)
        return True

    async def _give_up(self, running: RunningJob, failure: Failure, outcome: AttemptOutcome) -> bool:
        """Dead-letter the job; return True once written."""
        job = running.job
        try:
            if not await self._jobs.bury(job, failure):
                log.warning("queue.lease_lost", job=job.id, code=failure.code)
                return False
            self._history.note(job, outcome, started_at=running.started_at, failure=failure)
            await self._job_work.on_dead(job, failure)
        except DatabaseError:
            log.exception("queue.outcome_not_written", job=job.id)
            return False
        return True

    async def _heartbeat(self, running: RunningJob, work: asyncio.Task[None]) -> None:
        """Renew the lease; stop the work when the lease is lost or the job is cancelled."""
        lease = self._settings.lease_seconds
        while True:
            await asyncio.sleep(min(lease / 3, LONGEST_HEARTBEAT_SECONDS))
            try:
                held = await self._jobs.heartbeat(running.job, lease_seconds=lease)
            except DatabaseError:
                log.warning("queue.heartbeat_failed", job=running.job.id, exc_info=True)
                continue
            if running.is_finishing or (held is not None and not held.is_cancel_wanted):
                continue
            if not work.done():
                running.is_cancelled = held is not None
                log.warning("queue.job_cancelled" if held else "queue.lease_lost", job=running.job.id)
                work.cancel()
            return

    async def _rescue(self) -> None:
        while True:
            try:
                rescued = await self._jobs.rescue(max_deaths=self._settings.max_worker_deaths)
                if rescued:
                    log.warning("queue.jobs_rescued", jobs=rescued)
            except DatabaseError:
                log.warning("queue.rescue_failed", exc_info=True)
            await asyncio.sleep(self._settings.lease_seconds / 3)
