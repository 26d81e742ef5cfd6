"""Moves of knowledge bases to other settings of their index, while searches go on."""

import asyncio
from typing import Any

import pytest

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.knowledge_bases.service import IndexSettings
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import Tenant, prose

DOCUMENTS = 6
FORMER = IndexSettings(context=False)


async def a_collection(tenant: Tenant) -> KnowledgeBase:
    """A knowledge base as an older release made it, with its documents."""
    kb = await tenant.knowledge_base()
    for number in range(DOCUMENTS):
        await tenant.upload(f"zebra-{number}.txt", prose("whales", 3, first=3 * number), metadata={"customer": "Lion"})
    await tenant.drain()
    return kb


async def contexts_of(connection: MongoConnection, tenant: Tenant, kb: KnowledgeBase) -> list[str]:
    """The context of each searchable chunk."""
    entries = await tenant.services.repositories.entries.page(tenant.id, kb.id, skip=0, limit=100)
    generations = [entry.generation_id for entry in entries[0]]
    rows = connection.database[f"kb_vectors_{kb.id}"].find({"generation_id": {"$in": generations}})
    return [row.get("context", "") async for row in rows]


async def move(tenant: Tenant, kb: KnowledgeBase, settings: IndexSettings) -> KnowledgeBase:
    return await tenant.services.ingestion.knowledge_bases.move(tenant.id, kb.id, settings)


async def test_moved_knowledge_base_searches_by_context(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await a_collection(tenant)
    assert await tenant.found(kb.id, "zebra", mode=Mode.LEXICAL) == []
    moved = await move(tenant, kb, IndexSettings(searched_metadata=("customer",)))
    assert (moved.id, moved.context, moved.searched_metadata) == (kb.id, True, ("customer",))
    assert len(await tenant.found(kb.id, "whales", mode=Mode.LEXICAL)) == DOCUMENTS
    await tenant.drain()
    for question in ("zebra", "lion", "whales"):
        assert len(await tenant.found(kb.id, question, mode=Mode.LEXICAL)) == DOCUMENTS, question
    assert all("zebra" in context for context in await contexts_of(migrated, tenant, kb))
    shown = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert (shown.document_count, shown.chunk_count) == (DOCUMENTS, 3 * DOCUMENTS)


async def test_searches_beside_a_move_see_each_document_once(tenant: Tenant) -> None:
    kb = await a_collection(tenant)
    await move(tenant, kb, IndexSettings(chunk_size=8))
    moving = asyncio.create_task(tenant.drain())
    searched = 0
    while not moving.done() or not searched:
        answer = await tenant.search(kb.id, "whales", top_k=100, mode=Mode.LEXICAL)
        hashes = {(result.document_id, result.chunk_id.rpartition("-")[0]) for result in answer.results}
        assert len({document_id for document_id, _ in hashes}) == len(hashes) == DOCUMENTS
        searched += 1
    await moving
    chunks = (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count
    assert chunks > 3 * DOCUMENTS


async def test_cancelled_move_leaves_documents_alone_and_brings_the_others_back(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await a_collection(tenant)
    before = await tenant.services.repositories.entries.page(tenant.id, kb.id, skip=0, limit=100)
    calls = embedding_server.calls
    await move(tenant, kb, IndexSettings())
    await move(tenant, kb, FORMER)
    await tenant.drain()
    assert await tenant.services.repositories.entries.page(tenant.id, kb.id, skip=0, limit=100) == before
    assert embedding_server.calls == calls

    await move(tenant, kb, IndexSettings())
    await tenant.drain()
    calls = embedding_server.calls
    await move(tenant, kb, FORMER)
    await tenant.drain()
    assert set(await contexts_of(migrated, tenant, kb)) == {""}
    assert embedding_server.calls == calls, "the former embeddings are cached"


async def test_move_to_the_present_settings_does_nothing(tenant: Tenant) -> None:
    kb = await a_collection(tenant)
    same = await move(tenant, kb, FORMER)
    assert same.updated_at == (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).updated_at
    assert await tenant.drain() == 0


async def test_searched_metadata_is_dropped_without_context(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(context=True, searched_metadata=("customer",))
    moved = await move(tenant, kb, FORMER)
    assert (moved.context, moved.searched_metadata) == (False, ())


@pytest.mark.parametrize("wrong", [{"chunk_size": 4, "chunk_overlap": 8}, {"chunker_type": "none"}])
async def test_wrong_settings_are_refused_and_change_nothing(tenant: Tenant, wrong: dict[str, Any]) -> None:
    kb = await tenant.knowledge_base()
    with pytest.raises(InvalidInputError):
        await move(tenant, kb, IndexSettings(**wrong))
    assert not (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).context


async def test_unknown_knowledge_base_is_not_moved(tenant: Tenant) -> None:
    with pytest.raises(NotFoundError):
        await tenant.services.ingestion.knowledge_bases.move(tenant.id, new_id(), IndexSettings())
