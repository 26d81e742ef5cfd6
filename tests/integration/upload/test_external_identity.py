"""Documents of another system's items: one document an item, whatever its name, bytes and version."""

import asyncio
from collections.abc import Sequence

import pytest
from bson import ObjectId

from analytiq.errors import ConflictError, InvalidInputError, QuotaExceededError
from analytiq.ingestion.upload.store import WITH_DOCUMENT_BYTES
from analytiq.models.document import Document, DocumentState, ExternalIdentity
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from tests.integration.tenant import Tenant, blocks, new_tenant, prose

LARGE = prose("whales", 2_000)
assert len(LARGE) > WITH_DOCUMENT_BYTES


def item(version: str | None = None, external_id: str = "4711", source: str = "wiki") -> ExternalIdentity:
    return ExternalIdentity(source=source, external_id=external_id, version=version)


async def listed(tenant: Tenant, *, source: str | None = None, external_id: str | None = None) -> list[Document]:
    query = DocumentQuery(source=source, external_id=external_id, sort_field="document_name", descending=False)
    documents, total = await tenant.services.ingestion.documents.page(tenant.id, query, skip=0, limit=100)
    assert total == len(documents)
    return documents


async def file_count(migrated: MongoConnection) -> int:
    return await migrated.database["fs.files"].count_documents({})


@pytest.mark.parametrize("policy", [DuplicatePolicy.RETURN, DuplicatePolicy.REPLACE])
@pytest.mark.parametrize("content", ["edited", LARGE], ids=["small", "large"])
async def test_edited_and_renamed_item_stays_one_document(
    tenant: Tenant, migrated: MongoConnection, policy: DuplicatePolicy, content: str
) -> None:
    first = await tenant.upload("page.txt", "first", item=item("1"), metadata={"k": 1})
    await tenant.drain()
    second = await tenant.upload("other.txt", content, item=item("2"), policy=policy)
    assert (second.outcome, second.document.id) == (UploadOutcome.REPLACED, first.document.id)
    assert second.document.external_identity == item("2")
    assert (second.document.document_name, second.document.metadata) == ("other.txt", {"k": 1})
    await tenant.drain()
    (document,) = await listed(tenant)
    assert (document.state, document.byte_size) == (DocumentState.EXTRACTED, len(content))
    assert await file_count(migrated) == 1


@pytest.mark.parametrize(
    ("known", "given", "content"),
    [("1", "1", "text"), ("1", "1", "text in another encoding"), (None, None, "text"), ("1", None, "text")],
)
async def test_unchanged_item_changes_nothing(
    tenant: Tenant, migrated: MongoConnection, known: str | None, given: str | None, content: str
) -> None:
    first = await tenant.document("page.txt", "text", item=item(known))
    again = await tenant.upload("page.txt", content, item=item(given))
    assert (again.outcome, again.document) == (UploadOutcome.RETURNED, first)
    assert await tenant.drain() == 0
    assert await file_count(migrated) == 1


async def test_new_version_with_the_same_bytes_is_noted_and_not_read(tenant: Tenant) -> None:
    first = await tenant.document("page.txt", "text", item=item("1"))
    noted = await tenant.upload("page.txt", "text", item=item("2"))
    assert (noted.outcome, noted.document.external_identity) == (UploadOutcome.RETURNED, item("2"))
    await tenant.drain()
    (document,) = await listed(tenant)
    assert (document.id, document.text_id) == (first.id, first.text_id)


async def test_new_bytes_without_a_version_forget_the_version_of_the_old_ones(tenant: Tenant) -> None:
    await tenant.document("page.txt", "text", item=item("1"))
    replaced = await tenant.upload("page.txt", "other text", item=item())
    assert (replaced.outcome, replaced.document.external_identity) == (UploadOutcome.REPLACED, item())


