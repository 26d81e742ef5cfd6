"""Flawed text that an organization leaves out: what is indexed, charged, previewed and mended."""

import base64
import random

import pytest

from analytiq.errors import NotFoundError
from analytiq.ingestion.documents.chunk_preview import PreviewRequest
from analytiq.ingestion.documents.indexing_state import IndexingState, KnowledgeBaseState
from analytiq.ingestion.knowledge_bases.forecast import ForecastRequest
from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind
from analytiq.models.index_types import Chunking
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from tests.integration.tenant import CHUNK_TOKENS, REMOTE_MODEL, Tenant, prose

BLOB = base64.encodebytes(random.Random(7).randbytes(900)).decode()
TEXT = f"{prose('whales', 4)}\n\n{BLOB}\n\n{prose('birds', 4)}"
MACHINE = (FlawKind.MACHINE_TEXT,)


async def choose(tenant: Tenant, *kinds: FlawKind) -> None:
    tenant.organization = await tenant.services.ingestion.flaw_skipping.choose(tenant.id, kinds)
    await tenant.drain()


async def indexed(migrated: MongoConnection, kb: KnowledgeBase, document: Document) -> str:
    """The texts of the document's current chunks, each checked to be the part of the text that its offsets name."""
    entry = await migrated.database["document_index"].find_one({"document_id": document.id})
    assert entry is not None
    rows = migrated.database[f"kb_vectors_{kb.id}"].find({"generation_id": entry["generation_id"]})
    texts: list[str] = []
    async for row in rows.sort("chunk_index", 1):
        assert row["chunk_text"] == TEXT[row["start"] : row["end"]]
        texts.append(row["chunk_text"])
    return "\n".join(texts)


async def charged(migrated: MongoConnection, tenant: Tenant) -> int:
    rows = migrated.database["spu_ledger"].find({"organization_id": tenant.id})
    return sum([row["spus"] async for row in rows])


async def state_of(tenant: Tenant, document: Document) -> KnowledgeBaseState:
    current = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    (state,) = await tenant.services.ingestion.indexing_states.of_document(current)
    return state


async def test_choice_is_applied_to_documents_and_can_be_taken_back(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    plain = await tenant.document("plain.txt", prose("trees", 4))
    flawed = await tenant.document("flawed.txt", TEXT)
    assert [(count.kind, count.word_count) for count in flawed.flaws] == [(FlawKind.MACHINE_TEXT, len(BLOB.split()))]
    assert BLOB[:12] in await indexed(migrated, kb, flawed)
    entries = await tenant.services.repositories.entries.of_document(tenant.id, plain.id)

    await choose(tenant, *MACHINE)
    kept = await indexed(migrated, kb, flawed)
    assert not any(line in kept for line in BLOB.split())
    assert "whales" in kept
    assert "birds" in kept
    state = await state_of(tenant, flawed)
    assert state.state is IndexingState.INDEXED
    assert (state.skipped_flaws, state.skipped_word_count) == (MACHINE, len(BLOB.split()))
    # A document without such a flaw is not indexed again, and the stored text stays.
    assert await tenant.services.repositories.entries.of_document(tenant.id, plain.id) == entries
    _, pages, _ = await tenant.services.ingestion.documents.text_pages(tenant.id, flawed.id, first_page=1, page_count=1)
    assert pages[0].text == TEXT

    before = await charged(migrated, tenant)
    await choose(tenant)
    assert BLOB[:12] in await indexed(migrated, kb, flawed)
    assert (await state_of(tenant, flawed)).skipped_flaws == ()
    assert await charged(migrated, tenant) == before


async def test_forecast_and_preview_leave_out_what_indexing_leaves_out(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    await choose(tenant, *MACHINE)
    flawed = await tenant.document("flawed.txt", TEXT)
    chunking = Chunking(chunker_type="token", chunk_size=CHUNK_TOKENS, chunk_overlap=0)
    wanted = ForecastRequest((tenant.tag.id,), chunking, embedding_model=REMOTE_MODEL, context=False)
    forecast = await tenant.services.ingestion.forecasts.forecast(tenant.organization, wanted)
    preview = await tenant.services.ingestion.chunk_previews.of_document(
        tenant.organization, flawed.id, PreviewRequest(chunking, skip=0, limit=100)
    )
    kb = await tenant.knowledge_base()
    await tenant.drain()
    assert await charged(migrated, tenant) == forecast.spus.value == forecast.chunks.value == preview.total_count
    assert "\n".join(one.chunk.text for one in preview.chunks) == await indexed(migrated, kb, flawed)
    assert preview.skipped_character_count == len(BLOB.strip())


async def test_document_that_is_left_out_as_a_whole_is_indexed_without_chunks(tenant: Tenant) -> None:
    await tenant.knowledge_base()
    await choose(tenant, *MACHINE)
    blob = await tenant.document("blob.txt", BLOB)
    state = await state_of(tenant, blob)
    assert (state.state, state.chunk_count) == (IndexingState.INDEXED, 0)
    report = await tenant.services.operations.reconciler.run_pass(depth=Depth.FULL)
    assert report.drift == []
    await choose(tenant)
    assert (await state_of(tenant, blob)).chunk_count > 0


async def test_reconciler_mends_entries_of_another_choice(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    flawed = await tenant.document("flawed.txt", TEXT)
    await migrated.database["organizations"].update_one(
        {"_id": object_id(tenant.id)}, {"$set": {"skipped_flaws": ["machine_text"]}}
    )
    assert (await state_of(tenant, flawed)).state is IndexingState.WAITING
    report = await tenant.services.operations.reconciler.run_pass(depth=Depth.FULL)
    assert report.counts() == {DriftKind.OUTDATED.value: 1}
    await tenant.drain()
    assert BLOB[:12] not in await indexed(migrated, kb, flawed)
    assert (await state_of(tenant, flawed)).state is IndexingState.INDEXED


async def test_organization_that_is_gone_chooses_nothing(tenant: Tenant) -> None:
    with pytest.raises(NotFoundError):
        await tenant.services.ingestion.flaw_skipping.choose(new_id(), MACHINE)
