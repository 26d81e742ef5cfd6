"""Leaving is immediate, joining takes a job, and no order of events loses a pair."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import NotFoundError
from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.client import MongoConnection
from tests.integration.tenant import Tenant, prose

Compose = Callable[..., Awaitable[Services]]


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    return await tenant.knowledge_base()


@pytest.fixture
async def documents(tenant: Tenant, kb: KnowledgeBase) -> tuple[Document, Document]:
    """Two documents that are found, by this process and by another."""
    first = await tenant.document("a.txt", prose("whales", 30))
    second = await tenant.document("b.txt", prose("birds", 30))
    assert await tenant.found(kb.id, "year") == sorted([first.id, second.id])
    return first, second


async def set_kb_tags(tenant: Tenant, kb: KnowledgeBase, *tag_ids: str) -> None:
    await tenant.services.ingestion.knowledge_bases.change(tenant.id, kb.id, {"tag_ids": tag_ids})


async def test_document_whose_tag_was_taken_away_is_not_found_by_the_very_next_search(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document]
) -> None:
    await tenant.set_tags(documents[0], [])
    assert await tenant.found(kb.id, "year") == [documents[1].id]
    assert len((await tenant.search(kb.id, "whales", top_k=30)).results) == 30  # filled up from the other one
    await tenant.drain()
    assert await tenant.found(kb.id, "year") == [documents[1].id]
    assert (await tenant.search(kb.id, "year")).total_count == 30


async def test_document_that_was_deleted_is_not_found_by_the_very_next_search(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document]
) -> None:
    await tenant.services.ingestion.documents.delete(tenant.id, documents[0].id)
    assert await tenant.found(kb.id, "year") == [documents[1].id]
    await tenant.drain()
    assert (await tenant.search(kb.id, "year")).total_count == 30


async def test_knowledge_base_that_lost_its_tag_finds_nothing_from_then_on(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document]
) -> None:
    other = await tenant.new_tag("other")
    await tenant.set_tags(documents[1], [tenant.tag.id, other.id])
    await set_kb_tags(tenant, kb, other.id)
    assert await tenant.found(kb.id, "year") == [documents[1].id]
    await tenant.drain()
    assert (await tenant.search(kb.id, "year")).total_count == 30


async def test_deleted_knowledge_base_is_unknown_from_then_on(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document]
) -> None:
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    with pytest.raises(NotFoundError):
        await tenant.search(kb.id, "year")
    await tenant.drain()
    with pytest.raises(NotFoundError):
        await tenant.search(kb.id, "year")


async def test_other_process_that_mirrors_the_vectors_forgets_as_quickly(
    tenant: Tenant,
    kb: KnowledgeBase,
    documents: tuple[Document, Document],
    compose_services: Compose,
) -> None:
    other = tenant.seen_by(await compose_services())
    assert await other.found(kb.id, "year") == sorted(document.id for document in documents)
    await tenant.services.ingestion.documents.delete(tenant.id, documents[0].id)
    assert await other.found(kb.id, "year") == [documents[1].id]


async def test_document_of_another_organization_is_never_found(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document], migrated: MongoConnection
) -> None:
    """Even where the row of the index says so: the check asks for the organization too."""
    await migrated.database["docs"].update_one({"document_name": "a.txt"}, {"$set": {"organization_id": "0" * 24}})
    assert await tenant.found(kb.id, "year") == [documents[1].id]


async def test_tag_given_back_before_any_job_ran_brings_the_document_back_without_embedding(
    tenant: Tenant, kb: KnowledgeBase, documents: tuple[Document, Document]
) -> None:
    await tenant.set_tags(documents[0], [])
    await tenant.set_tags(documents[0], [tenant.tag.id])
    assert await tenant.found(kb.id, "year") == sorted(document.id for document in documents)
    await tenant.drain()
    assert await tenant.found(kb.id, "year") == sorted(document.id for document in documents)


async def test_joining_takes_a_job(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("a.txt", prose("whales", 5), tags=[])
    assert await tenant.found(kb.id, "year") == []
    await tenant.set_tags(document, [tenant.tag.id])
    assert await tenant.found(kb.id, "year") == []
    await tenant.drain()
    assert await tenant.found(kb.id, "year") == [document.id]


async def test_knowledge_base_that_gains_a_tag_gathers_what_has_it(tenant: Tenant, kb: KnowledgeBase) -> None:
    other = await tenant.new_tag("other")
    document = await tenant.document("a.txt", prose("whales", 5), tags=[other.id])
    await set_kb_tags(tenant, kb, tenant.tag.id, other.id)
    await tenant.drain()
    assert await tenant.found(kb.id, "year") == [document.id]


async def test_document_belongs_to_every_knowledge_base_that_shares_one_of_its_tags(tenant: Tenant) -> None:
    other = await tenant.new_tag("other")
    kbs = [
        await tenant.knowledge_base(tag_ids=tag_ids)
        for tag_ids in [(tenant.tag.id,), (other.id,), (tenant.tag.id, other.id), ()]
    ]
    document = await tenant.document("a.txt", prose("whales", 5), tags=[other.id])
    found = [await tenant.found(kb.id, "year") for kb in kbs]
    assert found == [[], [document.id], [document.id], []]


async def test_both_sides_gain_the_same_tag_at_once_and_it_is_always_a_member(
    tenant: Tenant, kb: KnowledgeBase, compose_services: Compose
) -> None:
    document = await tenant.document("a.txt", prose("whales", 3), tags=[])
    other = tenant.seen_by(await compose_services())
    for number in range(30):
        tag = await tenant.new_tag(f"tag {number}")
        await asyncio.gather(
            set_kb_tags(other, kb, tag.id),
            tenant.set_tags(document, [tag.id]),
            tenant.drain(),
            other.drain(),
        )
        await tenant.drain()
        assert await tenant.found(kb.id, "year") == [document.id]


async def test_both_sides_lose_it_and_gain_it_in_any_order_and_the_end_is_right(
    tenant: Tenant, kb: KnowledgeBase
) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    for number in range(10):
        is_member = number % 2 == 0
        await asyncio.gather(
            tenant.set_tags(document, []),
            tenant.drain(),
            set_kb_tags(tenant, kb, tenant.tag.id),
            tenant.drain(),
        )
        await asyncio.gather(tenant.set_tags(document, [tenant.tag.id] if is_member else []), tenant.drain())
        await tenant.drain()
        assert await tenant.found(kb.id, "year") == ([document.id] if is_member else [])
        entries = await tenant.services.connection.database["document_index"].count_documents({})
        assert entries == int(is_member)
