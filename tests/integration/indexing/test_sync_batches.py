"""Many small documents of one knowledge base indexed together: each ends as it would by itself."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from pymongo.errors import OperationFailure
from structlog.testing import capture_logs

from analytiq.composition import Services
from analytiq.errors import ProviderUnavailableError
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.job import JobKind, JobRequest
from analytiq.models.job_payloads import SyncPayload
from analytiq.settings import IndexingSettings, RateLimitSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.session import Session
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.indexing.conftest import Action, ActsAfterStaging, Stored
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
Interpose = Callable[[Action], ActsAfterStaging]


async def uploaded(tenant: Tenant, count: int) -> list[str]:
    return [
        (await tenant.upload(f"{number:02}.txt", f"Whale number {number} swims.")).document.id
        for number in range(count)
    ]


async def requested(tenant: Tenant, kb_id: str, document_ids: list[str]) -> None:
    await tenant.services.repositories.jobs.enqueue(
        [
            JobRequest(payload=SyncPayload(kb_id=kb_id, document_id=document_id), organization_id=tenant.id)
            for document_id in document_ids
        ]
    )


async def claimed(tenant: Tenant, kb_id: str) -> tuple[RunningBatch, list[SyncPayload]]:
    jobs = tenant.services.repositories.jobs
    lane = f"{tenant.id}:{kb_id}:{JobKind.SYNC.value}"
    found = await jobs.claim_many(
        [JobKind.SYNC], worker="w", lease_token=new_id(), lease_seconds=60, lane=lane, limit=32
    )
    return RunningBatch([RunningJob(job, jobs) for job in found]), [SyncPayload.from_job(job) for job in found]


async def hollowed(tenant: Tenant, kb_id: str) -> None:
    """Make every entry of the knowledge base outdated."""
    entries = tenant.services.repositories.connection.database["document_index"]
    await entries.update_many({"kb_id": kb_id}, {"$set": {"configuration_hash": "former"}})


async def test_documents_of_a_batch_are_found_and_every_change_has_an_epoch(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 20)
    with capture_logs() as logs:
        await tenant.drain()
    assert sum(entry["documents"] for entry in logs if entry["event"] == "indexing.batch_committed") > 10
    assert set(await tenant.found(kb.id, "whale", top_k=50)) == set(ids)
    assert await stored.generations(kb.id) == [("current", 1)] * 20
    assert await stored.epoch(kb.id) == 20
    changes = tenant.services.repositories.connection.database["kb_changes"].find({"kb_id": kb.id})
    rows = [row async for row in changes]
    assert sorted(row["epoch"] for row in rows) == list(range(1, 21))
    assert {row["added"] for row in rows} == {row["generation_id"] for row in await stored.entries(kb.id)}


async def test_replaced_generations_leave_the_log_and_are_swept(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 4)
    await tenant.drain()
    former = {row["generation_id"] for row in await stored.entries(kb.id)}
    await hollowed(tenant, kb.id)
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    assert all(running.is_finished for running in batch.members)
    assert await stored.epoch(kb.id) == 8
    changes = tenant.services.repositories.connection.database["kb_changes"].find({"epoch": {"$gt": 4}})
    assert {row["removed"] async for row in changes} == former
    assert sorted(await stored.generations(kb.id)) == [("current", 1)] * 4 + [("superseded", 1)] * 4
    sweeps = {f"sweep:{kb.id}:{generation_id}" for generation_id in former}
    database = tenant.services.repositories.connection.database
    kinds = [row["kind"] async for row in database["jobs"].find({})]
    assert kinds == ["sweep"] * len(sweeps)


async def test_members_that_changed_between_staging_and_commit_are_left_out(
    tenant: Tenant, stored: Stored, act_after_staging: Interpose
) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 5)
    await tenant.drain()
    await hollowed(tenant, kb.id)
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    database = tenant.services.repositories.connection.database

    async def meanwhile() -> None:
        await tenant.services.ingestion.documents.delete(tenant.id, ids[0])
        await database["jobs"].update_one({"_id": f"sync:{kb.id}:{ids[1]}"}, {"$set": {"lease_token": "another"}})
        purged = {"document_id": ids[2], "state": "staging"}
        assert (await database["generations"].update_one(purged, {"$set": {"state": "purging"}})).modified_count == 1

    staged = act_after_staging(meanwhile).staged
    await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    assert {running.job.subject.document_id for running in batch.members if running.is_finished} == set(ids[3:])
    new = {generation.id for generation in staged if generation.document_id in ids[3:]}
    assert len(staged) == 5
    assert {row["generation_id"] for row in await stored.entries(kb.id)} & {item.id for item in staged} == new
    assert f"sync:{kb.id}:{ids[1]}" in await tenant.services.repositories.jobs.existing([f"sync:{kb.id}:{ids[1]}"])
    sweeps = {row["_id"] async for row in database["jobs"].find({"kind": "sweep"})}
    left = [generation for generation in staged if generation.document_id in ids[:2]]
    assert sweeps >= {f"sweep:{kb.id}:{generation.id}" for generation in left}


async def test_transaction_that_is_too_large_is_made_in_halves(
    tenant: Tenant, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 5)
    await tenant.drain()
    await hollowed(tenant, kb.id)
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    advance_many = EpochRepository.advance_many
    sizes: list[int] = []

    async def full(repository: EpochRepository, session: Session, kb_id: str, changes: Sequence[Any]) -> int | None:
        sizes.append(len(changes))
        if len(changes) > 2:
            raise OperationFailure("transaction is too large and will not fit in the storage engine cache", 388)
        return await advance_many(repository, session, kb_id, changes)

    monkeypatch.setattr(EpochRepository, "advance_many", full)
    await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    assert sizes == [5, 2, 3, 1, 2]
    assert all(running.is_finished for running in batch.members)
    assert await stored.epoch(kb.id) == 10


async def test_documents_beyond_the_bounds_of_a_portion_follow_in_the_next_and_long_ones_alone(
    tenant: Tenant, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.indexing.batch_staging.STAGE_BATCH_SIZE", 5)
    kb = await tenant.knowledge_base()
    await tenant.drain()
    for number, sentences in enumerate((3, 2, 3, 9)):
        await tenant.upload(f"{number}.txt", prose("whales", sentences, first=100 * number))
    with capture_logs() as logs:
        await tenant.drain()
    assert [entry["documents"] for entry in logs if entry["event"] == "indexing.batch_committed"] in ([2, 1], [1, 2])
    assert len([entry for entry in logs if entry["event"] == "indexing.swap_committed"]) == 1
    assert sorted(await stored.generations(kb.id)) == [("current", count) for count in (2, 3, 3, 9)]


async def test_rate_of_documents_holds_within_a_batch_and_the_rest_waits(
    compose_services: Compose, stored: Stored
) -> None:
    # A burst of 6 documents.
    limits = RateLimitSettings(documents_per_minute=60)
    tenant = await new_tenant(await compose_services(rate_limits=limits))
    kb = await tenant.knowledge_base()
    await uploaded(tenant, 20)
    await tenant.drain()
    entries = len(await stored.entries(kb.id))
    assert 6 <= entries <= 8
    jobs = tenant.services.repositories.connection.database["jobs"]
    waiting = [row async for row in jobs.find({"kind": "sync"})]
    assert len(waiting) == 20 - entries
    assert {(row["state"], row["attempt"]) for row in waiting} == {("available", 0)}
    assert not any(row.get("is_alone") for row in waiting), "a wait is no reason to run alone"


async def test_generations_are_swept_together_and_a_current_one_stays(
    compose_services: Compose, stored: Stored
) -> None:
    tenant = await new_tenant(await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0)))
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 6)
    await tenant.drain()
    await hollowed(tenant, kb.id)
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    current = await tenant.services.repositories.entries.of_document(tenant.id, ids[0])
    await tenant.services.repositories.jobs.enqueue([sweep_request(entry, delay_seconds=0) for entry in current])
    with capture_logs() as logs:
        await tenant.drain()
    assert [entry["generations"] for entry in logs if entry["event"] == "indexing.swept_together"] == [6]
    assert await stored.generations(kb.id) == [("current", 1)] * 6
    assert await stored.vectors(kb.id) == 6


async def test_pairs_that_are_right_are_done_without_a_write(tenant: Tenant, stored: Stored) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 3)
    await tenant.drain()
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    assert len(batch.done) == 3
    assert await stored.epoch(kb.id) == 3
    assert await stored.generations(kb.id) == [("current", 1)] * 3


async def test_documents_embedded_before_the_provider_failed_are_committed(
    tenant: Tenant, stored: Stored, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    ids = await uploaded(tenant, 3)
    await tenant.drain()
    await hollowed(tenant, kb.id)
    cache = tenant.services.repositories.connection.database["embedding_cache"]
    (lost,) = [row async for row in cache.find({}).limit(1)]
    await cache.delete_one({"_id": lost["_id"]})
    embedding_server.script(*[Failure.UNAVAILABLE] * 20)
    await requested(tenant, kb.id, ids)
    batch, payloads = await claimed(tenant, kb.id)
    with pytest.raises(ProviderUnavailableError):
        await tenant.services.ingestion.sync_batches.handle_batch(batch, payloads)
    assert sum(running.is_finished for running in batch.members) == 2
    assert await stored.epoch(kb.id) == 5
