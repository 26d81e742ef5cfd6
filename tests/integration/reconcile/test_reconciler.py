"""Each kind of drift is made by hand, found, and mended by the jobs that the pass enqueues."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.ingestion.documents.requests import HEAVY_BYTES
from analytiq.models.job import JobState
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.report import Report
from analytiq.settings import IndexingSettings, ReconcilerSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.vectors import VectorRepository
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.reconcile.conftest import LONG_AGO, Compose
from tests.integration.tenant import Tenant, new_tenant, prose


async def run_pass(tenant: Tenant, *, is_dry: bool = False) -> Report:
    return await tenant.services.operations.reconciler.run_pass(is_dry=is_dry)


async def is_healthy(tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection) -> bool:
    """Nothing to find, and both documents searchable with just their own vectors."""
    report = await run_pass(tenant)
    found = await tenant.found(kb.id, "year")
    vectors = await migrated.database[f"kb_vectors_{kb.id}"].count_documents({})
    return report.drift == [] and len(found) == 2 and vectors == 10


async def fingerprint(migrated: MongoConnection) -> str:
    hashes = await migrated.database.command("dbHash")
    return str(sorted(hashes["collections"].items()))


async def mended(tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection, kind: DriftKind) -> Report:
    """A dry pass finds the drift and writes nothing; a real one mends it, once."""
    before = await fingerprint(migrated)
    dry = await run_pass(tenant, is_dry=True)
    assert await fingerprint(migrated) == before
    assert dry.counts() == {kind.value: len(dry.drift)}
    report = await run_pass(tenant)
    assert report.drift == dry.drift
    await tenant.drain()
    assert await is_healthy(tenant, kb, migrated)
    return report


async def test_pass_over_a_healthy_system_writes_nothing(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    await tenant.replace("a.txt", prose("rocks", 5))
    await tenant.drain()
    before = await fingerprint(migrated)
    report = await run_pass(tenant)
    assert (report.drift, report.knowledge_bases, report.entries) == ([], 1, 2)
    assert await fingerprint(migrated) == before


async def test_pair_that_no_job_knows_of_is_indexed(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    # As after a restore of some collections but not of others: no entry, and vectors that no entry names.
    entry = await migrated.database["document_index"].find_one_and_delete({})
    assert entry is not None
    await migrated.database["generations"].delete_one({"_id": object_id(entry["generation_id"])})
    report = await run_pass(tenant)
    assert report.counts() == {"missing": 1, "orphan": 1, "uncounted": 1}
    await tenant.drain()
    assert await is_healthy(tenant, kb, migrated)


async def test_membership_whose_job_was_lost_is_found_missing(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    other = await tenant.knowledge_base()
    await migrated.database["jobs"].delete_many({})
    report = await run_pass(tenant, is_dry=True)
    assert report.counts() == {"missing": 2, "unsettled": 1}
    assert {drift.kb_id for drift in report.drift} == {other.id}
    # The job that was lost is asked for again, so that the first indexing ends as it would have.
    assert (await run_pass(tenant)).counts() == {"unsettled": 1}
    await tenant.drain()
    assert len(await tenant.found(other.id, "year")) == 2
    indexed = await tenant.services.ingestion.knowledge_bases.get(tenant.id, other.id)
    assert indexed.status is KnowledgeBaseStatus.ACTIVE
    assert (await run_pass(tenant)).counts() == {}


async def test_entry_of_a_document_that_left_is_taken_out(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    for left in ("deleted", "untagged"):
        document = await tenant.document(f"{left}.txt", prose("rocks", 5))
        if left == "deleted":
            await tenant.services.ingestion.documents.delete(tenant.id, document.id)
        else:
            await tenant.set_tags(document, [])
        await migrated.database["jobs"].delete_many({"kind": "membership_document"})
        await tenant.drain()
        report = await mended(tenant, kb, migrated, DriftKind.STALE)
        assert [drift.document_id for drift in report.drift] == [document.id]


async def test_entry_of_another_text_or_configuration_is_made_anew(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    for field in ("text_hash", "configuration_hash"):
        await migrated.database["document_index"].update_one({}, {"$set": {field: "another"}})
        report = await mended(tenant, kb, migrated, DriftKind.OUTDATED)
        assert len(report.drift) == 1


async def test_vectors_of_an_unknown_generation_are_swept(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    vectors = migrated.database[f"kb_vectors_{kb.id}"]
    row = await vectors.find_one({})
    assert row is not None
    unknown = new_id()
    await vectors.insert_one({**row, "_id": object_id(new_id()), "generation_id": unknown})
    report = await mended(tenant, kb, migrated, DriftKind.ORPHAN)
    assert [drift.generation_id for drift in report.drift] == [unknown]


@pytest.mark.parametrize("state", ["staging", "superseded", "purging"])
async def test_generation_that_was_left_behind_is_swept_after_its_time(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection, state: str
) -> None:
    left = await leave_generation(migrated, kb, state)
    assert (await run_pass(tenant)).drift == []  # it may still be in use
    await make_old(migrated, "generations", left)
    report = await mended(tenant, kb, migrated, DriftKind.ORPHAN)
    assert [drift.generation_id for drift in report.drift] == [left]


async def leave_generation(migrated: MongoConnection, kb: KnowledgeBase, state: str) -> str:
    """A generation of one vector beside the current one of a document."""
    generation = await migrated.database["generations"].find_one({"kb_id": kb.id})
    vector = await migrated.database[f"kb_vectors_{kb.id}"].find_one({})
    assert generation is not None
    assert vector is not None
    left = new_id()
    copied: dict[str, Any] = {**generation, "_id": object_id(left), "state": state, "updated_at": clock.now()}
    await migrated.database["generations"].insert_one({**copied, "lease_token": "of a dead worker"})
    copied = {**vector, "_id": object_id(new_id()), "generation_id": left}
    await migrated.database[f"kb_vectors_{kb.id}"].insert_one(copied)
    return left


async def make_old(migrated: MongoConnection, collection: str, identifier: str, field: str = "updated_at") -> None:
    await migrated.database[collection].update_one(
        {"_id": object_id(identifier)}, {"$set": {field: clock.now() - LONG_AGO}}
    )


async def test_staging_that_a_worker_is_still_at_is_left_alone_however_old(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    embedding_server.script(Failure.SLOW)
    await tenant.replace("a.txt", prose("rocks", 5))
    working = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    staging = await migrated.database["generations"].find_one({"state": "staging"})
    assert staging is not None
    await make_old(migrated, "generations", str(staging["_id"]))
    assert (await run_pass(tenant)).drift == []
    embedding_server.release()
    await working
    assert await is_healthy(tenant, kb, migrated)


async def test_document_that_nothing_will_extract_is_extracted(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    for state in ("uploaded", "extracting"):
        document = (await tenant.upload(f"{state}.txt", "")).document
        await migrated.database["jobs"].delete_many({})
        await migrated.database["docs"].update_one({"_id": object_id(document.id)}, {"$set": {"state": state}})
        assert (await run_pass(tenant)).drift == []
        await make_old(migrated, "docs", document.id)
        report = await mended(tenant, kb, migrated, DriftKind.STUCK_DOCUMENT)
        assert [drift.document_id for drift in report.drift] == [document.id]
        failed = await tenant.services.ingestion.documents.get(tenant.id, document.id)
        assert failed.error is not None
        assert failed.error.code == "empty_document"


async def test_document_whose_extraction_killed_its_workers_is_shown_as_failed(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    document = (await tenant.upload("poison.txt", "text")).document
    await make_old(migrated, "docs", document.id)
    job_id = f"extract:{document.id}"
    lost = {"state": "running", "deaths": 7, "lease_expires_at": clock.now() - LONG_AGO, "lease_token": "t"}
    await migrated.database["jobs"].update_one({"_id": job_id}, [{"$set": {**lost, "served": "$wanted"}}])
    assert await tenant.services.repositories.jobs.rescue(max_deaths=8) == 1
    report = await run_pass(tenant)
    assert report.counts() == {"stuck_document": 1}
    failed = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert failed.error is not None
    assert failed.error.code == "worker_died"
    assert await is_healthy(tenant, kb, migrated)
    job = await tenant.services.repositories.jobs.get(job_id)
    assert job is not None
    assert job.state is JobState.DEAD


async def test_extraction_of_a_large_file_takes_the_lane_that_its_upload_took(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    large, small = prose("stones", 80_000), prose("rocks", 5)
    assert len(large) > HEAVY_BYTES
    lanes: dict[str, str] = {}
    for name, text in (("large.txt", large), ("small.txt", small)):
        document = (await tenant.upload(name, text)).document
        uploaded = await tenant.services.repositories.jobs.get(f"extract:{document.id}")
        assert uploaded is not None
        lanes[document.id] = uploaded.lane
        await make_old(migrated, "docs", document.id)
    await migrated.database["jobs"].delete_many({})
    assert (await run_pass(tenant)).counts() == {"stuck_document": 2}
    assert {row["subject"]["document_id"]: row["lane"] async for row in migrated.database["jobs"].find()} == lanes
    assert len(set(lanes.values())) == 2


async def test_document_whose_extraction_waits_its_turn_is_not_stuck(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    document = (await tenant.upload("new.txt", "text")).document
    await make_old(migrated, "docs", document.id)
    assert (await run_pass(tenant)).drift == []


async def test_bytes_of_an_upload_whose_sender_has_gone_are_removed(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    staged = await tenant.stage("large.txt", b"x" * 2**20)
    assert (await run_pass(tenant)).drift == []
    await make_old(migrated, "uploads", staged.upload.id, "lease_expires_at")
    chunks = await migrated.database["fs.chunks"].count_documents({})
    await mended(tenant, kb, migrated, DriftKind.ABANDONED_UPLOAD)
    assert await migrated.database["fs.chunks"].count_documents({}) < chunks
    assert await migrated.database["uploads"].count_documents({}) == 0


async def test_deletion_of_a_knowledge_base_that_was_not_finished_is_finished(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    doomed = await tenant.knowledge_base()
    await tenant.drain()
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, doomed.id)
    await migrated.database["jobs"].delete_many({})
    report = await mended(tenant, kb, migrated, DriftKind.HALF_DELETED)
    assert [drift.kb_id for drift in report.drift] == [doomed.id]
    assert f"kb_vectors_{doomed.id}" not in await migrated.database.list_collection_names()


async def test_collection_of_a_creation_that_was_not_finished_is_dropped(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    vectors = VectorRepository(migrated)
    left = str(ObjectId.from_datetime(clock.now() - timedelta(days=1)))
    just_begun = new_id()
    for kb_id in (left, just_begun):
        await vectors.create_collection(kb_id)
    report = await mended(tenant, kb, migrated, DriftKind.HALF_CREATED)
    assert [drift.kb_id for drift in report.drift] == [left]
    assert set(await vectors.kb_ids()) == {kb.id, just_begun}


async def test_vectors_without_a_knowledge_base_are_left_alone(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    """After a partial restore, the knowledge base's row may still be on the way."""
    kept = str(ObjectId.from_datetime(clock.now() - timedelta(days=1)))
    await VectorRepository(migrated).create_collection(kept)
    await migrated.database[f"kb_vectors_{kept}"].insert_one({"generation_id": "g", "chunk_index": 0})
    assert (await run_pass(tenant)).drift == []
    assert kept in await VectorRepository(migrated).kb_ids()


