"""Operations on jobs, on a real mongod: looking, replaying, cancelling; and the history of them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError, CorruptFileError, NotFoundError
from analytiq.ingestion.documents.requests import clean_request, extract_request
from analytiq.jobs.queue import operations
from analytiq.jobs.queue.retry import failure_of
from analytiq.jobs.queue.runner import Handler, JobWork, QueueRunner, RunningJob
from analytiq.jobs.queue.stops import Stops
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import Job, JobKind, JobState
from analytiq.models.job_history import AttemptOutcome
from analytiq.models.knowledge_base import KnowledgeBaseStatus
from analytiq.settings import QueueSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.jobs import JobPage, JobQuery
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import Tenant, new_tenant, prose

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
Compose = Callable[..., Awaitable[Services]]


def runner_with(
    services: Services, changes: dict[JobKind, Handler | None], *, concurrency: int = 4, **queue: Any
) -> QueueRunner:
    """A worker like the real one, but for some handlers; of kinds with None it takes no jobs."""
    handlers = {**services.jobs.handlers, **changes}
    work = JobWork(
        handlers={kind: handler for kind, handler in handlers.items() if handler is not None},
        on_settled=services.jobs.declared.on_settled,
        on_dead=services.jobs.declared.on_dead,
        find_stopped=Stops(services.repositories.jobs, services.repositories.documents).among,
        history=services.jobs.new_history(),
    )
    settings = QueueSettings(poll_seconds=0.05, **queue)
    return QueueRunner(services.repositories.jobs, work, settings=settings, concurrency=concurrency)


@asynccontextmanager
async def at_work(runner: QueueRunner) -> AsyncGenerator[None]:
    working = asyncio.create_task(runner.run())
    try:
        yield
    finally:
        await runner.stop(drain_seconds=0)
        await working


async def let_die(tenant: Tenant, job_id: str) -> Job:
    """The job after a worker has given it up."""
    job = await tenant.services.repositories.jobs.get(job_id)
    assert job is not None
    claimed = await tenant.services.repositories.jobs.claim(
        [job.kind], worker="w", lease_token=new_id(), lease_seconds=30
    )
    assert claimed is not None
    assert claimed.id == job_id
    failure = failure_of(CorruptFileError("the file is torn; send it again"))
    assert await tenant.services.repositories.jobs.bury(claimed, failure)
    await tenant.services.jobs.on_dead(claimed, failure)
    return await job_of(tenant, job_id)


async def job_of(tenant: Tenant, job_id: str) -> Job:
    return (await tenant.services.jobs.operations.get(tenant.id, job_id)).job


async def document_of(tenant: Tenant, document_id: str) -> Document:
    return await tenant.services.ingestion.documents.get(tenant.id, document_id)


async def with_dead_sync(tenant: Tenant, server: EmbeddingServer, name: str = "a.txt") -> tuple[Document, str, str]:
    """A document whose indexing was refused by the provider, its knowledge base, and the dead job."""
    kb = await tenant.knowledge_base()
    await tenant.drain()
    server.script(Failure.UNAUTHORIZED)
    document = await tenant.document(name, prose(name.removesuffix(".txt"), 3))
    return document, kb.id, f"sync:{kb.id}:{document.id}"


# Looking


async def test_list_shows_what_matches_and_how_many(tenant: Tenant, embedding_server: EmbeddingServer) -> None:
    document, kb_id, dead = await with_dead_sync(tenant, embedding_server)
    waiting = (await tenant.upload("b.txt", "text")).document
    page = tenant.services.jobs.operations.page

    async def ids(**query: Any) -> list[str]:
        found = await page(tenant.id, JobQuery(**query), skip=0, limit=10)
        assert (len(found.jobs), False) == (found.total_count, found.total_count_is_at_least)
        return [job.id for job in found.jobs]

    extract = f"extract:{waiting.id}"
    assert await ids() == [extract, dead]
    assert await ids(states=(JobState.DEAD,)) == [dead]
    assert await ids(kinds=(JobKind.EXTRACT,)) == [extract]
    assert await ids(kb_id=kb_id) == [dead]
    assert await ids(document_id=document.id) == [dead]
    assert await ids(error_code="provider_refused") == [dead]
    assert await ids(error_code="provider_refused", states=(JobState.AVAILABLE,)) == []
    second = await page(tenant.id, JobQuery(), skip=1, limit=1)
    assert ([job.id for job in second.jobs], second.total_count) == ([dead], 2)


async def test_dead_job_tells_where_it_failed_and_what_became_of_its_attempts(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    _, _, dead = await with_dead_sync(tenant, embedding_server)
    found = await tenant.services.jobs.operations.get(tenant.id, dead)
    assert found.job.error is not None
    assert "ProviderRefusedError" in (found.job.error.stack or "")
    assert embedding_server.api_key not in str(found)
    assert [(attempt.outcome, attempt.attempt) for attempt in found.attempts] == [(AttemptOutcome.DEAD, 1)]


async def test_jobs_of_another_organization_are_unknown_and_untouched(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    document, _, dead = await with_dead_sync(tenant, embedding_server)
    before = await job_of(tenant, dead)
    jobs, stranger = tenant.services.jobs.operations, await new_tenant(tenant.services)
    assert await jobs.page(stranger.id, JobQuery(), skip=0, limit=10) == JobPage([], 0, total_count_is_at_least=False)
    for operation in (jobs.get, jobs.replay, jobs.cancel):
        with pytest.raises(NotFoundError):
            await operation(stranger.id, dead)
    assert await jobs.replay_all(stranger.id, JobQuery()) == 0
    assert await jobs.replay_all(stranger.id, JobQuery(document_id=document.id)) == 0
    seen = await jobs.log_of_document(stranger.id, document.id, skip=0, limit=10)
    assert (seen.attempts, seen.total_count, seen.jobs) == ([], 0, [])
    assert await job_of(tenant, dead) == before


async def test_log_of_a_document_shows_what_was_done_latest_first_and_what_is_to_do(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    document, kb_id, dead = await with_dead_sync(tenant, embedding_server)
    await tenant.services.jobs.operations.replay(tenant.id, dead)
    log = await tenant.services.jobs.operations.log_of_document(tenant.id, document.id, skip=0, limit=10)
    assert [(attempt.kind, attempt.outcome) for attempt in log.attempts] == [
        (JobKind.SYNC, AttemptOutcome.DEAD),
        (JobKind.MEMBERSHIP_DOCUMENT, AttemptOutcome.DONE),
        (JobKind.EXTRACT, AttemptOutcome.DONE),
    ]
    assert [(job.id, job.state) for job in log.jobs] == [(dead, JobState.AVAILABLE)]
    await tenant.drain()
    log = await tenant.services.jobs.operations.log_of_document(tenant.id, document.id, skip=0, limit=1)
    (last,) = log.attempts
    assert (last.job_id, last.outcome, last.subject.kb_id) == (dead, AttemptOutcome.DONE, kb_id)
    assert (log.total_count, log.jobs) == (4, [])


# Replaying


async def test_replayed_job_runs_as_if_it_had_never_been_tried(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    document, kb_id, dead = await with_dead_sync(tenant, embedding_server)
    await tenant.services.jobs.operations.replay(tenant.id, dead)
    again = await job_of(tenant, dead)
    assert (again.state, again.attempt, again.error) == (JobState.AVAILABLE, 0, None)
    await tenant.drain()
    assert await tenant.found(kb_id, "a") == [document.id]
    with pytest.raises(NotFoundError, match="log of their document"):
        await tenant.services.jobs.operations.get(tenant.id, dead)


async def test_replay_of_an_extraction_shows_its_document_as_waiting(tenant: Tenant) -> None:
    document = (await tenant.upload("a.txt", prose("whales", 3))).document
    dead = await let_die(tenant, f"extract:{document.id}")
    assert (await document_of(tenant, document.id)).state is DocumentState.FAILED
    await tenant.services.jobs.operations.replay(tenant.id, dead.id)
    waiting = await document_of(tenant, document.id)
    assert (waiting.state, waiting.error) == (DocumentState.UPLOADED, None)
    await tenant.drain()
    assert (await document_of(tenant, document.id)).state is DocumentState.EXTRACTED


async def test_job_that_is_not_dead_is_not_replayed(tenant: Tenant) -> None:
    document = (await tenant.upload("a.txt", "text")).document
    before = await job_of(tenant, f"extract:{document.id}")
    with pytest.raises(ConflictError, match="waits for its turn"):
        await tenant.services.jobs.operations.replay(tenant.id, before.id)
    assert await job_of(tenant, before.id) == before
    claimed = await tenant.services.repositories.jobs.claim(
        [JobKind.EXTRACT], worker="w", lease_token="t", lease_seconds=30
    )
    with pytest.raises(ConflictError, match="Only dead jobs"):
        await tenant.services.jobs.operations.replay(tenant.id, before.id)
    assert await job_of(tenant, before.id) == claimed


async def test_replay_of_many_takes_those_that_match_and_no_other(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    _, kb_id, refused = await with_dead_sync(tenant, embedding_server)
    torn = (await tenant.upload("b.txt", "text")).document
    extraction = f"extract:{torn.id}"
    await let_die(tenant, extraction)
    replay_all = tenant.services.jobs.operations.replay_all

    async def dead() -> set[str]:
        page = await tenant.services.jobs.operations.page(
            tenant.id, JobQuery(states=(JobState.DEAD,)), skip=0, limit=10
        )
        return {job.id for job in page.jobs}

    assert await replay_all(tenant.id, JobQuery(kinds=(JobKind.SWEEP,))) == 0
    assert await replay_all(tenant.id, JobQuery(kb_id=kb_id, error_code="corrupt_file")) == 0
    assert await dead() == {refused, extraction}
    assert await replay_all(tenant.id, JobQuery(error_code="provider_refused")) == 1
    assert await dead() == {extraction}
    assert (await document_of(tenant, torn.id)).state is DocumentState.FAILED
    assert await replay_all(tenant.id, JobQuery()) == 1
    assert await dead() == set()
    assert (await document_of(tenant, torn.id)).state is DocumentState.UPLOADED


async def test_replay_of_many_extractions_reaches_every_document(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "JOBS_AT_ONCE", 3)
    monkeypatch.setattr(operations, "DOCUMENTS_AT_ONCE", 2)
    documents = [(await tenant.upload(f"{number}.txt", f"text {number}")).document for number in range(7)]
    for document in documents:
        await tenant.services.jobs.operations.cancel(tenant.id, f"extract:{document.id}")
    assert await tenant.services.jobs.operations.replay_all(tenant.id, JobQuery(kinds=(JobKind.EXTRACT,))) == 7
    states = [(await document_of(tenant, document.id)).state for document in documents]
    assert states == [DocumentState.UPLOADED] * 7


async def test_replay_leaves_a_document_alone_that_was_extracted_meanwhile(tenant: Tenant) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.services.repositories.jobs.enqueue([extract_request(tenant.id, document.id)])
    # Its worker died before it began: the document still shows what it was.
    dead = await let_die(tenant, f"extract:{document.id}")
    await tenant.services.jobs.operations.replay(tenant.id, dead.id)
    assert (await document_of(tenant, document.id)).state is DocumentState.EXTRACTED


# Cancelling


async def test_cancelled_extraction_that_waits_fails_its_document(tenant: Tenant) -> None:
    document = (await tenant.upload("a.txt", "text")).document
    cancelled = await tenant.services.jobs.operations.cancel(tenant.id, f"extract:{document.id}")
    assert cancelled.state is JobState.DEAD
    failed = await document_of(tenant, document.id)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (DocumentState.FAILED, "cancelled")
    assert await tenant.drain() == 0


async def test_cancelled_job_that_runs_is_stopped_and_fails_its_document(
    tenant: Tenant, eventually: EventuallyTrue
) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def endless(_: RunningJob) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    document = (await tenant.upload("a.txt", "text")).document
    job_id = f"extract:{document.id}"
    async with at_work(runner_with(tenant.services, {JobKind.EXTRACT: endless}, lease_seconds=0.6)):
        await begun.wait()
        wanted = await tenant.services.jobs.operations.cancel(tenant.id, job_id)
        assert (wanted.state, wanted.is_cancel_wanted) == (JobState.RUNNING, True)
        await stopped.wait()

        async def is_failed() -> bool:
            return (await document_of(tenant, document.id)).state is DocumentState.FAILED

        await eventually(is_failed)
    found = await tenant.services.jobs.operations.get(tenant.id, job_id)
    assert found.job.error is not None
    assert (found.job.state, found.job.error.code) == (JobState.DEAD, "cancelled")
    assert [attempt.outcome for attempt in found.attempts] == [AttemptOutcome.CANCELLED]


async def test_cancelling_a_dead_job_changes_nothing(tenant: Tenant, embedding_server: EmbeddingServer) -> None:
    _, _, dead = await with_dead_sync(tenant, embedding_server)
    before = await job_of(tenant, dead)
    assert await tenant.services.jobs.operations.cancel(tenant.id, dead) == before
    assert await job_of(tenant, dead) == before


async def test_deletion_is_not_cancelled(tenant: Tenant, migrated: MongoConnection) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    with pytest.raises(ConflictError, match="cannot be cancelled"):
        await tenant.services.jobs.operations.cancel(tenant.id, clean_request(tenant.id, document.id).deduplication_key)
    await tenant.drain()
    assert await migrated.database["fs.files"].count_documents({}) == 0


async def test_knowledge_base_becomes_active_when_the_last_of_its_first_jobs_is_cancelled(tenant: Tenant) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    kb = await tenant.knowledge_base()
    await runner_with(tenant.services, {JobKind.SYNC: None}).run_until_idle()
    sync = f"sync:{kb.id}:{document.id}"
    assert (await job_of(tenant, sync)).state is JobState.AVAILABLE
    before = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert before.status is KnowledgeBaseStatus.INDEXING
    await tenant.services.jobs.operations.cancel(tenant.id, sync)
    after = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert after.status is KnowledgeBaseStatus.ACTIVE


# Fairness


async def test_single_document_is_not_behind_the_many_of_another_knowledge_base(
    tenant: Tenant, services: Services, eventually: EventuallyTrue
) -> None:
    other_tag = await tenant.new_tag("others")
    full = await tenant.knowledge_base()
    single = await tenant.knowledge_base(tag_ids=(other_tag.id,))
    for number in range(30):
        await tenant.upload(f"{number}.txt", f"whale number {number}")
    await tenant.upload("single.txt", "a single bird", tags=[other_tag.id])
    await runner_with(services, {JobKind.SYNC: None}).run_until_idle()
    order: list[str | None] = []

    async def sync(running: RunningJob) -> None:
        order.append(running.job.subject.kb_id)
        await services.jobs.handlers[JobKind.SYNC](running)

    async with at_work(runner_with(services, {JobKind.SYNC: sync}, concurrency=1)):
        await eventually(lambda: len(order) == 31)
    assert order.count(full.id) == 30
    assert order.index(single.id) <= 1, "it waited longer than for one turn of the other"


# All that match


async def test_counts_tell_each_kind_by_state_and_nothing_of_others(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    await with_dead_sync(tenant, embedding_server)
    for name in ("b.txt", "c.txt"):
        await tenant.upload(name, f"text of {name}")
    stranger = await new_tenant(tenant.services)
    counts = {item.kind: item for item in await tenant.services.jobs.operations.counts(tenant.id)}
    assert (counts[JobKind.SYNC].dead, counts[JobKind.SYNC].waiting) == (1, 0)
    assert (counts[JobKind.EXTRACT].waiting, counts[JobKind.EXTRACT].running) == (2, 0)
    assert await tenant.services.jobs.operations.counts(stranger.id) == []


async def test_counts_and_errors_are_read_from_indexes_alone(
    tenant: Tenant, embedding_server: EmbeddingServer, migrated: MongoConnection
) -> None:
    await with_dead_sync(tenant, embedding_server)
    await migrated.database.command("profile", 2)
    try:
        await tenant.services.repositories.jobs.counts(tenant.id)
        await tenant.services.repositories.jobs.dead_by_error(tenant.id, JobQuery(), limit=10)
    finally:
        await migrated.database.command("profile", 0)
        ran = [row async for row in migrated.database["system.profile"].find({"command.aggregate": "jobs"})]
        await migrated.database.drop_collection("system.profile")
    assert [row["docsExamined"] for row in ran] == [0, 0]


async def test_errors_count_all_dead_jobs_by_what_made_them_fail(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    _, kb_id, _ = await with_dead_sync(tenant, embedding_server)
    for number in range(3):
        document = (await tenant.upload(f"d{number}.txt", f"text {number}")).document
        await tenant.services.jobs.operations.cancel(tenant.id, f"extract:{document.id}")
    jobs, stranger = tenant.services.jobs.operations, await new_tenant(tenant.services)
    found = await jobs.errors(tenant.id, JobQuery())
    assert [(group.code, group.count) for group in found] == [("cancelled", 3), ("provider_refused", 1)]
    assert "Replay the job" in found[0].detail
    assert [group.code for group in await jobs.errors(tenant.id, JobQuery(kb_id=kb_id))] == ["provider_refused"]
    assert [group.code for group in await jobs.errors(tenant.id, JobQuery(kinds=(JobKind.EXTRACT,)))] == ["cancelled"]
    assert await jobs.errors(stranger.id, JobQuery()) == []


async def test_cancelling_all_that_match_ends_waiting_ones_at_once_and_fails_their_documents(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.storage.repositories.jobs.JOBS_PER_BATCH", 2)
    documents = [(await tenant.upload(f"w{number}.txt", f"text {number}")).document for number in range(5)]
    stranger = await new_tenant(tenant.services)
    other = (await stranger.upload("theirs.txt", "theirs")).document
    jobs = tenant.services.jobs.operations
    assert (await jobs.cancel_all(tenant.id, JobQuery(kinds=(JobKind.SYNC,)))).cancelled == 0
    done = await jobs.cancel_all(tenant.id, JobQuery(kinds=(JobKind.EXTRACT,)))
    assert (done.cancelled, done.stopping) == (5, 0)
    for document in documents:
        found = await document_of(tenant, document.id)
        assert (found.state, found.error.code if found.error else None) == (DocumentState.FAILED, "cancelled")
    assert (await job_of(stranger, f"extract:{other.id}")).state is JobState.AVAILABLE
    assert (await document_of(stranger, other.id)).state is DocumentState.UPLOADED
    assert await jobs.replay_all(tenant.id, JobQuery(error_code="cancelled")) == 5
    assert (await document_of(tenant, documents[0].id)).state is DocumentState.UPLOADED


async def test_cancelling_all_tells_running_ones_to_stop_where_they_are_meant(tenant: Tenant) -> None:
    running = (await tenant.upload("r.txt", "runs")).document
    claimed = await tenant.services.repositories.jobs.claim(
        [JobKind.EXTRACT], worker="w", lease_token=new_id(), lease_seconds=30
    )
    assert claimed is not None
    waiting = (await tenant.upload("w.txt", "waits")).document
    jobs = tenant.services.jobs.operations
    only_waiting = await jobs.cancel_all(tenant.id, JobQuery(states=(JobState.AVAILABLE,)))
    assert (only_waiting.cancelled, only_waiting.stopping) == (1, 0)
    assert (await job_of(tenant, f"extract:{waiting.id}")).state is JobState.DEAD
    assert not (await job_of(tenant, f"extract:{running.id}")).is_cancel_wanted
    only_running = await jobs.cancel_all(tenant.id, JobQuery(states=(JobState.RUNNING,)))
    assert (only_running.cancelled, only_running.stopping) == (0, 1)
    assert (await job_of(tenant, f"extract:{running.id}")).is_cancel_wanted


async def test_cancelling_all_leaves_deletions_to_run_to_their_end(tenant: Tenant) -> None:
    document = await tenant.document("gone.txt", "text")
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    jobs = tenant.services.jobs.operations
    before = {item.kind for item in await jobs.counts(tenant.id) if item.waiting}
    assert JobKind.CLEAN_DOCUMENT in before
    await jobs.cancel_all(tenant.id, JobQuery())
    counts = {item.kind: item for item in await jobs.counts(tenant.id)}
    assert counts[JobKind.CLEAN_DOCUMENT].waiting == 1
    with pytest.raises(ConflictError, match="cannot be cancelled"):
        await jobs.cancel_all(tenant.id, JobQuery(kinds=(JobKind.CLEAN_DOCUMENT,)))
