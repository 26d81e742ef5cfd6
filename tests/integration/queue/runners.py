"""Runners with one handler for all jobs, and what becomes of the jobs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager

from analytiq.jobs.queue.history import History
from analytiq.jobs.queue.runner import Handler, JobWork, QueueRunner
from analytiq.jobs.queue.stops import FindStopped, Stopped
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest
from analytiq.models.job_payloads import ExtractPayload
from analytiq.settings import QueueSettings
from analytiq.storage.causality import LatestAnswer
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
Ended = list[tuple[str, str]]


def request(name: str = "a") -> JobRequest:
    return JobRequest(payload=ExtractPayload(document_id=name), organization_id="o")


def runner_of(
    jobs: JobRepository, handler: Handler, *, concurrency: int = 4, ended: Ended | None = None, **queue: float
) -> QueueRunner:
    log: Ended = [] if ended is None else ended

    async def on_settled(job: Job) -> None:
        log.append(("settled", job.id))

    async def on_dead(job: Job, failure: Failure) -> None:
        log.append(("dead", failure.code))

    handlers: Mapping[JobKind, Handler] = {JobKind.EXTRACT: handler}
    settings = QueueSettings(**{"poll_seconds": 0.05, **queue})  # type: ignore[arg-type]  # numbers, all of them
    work = JobWork(
        handlers=handlers,
        on_settled=on_settled,
        on_dead=on_dead,
        find_stopped=stopped_of(jobs),
        history=history_of(jobs),
    )
    return QueueRunner(jobs, work, settings=settings, concurrency=concurrency)


def stopped_of(jobs: JobRepository) -> FindStopped:
    """Cancelled jobs; these tests' jobs have no documents that could be deleted."""

    async def find(running: Collection[Job]) -> Stopped:
        return Stopped(frozenset(await jobs.cancel_wanted_among([job.id for job in running])), frozenset())

    return find


def history_of(jobs: JobRepository) -> History:
    connection = connection_of(jobs)
    return History(
        JobHistoryRepository(connection), DocumentRepository(connection), KnowledgeBaseRepository(connection)
    )


def connection_of(jobs: JobRepository) -> MongoConnection:
    database = jobs._collection.database
    return MongoConnection(
        client=database.client,
        database=database,
        server_version=(6, 0, 5),
        is_sharded=False,
        latest_answer=LatestAnswer(),
    )


@asynccontextmanager
async def started(*runners: QueueRunner) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(runner.run()) for runner in runners]
    try:
        yield
    finally:
        for runner in runners:
            await runner.stop(drain_seconds=0)
        await asyncio.gather(*tasks)


async def row(jobs: JobRepository, name: str = "a") -> Job:
    job = await jobs.get(f"extract:{name}")
    assert job is not None
    return job
