"""Workers as an organization sees them."""

import asyncio
from collections.abc import Awaitable, Callable

from analytiq.models.job import JobKind, JobRequest, JobSubject
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.jobs import JobRepository
from analytiq.mongo.repositories.workers import WorkerRepository
from analytiq.queue.runner import RunningJob
from analytiq.queue.workers import Workers
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
            JobRequest(kind=JobKind.EXTRACT, organization_id=organization, subject=JobSubject(document_id=new_id()))
            for organization in (own, own, other)
        ]
    )
    async with at_work(runner):
        await eventually(lambda: len(running) == 3)
        await registry_of(migrated, runner).announce()
        workers = Workers(WorkerRepository(migrated), jobs)
        (seen_by_own,) = await workers.of(own)
        (seen_by_other,) = await workers.of(other)
        (seen_by_idle,) = await workers.of(idle)
        release.set()
    assert seen_by_own.worker.id == runner.worker
    assert {job.organization_id for job in seen_by_own.jobs} == {own}
    assert len(seen_by_own.jobs) == 2
    assert len(seen_by_other.jobs) == 1
    assert seen_by_idle.jobs == []
