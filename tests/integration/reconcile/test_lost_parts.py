"""Files and texts that are gone, and those that nobody names."""

from datetime import timedelta

import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.ingestion.documents.requests import HEAVY_BYTES
from analytiq.models.job import HEAVY
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.models.text import ParsedPage, join_pages
from analytiq.operations.reconcile.lost_rows import MANY
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.texts import SEGMENT_CHARACTERS, TextRepository
from tests.integration.reconcile.conftest import LONG_AGO, Patient
from tests.integration.tenant import prose


async def document_of(patient: Patient, name: str = "a.txt") -> dict[str, object]:
    document: dict[str, object] = await patient.database["docs"].find_one({"document_name": name})
    return document


async def test_text_that_was_lost_is_extracted_again(patient: Patient) -> None:
    document = await document_of(patient)
    await patient.database["document_texts"].delete_one({"_id": object_id(str(document["text_id"]))})
    assert (await patient.look()).counts() == {}
    report = await patient.mend(depth=Depth.FULL)
    assert [(drift.kind, drift.document_id) for drift in report.drift] == [(DriftKind.LOST_TEXT, str(document["_id"]))]
    await patient.is_well()
    again = await document_of(patient)
    text = await TextRepository(patient.tenant.services.connection).read(patient.tenant.id, str(again["text_id"]))
    assert text.text == prose("whales", 5)


async def test_text_that_lacks_a_segment_is_extracted_again(patient: Patient) -> None:
    await patient.tenant.document("long.txt", "word " * (SEGMENT_CHARACTERS // 4), tags=[])
    document = await document_of(patient, "long.txt")
    assert (await patient.look(depth=Depth.FULL)).counts() == {}
    await patient.database["document_text_segments"].delete_one({"document_id": str(document["_id"])})
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"lost_text": 1}
    await patient.is_well()


async def test_lost_text_of_a_large_file_is_extracted_in_the_lane_of_large_files(patient: Patient) -> None:
    document_id = (await patient.entry())["document_id"]
    await patient.database["docs"].update_one({"_id": object_id(document_id)}, {"$set": {"byte_size": HEAVY_BYTES + 1}})
    await patient.database["document_texts"].delete_one({"document_id": document_id})
    await patient.look(depth=Depth.FULL)
    job = await patient.tenant.services.repositories.jobs.get(f"extract:{document_id}")
    assert job is not None
    assert job.lane.endswith(HEAVY)


async def test_file_that_was_lost_is_told_and_nothing_else_done_about_it(patient: Patient) -> None:
    document = await document_of(patient)
    await patient.database["fs.chunks"].delete_many({"files_id": object_id(str(document["file_id"]))})
    before = await patient.fingerprint()
    for _ in range(2):
        report = await patient.look(depth=Depth.FULL)
        assert [(drift.kind, drift.document_id) for drift in report.drift] == [
            (DriftKind.LOST_FILE, str(document["_id"]))
        ]
        assert report.repairs == 0
    assert await patient.fingerprint() == before
    assert len(await patient.tenant.found(patient.kb.id, "year")) == 2


async def test_file_whose_document_is_gone_is_deleted(patient: Patient) -> None:
    await patient.tenant.document("gone.txt", prose("rocks", 2), tags=[])
    document = await document_of(patient, "gone.txt")
    await patient.database["docs"].delete_one({"_id": document["_id"]})
    counts = (await patient.mend(depth=Depth.FULL)).counts()
    assert counts == {"orphaned_file": 1}, "the text goes with it, by the same job"
    assert await patient.database["fs.chunks"].count_documents({}) == 2
    assert await patient.database["document_texts"].count_documents({}) == 2
    await patient.is_well()


async def test_text_that_its_document_does_not_name_is_deleted(patient: Patient) -> None:
    document = await document_of(patient)
    text_id, _ = await TextRepository(patient.tenant.services.connection).stage(
        patient.tenant.id, str(document["_id"]), join_pages([ParsedPage(1, "nobody's")])
    )
    await patient.database["document_texts"].update_one({"_id": object_id(text_id)}, {"$set": {"state": "current"}})
    assert (await patient.look(depth=Depth.FULL)).counts() == {}, "it may be about to be named"
    await patient.make_old("document_texts", text_id, "created_at")
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"orphaned_text": 1}
    assert await patient.database["document_texts"].find_one({"_id": object_id(text_id)}) is None
    await patient.is_well()


async def test_staged_text_that_no_job_will_serve_is_deleted_after_its_time(patient: Patient) -> None:
    document = await document_of(patient)
    text_id, _ = await TextRepository(patient.tenant.services.connection).stage(
        patient.tenant.id, str(document["_id"]), join_pages([ParsedPage(1, "of a dead worker")])
    )
    assert (await patient.look()).counts() == {}, "a worker may be about to serve it"
    await patient.make_old("document_texts", text_id, "created_at")
    assert (await patient.mend()).counts() == {"abandoned_text": 1}
    assert await patient.database["document_texts"].find_one({"_id": object_id(text_id)}) is None
    await patient.is_well()