async def test_counts_and_status_that_are_behind_are_brought_up_to_date(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    wrong = {"document_count": 99, "chunk_count": 1}
    await migrated.database["knowledge_bases"].update_one({}, {"$set": wrong})
    assert (await run_pass(tenant)).counts() == {"uncounted": 1}
    stuck = {"status": KnowledgeBaseStatus.INDEXING.value}
    await migrated.database["knowledge_bases"].update_one({}, {"$set": stuck})
    assert (await run_pass(tenant)).counts() == {"unsettled": 1}
    row = await migrated.database["knowledge_bases"].find_one({})
    assert row is not None
    assert (row["status"], row["document_count"], row["chunk_count"]) == ("active", 2, 10)
    assert await is_healthy(tenant, kb, migrated)


async def test_work_that_was_given_up_is_not_asked_for_again(
    tenant: Tenant, kb: KnowledgeBase, embedding_server: EmbeddingServer
) -> None:
    embedding_server.script(Failure.UNAUTHORIZED)
    document = await tenant.document("bad.txt", prose("rocks", 5))
    assert (await run_pass(tenant)).drift == []
    assert await tenant.drain() == 0
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.state, job.wanted) == (JobState.DEAD, 1)


async def test_work_that_waits_in_the_queue_is_not_drift(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("new.txt", prose("rocks", 5), tags=[])
    await tenant.set_tags(document, [tenant.tag.id])
    runner = tenant.services.jobs.new_runner()
    job = await tenant.services.repositories.jobs.get(f"membership_document:{document.id}")
    assert job is not None
    await tenant.services.ingestion.life_cycle._membership.enqueue_pairs_of_document(
        tenant.id, document.id, request_id=None
    )
    assert (await run_pass(tenant)).drift == []
    await runner.run_until_idle()


async def test_pass_sees_every_organization(tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection) -> None:
    stranger = await new_tenant(tenant.services)
    other = await stranger.knowledge_base()
    await stranger.document("a.txt", prose("ships", 3))
    await migrated.database["document_index"].update_one({"kb_id": other.id}, {"$set": {"text_hash": "another"}})
    report = await run_pass(tenant)
    assert [(drift.kind, drift.organization_id) for drift in report.drift] == [(DriftKind.OUTDATED, stranger.id)]


async def test_passes_beside_the_work_of_others_do_no_harm(
    compose_services: Compose, migrated: MongoConnection
) -> None:
    """Whatever a pass takes for drift while everything moves, the end is whole."""
    reconciler = ReconcilerSettings(orphan_grace_seconds=0)
    settings = {"reconciler": reconciler, "indexing": IndexingSettings(sweep_delay_seconds=0)}
    tenant = await new_tenant(await compose_services(**settings))
    kb = await tenant.knowledge_base()
    for name in ("a.txt", "b.txt"):
        await tenant.document(name, prose("whales", 5))
    is_over = False

    async def passes() -> AsyncIterator[Report]:
        while not is_over:
            yield await run_pass(tenant)

    async def reconciling() -> None:
        async for _ in passes():
            await tenant.drain()

    async def working() -> None:
        nonlocal is_over
        for subject in ("birds", "trees", "ships", "stars", "rocks"):
            await tenant.replace("a.txt", prose(subject, 5))
            await tenant.drain()
        is_over = True

    async with asyncio.TaskGroup() as group:
        group.create_task(reconciling())
        group.create_task(working())
    await run_pass(tenant)
    await tenant.drain()
    assert await is_healthy(tenant, kb, migrated)
    contents = [result.content for result in (await tenant.search(kb.id, "rocks", top_k=10)).results]
    assert sum("rocks" in content for content in contents) == 5
