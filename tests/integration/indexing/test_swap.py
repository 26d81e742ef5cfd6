"""Stage, commit, sweep on a real mongod."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import LeaseLostError
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.ingestion.indexing.plan import Index
from analytiq.ingestion.indexing.staging import Pair
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.document import Document
from analytiq.models.index_entry import Generation
from analytiq.models.job import Job, JobKind, JobState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.settings import IndexingSettings
from analytiq.storage.ids import new_id
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.indexing.conftest import Action, ActsAfterStaging, Stored, sync_of
from tests.integration.tenant import Tenant, new_tenant, prose

Interpose = Callable[[Action], ActsAfterStaging]
Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
QUESTION = "in which year"


async def subjects(tenant: Tenant, kb_id: str) -> set[str]:
    """Return the subjects that a search comes upon."""
    answer = await tenant.search(kb_id, QUESTION, top_k=100)
    return {result.content.split(" tells of ")[1].split(" in the year")[0] for result in answer.results}


async def job_of(tenant: Tenant, kb_id: str, document_id: str) -> Job | None:
    return await tenant.services.repositories.jobs.get(f"sync:{kb_id}:{document_id}")


async def test_first_version_becomes_current_whole(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 40))
    (entry,) = await stored.entries(kb.id)
    assert (entry["document_id"], entry["chunk_count"]) == (document.id, 40)
    assert await stored.generations(kb.id) == [("current", 40)]
    assert await stored.vectors(kb.id) == 40


async def test_indexing_the_same_text_again_writes_nothing(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    await tenant.drain()
    assert await stored.epoch(kb.id) == 1
    assert await stored.generations(kb.id) == [("current", 5)]


async def test_old_version_is_found_until_the_new_one_is_committed(
    tenant: Tenant, embedding_server: EmbeddingServer, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 60))
    assert await subjects(tenant, kb.id) == {"whales"}
    embedding_server.script(None, Failure.SLOW)
    await tenant.replace("a.txt", prose("birds", 60))
    indexing = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    assert await subjects(tenant, kb.id) == {"whales"}
    embedding_server.release()
    await indexing
    assert await subjects(tenant, kb.id) == {"birds"}
    assert await stored.generations(kb.id) == [("superseded", 60), ("current", 60)]


async def test_old_version_stays_when_embedding_the_new_one_fails(
    tenant: Tenant, embedding_server: EmbeddingServer, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 60))
    embedding_server.script(None, Failure.UNAUTHORIZED)
    await tenant.replace("a.txt", prose("birds", 60))
    await tenant.drain()
    job = await job_of(tenant, kb.id, document.id)
    assert job is not None
    assert (job.state, job.error and job.error.code) == (JobState.DEAD, "provider_refused")
    assert await subjects(tenant, kb.id) == {"whales"}
    assert await stored.generations(kb.id) == [("current", 60)]
    assert await stored.vectors(kb.id) == 60


async def test_superseded_vectors_stay_for_a_minute(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    (old,) = await stored.entries(kb.id)
    await tenant.replace("a.txt", prose("birds", 7))
    await tenant.drain()
    sweep = await tenant.services.repositories.jobs.get(f"sweep:{kb.id}:{old['generation_id']}")
    assert sweep is not None
    assert (sweep.run_at - sweep.created_at).total_seconds() == pytest.approx(60)
    assert await stored.vectors(kb.id) == 12


async def test_sweep_leaves_nothing_but_the_current_generation(compose_services: Compose, stored: Stored) -> None:
    tenant = await new_tenant(await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0)))
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.replace("a.txt", prose("birds", 7))
    await tenant.drain()
    assert await stored.generations(kb.id) == [("current", 7)]
    assert await stored.vectors(kb.id) == 7


async def test_sweep_refuses_what_is_current(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    (entry,) = await sync_of(tenant.services)._entries.of_document(tenant.id, document.id)
    await tenant.services.repositories.jobs.enqueue([sweep_request(entry, delay_seconds=0)])
    assert await tenant.drain() == 1
    assert await stored.generations(kb.id) == [("current", 5)]
    assert await subjects(tenant, kb.id) == {"whales"}


async def test_document_deleted_between_staging_and_commit_is_not_committed(
    tenant: Tenant, act_after_staging: Interpose, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    uploaded = (await tenant.upload("a.txt", prose("whales", 5))).document
    acted = act_after_staging(lambda: tenant.services.ingestion.documents.delete(tenant.id, uploaded.id))
    await tenant.drain()
    assert len(acted.staged) == 1
    assert await nothing_is_left(stored, kb)


async def test_document_untagged_between_staging_and_commit_is_not_committed(
    tenant: Tenant, act_after_staging: Interpose, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    uploaded = (await tenant.upload("a.txt", prose("whales", 5))).document
    acted = act_after_staging(lambda: tenant.set_tags(uploaded, []))
    await tenant.drain()
    assert len(acted.staged) == 1
    assert await nothing_is_left(stored, kb)


async def nothing_is_left(stored: Stored, kb: KnowledgeBase) -> bool:
    return (
        await stored.entries(kb.id) == []
        and await stored.generations(kb.id) == []
        and await stored.vectors(kb.id) == 0
        and await stored.epoch(kb.id) == 0
    )


async def test_text_replaced_between_staging_and_commit_is_never_served(
    tenant: Tenant, act_after_staging: Interpose, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("a.txt", prose("whales", 5))

    async def replace() -> None:
        await tenant.replace("a.txt", prose("birds", 7))
        await tenant.drain()

    acted = act_after_staging(replace)
    await tenant.drain()
    assert [generation.chunk_count for generation in acted.staged] == [5, 7]
    assert await subjects(tenant, kb.id) == {"birds"}
    assert await stored.generations(kb.id) == [("current", 7)]
    assert (await stored.vectors(kb.id), await stored.epoch(kb.id)) == (7, 1)


async def test_staging_that_lost_a_vector_is_not_committed_but_made_again(
    tenant: Tenant, act_after_staging: Interpose, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("a.txt", prose("whales", 5))

    async def lose_one() -> None:
        await tenant.services.connection.database[f"kb_vectors_{kb.id}"].delete_one({"chunk_index": 3})

    acted = act_after_staging(lose_one)
    await tenant.drain()
    assert len(acted.staged) == 2
    assert await stored.generations(kb.id) == [("current", 5)]
    assert await stored.vectors(kb.id) == 5


async def test_knowledge_base_deleted_before_the_commit_stays_deleted(
    tenant: Tenant, act_after_staging: Interpose, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("a.txt", prose("whales", 5))

    async def delete() -> None:
        await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
        await tenant.drain()

    act_after_staging(delete)
    await tenant.drain()
    assert not await stored.has_collection(kb.id)
    assert await stored.entries(kb.id) == []
    assert await stored.generations(kb.id) == []
    assert await tenant.services.repositories.jobs.counts() == {}


async def test_collection_dropped_between_two_windows_does_not_come_back(
    compose_services: Compose, embedding_server: EmbeddingServer, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.indexing.staging.STAGE_BATCH_SIZE", 50)
    tenant = await new_tenant(await compose_services())
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(None, Failure.SLOW)
    await tenant.upload("a.txt", prose("whales", 100))
    indexing = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    assert await stored.vectors(kb.id) == 50
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    await tenant.drain()
    assert not await stored.has_collection(kb.id)
    embedding_server.release()
    await indexing
    await tenant.drain()
    assert not await stored.has_collection(kb.id)
    assert await stored.generations(kb.id) == []
    assert await tenant.services.repositories.jobs.counts() == {}


async def staged_by_a_worker_that_dies(
    tenant: Tenant, kb: KnowledgeBase, document: Document, *, lease_seconds: float
) -> tuple[RunningJob, Generation]:
    """Stage as a worker would, and do nothing more."""
    jobs = tenant.services.repositories.jobs
    job = await jobs.claim([JobKind.SYNC], worker="w", lease_token=new_id(), lease_seconds=lease_seconds)
    assert job is not None
    running = RunningJob(job, jobs)
    pair = Pair(tenant.organization, kb, document)
    wanted = Index(document.text_id or "", document.text_hash or "")
    return running, await sync_of(tenant.services)._staging.stage(running, pair, wanted)


async def extracted_and_waiting(tenant: Tenant, content: str) -> Document:
    """A document whose sync waits in the queue."""
    uploaded = (await tenant.upload("a.txt", content)).document
    runner = tenant.services.jobs.new_runner()
    for kind in (JobKind.EXTRACT, JobKind.MEMBERSHIP_DOCUMENT):
        job = await tenant.services.repositories.jobs.claim([kind], worker="w", lease_token=new_id(), lease_seconds=60)
        assert job is not None
        await runner._run_job(job)
    return await tenant.services.ingestion.documents.get(tenant.id, uploaded.id)


async def test_next_attempt_sweeps_what_a_dead_worker_has_staged(
    tenant: Tenant, stored: Stored, eventually: EventuallyTrue
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    document = await extracted_and_waiting(tenant, prose("whales", 5))
    _, dead = await staged_by_a_worker_that_dies(tenant, kb, document, lease_seconds=0.2)
    assert await stored.vectors(kb.id) == 5
    assert await tenant.found(kb.id, QUESTION) == []

    async def is_rescued() -> bool:
        return await tenant.services.repositories.jobs.rescue(max_deaths=8) == 1

    await eventually(is_rescued)
    await tenant.drain()
    assert await subjects(tenant, kb.id) == {"whales"}
    assert await stored.generations(kb.id) == [("current", 5)]
    assert await stored.vectors(kb.id) == 5
    assert (await stored.entries(kb.id))[0]["generation_id"] != dead.id


async def test_worker_that_slept_through_its_lease_commits_nothing(
    tenant: Tenant, stored: Stored, eventually: EventuallyTrue
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    document = await extracted_and_waiting(tenant, prose("whales", 5))
    running, generation = await staged_by_a_worker_that_dies(tenant, kb, document, lease_seconds=0.2)

    async def is_rescued() -> bool:
        return await tenant.services.repositories.jobs.rescue(max_deaths=8) == 1

    await eventually(is_rescued)
    with pytest.raises(LeaseLostError):
        await sync_of(tenant.services)._commit.make_current(running, kb, document, generation)
    assert await stored.entries(kb.id) == []
    assert await stored.epoch(kb.id) == 0
    assert await stored.generations(kb.id) == [("staging", 5)]
    assert (await tenant.services.ingestion.documents.get(tenant.id, document.id)).rev == document.rev


async def test_worker_that_is_stopped_while_embedding_leaves_nothing_staged(
    tenant: Tenant, embedding_server: EmbeddingServer, stored: Stored
) -> None:
    kb = await tenant.knowledge_base()
    document = await extracted_and_waiting(tenant, prose("whales", 5))
    embedding_server.script(Failure.SLOW)
    runner = tenant.services.jobs.new_runner()
    running = asyncio.create_task(runner.run())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    await runner.stop(drain_seconds=0)
    await running
    job = await job_of(tenant, kb.id, document.id)
    assert job is not None
    assert (job.state, job.attempt) == (JobState.AVAILABLE, 0)
    await tenant.drain()
    assert await stored.generations(kb.id) == [("current", 5)]
    assert await stored.vectors(kb.id) == 5


async def test_document_with_very_large_metadata_is_staged(tenant: Tenant, stored: Stored) -> None:
    """The rows of one window would not fit into one command: 500 times 60 kB."""
    kb = await tenant.knowledge_base()
    metadata = {f"key{number}": "é" * 1_000 for number in range(60)}
    await tenant.document("a.txt", prose("whales", 300), metadata=metadata)
    assert await stored.generations(kb.id) == [("current", 300)]
