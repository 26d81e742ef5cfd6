"""Batches on a real mongod: what becomes of each job of a batch."""

import asyncio
from collections.abc import Awaitable, Callable

from analytiq.errors import ProviderUnavailableError, RateLimitedError
from analytiq.jobs.queue.runner import JobWork, QueueRunner, RunningJob
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.jobs.queue.stops import cancelled
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobState
from analytiq.settings import QueueSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.jobs import JobRepository
from tests.integration.queue.runners import EventuallyTrue, history_of, request, row, started, stopped_of


class Worker:
    """A runner whose batches do what the test says, and the names of the jobs that were handled and settled."""

    def __init__(
        self, jobs: JobRepository, handle_batch: Callable[[RunningBatch], Awaitable[None]], **queue: float
    ) -> None:
        self.batches: list[list[str]] = []
        self.alone: list[str] = []
        self.settled: list[str] = []
        self.dead: list[str] = []
        self._handle_batch = handle_batch
        work = JobWork(
            handlers={JobKind.EXTRACT: self._handle},
            on_settled=self._note_settled,
            on_dead=self._note_dead,
            find_stopped=stopped_of(jobs),
            history=history_of(jobs),
            batch_handlers={JobKind.EXTRACT: self._handle_all},
        )
        settings = QueueSettings(**{"poll_seconds": 0.05, **queue})  # type: ignore[arg-type]  # numbers, all of them
        self.runner = QueueRunner(jobs, work, settings=settings, concurrency=1)

    async def _handle(self, running: RunningJob) -> None:
        self.alone.append(name_of(running.job))

    async def _handle_all(self, batch: RunningBatch) -> None:
        self.batches.append([name_of(running.job) for running in batch.jobs])
        await self._handle_batch(batch)

    async def _note_settled(self, job: Job) -> None:
        self.settled.append(name_of(job))

    async def _note_dead(self, job: Job, failure: Failure) -> None:
        self.dead.append(name_of(job))


def name_of(job: Job) -> str:
    return str(job.subject.document_id)


async def enqueue(jobs: JobRepository, count: int) -> list[str]:
    names = [f"{number:02}" for number in range(count)]
    await jobs.enqueue([request(name) for name in names])
    return names


async def all_done(batch: RunningBatch) -> None:
    for running in batch.jobs:
        batch.note_done(running)


async def test_done_jobs_of_a_batch_are_finished_and_followed_each(jobs: JobRepository) -> None:
    names = await enqueue(jobs, 30)
    worker = Worker(jobs, all_done)
    assert await worker.runner.run_until_idle() == 30
    assert sorted(worker.settled) == names
    assert sorted(name for batch in worker.batches for name in batch) == names
    assert len(worker.batches) < 5
    assert worker.alone == []
    assert await jobs.counts() == {}


async def test_batch_size_of_one_runs_every_job_by_itself(jobs: JobRepository) -> None:
    names = await enqueue(jobs, 5)
    worker = Worker(jobs, all_done, batch_size=1)
    assert await worker.runner.run_until_idle() == 5
    assert (worker.batches, sorted(worker.alone)) == ([], names)


async def test_what_a_batch_leaves_is_done_one_by_one_and_once(jobs: JobRepository) -> None:
    names = await enqueue(jobs, 8)

    async def leave_some(batch: RunningBatch) -> None:
        for running in batch.jobs[::2]:
            batch.note_done(running)
        raise LookupError

    worker = Worker(jobs, leave_some)
    assert await worker.runner.run_until_idle() == 8
    assert len(worker.batches) == 1
    assert sorted(worker.alone) == sorted(worker.batches[0][1::2])
    assert sorted(worker.settled) == names
    assert await jobs.counts() == {}


async def test_wait_that_a_provider_asks_for_defers_the_whole_batch_at_once_and_costs_no_attempt(
    jobs: JobRepository,
) -> None:
    names = await enqueue(jobs, 6)

    async def refuse(batch: RunningBatch) -> None:
        batch.note_done(batch.jobs[0])
        raise RateLimitedError("Too many requests.", retry_after=60)

    worker = Worker(jobs, refuse)
    assert await worker.runner.run_until_idle() == 6
    assert (len(worker.batches), worker.alone, sorted(worker.settled)) == (1, [], names)
    waiting = [await row(jobs, name) for name in worker.batches[0][1:]]
    assert {(job.state, job.attempt, job.error and job.error.code) for job in waiting} == {
        (JobState.AVAILABLE, 0, "rate_limited")
    }
    assert await jobs.get(f"extract:{worker.batches[0][0]}") is None


async def test_lost_lease_of_one_job_does_not_repeat_the_others(jobs: JobRepository) -> None:
    await enqueue(jobs, 4)

    async def lose_one(batch: RunningBatch) -> None:
        await jobs._collection.update_one({"_id": batch.jobs[1].job.id}, {"$set": {"lease_token": "another"}})
        await all_done(batch)

    worker = Worker(jobs, lose_one)
    await worker.runner.run_until_idle()
    left = await row(jobs, worker.batches[0][1])
    assert (left.lease_token, worker.alone) == ("another", [])
    assert await jobs.counts() == {("extract", "running"): 1}


