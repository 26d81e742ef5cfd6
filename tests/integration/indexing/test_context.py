"""Chunks with their context: what is embedded, stored and searched, and what a new name changes."""

from typing import Any

from pydantic import JsonValue

from analytiq.inference.embedding.cache_key import chunk_hash
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.client import MongoConnection
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import Tenant, prose

MANUAL = "# Operation\n\n## Cleaning\n\nUse a dry cloth and never water.\n\n## Warranty\n\nIt lasts for two years."


async def chunks_of(connection: MongoConnection, kb: KnowledgeBase) -> list[dict[str, Any]]:
    rows = connection.database[f"kb_vectors_{kb.id}"].find({}).sort([("document_id", 1), ("chunk_index", 1)])
    return [row async for row in rows]


async def test_chunks_are_embedded_with_their_context_and_stored_without(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base(context=True, chunk_size=20)
    await tenant.document("Zebra-4000-manual.md", MANUAL)
    rows = await chunks_of(migrated, kb)
    assert len(rows) > 1
    for row in rows:
        assert row["chunk_text"] == MANUAL[row["start"] : row["end"]]
        assert row["context"].startswith("Operation, Zebra-4000-manual, Zebra 4000 manual")
        # Both spellings of the name are searched by keywords, and one is embedded.
        embedded = row["context"].replace(", Zebra 4000 manual", "")
        assert row["chunk_hash"] == chunk_hash(f"{embedded}\n\n{row['chunk_text']}")
        cached = await migrated.database["embedding_cache"].find_one({"chunk_hash": row["chunk_hash"]})
        assert cached is not None
        assert cached["embedding"] == row["embedding"]


async def test_without_the_setting_chunks_are_embedded_alone(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("Zebra-4000-manual.md", MANUAL)
    for row in await chunks_of(migrated, kb):
        assert "context" not in row
        assert row["chunk_hash"] == chunk_hash(row["chunk_text"])


async def test_a_document_is_found_by_its_name(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(context=True, chunk_size=20)
    zebra = await tenant.document("manuals/Zebra-4000-manual.md", MANUAL)
    await tenant.document("manuals/Lion-300-manual.md", MANUAL.replace("two", "three"))
    for question in ("Zebra-4000-manual", "zebra 4000", "Zebra-4000-manual.md", "cleaning the zebra"):
        for mode in (Mode.LEXICAL, Mode.HYBRID):
            answer = await tenant.search(kb.id, question, mode=mode)
            assert answer.results[0].document_id == zebra.id, (question, mode)
    without = await tenant.knowledge_base(chunk_size=20)
    await tenant.drain()
    assert not (await tenant.search(without.id, "zebra", mode=Mode.LEXICAL)).results


async def test_a_new_name_replaces_the_context_and_a_new_folder_does_not(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base(context=True)
    plain = await tenant.knowledge_base()
    document = await tenant.document("Zebra.txt", prose("whales", 3))
    change = tenant.services.ingestion.documents.change
    before = await chunks_of(migrated, kb), await chunks_of(migrated, plain)

    await change(tenant.id, document.id, document_name="animals/Zebra.txt")
    await tenant.drain()
    assert (await chunks_of(migrated, kb), await chunks_of(migrated, plain)) == before

    moved = await change(tenant.id, document.id, document_name="Lion.txt")
    states = await tenant.services.ingestion.indexing_states.of_document(moved)
    assert {state.kb_id: state.state for state in states} == {
        kb.id: IndexingState.WAITING,
        plain.id: IndexingState.INDEXED,
    }
    await tenant.drain()
    rows = await chunks_of(migrated, kb)
    generations = {row["generation_id"] for row in rows if row["context"] == "Lion"}
    found = await tenant.search(kb.id, "lion", mode=Mode.LEXICAL)
    assert {result.document_id for result in found.results} == {document.id}
    assert len(generations) == 1
    assert not (await tenant.search(kb.id, "zebra", mode=Mode.LEXICAL)).results
    assert await chunks_of(migrated, plain) == before[1]

    calls = embedding_server.calls
    await change(tenant.id, document.id, document_name="Zebra.txt")
    await tenant.drain()
    assert embedding_server.calls == calls


async def test_chosen_metadata_is_found_and_a_changed_value_no_longer(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base(context=True, searched_metadata=("customer", "numbers"))
    plain = await tenant.knowledge_base(context=True)
    metadata: dict[str, JsonValue] = {"customer": "Zebra Limited", "numbers": ["C-2024-17", 99], "note": "giraffe"}
    document = await tenant.document("contract.txt", prose("whales", 3), metadata=metadata)
    await tenant.document("other.txt", prose("birds", 3), metadata={"customer": {"zebra": "nested"}, "note": "zebra"})
    for question in ("zebra", "C-2024-17", "99"):
        assert await tenant.found(kb.id, question, mode=Mode.LEXICAL) == [document.id], question
        assert await tenant.found(plain.id, question, mode=Mode.LEXICAL) == [], question
    assert await tenant.found(kb.id, "giraffe", mode=Mode.LEXICAL) == []
    for row in await chunks_of(migrated, kb):
        if row["document_id"] == document.id:
            assert row["context"].endswith("\nZebra Limited | C-2024-17 | 99")
            assert row["chunk_hash"] == chunk_hash(f"{row['context']}\n\n{row['chunk_text']}")

    before, calls = await chunks_of(migrated, kb), embedding_server.calls
    change = tenant.services.ingestion.documents.change
    await change(tenant.id, document.id, metadata={**metadata, "note": "okapi"})
    await tenant.drain()
    assert (await chunks_of(migrated, kb), embedding_server.calls) == (before, calls)

    changed = await change(tenant.id, document.id, metadata={**metadata, "customer": "Lion"})
    states = await tenant.services.ingestion.indexing_states.of_document(changed)
    assert {state.kb_id: state.state for state in states} == {
        kb.id: IndexingState.WAITING,
        plain.id: IndexingState.INDEXED,
    }
    await tenant.drain()
    assert await tenant.found(kb.id, "zebra", mode=Mode.LEXICAL) == []
    assert await tenant.found(kb.id, "lion", mode=Mode.LEXICAL) == [document.id]
    states = await tenant.services.ingestion.indexing_states.of_document(changed)
    assert {state.state for state in states} == {IndexingState.INDEXED}


async def test_metadata_of_a_next_version_is_found_even_if_its_bytes_are_the_same_text(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(context=True, searched_metadata=("customer",))
    document = await tenant.document("contract.txt", prose("whales", 2), metadata={"customer": "Zebra"})
    again = await tenant.upload(
        "contract.txt", prose("whales", 2) + "\n", metadata={"customer": "Lion"}, policy=DuplicatePolicy.REPLACE
    )
    await tenant.drain()
    assert again.document.id == document.id
    assert await tenant.found(kb.id, "zebra", mode=Mode.LEXICAL) == []
    assert await tenant.found(kb.id, "lion", mode=Mode.LEXICAL) == [document.id]