async def test_segments_without_a_head_are_deleted(patient: Patient) -> None:
    document = await document_of(patient)
    old = str(ObjectId.from_datetime(clock.now() - LONG_AGO))
    for text_id in (old, new_id()):
        await patient.database["document_text_segments"].insert_one(
            {"organization_id": patient.tenant.id, "document_id": str(document["_id"]), "text_id": text_id,
             "segment_index": 0, "start": 0, "text": "left"}
        )  # fmt: skip
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"orphaned_text": 1}
    left = [row["text_id"] async for row in patient.database["document_text_segments"].find()]
    assert len(left) == 1
    assert left != [old]


async def test_bytes_without_a_file_that_no_upload_writes_are_deleted(patient: Patient) -> None:
    old = ObjectId.from_datetime(clock.now() - LONG_AGO)
    uploading = ObjectId.from_datetime(clock.now() - LONG_AGO + timedelta(seconds=1))
    for files_id in (old, uploading, ObjectId()):
        await patient.database["fs.chunks"].insert_one({"files_id": files_id, "n": 0, "data": b"x"})
    staged = await patient.tenant.stage("large.txt", b"x" * 2**20)
    await patient.database["uploads"].update_one(
        {"_id": object_id(staged.upload.id)}, {"$set": {"file_id": str(uploading)}}
    )
    report = await patient.mend(depth=Depth.FULL)
    assert [(drift.kind, drift.target_id) for drift in report.drift] == [(DriftKind.ORPHANED_FILE, str(old))]
    assert await patient.database["fs.chunks"].find_one({"files_id": old}) is None
    assert await patient.database["fs.chunks"].find_one({"files_id": uploading}) is not None


async def bring_back(patient: Patient, taken: dict[str, list[dict[str, object]]]) -> None:
    for collection, rows in taken.items():
        await patient.database[collection].insert_many(rows)


async def take_away(patient: Patient, *collections: str) -> dict[str, list[dict[str, object]]]:
    """The rows of these collections, which are gone."""
    taken = {name: [row async for row in patient.database[name].find()] for name in collections}
    for name in collections:
        await patient.database[name].delete_many({})
    return taken


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        # As while another tool restores: the files are there, and the rows that name them are not yet.
        (("docs",), {"stale": 2, "lost_document": 4}),
        (("fs.files",), {"lost_file": 2}),
        (("docs", "fs.files"), {"stale": 2, "lost_document": 4}),
    ],
)
async def test_files_and_texts_are_kept_where_the_rows_that_name_them_were_lost(
    patient: Patient, lost: tuple[str, ...], told: dict[str, int]
) -> None:
    await patient.age_files()
    taken = await take_away(patient, *lost)
    assert (await patient.mend(depth=Depth.FULL)).counts() == told
    await patient.mend(depth=Depth.FULL)
    await bring_back(patient, taken)
    await patient.mend(depth=Depth.FULL)
    await patient.is_well()


async def test_files_are_kept_where_most_documents_were_lost_and_deleted_where_few_were(
    patient: Patient,
) -> None:
    for number in range(MANY + 1):
        await patient.tenant.upload(f"more-{number}.txt", prose("rocks", 1, first=number), tags=[])
    await patient.tenant.drain()
    more = await patient.database["docs"].find({"document_name": {"$regex": "^more"}}).to_list()
    await patient.database["docs"].delete_many({"_id": {"$in": [row["_id"] for row in more[:MANY]]}})
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"lost_document": MANY}, (
        "texts are too young to be judged"
    )
    assert await patient.database["fs.files"].count_documents({}) == MANY + 3
    await patient.database["docs"].insert_many(more[:2])
    assert (await patient.mend(depth=Depth.FULL)).counts() == {"orphaned_file": MANY - 2}
    assert await patient.database["fs.files"].count_documents({}) == 5
    await patient.is_well()


async def test_file_of_another_tool_is_left_alone(patient: Patient) -> None:
    await patient.database["fs.files"].insert_one({"length": 0, "chunkSize": 1024, "filename": "theirs"})
    assert (await patient.look(depth=Depth.FULL)).counts() == {}


async def test_nothing_is_deleted_while_a_backup_or_restore_holds_the_organization(
    patient: Patient, migrated: MongoConnection
) -> None:
    await patient.database["fs.chunks"].insert_one(
        {"files_id": ObjectId.from_datetime(clock.now() - LONG_AGO), "n": 0, "data": b"x"}
    )
    holds = BackupHoldRepository(migrated)
    hold = await holds.take(patient.tenant.id, reason="a backup")
    report = await patient.mend(depth=Depth.FULL)
    assert (report.counts(), report.repairs) == ({"orphaned_file": 1}, 0)
    await holds.release(patient.tenant.id, hold)
    assert (await patient.mend(depth=Depth.FULL)).repairs == 1
    await patient.is_well()


async def test_state_of_an_organization_that_is_not_there_is_left_to_the_restore_or_erasure_of_it(
    patient: Patient,
) -> None:
    """A restore brings the organization and the epochs last; killed in between, it may be gone on with days later."""
    for collection in ("organizations", "kb_epochs", "docs"):
        await patient.database[collection].delete_many({})
    await patient.vectors.delete_many({"chunk_index": 1})
    before = await patient.fingerprint()
    report = await patient.look(depth=Depth.FULL)
    assert (report.counts(), report.repairs) == ({}, 0)
    assert await patient.fingerprint() == before
