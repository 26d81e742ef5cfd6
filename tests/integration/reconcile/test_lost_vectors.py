"""Vectors, generations, collections and epochs that were changed behind the system's back."""

import uuid
from collections.abc import Collection
from typing import Any

import pytest

from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import System
from analytiq.operations.reconcile.invariants.vectors import Vectors
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.vector_survey import Extent, VectorSurvey
from tests.integration.reconcile.conftest import Patient
from tests.integration.tenant import prose


async def test_vectors_that_were_deleted_are_made_again_by_one_pass_without_a_call(patient: Patient) -> None:
    entry = await patient.entry()
    await patient.vectors.delete_many({"generation_id": entry["generation_id"], "chunk_index": {"$gte": 2}})
    before = await patient.fingerprint()
    assert (await patient.look(is_dry=True)).counts() == {"hollow": 1}
    assert await patient.fingerprint() == before
    report = await patient.mend()
    assert [(drift.kind, drift.document_id, drift.detail) for drift in report.drift] == [
        (DriftKind.HOLLOW, entry["document_id"], "2 of 5 vectors")
    ]
    assert (await patient.entry())["generation_id"] != entry["generation_id"]
    await patient.is_well()


async def test_all_vectors_of_a_knowledge_base_that_were_deleted_are_made_again(patient: Patient) -> None:
    await patient.vectors.delete_many({})
    assert (await patient.mend()).counts() == {"hollow": 2}
    await patient.is_well()


async def test_what_is_left_of_vectors_is_found_until_they_are_whole_again(patient: Patient) -> None:
    entry = await patient.entry()
    await patient.vectors.delete_many({"generation_id": entry["generation_id"], "chunk_index": 4})
    await patient.look()  # asks for the repair, which no worker has done yet
    assert len(await patient.tenant.found(patient.kb.id, "year")) == 2
    assert (await patient.entry())["generation_id"] == entry["generation_id"]
    await patient.tenant.drain()
    await patient.is_well()


async def test_vectors_of_which_as_many_came_as_went_are_found_by_a_full_pass(patient: Patient) -> None:
    entry = await patient.entry()
    await patient.vectors.update_one(
        {"generation_id": entry["generation_id"], "chunk_index": 0}, {"$set": {"chunk_index": 77}}
    )
    assert (await patient.look()).counts() == {}
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"hollow": 1}
    await patient.is_well()


async def test_sync_of_lost_vectors_that_was_lost_itself_is_asked_for_again(patient: Patient) -> None:
    await patient.vectors.delete_many({"generation_id": (await patient.entry())["generation_id"]})
    await patient.look()
    await patient.database["jobs"].delete_many({})
    assert (await patient.mend()).counts() == {"outdated": 1}
    await patient.is_well()


async def test_entry_that_was_lost_is_made_again_and_what_it_named_is_swept(patient: Patient) -> None:
    entry = await patient.entry()
    await patient.database["document_index"].delete_one({"_id": entry["_id"]})
    dry = await patient.look(depth=Depth.FULL, is_dry=True)
    assert dry.counts() == {"missing": 1, "unindexed": 1, "uncounted": 1}
    assert (await patient.mend()).count(DriftKind.MISSING) == 1
    await patient.tenant.drain()
    await patient.is_well()


async def test_generation_of_a_document_that_is_no_member_and_has_no_entry_is_retired(patient: Patient) -> None:
    document = await patient.tenant.document("gone.txt", prose("rocks", 3))
    entry = await patient.entry("gone.txt")
    await patient.tenant.set_tags(document, [])
    await patient.database["jobs"].delete_many({})
    await patient.database["document_index"].delete_one({"_id": entry["_id"]})
    await patient.tenant.services.ingestion.life_cycle.settle(patient.tenant.id, patient.kb.id)
    report = await patient.mend()
    assert [(drift.kind, drift.generation_id) for drift in report.drift] == [
        (DriftKind.UNINDEXED, entry["generation_id"])
    ]
    assert await patient.vectors.count_documents({}) == 10
    assert (await patient.look(depth=Depth.FULL)).counts() == {}


async def test_generation_whose_row_was_lost_is_registered_again_instead_of_being_swept(patient: Patient) -> None:
    entries = [(await patient.entry(name))["generation_id"] for name in ("a.txt", "b.txt")]
    await patient.database["generations"].delete_many({})
    report = await patient.mend(depth=Depth.FULL)
    assert report.counts() == {"unregistered": 2}
    rows = [row async for row in patient.database["generations"].find()]
    assert sorted((str(row["_id"]), row["state"], row["chunk_count"]) for row in rows) == sorted(
        (entry, "current", 5) for entry in entries
    )
    await patient.is_well()


