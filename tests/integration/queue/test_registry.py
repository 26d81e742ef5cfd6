"""Worker processes show themselves, and take up another concurrency while they run."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from analytiq import clock
from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.jobs.queue.history import History
from analytiq.jobs.queue.registry import MOST_JOBS_AT_ONCE, SILENT_SECONDS, WorkerRegistry
from analytiq.jobs.queue.runner import Handler, JobWork, QueueRunner, RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest
from analytiq.models.job_payloads import ExtractPayload
from analytiq.models.worker import Worker
from analytiq.settings import QueueSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.workers import FORGOTTEN_SECONDS, RuntimeSettingRepository, WorkerRepository
from tests.integration.queue.runners import stopped_of

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


async def nothing(*_: object) -> None: ...


def runner_on(
    connection: MongoConnection,
    handler: Handler = nothing,
    *,
    concurrency: int = 2,
    jobs: JobRepository | None = None,
) -> QueueRunner:
    async def on_settled(_: Job) -> None: ...

    async def on_dead(_: Job, __: Failure) -> None: ...

    work = JobWork(
        handlers={JobKind.EXTRACT: handler},
        on_settled=on_settled,
        on_dead=on_dead,
        find_stopped=stopped_of(JobRepository(connection)),
        history=History(
            JobHistoryRepository(connection), DocumentRepository(connection), KnowledgeBaseRepository(connection)
        ),
    )
    settings = QueueSettings(poll_seconds=0.05)
    return QueueRunner(jobs or JobRepository(connection), work, settings=settings, concurrency=concurrency)


def registry_of(connection: MongoConnection, runner: QueueRunner) -> WorkerRegistry:
    return WorkerRegistry(Repositories(connection), runner, installed_languages=installed_languages)


async def seen(connection: MongoConnection) -> list[Worker]:
    return await WorkerRepository(connection).seen_within(SILENT_SECONDS)


@asynccontextmanager
async def kept(registry: WorkerRegistry) -> AsyncGenerator[None]:
    keeping = asyncio.create_task(registry.keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        await registry.withdraw()


@asynccontextmanager
async def at_work(runner: QueueRunner) -> AsyncGenerator[None]:
    working = asyncio.create_task(runner.run())
    try:
        yield
    finally:
        await runner.stop(drain_seconds=0)
        await working


async def test_worker_is_seen_until_it_ends(migrated: MongoConnection, eventually: EventuallyTrue) -> None:
    runner = runner_on(migrated, concurrency=3)

    async def is_seen() -> bool:
        return bool(await seen(migrated))

    async with kept(registry_of(migrated, runner)):
        await eventually(is_seen)
        (worker,) = await seen(migrated)
        assert (worker.id, worker.concurrency, worker.running) == (runner.worker, 3, 0)
    assert await seen(migrated) == []


async def test_worker_that_announces_itself_again_stays_one_and_is_seen_later(migrated: MongoConnection) -> None:
    registry = registry_of(migrated, runner_on(migrated))
    await registry.announce()
    (first,) = await seen(migrated)
    await registry.announce()
    (second,) = await seen(migrated)
    assert second.seen_at >= first.seen_at
    assert second.started_at == first.started_at


async def test_worker_shows_what_keeps_it_from_all_of_its_work(migrated: MongoConnection) -> None:
    runner = runner_on(migrated)
    problems = ("Parsers are not isolated.", "$problem")
    await WorkerRegistry(
        Repositories(migrated), runner, installed_languages=installed_languages, problems=problems
    ).announce()
    (worker,) = await seen(migrated)
    assert worker.problems == problems


async def test_worker_that_has_fallen_silent_is_not_seen_and_forgotten_by_the_server(
    migrated: MongoConnection,
) -> None:
    await registry_of(migrated, runner_on(migrated)).announce()
    long_ago = clock.now().replace(year=2000)
    await migrated.database["workers"].update_one({}, {"$set": {"seen_at": long_ago}})
    assert await seen(migrated) == []
    indexes = await migrated.database["workers"].index_information()
    (limit,) = [index for index in indexes.values() if "expireAfterSeconds" in index]
    assert (limit["key"], limit["expireAfterSeconds"]) == ([("seen_at", 1)], FORGOTTEN_SECONDS)


async def test_running_worker_takes_up_another_concurrency_and_shows_it(
    migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    """One job more may run at once: an express slot serves an organization that holds no slot for a moment."""
    at_once, release = 0, asyncio.Event()

    async def handler(_: RunningJob) -> None:
        nonlocal at_once
        at_once += 1
        try:
            await release.wait()
        finally:
            at_once -= 1

    settings, runner = RuntimeSettingRepository(migrated), runner_on(migrated, handler, concurrency=2)
    registry = registry_of(migrated, runner)
    async with at_work(runner):
        await runner_jobs(migrated, 8)
        await eventually(lambda: at_once in (2, 3))
        await settings.set_worker_concurrency(5)
        await registry.obey()
        await eventually(lambda: at_once in (5, 6))
        (worker,) = await seen(migrated)
        assert worker.concurrency == 5
        await registry.announce()
        (worker,) = await seen(migrated)
        assert worker.concurrency == 5
        assert worker.running in (5, 6)

        await settings.set_worker_concurrency(1)
        await registry.obey()
        assert at_once in (5, 6), "what runs already is finished"
        release.set()
        await eventually(lambda: at_once == 0)
        release.clear()
        await runner_jobs(migrated, 8)
        await eventually(lambda: at_once in (1, 2))
        (worker,) = await seen(migrated)
        assert worker.concurrency == 1
        release.set()


async def runner_jobs(connection: MongoConnection, count: int) -> None:
    """Enqueue so many jobs that the handler is to hold."""
    requests = [
        JobRequest(payload=ExtractPayload(document_id=str(number)), organization_id="o") for number in range(count)
    ]
    await JobRepository(connection).enqueue(requests)


async def test_worker_goes_back_to_its_own_setting_when_nothing_is_wanted_any_more(migrated: MongoConnection) -> None:
    settings, runner = RuntimeSettingRepository(migrated), runner_on(migrated, concurrency=2)
    registry = registry_of(migrated, runner)
    await registry.obey()
    assert runner.concurrency == 2
    await settings.set_worker_concurrency(7)
    await registry.obey()
    assert runner.concurrency == 7
    await settings.set_worker_concurrency(None)
    await registry.obey()
    assert runner.concurrency == 2


@pytest.mark.parametrize("value", [0, -1, MOST_JOBS_AT_ONCE + 1, "4", 2.5, True, None, [4]])
async def test_value_that_is_no_concurrency_is_ignored(migrated: MongoConnection, value: object) -> None:
    rows = migrated.database["runtime_settings"]
    await rows.insert_one({"_id": "worker_concurrency", "value": value})
    runner = runner_on(migrated, concurrency=2)
    await registry_of(migrated, runner).obey()
    assert runner.concurrency == 2


class CountsPolls(JobRepository):
    """Counts how often a worker looks whether something has become due."""

    polls = 0

    async def server_time(self) -> Any:
        self.polls += 1
        return await super().server_time()


async def test_idle_worker_asks_the_database_once_a_poll_whatever_its_number_of_slots(
    database: MongoConnection, eventually: EventuallyTrue
) -> None:
    await migrate(database)
    jobs = CountsPolls(database)
    runner = runner_on(database, concurrency=64, jobs=jobs)
    # MongoDB's profiler counts the operations on this test's database only: others use the server meanwhile.
    await database.database.command("profile", 2)
    try:
        async with at_work(runner), kept(registry_of(database, runner)):
            await eventually(lambda: jobs.polls >= 10)
    finally:
        await database.database.command("profile", 0)
    calls: list[dict[str, Any]] = [
        row["command"]
        async for row in database.database["system.profile"].find({"ns": f"{database.database.name}.jobs"})
    ]
    looks = [call for call in calls if "aggregate" in call and "$changeStream" not in call["pipeline"][0]]
    claims = [call for call in calls if "find" in call or "findAndModify" in call]
    assert 0 < len(looks) <= jobs.polls
    assert len(claims) <= 2, "idle slots wait for news instead of asking each by itself"
