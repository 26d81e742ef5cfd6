"""Workers as an organization sees them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from analytiq import clock
from analytiq.jobs.queue.runner import RunningJob
from analytiq.jobs.queue.workers import MOST_JOBS, Workers
from analytiq.models.job import JobRequest
from analytiq.models.job_payloads import ExtractPayload
from analytiq.models.worker import RunningJobs
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.workers import WorkerRepository
from tests.integration.queue.test_registry import at_work, registry_of, runner_on

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


async def test_worker_is_told_with_the_jobs_of_the_asking_organization_only(
    migrated: MongoConnection, jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    own, other, idle = new_id(), new_id(), new_id()
    running, release = set[str](), asyncio.Event()

    async def handler(job: RunningJob) -> None:
        running.add(job.job.id)
        await release.wait()

    runner = runner_on(migrated, handler, concurrency=4)
    await jobs.enqueue(
        [
            JobRequest(payload=ExtractPayload(document_id=new_id()), organization_id=organization)
            for organization in (own, own, other)
        ]
    )
    async with at_work(runner):
        await eventually(lambda: len(running) == 3)
        await registry_of(migrated, runner).announce()
        workers = Workers(WorkerRepository(migrated))
        (seen_by_own,) = await workers.of(own)
        (seen_by_other,) = await workers.of(other)
        (seen_by_idle,) = await workers.of(idle)
        release.set()
    assert seen_by_own.worker.id == runner.worker
    told = {job.id for seen in (seen_by_own, seen_by_other) for job in seen.running.jobs}
    assert told == running
    assert (seen_by_own.running.count, seen_by_other.running.count) == (2, 1)
    assert len(seen_by_own.running.jobs) == 2
    assert seen_by_idle.running == RunningJobs()


async def test_of_a_worker_with_many_jobs_some_are_told_and_how_many_there_are(migrated: MongoConnection) -> None:
    own = new_id()
    rows = WorkerRepository(migrated)
    await rows.announce("busy", host="h", pid=1, started_at=clock.now(), concurrency=8, running=MOST_JOBS + 3)
    moment = clock.now()
    await migrated.database["jobs"].insert_many(
        [
            {
                "_id": f"extract:{number:04}", "organization_id": own, "kind": "extract", "state": "running",
                "worker": "busy", "updated_at": moment + timedelta(seconds=number),
            }
            for number in range(MOST_JOBS + 3)
        ]
    )  # fmt: skip
    (seen,) = await Workers(rows).of(own)
    assert seen.running.count == MOST_JOBS + 3
    assert [job.id for job in seen.running.jobs] == [f"extract:{at:04}" for at in range(MOST_JOBS + 2, 2, -1)]