async def test_renamed_item_with_an_equal_version_is_found_under_its_new_name(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    first = await tenant.document("old.txt", prose("whales", 2), item=item("1"))
    renamed = await tenant.upload("new.txt", prose("whales", 2), item=item("1"))
    assert (renamed.outcome, renamed.document.id) == (UploadOutcome.RETURNED, first.id)
    await tenant.drain()
    answer = await tenant.search(kb.id, "whales")
    assert {result.source for result in answer.results} == {"new.txt"}
    (document,) = await listed(tenant)
    assert document.text_id == first.text_id


async def test_tags_and_metadata_are_those_of_the_upload_or_added_to_them(tenant: Tenant) -> None:
    other = await tenant.new_tag("other")
    uploads = tenant.services.ingestion.uploads
    await tenant.upload("page.txt", "text", item=item("1"), metadata={"a": 1})

    async def put(tags: Sequence[str] | None, *, merges: bool, **metadata: str) -> Document:
        result = await uploads.commit(
            await tenant.stage("page.txt", "text"), tag_ids=tags, metadata=metadata or None,
            policy=DuplicatePolicy.RETURN, merges=merges, external_identity=item("1"),
        )  # fmt: skip
        assert result.outcome is UploadOutcome.RETURNED
        return result.document

    added = await put([other.id], merges=True, b="2")
    assert (added.tag_ids, added.metadata) == ((tenant.tag.id, other.id), {"a": 1, "b": "2"})
    kept = await put(None, merges=False)
    assert (kept.tag_ids, kept.metadata) == (added.tag_ids, added.metadata)
    told = await put([other.id], merges=False, c="3")
    assert (told.tag_ids, told.metadata) == ((other.id,), {"c": "3"})


async def test_item_whose_extraction_failed_is_read_again(tenant: Tenant) -> None:
    failed = await tenant.document("page.txt", "", item=item("1"))
    assert failed.state is DocumentState.FAILED
    again = await tenant.upload("page.txt", "text", item=item("1"))
    assert (again.outcome, again.document.id) == (UploadOutcome.REPLACED, failed.id)
    await tenant.drain()
    assert [document.state for document in await listed(tenant)] == [DocumentState.EXTRACTED]


async def test_equal_files_of_two_items_and_of_a_person_are_three_documents(tenant: Tenant) -> None:
    results = [
        await tenant.upload("a.txt", "text"),
        await tenant.upload("a.txt", "text", item=item()),
        await tenant.upload("a.txt", "text", item=item(external_id="4712")),
        await tenant.upload("a.txt", "text", item=item(source="tickets")),
    ]
    assert [result.outcome for result in results] == [UploadOutcome.CREATED] * 4
    # Without an identity, names and bytes count, among documents without an identity.
    again = await tenant.upload("a.txt", "text")
    replaced = await tenant.upload("a.txt", "other", policy=DuplicatePolicy.REPLACE)
    assert (again.document.id, replaced.document.id) == (results[0].document.id, results[0].document.id)
    assert [document.sha256 for document in await listed(tenant, source="wiki")] == [results[1].document.sha256] * 2


async def test_person_may_rename_an_items_document_to_any_name(tenant: Tenant) -> None:
    await tenant.upload("a.txt", "text")
    second = await tenant.upload("b.txt", "text", item=item("1"))
    renamed = await tenant.services.ingestion.documents.change(tenant.id, second.document.id, document_name="a.txt")
    assert renamed.identity == second.document.identity
    again = await tenant.upload("c.txt", "text", item=item("1"))
    assert (again.document.id, again.document.document_name) == (second.document.id, "c.txt")


async def test_item_can_come_back_after_its_document_was_deleted(tenant: Tenant) -> None:
    first = await tenant.document("a.txt", "text", item=item("1"))
    await tenant.services.ingestion.documents.delete(tenant.id, first.id)
    again = await tenant.upload("a.txt", "text", item=item("1"))
    assert again.outcome is UploadOutcome.CREATED
    assert again.document.id != first.id


async def test_lists_and_lookups_show_the_items_of_one_source_in_one_organization(tenant: Tenant) -> None:
    stranger = await new_tenant(tenant.services)
    foreign = await stranger.upload("secret.txt", "text", item=item("1"))
    own = await tenant.upload("a.txt", "text", item=item("1"))
    assert (own.outcome, own.document.id != foreign.document.id) == (UploadOutcome.CREATED, True)
    other = await tenant.upload("b.txt", "text", item=item(external_id="4712"))
    await tenant.upload("c.txt", "text", item=item(source="tickets"))
    await tenant.upload("d.txt", "text")
    assert [document.id for document in await listed(tenant, source="wiki")] == [own.document.id, other.document.id]
    assert [document.id for document in await listed(tenant, source="wiki", external_id="4712")] == [other.document.id]
    assert await listed(tenant, source="wiki", external_id="nothing") == []
    lookups = tenant.services.ingestion.lookups
    found = await lookups.of_items(tenant.id, "wiki", ["4711", "4713", "4712"])
    assert {document.id for document in found.documents} == {own.document.id, other.document.id}


@pytest.mark.parametrize("content", ["text", LARGE], ids=["small", "large"])
async def test_twenty_uploads_of_one_item_at_once_are_one_document(
    tenant: Tenant, migrated: MongoConnection, content: str
) -> None:
    results = await asyncio.gather(*(tenant.upload("a.txt", content, item=item("1")) for _ in range(20)))
    assert len({result.document.id for result in results}) == 1
    assert sum(result.outcome is UploadOutcome.CREATED for result in results) == 1
    await tenant.drain()
    assert await file_count(migrated) == 1


async def test_twenty_versions_of_a_new_item_at_once_are_one_whole_document(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    results = await asyncio.gather(
        *(tenant.upload(f"{number}.txt", f"version {number}", item=item(str(number))) for number in range(20))
    )
    assert len({result.document.id for result in results}) == 1
    await tenant.drain()
    (document,) = await listed(tenant)
    _, pages, _ = await tenant.services.ingestion.documents.text_pages(
        tenant.id, document.id, first_page=1, page_count=1
    )
    number = document.document_name.removesuffix(".txt")
    # Name, version and text are of one and the same upload.
    assert (document.external_identity, pages[0].text) == (item(number), f"version {number}")
    assert await file_count(migrated) == 1


async def test_database_refuses_a_second_document_of_an_item(tenant: Tenant, migrated: MongoConnection) -> None:
    first = await tenant.upload("a.txt", "text", item=item("1"))
    second = await tenant.upload("b.txt", "text")
    identity = {"external_identity": item("2").model_dump()}
    documents = tenant.services.repositories.documents
    async with migrated.client.start_session() as session:
        with pytest.raises(ConflictError):
            await documents.change(session, tenant.id, second.document.id, identity)
    assert [document.id for document in await listed(tenant, source="wiki")] == [first.document.id]


async def test_copy_of_an_item_is_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError, match="on_duplicate: An external identity names one document"):
        await tenant.upload("a.txt", "text", item=item(), policy=DuplicatePolicy.CREATE)
    assert await listed(tenant) == []


async def test_next_version_of_an_item_fits_a_full_quota_under_any_name(tenant: Tenant) -> None:
    await tenant.upload("a.txt", LARGE, item=item("1"))
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=len(LARGE), max_documents=1)
    uploads = tenant.services.ingestion.uploads

    async def put(wanted: ExternalIdentity) -> UploadOutcome:
        staged = await uploads.stage(
            tenant.id, document_name="b.txt", content_type="text/plain", source=blocks(LARGE[::-1]),
            external_identity=wanted,
        )  # fmt: skip
        result = await uploads.commit(
            staged, tag_ids=None, metadata=None, policy=DuplicatePolicy.RETURN, external_identity=wanted
        )
        return result.outcome

    assert await put(item("2")) is UploadOutcome.REPLACED
    with pytest.raises(QuotaExceededError):
        await put(item(external_id="4712"))


async def test_item_is_found_by_the_index_of_identities(tenant: Tenant, migrated: MongoConnection) -> None:
    await tenant.upload("a.txt", "text", item=item("1"))
    docs = migrated.database["docs"]
    (row,) = [row async for row in docs.find({})]
    ids = [str(number) for number in range(100)]
    others = [
        {**row, "_id": ObjectId(), "identity": id_, "external_identity": item(external_id=id_).model_dump()}
        for id_ in ids
    ]
    await docs.insert_many(others)
    query = {"organization_id": tenant.id, "external_identity.source": "wiki", "external_identity.external_id": "4711"}
    explained = await docs.find(query).explain()
    assert "'indexName': 'external_identity'" in str(explained["queryPlanner"]["winningPlan"])
