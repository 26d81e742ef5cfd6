"""Many short texts extracted together: each ends as it would by itself."""

from pathlib import Path

import pytest
from bson import ObjectId
from structlog.testing import capture_logs

from analytiq.errors import LeaseLostError
from analytiq.ingestion.extraction.small_texts import SmallTextExtraction
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import DocumentState
from analytiq.models.job import JobKind
from analytiq.models.job_history import AttemptOutcome
from analytiq.storage.ids import new_id
from tests.integration.tenant import Tenant

PDF = next(Path("tests/data").rglob("*.pdf"))


async def claimed(tenant: Tenant) -> RunningBatch:
    jobs = tenant.services.repositories.jobs
    lane = f"{tenant.id}:-:{JobKind.EXTRACT.value}"
    found = await jobs.claim_many(
        [JobKind.EXTRACT], worker="w", lease_token=new_id(), lease_seconds=60, lane=lane, limit=32
    )
    return RunningBatch([RunningJob(job, jobs) for job in found])


async def state_of(tenant: Tenant, document_id: str) -> DocumentState:
    """The state as the primary has it, also if no majority has confirmed it yet."""
    row = await tenant.services.repositories.connection.database["docs"].find_one({"_id": ObjectId(document_id)})
    assert row is not None
    return DocumentState(row["state"])


async def test_texts_of_a_batch_are_found_and_other_files_of_it_are_extracted_by_themselves(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    texts = {f"{number:02}.txt": f"Whale number {number} swims." for number in range(20)}
    ids = {name: (await tenant.upload(name, content)).document.id for name, content in texts.items()}
    empty = (await tenant.upload("empty.txt", "")).document.id
    pdf = (await tenant.upload("other.pdf", PDF.read_bytes())).document.id
    with capture_logs() as logs:
        await tenant.drain()
    assert sum(entry.get("documents", 0) for entry in logs if entry["event"] == "extraction.batch_done") > 10
    assert set(ids.values()) <= set(await tenant.found(kb.id, "whale"))
    repositories = tenant.services.repositories
    for name, document_id in ids.items():
        document = await tenant.services.ingestion.documents.get(tenant.id, document_id)
        assert document.state is DocumentState.EXTRACTED
        assert document.text_id is not None
        assert (await repositories.texts.read(tenant.id, document.text_id)).text == texts[name]
        attempts, _ = await repositories.job_history.of_document(tenant.id, document_id, skip=0, limit=10)
        assert [item.outcome for item in attempts] == [AttemptOutcome.DONE] * 3  # extract, membership, sync
    states = [(await tenant.services.ingestion.documents.get(tenant.id, name)).state for name in (empty, pdf)]
    assert states == [DocumentState.FAILED, DocumentState.EXTRACTED]
    assert await repositories.jobs.counts() == {}


async def test_document_deleted_or_job_lost_meanwhile_is_left_out_and_nothing_of_it_is_kept(tenant: Tenant) -> None:
    ids = [(await tenant.upload(f"{number}.txt", f"Whale {number}.")).document.id for number in range(4)]
    batch = await claimed(tenant)
    extraction = SmallTextExtraction(tenant.services.repositories)
    repositories = tenant.services.repositories
    await tenant.services.ingestion.documents.delete(tenant.id, ids[0])
    await repositories.jobs._collection.update_one({"_id": f"extract:{ids[1]}"}, {"$set": {"lease_token": "another"}})
    await extraction.extract(batch, [str(running.job.subject.document_id) for running in batch.jobs])
    finished = {running.job.subject.document_id for running in batch.jobs if running.is_finished}
    assert finished == set(ids[2:])
    heads = tenant.services.repositories.connection.database["document_texts"]
    assert {row["document_id"] async for row in heads.find({})} == set(ids[2:])
    rows = {job_id for name in ids for job_id in await repositories.jobs.existing([f"extract:{name}"])}
    assert f"extract:{ids[1]}" in rows
    assert not rows & {f"extract:{name}" for name in ids[2:]}
    assert await repositories.jobs.existing([f"membership_document:{name}" for name in ids[2:]]) == {
        f"membership_document:{name}" for name in ids[2:]
    }


async def test_job_repeated_by_a_worker_that_did_not_learn_of_its_commit_leaves_the_document_extracted(
    tenant: Tenant,
) -> None:
    document_id = (await tenant.upload("whale.txt", "A whale.")).document.id
    batch = await claimed(tenant)
    await SmallTextExtraction(tenant.services.repositories).extract(batch, [document_id])
    handle = tenant.services.jobs.handlers[JobKind.EXTRACT]
    with pytest.raises(LeaseLostError):
        await handle(batch.jobs[0])
    assert await state_of(tenant, document_id) is DocumentState.EXTRACTED


async def test_job_repeated_after_its_failure_was_committed_leaves_the_document_failed(tenant: Tenant) -> None:
    document_id = (await tenant.upload("empty.txt", "")).document.id
    batch = await claimed(tenant)
    handle = tenant.services.jobs.handlers[JobKind.EXTRACT]
    await handle(batch.jobs[0])
    with pytest.raises(LeaseLostError):
        await handle(batch.jobs[0])
    assert await state_of(tenant, document_id) is DocumentState.FAILED
