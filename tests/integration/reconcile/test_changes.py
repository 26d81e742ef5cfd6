"""Periodic quick passes read what has changed since the last one; the next full pass finds the rest."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.reconciliation import Depth, ReconciliationRun
from analytiq.storage.ids import new_id, object_id
from tests.integration.reconcile.conftest import Patient
from tests.integration.tenant import prose


@pytest.fixture
async def observed(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> Patient:
    """Compared once, although its knowledge base is small and its rows are new."""
    monkeypatch.setattr("analytiq.operations.reconcile.clean_marks.SMALL", 0)
    monkeypatch.setattr("analytiq.operations.reconcile.clean_marks.OVERLAP", timedelta(0))
    assert (await run_pass(patient)).checked == 2
    return patient


async def run_pass(patient: Patient, depth: Depth = Depth.QUICK) -> ReconciliationRun:
    return await patient.tenant.services.operations.reconciliations.run_over_everything(depth, NoFence())


async def counts(patient: Patient, depth: Depth = Depth.QUICK) -> Mapping[str, int]:
    """Findings of a pass whose repairs are done."""
    run = await run_pass(patient, depth)
    await patient.tenant.drain()
    return run.counts


async def test_pass_after_a_clean_one_reads_no_entry_and_only_changed_documents(observed: Patient) -> None:
    run = await run_pass(observed)
    assert (run.checked, run.counts, run.is_periodic) == (0, {}, True)
    await observed.tenant.replace("a.txt", prose("rocks", 5))
    await observed.tenant.drain()
    assert [(run.checked, run.counts) for run in [await run_pass(observed), await run_pass(observed)]] == [
        (1, {}),
        (0, {}),
    ]


async def test_changes_whose_jobs_were_lost_are_found_by_the_next_pass(observed: Patient) -> None:
    tenant = observed.tenant

    async def lose_jobs() -> None:
        await observed.database["jobs"].delete_many({})

    document = (await tenant.upload("new.txt", prose("rocks", 5), tags=[])).document
    await tenant.drain()
    await tenant.set_tags(document, [tenant.tag.id])
    await lose_jobs()
    assert await counts(observed) == {"missing": 1}
    await tenant.set_tags(document, [])
    await lose_jobs()
    assert await counts(observed) == {"stale": 1}
    await tenant.set_tags(document, [tenant.tag.id])
    await tenant.drain()
    assert await counts(observed) == {}
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await lose_jobs()
    assert await counts(observed) == {"stale": 1}, "a deleted row leaves no trace but the count"
    assert await counts(observed) == {}


async def test_work_that_waited_and_was_then_lost_is_found(observed: Patient) -> None:
    tenant = observed.tenant
    document = (await tenant.upload("new.txt", prose("rocks", 5), tags=[])).document
    await tenant.drain()
    await tenant.set_tags(document, [tenant.tag.id])
    assert (await run_pass(observed)).counts == {}, "its job will index it"
    await observed.database["jobs"].delete_many({})
    assert await counts(observed) == {"missing": 1}
    assert await counts(observed) == {}


async def test_what_was_damaged_without_a_trace_is_found_by_a_full_pass_and_by_a_requested_one(
    observed: Patient,
) -> None:
    for depth in (Depth.FULL, None):
        assert await counts(observed) == {}
        entry = await observed.entry()
        await observed.database["document_index"].update_one({"_id": entry["_id"]}, {"$set": {"text_hash": "another"}})
        assert await counts(observed) == {}, "nothing says that the row has changed"
        found = (await observed.mend()).counts() if depth is None else await counts(observed, depth)
        assert found == {"outdated": 1}
    await observed.is_well()


async def test_knowledge_base_whose_settings_changed_is_read_whole(observed: Patient) -> None:
    await observed.database["knowledge_bases"].update_one(
        {"_id": object_id(observed.kb.id)}, {"$push": {"tag_ids": new_id()}}
    )
    assert (await run_pass(observed)).checked == 2
