"""Changing, re-extracting and deleting documents; what a deletion leaves behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from bson import ObjectId

from analytiq.composition import Services
from analytiq.errors import ConflictError, NotFoundError
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.ingestion.documents.naming import identity_of
from analytiq.ingestion.upload.store import UploadResult
from analytiq.models.document import Document, DocumentState
from analytiq.settings import IndexingSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]


def mentions(value: object, identifier: str) -> bool:
    """Return True if a stored value holds the id, as a string, within a string, or as an ObjectId."""
    if isinstance(value, dict):
        return any(mentions(key, identifier) or mentions(item, identifier) for key, item in value.items())
    if isinstance(value, list):
        return any(mentions(item, identifier) for item in value)
    return value == ObjectId(identifier) or (isinstance(value, str) and identifier in value)


async def rows_that_mention(migrated: MongoConnection, identifier: str) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for name in await migrated.database.list_collection_names():
        found += [(name, row) async for row in migrated.database[name].find({}) if mentions(row, identifier)]
    return found


async def test_deleted_document_leaves_nothing_in_any_collection(
    compose_services: Compose, migrated: MongoConnection
) -> None:
    tenant = await new_tenant(await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0)))
    kbs = [await tenant.knowledge_base(), await tenant.knowledge_base(chunk_size=24)]
    document = await tenant.document("a.txt", prose("whales", 1_200), metadata={"k": 1})
    await tenant.replace("a.txt", prose("birds", 1_200))
    await tenant.drain()
    entries = [row async for row in migrated.database["document_index"].find({})]
    assert len(entries) == 2
    assert len(await rows_that_mention(migrated, document.id)) > 1_000
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.drain()
    assert await rows_that_mention(migrated, document.id) == []
    for name in ("fs.files", "fs.chunks", "document_texts", "document_text_segments", "generations", "jobs"):
        assert await migrated.database[name].count_documents({}) == 0
    for kb in kbs:
        assert await migrated.database[f"kb_vectors_{kb.id}"].count_documents({}) == 0
    # By design a log of generations stays for a week, and embeddings stay in the cache; neither names the document.
    assert await migrated.database["kb_changes"].count_documents({}) == 6


async def test_what_was_given_up_for_a_deleted_document_is_forgotten(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(Failure.UNAUTHORIZED)
    document = await tenant.document("a.txt", prose("whales", 2))
    assert await migrated.database["jobs"].count_documents({"state": "dead"}) == 1
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.drain()
    assert await rows_that_mention(migrated, document.id) == []


@pytest.mark.parametrize("when", ["before extraction", "while embedding"])
async def test_document_deleted_while_it_is_worked_on_leaves_nothing_either(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer, when: str
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    document = (await tenant.upload("a.txt", prose("whales", 120))).document
    working = None
    if when == "while embedding":
        embedding_server.script(None, Failure.SLOW)
        working = asyncio.create_task(tenant.drain())
        await asyncio.to_thread(embedding_server.wait_for_slow_call)
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.drain()
    embedding_server.release()
    if working is not None:
        await working
    await tenant.drain()
    assert await rows_that_mention(migrated, document.id) == []
    assert await migrated.database["jobs"].count_documents({}) == 0


async def test_text_of_an_extraction_that_died_is_removed_by_the_next(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    left: dict[str, Any] = {
        "organization_id": tenant.id,
        "document_id": document.id,
        "state": "staging",
        "character_count": 1,
        "pages": [],
    }
    await migrated.database["document_texts"].insert_one(dict(left))
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    await tenant.drain()
    states = [row["state"] async for row in migrated.database["document_texts"].find({})]
    assert states == ["current"]


def operations_on(tenant: Tenant, document_id: str) -> list[Callable[[], Awaitable[object]]]:
    documents = tenant.services.ingestion.documents
    return [
        lambda: documents.get(tenant.id, document_id),
        lambda: documents.change(tenant.id, document_id, document_name="b.txt"),
        lambda: documents.delete(tenant.id, document_id),
        lambda: documents.extract_again(tenant.id, document_id),
        lambda: documents.original(tenant.id, document_id),
        lambda: documents.text_pages(tenant.id, document_id, first_page=1, page_count=1),
    ]


async def test_unknown_document_is_not_found_by_any_operation(tenant: Tenant) -> None:
    stranger = await new_tenant(tenant.services)
    theirs = (await stranger.upload("a.txt", "text")).document
    for document_id in (new_id(), "no id", theirs.id):
        for operation in operations_on(tenant, document_id):
            with pytest.raises(NotFoundError):
                await operation()
    assert await tenant.services.ingestion.documents.get(stranger.id, theirs.id) == theirs


async def test_renamed_document_is_known_by_its_new_name(tenant: Tenant) -> None:
    document = (await tenant.upload("a.txt", "text")).document
    renamed = await tenant.services.ingestion.documents.change(tenant.id, document.id, document_name="b.txt")
    assert renamed.identity == identity_of("b.txt", renamed.sha256)
    assert (await tenant.upload("b.txt", "text")).document.id == document.id
    assert (await tenant.upload("a.txt", "text")).document.id != document.id


async def test_name_and_bytes_of_another_document_cannot_be_taken(tenant: Tenant) -> None:
    await tenant.upload("a.txt", "text")
    second = (await tenant.upload("b.txt", "text")).document
    with pytest.raises(ConflictError) as caught:
        await tenant.services.ingestion.documents.change(tenant.id, second.id, document_name="a.txt")
    assert caught.value.code == "document_exists"


async def test_renaming_while_the_bytes_are_replaced_keeps_both(tenant: Tenant) -> None:
    """The identity is of the name and the bytes that the row has in the end, in whichever order they came."""
    for number in range(12):
        document = (await tenant.upload(f"{number}.txt", "old")).document
        outcomes = await asyncio.gather(
            tenant.services.ingestion.documents.change(tenant.id, document.id, document_name=f"renamed {number}.txt"),
            tenant.replace(f"{number}.txt", "new"),
            return_exceptions=True,  # the one that comes second may be told that the document was renamed
        )
        assert all(isinstance(outcome, Document | UploadResult | ConflictError) for outcome in outcomes)
        rows = [row async for row in tenant.services.connection.database["docs"].find({"organization_id": tenant.id})]
        for row in rows:
            assert row["identity"] == identity_of(row["document_name"], row["sha256"])


async def test_change_of_nothing_writes_nothing(tenant: Tenant) -> None:
    document = (await tenant.upload("a.txt", "text")).document
    assert await tenant.services.ingestion.documents.change(tenant.id, document.id) == document
    same_name = await tenant.services.ingestion.documents.change(tenant.id, document.id, document_name="a.txt")
    assert same_name.rev == document.rev


async def test_text_is_read_page_by_page(tenant: Tenant) -> None:
    content = prose("whales", 3)
    document = await tenant.document("a.txt", content)
    read = tenant.services.ingestion.documents.text_pages
    _, pages, total = await read(tenant.id, document.id, first_page=1, page_count=5)
    assert ([page.text for page in pages], total) == ([content], 1)
    _, beyond, total = await read(tenant.id, document.id, first_page=2, page_count=5)
    assert (beyond, total) == ([], 1)


async def test_text_of_a_document_that_has_none_is_a_conflict_that_says_why(tenant: Tenant) -> None:
    failed = await tenant.document("b.txt", "")
    waiting = (await tenant.upload("a.txt", "text")).document
    for document, reason in ((waiting, "not been extracted yet"), (failed, "empty")):
        with pytest.raises(ConflictError, match=reason) as caught:
            await tenant.services.ingestion.documents.text_pages(tenant.id, document.id, first_page=1, page_count=1)
        assert caught.value.code == "no_text"


async def test_document_of_spaces_only_is_indexed_nowhere_and_says_so(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", " \n \n ")
    assert document.state is DocumentState.EXTRACTED
    assert any("no text" in warning for warning in document.warnings)
    (state,) = await tenant.services.ingestion.indexing_states.of_document(document)
    assert (state.kb_id, state.state, state.is_searchable) == (kb.id, IndexingState.EMPTY, False)


async def test_document_that_becomes_empty_leaves_the_knowledge_base(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.replace("a.txt", "   ")
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == []
    (state,) = await tenant.services.ingestion.indexing_states.of_document(
        await tenant.services.ingestion.documents.get(tenant.id, document.id)
    )
    assert state.state is IndexingState.EMPTY


async def test_state_in_each_knowledge_base_follows_the_work(tenant: Tenant, embedding_server: EmbeddingServer) -> None:
    await tenant.knowledge_base()
    await tenant.drain()

    async def state(document_id: str) -> tuple[IndexingState, bool, str | None]:
        document = await tenant.services.ingestion.documents.get(tenant.id, document_id)
        (found,) = await tenant.services.ingestion.indexing_states.of_document(document)
        return found.state, found.is_searchable, found.reason

    document_id = (await tenant.upload("a.txt", prose("whales", 120))).document.id
    assert (await state(document_id))[:2] == (IndexingState.WAITING, False)
    embedding_server.script(None, Failure.SLOW, Failure.UNAUTHORIZED)
    working = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    assert (await state(document_id))[:2] == (IndexingState.INDEXING, False)
    embedding_server.release()
    await working
    failed = await state(document_id)
    assert failed[:2] == (IndexingState.FAILED, False)
    assert failed[2] is not None
    assert "could not be indexed" in failed[2]
    await tenant.set_tags(await tenant.services.ingestion.documents.get(tenant.id, document_id), [tenant.tag.id])
    await tenant.drain()
    assert await state(document_id) == (IndexingState.INDEXED, True, None)
