"""The first read of a search over HTTP, which brings the token and the knowledge base together."""

import pytest

from analytiq.errors import AccessDeniedError
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.retrieval.pipeline.request import SearchRequest
from tests.integration.tenant import Tenant, new_tenant, prose


async def test_it_tells_what_separate_reads_tell(tenant: Tenant) -> None:
    organizations, rows = tenant.services.tenancy.organizations, tenant.services.repositories
    kb, other = await tenant.knowledge_base(), await tenant.knowledge_base()
    foreign = await (await new_tenant(tenant.services)).knowledge_base()
    issued = await organizations.issue_token(tenant.id, name="asking")
    secret, kb_ids = issued.secret.get_secret_value(), [kb.id, other.id, foreign.id, "unknown"]
    opened, bases = await organizations.open_for_search(rows.search_openings, secret, tenant.id, kb_ids)
    again = await organizations.open_token(secret)
    assert (opened.organization, opened.permission, opened.token.id) == (
        again.organization,
        again.permission,
        issued.token.id,
    )
    assert bases == await rows.knowledge_bases.at_versions(tenant.id, kb_ids)
    assert bases.keys() == {kb.id, other.id}
    await organizations.revoke_token(tenant.id, issued.token.id)
    for refused in (secret, "aq_unknown"):
        with pytest.raises(AccessDeniedError):
            await organizations.open_for_search(rows.search_openings, refused, tenant.id, kb_ids)


async def test_search_reads_the_knowledge_base_again_where_it_was_replaced_after_the_first_read(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("whales.txt", prose("whales", 20))
    before = await tenant.services.repositories.knowledge_bases.at_versions(tenant.id, [kb.id])
    await tenant.search(kb.id, "whales")
    await tenant.replace("whales.txt", prose("whales and birds", 20))
    await tenant.drain()
    request = SearchRequest("whales", top_k=3, filter=In(BuiltInField.DOCUMENT_ID, (document.id,)))
    found = await tenant.services.retrieval.search.search(tenant.organization, kb.id, request, read_before=before)
    assert found.results
