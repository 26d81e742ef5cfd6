"""Parts of documents: an archive's files are documents of their own that follow it."""

from typing import Any

import pytest

from analytiq.errors import TransientError
from analytiq.ingestion.upload import parts as part_uploads
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import Priority
from analytiq.models.storage import StorageAmount
from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.telemetry import checkpoints
from tests.integration.tenant import Tenant, prose
from tests.integration.zip_files import zip_of

LARGE = prose("whales", 1_000)
"""More than is written together with its document."""


async def parts_of(tenant: Tenant, container: Document) -> dict[str, Document]:
    query = DocumentQuery(parent_id=container.id, sort_field="document_name", descending=False)
    found, _ = await tenant.services.ingestion.documents.page(tenant.id, query, skip=0, limit=100)
    return {part.part_of.path: part for part in found if part.part_of is not None}


async def now(tenant: Tenant, document: Document) -> Document:
    return await tenant.services.ingestion.documents.get(tenant.id, document.id)


async def text_of(tenant: Tenant, document: Document) -> str:
    _, pieces = await tenant.services.ingestion.documents.whole_text(tenant.id, document.id)
    return "".join([piece async for piece in pieces])


async def test_files_of_an_archive_become_documents_with_its_tags_and_metadata(tenant: Tenant) -> None:
    content = zip_of({"sea/whales.txt": prose("whales", 4), "birds.txt": prose("birds", 4), "large.txt": LARGE})
    archive = (await tenant.upload("box/animals.zip", content, metadata={"year": 2024})).document
    await tenant.drain()
    archive = await now(tenant, archive)
    assert archive.state is DocumentState.EXTRACTED
    assert archive.warnings == ()
    assert await text_of(tenant, archive) == "- sea/whales.txt\n- birds.txt\n- large.txt"
    parts = await parts_of(tenant, archive)
    assert list(parts) == ["birds.txt", "large.txt", "sea/whales.txt"]
    whales = parts["sea/whales.txt"]
    assert whales.document_name == "box/animals.zip/sea/whales.txt"
    assert (whales.tag_ids, whales.metadata) == (archive.tag_ids, {"year": 2024})
    assert whales.content_type == "text/plain"
    assert await text_of(tenant, whales) == prose("whales", 4)
    assert await text_of(tenant, parts["large.txt"]) == LARGE
    original, pieces = await tenant.services.ingestion.documents.original(tenant.id, whales.id)
    assert b"".join([piece async for piece in pieces]).decode() == prose("whales", 4)
    assert original.sha256 == whales.sha256


async def test_parts_wait_behind_documents_uploaded_by_themselves(tenant: Tenant, migrated: MongoConnection) -> None:
    priorities: dict[str, int] = {}

    async def note(name: str) -> None:
        if name == "parts.taken":
            jobs = migrated.database["jobs"].find({"kind": "extract", "state": "available"})
            priorities.update({row["_id"]: row["priority"] async for row in jobs})

    await tenant.upload("a.zip", zip_of({"a.txt": "Some words about whales.", "b.txt": "Others about birds."}))
    checkpoints.install(note)
    try:
        await tenant.drain()
    finally:
        checkpoints.install(None)
    assert list(priorities.values()) == [Priority.BULK, Priority.BULK]


async def test_new_extraction_changes_no_part(tenant: Tenant, migrated: MongoConnection) -> None:
    archive = (await tenant.upload("a.zip", zip_of({"a.txt": prose("a", 3), "large.txt": LARGE}))).document
    await tenant.drain()
    before = await parts_of(tenant, archive)
    files = await migrated.database["fs.files"].count_documents({})
    await tenant.services.ingestion.documents.extract_again(tenant.id, archive.id)
    await tenant.drain()
    assert await parts_of(tenant, archive) == before
    assert await migrated.database["fs.files"].count_documents({}) == files


