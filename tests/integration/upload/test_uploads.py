"""Uploads: by policy, at the same moment, and failed ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError, LimitExceededError, TransientError
from analytiq.ingestion.documents.naming import identity_of
from analytiq.ingestion.upload.store import WITH_DOCUMENT_BYTES
from analytiq.models.document import DocumentState
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.settings import ApiSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from tests.integration.tenant import Tenant, blocks, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
SMALL = "a few words"
LARGE = prose("whales", 2_000)
assert len(LARGE) > WITH_DOCUMENT_BYTES


async def stored_bytes(migrated: MongoConnection) -> tuple[int, int, int]:
    """Return the numbers of files, chunks, and uploads under way."""
    counts = [await migrated.database[name].count_documents({}) for name in ("fs.files", "fs.chunks", "uploads")]
    return counts[0], counts[1], counts[2]


async def original(tenant: Tenant, document_id: str) -> bytes:
    _, source = await tenant.services.ingestion.documents.original(tenant.id, document_id)
    return b"".join([block async for block in source])


async def names(tenant: Tenant) -> list[str]:
    documents, _ = await tenant.services.ingestion.documents.page(tenant.id, DocumentQuery(), skip=0, limit=100)
    return sorted(document.document_name for document in documents)


@pytest.mark.parametrize("content", [SMALL, LARGE, ""], ids=["small", "large", "empty"])
async def test_uploaded_bytes_come_back_as_they_were(tenant: Tenant, migrated: MongoConnection, content: str) -> None:
    result = await tenant.upload("a.txt", content, metadata={"k": 1})
    document = result.document
    assert result.outcome is UploadOutcome.CREATED
    assert await original(tenant, document.id) == content.encode()
    assert (document.byte_size, document.state) == (len(content), DocumentState.UPLOADED)
    assert (document.tag_ids, document.metadata) == ((tenant.tag.id,), {"k": 1})
    assert (await stored_bytes(migrated))[2] == 0
    assert await tenant.services.repositories.jobs.existing([f"extract:{document.id}"]) == {f"extract:{document.id}"}


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
async def test_same_bytes_under_the_same_name_are_the_same_document(
    tenant: Tenant, migrated: MongoConnection, content: str
) -> None:
    first = await tenant.upload("a.txt", content)
    before = await stored_bytes(migrated)
    second = await tenant.upload("a.txt", content)
    assert (second.outcome, second.document.id) == (UploadOutcome.RETURNED, first.document.id)
    assert await stored_bytes(migrated) == before
    assert (await tenant.upload("b.txt", content)).outcome is UploadOutcome.CREATED
    assert (await tenant.upload("a.txt", content + "!")).outcome is UploadOutcome.CREATED


async def test_same_bytes_in_another_organization_are_another_document(tenant: Tenant) -> None:
    stranger = await new_tenant(tenant.services)
    first, second = await tenant.upload("a.txt", SMALL), await stranger.upload("a.txt", SMALL)
    assert second.outcome is UploadOutcome.CREATED
    assert first.document.id != second.document.id


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("policy", [DuplicatePolicy.RETURN, DuplicatePolicy.REPLACE])
async def test_same_file_uploaded_twenty_times_at_once_is_one_document(
    tenant: Tenant, migrated: MongoConnection, content: str, policy: DuplicatePolicy
) -> None:
    results = await asyncio.gather(*(tenant.upload("a.txt", content, policy=policy) for _ in range(20)))
    assert len({result.document.id for result in results}) == 1
    assert sum(result.outcome is UploadOutcome.CREATED for result in results) == 1
    assert await names(tenant) == ["a.txt"]
    await tenant.drain()
    files, _, uploads = await stored_bytes(migrated)
    assert (files, uploads) == (1, 0)
    chunks = {str(row["files_id"]) async for row in migrated.database["fs.chunks"].find({})}
    assert len(chunks) == 1
    assert await original(tenant, results[0].document.id) == content.encode()


async def test_copy_that_is_asked_for_is_made(tenant: Tenant) -> None:
    results = [await tenant.upload("a.txt", SMALL, policy=DuplicatePolicy.CREATE) for _ in range(3)]
    assert {result.outcome for result in results} == {UploadOutcome.CREATED}
    assert len({result.document.id for result in results}) == 3
    returned = await tenant.upload("a.txt", SMALL)
    assert returned.document.id == results[0].document.id


async def test_replaced_document_keeps_its_id_and_what_was_not_said_anew(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    first = await tenant.document("a.txt", SMALL, metadata={"k": 1})
    second = await tenant.replace("a.txt", LARGE)
    assert (second.outcome, second.document.id) == (UploadOutcome.REPLACED, first.id)
    assert (second.document.tag_ids, second.document.metadata) == (first.tag_ids, first.metadata)
    assert second.document.text_id == first.text_id
    await tenant.drain()
    assert await original(tenant, first.id) == LARGE.encode()
    assert (await stored_bytes(migrated))[0] == 1
    assert await migrated.database["document_texts"].count_documents({}) == 1
    replaced = await tenant.services.ingestion.documents.get(tenant.id, first.id)
    assert replaced.identity == identity_of("a.txt", replaced.sha256)


async def test_old_text_is_found_until_the_new_one_is_extracted(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 3))
    await tenant.replace("a.txt", prose("birds", 3))
    assert "whales" in (await tenant.search(kb.id, "year")).results[0].content
    await tenant.drain()
    assert "birds" in (await tenant.search(kb.id, "year")).results[0].content


async def test_old_text_is_found_when_the_new_file_cannot_be_read(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.replace("a.txt", "")
    await tenant.drain()
    failed = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert (failed.state, failed.error and failed.error.code) == (DocumentState.FAILED, "empty_document")
    assert "whales" in (await tenant.search(kb.id, "year")).results[0].content


async def test_replacement_may_bring_other_tags(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    other = await tenant.new_tag("other")
    await tenant.document("a.txt", prose("whales", 3))
    await tenant.upload("a.txt", prose("birds", 3), tags=[other.id], policy=DuplicatePolicy.REPLACE)
    assert await tenant.found(kb.id, "year") == []
    await tenant.drain()
    assert await tenant.found(kb.id, "year") == []


async def test_replacing_by_the_same_bytes_changes_nothing(tenant: Tenant, migrated: MongoConnection) -> None:
    first = await tenant.document("a.txt", SMALL)
    before = await stored_bytes(migrated)
    again = await tenant.replace("a.txt", SMALL)
    assert (again.outcome, again.document) == (UploadOutcome.RETURNED, first)
    assert await tenant.drain() == 0
    assert await stored_bytes(migrated) == before


@pytest.mark.parametrize("content", [SMALL + "!", LARGE], ids=["small", "large"])
async def test_two_documents_of_the_name_leave_open_which_one_is_replaced(
    tenant: Tenant, migrated: MongoConnection, content: str
) -> None:
    await tenant.upload("a.txt", "1")
    second = await tenant.upload("a.txt", "2")
    before = await stored_bytes(migrated)
    staged = await tenant.stage("a.txt", content)
    with pytest.raises(ConflictError, match=second.document.id) as caught:
        await tenant.services.ingestion.uploads.commit(
            staged, tag_ids=None, metadata=None, policy=DuplicatePolicy.REPLACE
        )
    assert caught.value.code == "ambiguous_replacement"
    await tenant.services.ingestion.uploads.discard(staged)
    assert await stored_bytes(migrated) == before


async def test_first_upload_of_a_name_may_be_a_replacement(tenant: Tenant) -> None:
    assert (await tenant.replace("a.txt", SMALL)).outcome is UploadOutcome.CREATED


async def test_twenty_different_versions_at_once_leave_one_whole_document(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    first = await tenant.document("a.txt", SMALL)
    results = await asyncio.gather(*(tenant.replace("a.txt", f"version {number}") for number in range(20)))
    assert {result.document.id for result in results} == {first.id}
    await tenant.drain()
    document = await tenant.services.ingestion.documents.get(tenant.id, first.id)
    content = await original(tenant, first.id)
    _, pages, _ = await tenant.services.ingestion.documents.text_pages(tenant.id, first.id, first_page=1, page_count=1)
    assert pages[0].text == content.decode()
    assert document.identity == identity_of("a.txt", document.sha256)
    assert (await stored_bytes(migrated))[0] == 1


async def test_file_that_is_too_large_leaves_nothing(compose_services: Compose, migrated: MongoConnection) -> None:
    tenant = await new_tenant(await compose_services(api=ApiSettings(max_upload_bytes=8 * 2**20)))
    with pytest.raises(LimitExceededError):
        await tenant.stage("a.bin", b"x" * (8 * 2**20 + 1))
    assert await stored_bytes(migrated) == (0, 0, 0)
    small = await new_tenant(await compose_services(api=ApiSettings(max_upload_bytes=10)))
    with pytest.raises(LimitExceededError):
        await small.stage("a.txt", b"x" * 11)
    assert await stored_bytes(migrated) == (0, 0, 0)
    assert (await small.upload("a.txt", b"x" * 10)).document.byte_size == 10


async def test_sender_that_goes_away_leaves_nothing(tenant: Tenant, migrated: MongoConnection) -> None:
    async def torn() -> AsyncIterator[bytes]:
        async for block in blocks(b"x" * (9 * 2**20)):
            yield block
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await tenant.services.ingestion.uploads.stage(
            tenant.id, document_name="a.bin", content_type="application/octet-stream", source=torn()
        )
    assert await stored_bytes(migrated) == (0, 0, 0)


async def test_staged_bytes_can_be_forgotten(tenant: Tenant, migrated: MongoConnection) -> None:
    for content in (SMALL, LARGE):
        await tenant.services.ingestion.uploads.discard(await tenant.stage("a.txt", content))
    assert await stored_bytes(migrated) == (0, 0, 0)


async def test_upload_that_was_given_up_meanwhile_becomes_no_document(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    staged = await tenant.stage("a.txt", LARGE)
    await migrated.database["uploads"].delete_many({})
    with pytest.raises(TransientError, match="Send the file again"):
        await tenant.services.ingestion.uploads.commit(
            staged, tag_ids=None, metadata=None, policy=DuplicatePolicy.RETURN
        )
    assert await names(tenant) == []
    assert await migrated.database["jobs"].count_documents({}) == 0


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 256, "a\0b"])
async def test_name_that_is_none_is_refused_before_a_byte_is_read(tenant: Tenant, name: str) -> None:
    async def untouchable() -> AsyncIterator[bytes]:
        raise AssertionError("nothing of it should be read")
        yield b""

    with pytest.raises(InvalidInputError):
        await tenant.services.ingestion.uploads.stage(
            tenant.id, document_name=name, content_type="text/plain", source=untouchable()
        )


async def test_metadata_that_cannot_be_kept_is_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError, match=r"metadata"):
        await tenant.upload("a.txt", SMALL, metadata={"$where": 1})
    assert await names(tenant) == []