async def test_cancelled_job_of_a_batch_is_cancelled_and_its_companions_are_done(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    names = await enqueue(jobs, 4)
    never = asyncio.Event()

    async def hang(_: RunningBatch) -> None:
        await never.wait()

    worker = Worker(jobs, hang)
    async with started(worker.runner):
        await eventually(lambda: len(worker.batches) == 1)
        await jobs.cancel("o", "extract:02", cancelled())
        await eventually(lambda: sorted(worker.settled) == names)
    assert sorted(worker.alone) == ["00", "01", "03"]
    assert worker.dead == ["02"]
    assert (await row(jobs, "02")).state is JobState.DEAD


async def test_stopped_worker_returns_the_whole_batch_uncounted(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    names = await enqueue(jobs, 4)
    never = asyncio.Event()

    async def hang(batch: RunningBatch) -> None:
        batch.note_done(batch.jobs[0])
        await never.wait()

    worker = Worker(jobs, hang)
    async with started(worker.runner):
        await eventually(lambda: len(worker.batches) == 1)
    first, *others = worker.batches[0]
    assert await jobs.get(f"extract:{first}") is None
    rows = [await row(jobs, name) for name in others]
    assert {(job.state, job.attempt, job.lease_token, job.is_alone) for job in rows} == {
        (JobState.AVAILABLE, 0, None, False)
    }
    assert sorted([first, *others]) == names


async def test_leases_of_a_long_batch_are_renewed_but_not_during_its_transactions(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    await enqueue(jobs, 3)
    begun, ends = asyncio.Event(), asyncio.Event()

    async def take_long(batch: RunningBatch) -> None:
        first = batch.jobs[0].job
        assert first.lease_expires_at is not None
        until = first.lease_expires_at

        async def is_renewed() -> bool:
            return ((await row(jobs, name_of(first))).lease_expires_at or until) > until

        await eventually(is_renewed)
        with batch.finishing(batch.jobs):
            begun.set()
            await ends.wait()
        await all_done(batch)

    worker = Worker(jobs, take_long, lease_seconds=0.6)
    async with started(worker.runner):
        await begun.wait()
        # Nothing renews the leases now, so they end.
        await eventually(lambda: has_expired(jobs))
        ends.set()
        await eventually(lambda: is_empty(jobs))


async def has_expired(jobs: JobRepository) -> bool:
    query = {"$or": [{"state": "available"}, {"$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}]}
    return await jobs._collection.count_documents(query) == 3


async def is_empty(jobs: JobRepository) -> bool:
    return await jobs.counts() == {}


async def test_job_that_kills_its_workers_is_given_up_and_none_of_its_companions(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    await enqueue(jobs, 9)
    poison = "extract:04"

    async def live_and_die() -> bool:
        """Take what a worker would take, and die of the poison with all that was taken along with it."""
        lease = {"worker": "w", "lease_token": new_id(), "lease_seconds": 0.2}
        taken = await jobs.claim_many([JobKind.EXTRACT], lane="o:-:extract", limit=32, **lease)  # type: ignore[arg-type]
        if any(job.id == poison for job in taken):
            await eventually(lambda: is_rescued(jobs))
        else:
            await jobs.finish_many(taken)
        return await jobs.counts() == {("extract", "dead"): 1}

    await eventually(live_and_die)
    job = await jobs.get(poison)
    assert job is not None
    assert (job.state, job.deaths) == (JobState.DEAD, 3)


async def is_rescued(jobs: JobRepository) -> bool:
    await jobs.rescue(max_deaths=3)
    return ("extract", "running") not in await jobs.counts()


async def deferred(jobs: JobRepository) -> list[tuple[str, int, bool]]:
    """(state, attempts, alone) of the jobs, by name."""
    rows = jobs._collection.find().sort("_id", 1)
    return [(row["state"], row["attempt"], bool(row.get("is_alone"))) async for row in rows]


async def test_jobs_that_a_batch_leaves_alone_run_alone_also_if_the_others_wait(jobs: JobRepository) -> None:
    await enqueue(jobs, 4)

    async def handle(batch: RunningBatch) -> None:
        batch.leave_alone(batch.members[:1])
        raise RateLimitedError("Too many requests.", retry_after=60)

    await Worker(jobs, handle).runner.run_until_idle()
    assert await deferred(jobs) == [("available", 0, True)] + [("available", 0, False)] * 3


async def test_jobs_whose_provider_fails_are_tried_again_one_by_one(jobs: JobRepository) -> None:
    await enqueue(jobs, 3)

    async def handle(batch: RunningBatch) -> None:
        raise ProviderUnavailableError("It fails.", retry_after=60)

    await Worker(jobs, handle).runner.run_until_idle()
    assert await deferred(jobs) == [("available", 0, True)] * 3
