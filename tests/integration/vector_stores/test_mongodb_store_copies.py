"""The search server's part of an organization that is restored, copied or erased; over the emulator."""

import pytest

from analytiq.models.erasure import ErasureOptions, ErasureState, LedgerFate
from analytiq.models.reconciliation import Depth
from analytiq.retrieval.backends.mongodb import hits
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.search.indexes import VECTOR_INDEX, WORD_INDEX
from tests.fakes.search_server import SearchServer
from tests.integration.backup.archiving import archive_of, lose, restore_from, tags_of
from tests.integration.conftest import EventuallyTrue
from tests.integration.tenant import Tenant, prose

QUESTION = "whales in the year"
LEGS = (Mode.VECTOR, Mode.LEXICAL)


async def index_names(server: SearchServer, tenant: Tenant, kb_id: str) -> set[str]:
    return set(await server.indexes(tenant.services.connection.database.name, collection_name(kb_id)))


async def test_a_restored_knowledge_base_gets_its_indexes_and_is_found(
    server: SearchServer, tenant_on_server: Tenant, eventually: EventuallyTrue
) -> None:
    tenant = tenant_on_server
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    connection = tenant.services.connection
    archive, _ = await archive_of(connection, [tenant.id])
    await lose(connection, tenant.id)

    async def are_gone() -> bool:
        return await index_names(server, tenant, kb.id) == set()

    await eventually(are_gone)
    await restore_from(connection, archive)
    await tenant.drain()
    assert await index_names(server, tenant, kb.id) == {VECTOR_INDEX, WORD_INDEX}
    for mode in LEGS:
        assert await tenant.found(kb.id, QUESTION, mode=mode) == [document.id]


async def test_a_copy_under_fresh_ids_is_filtered_by_its_own_tags(
    tenant_on_server: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, services = tenant_on_server, tenant_on_server.services
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    archive, _ = await archive_of(services.connection, [tenant.id])
    (restored,) = await restore_from(services.connection, archive, is_fresh=True)
    (tag,) = await tags_of(services, restored.organization_id)
    copy = Tenant(services, await services.tenancy.organizations.get(restored.organization_id), tag)
    ((copied,), _) = await services.ingestion.knowledge_bases.page(copy.id, skip=0, limit=10, name_search=None)
    assert copied.vector_store == "mongodb"
    vectors = services.connection.database[collection_name(copied.id)]
    assert await vectors.count_documents({"projection.tag_ids": tag.id}) == 5
    assert await vectors.count_documents({"projection.tag_ids": tenant.tag.id}) == 0
    await copy.drain()
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", -1)
    for mode in LEGS:
        assert len(await copy.found(copied.id, QUESTION, mode=mode, filter=In(BuiltInField.TAG_IDS, (tag.id,)))) == 1
        assert len(await tenant.found(kb.id, QUESTION, mode=mode)) == 1


async def test_an_erased_organization_leaves_no_index(
    server: SearchServer, tenant_on_server: Tenant, eventually: EventuallyTrue
) -> None:
    tenant, services = tenant_on_server, tenant_on_server.services
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    options = ErasureOptions(ledger=LedgerFate.DELETE)
    requested = await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=options)
    assert (await services.operations.erasures.run(requested.id)).state is ErasureState.DONE

    async def are_gone() -> bool:
        return await index_names(server, tenant, kb.id) == set()

    await eventually(are_gone)


async def test_a_full_pass_goes_on_while_the_search_server_is_away(
    server: SearchServer, tenant_on_server: Tenant
) -> None:
    tenant = tenant_on_server
    await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    server.behaviour.is_down = True
    assert (await tenant.services.operations.reconciler.run_pass(depth=Depth.FULL)).counts() == {}