async def test_replaced_archive_replaces_its_parts(tenant: Tenant) -> None:
    former = zip_of({"kept.txt": prose("kept", 3), "changed.txt": prose("old", 3), "gone.txt": prose("gone", 3)})
    archive = (await tenant.upload("a.zip", former)).document
    await tenant.drain()
    before = await parts_of(tenant, archive)
    latter = zip_of({"kept.txt": prose("kept", 3), "changed.txt": prose("new", 3), "added.txt": LARGE})
    await tenant.upload("a.zip", latter, policy=DuplicatePolicy.REPLACE)
    await tenant.drain()
    after = await parts_of(tenant, archive)
    assert list(after) == ["added.txt", "changed.txt", "kept.txt"]
    assert after["kept.txt"] == before["kept.txt"]
    assert after["changed.txt"].id == before["changed.txt"].id
    assert await text_of(tenant, after["changed.txt"]) == prose("new", 3)
    connection = tenant.services.connection
    assert await connection.database["fs.files"].count_documents({}) == 4


async def test_archive_replaced_by_another_kind_of_file_has_no_parts(tenant: Tenant) -> None:
    archive = (await tenant.upload("a.zip", zip_of({"a.txt": prose("a", 3)}))).document
    await tenant.drain()
    await tenant.upload("a.zip", "Only a text now.", policy=DuplicatePolicy.REPLACE)
    await tenant.drain()
    assert await parts_of(tenant, archive) == {}


