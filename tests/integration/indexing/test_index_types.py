"""One knowledge base with paragraphs, sections and whole pages: what is stored, found, filtered and replaced."""

import pytest

from analytiq.ingestion.knowledge_bases.forecast import ForecastRequest
from analytiq.ingestion.knowledge_bases.service import IndexSettings
from analytiq.models.index_types import IndexType, index_type_at
from analytiq.retrieval.filters.tree import BuiltInField, Comparator, Comparison
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.client import MongoConnection
from tests.integration.tenant import Tenant

ALL = tuple(IndexType)
SENTENCE = "The pump moves water through the {} and needs oil once a year. "
MANUAL = "# Pump\n\n" + "\n\n".join(
    f"## {name}\n\n{(SENTENCE.format(name) * 6).strip()}" for name in ("valve", "filter", "engine")
)


async def stored(connection: MongoConnection, kb_id: str) -> list[tuple[IndexType, str]]:
    rows = connection.database[f"kb_vectors_{kb_id}"].find({}).sort("chunk_index", 1)
    return [(index_type_at(row["chunk_index"]), row["chunk_text"]) async for row in rows]


async def test_each_type_is_stored_found_and_listed(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base(index_types=ALL, context=True, chunk_size=32)
    assert kb.index_types == ALL
    document = await tenant.document("pump.md", MANUAL)
    rows = await stored(migrated, kb.id)
    texts = {one: [text for index_type, text in rows if index_type is one] for one in ALL}
    assert [text.splitlines()[0] for text in texts[IndexType.SECTION]] == ["# Pump", "## filter", "## engine"]
    assert texts[IndexType.WEBSITE] == [MANUAL]
    assert len(texts[IndexType.PARAGRAPH]) > 3

    chunks = tenant.services.ingestion.knowledge_bases.chunks
    listed, total = await chunks(tenant.id, kb.id, document_id=None, skip=0, limit=1000)
    assert [item.passage.chunk_text for item in listed] == [text for _, text in rows]
    assert total == len(rows)
    last, _ = await chunks(tenant.id, kb.id, document_id=document.id, skip=total - 2, limit=5)
    assert [item.passage.chunk_text for item in last] == [text for _, text in rows[-2:]]

    for one in ALL:
        for mode in Mode:
            answer = await tenant.search(kb.id, "oil for the engine", mode=mode, index_types=(one,), top_k=20)
            assert {result.index_type for result in answer.results} == {one}, (one, mode)
            assert {result.content for result in answer.results} <= set(texts[one])
            assert answer.searched_chunk_count == len(texts[one])
    other = Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "x")
    assert (await tenant.search(kb.id, "engine", index_types=ALL, filter=other)).results == ()


async def test_each_passage_is_found_once_in_its_smallest_type(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(index_types=ALL, chunk_size=32)
    await tenant.document("pump.md", MANUAL)
    once = await tenant.search(kb.id, "oil for the engine", top_k=50, deduplicate=True)
    assert {result.index_type for result in once.results} == {IndexType.PARAGRAPH}
    assert once.statistics.duplicates >= 4
    every = await tenant.search(kb.id, "oil for the engine", top_k=50)
    assert {result.index_type for result in every.results} == set(ALL)
    beside = await tenant.search(kb.id, "engine", index_types=(IndexType.SECTION,), coalesce_neighbors=5, top_k=1)
    found = [(result.index_type, result.chunk_index) for result in beside.results]
    assert found == [(IndexType.SECTION, number) for number in range(3)]


async def test_move_to_more_types_replaces_each_document_once(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base(chunk_size=32)
    await tenant.document("pump.md", MANUAL)
    paragraphs = await stored(migrated, kb.id)
    assert (await tenant.search(kb.id, "engine", index_types=(IndexType.SECTION,))).results == ()
    service = tenant.services.ingestion.knowledge_bases
    moved = await service.move(tenant.id, kb.id, IndexSettings(context=False, index_types=ALL))
    assert moved.index_types == ALL
    assert await stored(migrated, kb.id) == paragraphs
    await tenant.drain()
    generations = await migrated.database["document_index"].distinct("generation_id", {"kb_id": kb.id})
    rows = migrated.database[f"kb_vectors_{kb.id}"].find({"generation_id": {"$in": generations}})
    assert {index_type_at(row["chunk_index"]) async for row in rows} == set(ALL)
    assert (await service.get(tenant.id, kb.id)).chunk_count == len(paragraphs) + 4


@pytest.mark.parametrize("index_types", [ALL, (IndexType.SECTION,)])
async def test_forecast_counts_every_type(tenant: Tenant, index_types: tuple[IndexType, ...]) -> None:
    await tenant.document("pump.md", MANUAL)
    kb = await tenant.knowledge_base(index_types=index_types, chunk_size=32)
    wanted = ForecastRequest((tenant.tag.id,), kb.chunking, kb.embedding_model, context=kb.context)
    forecast = await tenant.services.ingestion.forecasts.forecast(tenant.organization, wanted)
    await tenant.drain()
    indexed = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert forecast.chunks.value == indexed.chunk_count