@pytest.mark.parametrize("state", ["superseded", "purging", "staging"])
async def test_entry_whose_generation_is_on_its_way_out_gets_another(patient: Patient, state: str) -> None:
    entry = await patient.entry()
    await patient.database["generations"].update_one(
        {"_id": object_id(entry["generation_id"])}, {"$set": {"state": state}}
    )
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"hollow": 1}
    await patient.make_old("generations", entry["generation_id"])
    await patient.mend()
    await patient.is_well()


async def test_collection_that_was_dropped_is_made_and_filled_again(patient: Patient) -> None:
    await patient.vectors.drop()
    report = await patient.mend()
    assert report.counts() == {"lost_collection": 1, "hollow": 2}
    kb = await patient.tenant.services.ingestion.knowledge_bases.get(patient.tenant.id, patient.kb.id)
    assert kb.vectors_uuid != patient.kb.vectors_uuid
    await patient.is_well()


async def test_collection_that_another_tool_made_anew_is_written_to_from_now_on(patient: Patient) -> None:
    rows = [row async for row in patient.vectors.find()]
    await patient.vectors.drop()
    await patient.vectors.insert_many(rows)
    report = await patient.mend()
    assert [(drift.kind, drift.detail) for drift in report.drift] == [
        (DriftKind.LOST_COLLECTION, "another program has recreated it")
    ]
    await patient.is_well()
    await patient.tenant.replace("a.txt", prose("rocks", 5))
    await patient.tenant.drain()
    assert len(await patient.tenant.found(patient.kb.id, "rocks")) == 2


async def test_index_that_was_dropped_is_made_again(patient: Patient) -> None:
    await patient.vectors.drop_index("generation_id_1_chunk_index_1")
    assert (await patient.look(is_dry=True)).counts() == {"lost_index": 1}
    assert (await patient.mend()).counts() == {"lost_index": 1}
    assert "generation_id_1_chunk_index_1" in await patient.vectors.index_information()
    await patient.is_well()


async def test_index_that_doubled_vectors_forbid_is_made_when_these_are_mended(patient: Patient) -> None:
    await patient.vectors.drop_index("generation_id_1_chunk_index_1")
    row: dict[str, Any] = await patient.vectors.find_one()
    await patient.vectors.insert_one({**row, "_id": object_id(uuid.uuid4().hex[:24])})
    assert (await patient.mend()).counts() == {"lost_index": 1, "hollow": 1}
    assert (await patient.mend()).counts() == {"lost_index": 1}
    await patient.is_well()


@pytest.mark.parametrize("lost", [("kb_epochs",), ("kb_epochs", "kb_changes")])
async def test_epoch_that_was_lost_begins_another_history(patient: Patient, lost: tuple[str, ...]) -> None:
    for collection in lost:
        await patient.database[collection].delete_many({})
    assert (await patient.mend()).counts() == {"lost_epoch": 1}
    await patient.is_well()
    # Commits go on, also where the log still has the numbers of the lost history.
    await patient.tenant.replace("a.txt", prose("rocks", 5))
    await patient.tenant.drain()
    assert any("rocks" in item.content for item in (await patient.tenant.search(patient.kb.id, "rocks")).results)


async def test_epoch_that_is_behind_its_log_begins_another_history(patient: Patient) -> None:
    await patient.database["kb_epochs"].update_one({}, {"$set": {"epoch": 1}})
    assert (await patient.mend()).counts() == {"lost_epoch": 1}
    await patient.is_well()
    await patient.tenant.replace("a.txt", prose("rocks", 5))
    await patient.tenant.drain()
    assert (await patient.look()).counts() == {}


class CounterThatIsOff(VectorSurvey):
    """As after a crash of the server, until somebody validates the collection."""

    looks = 0

    async def estimated_count(self, kb_id: str) -> int:
        return await super().estimated_count(kb_id) - 3

    async def extents(self, kb_id: str, generation_ids: Collection[str]) -> dict[str, Extent]:
        self.looks += 1
        return await super().extents(kb_id, generation_ids)


async def test_numbers_that_the_server_has_wrong_are_looked_into_once(
    patient: Patient, migrated: MongoConnection
) -> None:
    survey, services = CounterThatIsOff(migrated), patient.tenant.services
    rows = Repositories(migrated)
    rows.vector_survey = survey
    system = System(
        rows, services.ingestion.life_cycle, services.inference.embedding_models, services.retrieval.backends, 0.0
    )
    invariant = Vectors(system)
    for _ in range(3):
        assert [batch.drift async for batch in invariant.find(patient.kb, Depth.QUICK, after="") if batch.drift] == []
    assert survey.looks == 1
