"""Indexing states of a page's documents: as each document tells, by few queries."""

from collections.abc import Awaitable, Callable

from analytiq.composition import Services
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.models.document import Document
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from tests.integration.tenant import Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]


async def page_of(tenant: Tenant, limit: int = 100) -> list[Document]:
    found, _ = await tenant.services.ingestion.documents.page(tenant.id, DocumentQuery(), skip=0, limit=limit)
    return found


async def test_a_page_tells_of_each_document_what_the_document_tells(tenant: Tenant) -> None:
    second = await tenant.new_tag("second")
    await tenant.knowledge_base(name="B")
    await tenant.knowledge_base(name="A", tag_ids=(second.id,))
    await tenant.document("in both.txt", "Whales sing.", tags=[tenant.tag.id, second.id])
    await tenant.document("in none.txt", "Whales swim.", tags=[])
    await tenant.document("empty.txt", " ", tags=[second.id])
    await tenant.upload("not read yet.txt", "Whales dive.")
    states = tenant.services.ingestion.indexing_states
    standing = await states.of_documents(tenant.id, await page_of(tenant))
    assert [item.knowledge_bases for item in standing] == [await states.of_document(item.document) for item in standing]
    told = {
        item.document.document_name: [(state.kb_name, state.state) for state in item.knowledge_bases]
        for item in standing
    }
    assert told["in both.txt"] == [("A", IndexingState.INDEXED), ("B", IndexingState.INDEXED)]
    assert told["not read yet.txt"] == [("B", IndexingState.WAITING)]
    assert told["in none.txt"] == []


async def test_no_other_organization_shows_in_what_a_page_tells(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await tenant.knowledge_base(name="own")
    await other.knowledge_base(name="secret")
    await tenant.document("own.txt", "Whales sing.")
    (standing,) = await tenant.services.ingestion.indexing_states.of_documents(tenant.id, await page_of(tenant))
    assert [state.kb_name for state in standing.knowledge_bases] == ["own"]
    (foreign,) = await tenant.services.ingestion.indexing_states.of_documents(other.id, [standing.document])
    assert foreign.knowledge_bases == []


async def test_a_page_of_many_documents_asks_as_often_as_a_page_of_one(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    for _ in range(3):
        await tenant.knowledge_base()
    for number in range(6):
        await tenant.upload(f"{number}.txt", f"Whale number {number} sings.")
    await tenant.drain()
    one, many = await page_of(tenant, 1), await page_of(tenant)
    assert len(many) == 6
    assert await _questions(tenant, migrated, one) == await _questions(tenant, migrated, many) == 3


async def _questions(tenant: Tenant, migrated: MongoConnection, documents: list[Document]) -> int:
    await migrated.database.command("profile", 2)
    try:
        standing = await tenant.services.ingestion.indexing_states.of_documents(tenant.id, documents)
    finally:
        await migrated.database.command("profile", 0)
    assert all(len(item.knowledge_bases) == 3 for item in standing)
    asked = ["knowledge_bases", "document_index", "jobs"]
    spaces = {"$in": [f"{migrated.database.name}.{name}" for name in asked]}
    count = await migrated.database["system.profile"].count_documents(
        {"ns": spaces, "op": {"$in": ["query", "getmore"]}}
    )
    await migrated.database["system.profile"].drop()
    return count
