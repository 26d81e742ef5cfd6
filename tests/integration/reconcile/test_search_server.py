"""Needs of knowledge bases at MongoDB's search server, for which an emulator stands in here."""

import pytest

from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.search.indexes import VECTOR_INDEX, WORD_INDEX
from tests.fakes.search_server import SearchServer
from tests.integration.tenant import Tenant, prose
from tests.integration.vector_stores.conftest import compose_on_server, server, tenant_on_server

__all__ = ["compose_on_server", "server", "tenant_on_server"]


@pytest.mark.parametrize("name", [VECTOR_INDEX, WORD_INDEX])
async def test_search_index_that_was_dropped_is_made_again(
    server: SearchServer, tenant_on_server: Tenant, name: str
) -> None:
    tenant = tenant_on_server
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    reconciler = tenant.services.operations.reconciler
    assert (await reconciler.run_pass(depth=Depth.FULL)).counts() == {}
    await tenant.services.connection.database[collection_name(kb.id)].drop_search_index(name)
    dry = await reconciler.run_pass(is_dry=True)
    assert [(item.kind, item.kb_id, item.detail) for item in dry.drift] == [(DriftKind.UNSEARCHABLE, kb.id, name)]
    report = await reconciler.run_pass()
    assert (report.counts(), report.repairs) == ({"unsearchable": 1}, 1)
    assert (await reconciler.run_pass()).counts() == {}
    mode = Mode.VECTOR if name == VECTOR_INDEX else Mode.LEXICAL
    assert await tenant.found(kb.id, "whales in the year", mode=mode) == [document.id]


async def test_search_server_that_is_away_ends_no_pass(server: SearchServer, tenant_on_server: Tenant) -> None:
    tenant = tenant_on_server
    await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    await tenant.services.connection.database["document_index"].delete_many({"document_id": document.id})
    server.behaviour.is_down = True
    report = await tenant.services.operations.reconciler.run_pass(is_dry=True)
    assert report.count(DriftKind.MISSING) == 1
    assert report.count(DriftKind.UNSEARCHABLE) == 0


async def test_chunks_that_carry_tags_of_before_are_found_by_a_full_pass(tenant_on_server: Tenant) -> None:
    """The job that a change enqueues was lost, as it is in a copy of the database without its jobs."""
    tenant = tenant_on_server
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    more = await tenant.new_tag("more")
    await tenant.set_tags(document, [tenant.tag.id, more.id])
    await tenant.services.connection.database["jobs"].delete_many({})
    reconciler = tenant.services.operations.reconciler
    assert (await reconciler.run_pass()).counts() == {}, "a quick pass reads no documents"
    report = await reconciler.run_pass(depth=Depth.FULL)
    assert [(item.kind, item.document_id) for item in report.drift] == [(DriftKind.OUTDATED, document.id)]
    await tenant.drain()
    tagged = await tenant.search(kb.id, "whales", mode=Mode.VECTOR, filter=In(BuiltInField.TAG_IDS, (more.id,)))
    assert {result.document_id for result in tagged.results} == {document.id}
    assert (await reconciler.run_pass(depth=Depth.FULL)).counts() == {}