async def test_deleted_archive_takes_its_parts_at_any_depth_along(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    inner = zip_of({"deep.txt": prose("whales", 4)})
    archive = (await tenant.upload("a.zip", zip_of({"inner.zip": inner, "a.txt": prose("birds", 4)}))).document
    await tenant.drain()
    (nested,) = [part for path, part in (await parts_of(tenant, archive)).items() if path == "inner.zip"]
    (deep,) = (await parts_of(tenant, nested)).values()
    assert deep.part_of is not None
    assert deep.part_of.container_ids == (archive.id, nested.id)
    assert deep.document_name == "a.zip/inner.zip/deep.txt"
    assert deep.id in await tenant.found(kb.id, "whales")
    await tenant.services.ingestion.documents.delete(tenant.id, archive.id)
    await tenant.drain()
    for name in ("docs", "fs.files", "fs.chunks", "document_texts"):
        assert await migrated.database[name].count_documents({}) == 0, name
    assert (await tenant.search(kb.id, "whales")).results == ()


async def test_archives_are_unpacked_to_a_depth_of_three(tenant: Tenant) -> None:
    content = zip_of({"deepest.txt": "Not reached."})
    for name in ("third.zip", "second.zip", "first.zip"):
        content = zip_of({name: content})
    container = (await tenant.upload("outer.zip", content)).document
    await tenant.drain()
    for _ in range(3):
        (container,) = (await parts_of(tenant, container)).values()
    assert container.document_name == "outer.zip/first.zip/second.zip/third.zip"
    assert await parts_of(tenant, container) == {}
    assert container.warnings == ("1 part was not taken in: 'deepest.txt' (packed too deep in other files)",)


async def test_parts_of_nested_archives_are_bounded_together(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_uploads, "MOST_PARTS", 40)
    many = zip_of({f"{number}.txt": f"Text number {number}" for number in range(30)})
    archive = (await tenant.upload("a.zip", zip_of({"b.zip": many, "c.zip": many + b""}))).document
    await tenant.drain()
    nested = [await now(tenant, part) for part in (await parts_of(tenant, archive)).values()]
    counts = sorted([len(await parts_of(tenant, part)) for part in nested])
    assert counts == [0, 30]
    assert sum("30 parts were not taken in" in warning for part in nested for warning in part.warnings) == 1


async def test_parts_beyond_the_quota_are_named_and_taken_in_later(tenant: Tenant) -> None:
    storage = tenant.services.ingestion.storage
    await storage.set_quota(tenant.id, max_bytes=None, max_documents=3)
    content = zip_of({f"{number}.txt": f"Text number {number} is about whales." for number in range(5)})
    archive = (await tenant.upload("a.zip", content)).document
    await tenant.drain()
    assert list(await parts_of(tenant, archive)) == ["0.txt", "1.txt"]
    (warning,) = (await now(tenant, archive)).warnings
    assert warning.startswith("3 parts were not taken in: '2.txt', '3.txt', '4.txt' (the storage quota is used up")
    await storage.set_quota(tenant.id, max_bytes=None, max_documents=6)
    await tenant.services.ingestion.documents.extract_again(tenant.id, archive.id)
    await tenant.drain()
    assert len(await parts_of(tenant, archive)) == 5
    assert (await now(tenant, archive)).warnings == ()
    await tenant.services.ingestion.documents.delete(tenant.id, archive.id)
    await tenant.drain()
    assert (await storage.account(tenant.id)).used == StorageAmount()


@pytest.mark.parametrize("place", ["extraction.parsed", "parts.taken", "extraction.text_staged"])
async def test_extraction_that_ends_half_way_doubles_and_loses_nothing(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(part_uploads, "BATCH", 2)
    has_failed = False

    async def fail(name: str) -> None:
        nonlocal has_failed
        if name == place and not has_failed:
            has_failed = True
            raise TransientError("Ended here.")

    content = zip_of({f"{number}.txt": f"Text number {number} is about whales." for number in range(7)})
    archive = (await tenant.upload("a.zip", content)).document
    checkpoints.install(fail)
    try:
        await tenant.drain()
    finally:
        checkpoints.install(None)
    assert has_failed
    await tenant.services.ingestion.documents.extract_again(tenant.id, archive.id)  # rather than wait for the retry
    await tenant.drain()
    assert (await now(tenant, archive)).state is DocumentState.EXTRACTED
    parts = await parts_of(tenant, archive)
    assert len(parts) == 7
    assert {part.state for part in parts.values()} == {DocumentState.EXTRACTED}
    assert await tenant.services.connection.database["fs.files"].count_documents({}) == 8


async def test_archive_deleted_while_its_parts_are_taken_in_leaves_none(
    tenant: Tenant, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_uploads, "BATCH", 2)
    content = zip_of({f"{number}.txt": f"Text number {number} is about whales." for number in range(7)})
    archive = (await tenant.upload("a.zip", content)).document
    deleted = False

    async def delete(name: str) -> None:
        nonlocal deleted
        if name == "parts.taken" and not deleted:
            deleted = True
            await tenant.services.ingestion.documents.delete(tenant.id, archive.id)

    checkpoints.install(delete)
    try:
        await tenant.drain()
    finally:
        checkpoints.install(None)
    await tenant.drain()
    assert deleted
    assert await migrated.database["docs"].count_documents({}) == 0
    assert await migrated.database["fs.files"].count_documents({}) == 0


async def test_part_keeps_its_place_under_another_name(tenant: Tenant) -> None:
    archive = (await tenant.upload("a.zip", zip_of({"a.txt": prose("a", 3)}))).document
    await tenant.drain()
    (part,) = (await parts_of(tenant, archive)).values()
    await tenant.services.ingestion.documents.change(tenant.id, part.id, document_name="renamed.txt")
    await tenant.services.ingestion.documents.extract_again(tenant.id, archive.id)
    await tenant.drain()
    (same,) = (await parts_of(tenant, archive)).values()
    assert (same.id, same.document_name) == (part.id, "renamed.txt")


async def test_upload_under_a_parts_name_is_another_document(tenant: Tenant) -> None:
    archive = (await tenant.upload("a.zip", zip_of({"a.txt": prose("a", 3)}))).document
    await tenant.drain()
    options: dict[str, Any] = {"policy": DuplicatePolicy.REPLACE}
    other = (await tenant.upload("a.zip/a.txt", prose("a", 3), **options)).document
    await tenant.drain()
    (part,) = (await parts_of(tenant, archive)).values()
    assert other.id != part.id
    assert other.part_of is None
