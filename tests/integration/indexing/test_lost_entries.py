"""Rows of `document_index` that are lost or come back, by an operator's slip or a partial restore."""

import pytest

from analytiq.composition import Services
from analytiq.ingestion.membership import sync_request
from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.settings import IndexingSettings
from analytiq.storage.client import MongoConnection
from tests.integration.conftest import Compose
from tests.integration.indexing.conftest import Stored
from tests.integration.tenant import Tenant, new_tenant, prose

QUESTION = "in which year"


@pytest.fixture
async def services(compose_services: Compose) -> Services:
    """Sweeps at once, so that what is left behind can be looked at."""
    return await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0))


@pytest.fixture
async def tenant(services: Services) -> Tenant:
    return await new_tenant(services)


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    return await tenant.knowledge_base()


@pytest.fixture
async def document(tenant: Tenant, kb: KnowledgeBase) -> Document:
    """Indexed, and mirrored by this process."""
    document = await tenant.document("a.txt", prose("whales", 5))
    assert await tenant.found(kb.id, QUESTION) == [document.id]
    return document


async def sync(tenant: Tenant, kb: KnowledgeBase, document: Document) -> None:
    """Return the reconciler's request where it finds the pair unlike the truth."""
    await tenant.services.repositories.jobs.enqueue([sync_request(tenant.id, kb.id, document.id)])
    await tenant.drain()


async def test_document_whose_entry_was_lost_is_indexed_anew_and_its_old_vectors_go(
    tenant: Tenant, kb: KnowledgeBase, document: Document, stored: Stored, migrated: MongoConnection
) -> None:
    await migrated.database["document_index"].delete_many({})
    assert await tenant.found(kb.id, QUESTION) == []
    await sync(tenant, kb, document)
    assert await stored.generations(kb.id) == [("current", 5)]
    assert await stored.vectors(kb.id) == 5
    answer = await tenant.search(kb.id, QUESTION, top_k=100)
    assert (len(answer.results), answer.total_count) == (5, 5), "the mirror has let the old ones go, too"
    assert [entry["document_id"] for entry in await stored.entries(kb.id)] == [document.id]


async def test_vectors_whose_entry_was_lost_go_with_a_document_that_is_no_member_any_more(
    tenant: Tenant, kb: KnowledgeBase, document: Document, stored: Stored, migrated: MongoConnection
) -> None:
    await migrated.database["document_index"].delete_many({})
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.drain()
    await sync(tenant, kb, document)
    assert (await stored.generations(kb.id), await stored.vectors(kb.id)) == ([], 0)
    assert (await tenant.search(kb.id, QUESTION)).total_count == 0


async def test_generation_that_a_restore_brought_back_beside_the_one_that_is_served_goes(
    tenant: Tenant, kb: KnowledgeBase, document: Document, stored: Stored, migrated: MongoConnection
) -> None:
    rows = [row async for row in migrated.database["generations"].find()]
    vectors = [row async for row in migrated.database[f"kb_vectors_{kb.id}"].find()]
    await tenant.replace("a.txt", prose("birds", 7))
    await tenant.drain()
    await migrated.database["generations"].insert_many(rows)
    await migrated.database[f"kb_vectors_{kb.id}"].insert_many(vectors)
    assert (await stored.generations(kb.id), await stored.vectors(kb.id)) == ([("current", 5), ("current", 7)], 12)
    await sync(tenant, kb, document)
    assert (await stored.generations(kb.id), await stored.vectors(kb.id)) == ([("current", 7)], 7)
    answer = await tenant.search(kb.id, QUESTION, top_k=100)
    assert (len(answer.results), answer.total_count) == (7, 7)


async def test_removal_takes_out_every_generation_of_the_pair(
    tenant: Tenant, kb: KnowledgeBase, document: Document, stored: Stored, migrated: MongoConnection
) -> None:
    rows = [row async for row in migrated.database["generations"].find()]
    await tenant.replace("a.txt", prose("birds", 7))
    await tenant.drain()
    await migrated.database["generations"].insert_many(rows)
    await tenant.set_tags(document, [])
    await tenant.drain()
    assert (await stored.generations(kb.id), await stored.vectors(kb.id)) == ([], 0)
