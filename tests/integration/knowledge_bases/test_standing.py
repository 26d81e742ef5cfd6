"""A knowledge base tells of each of its documents whether it is searchable, in progress, failed or empty."""

import asyncio

from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseHealth, StandingKnowledgeBase
from analytiq.models.knowledge_base import KnowledgeBase
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import Tenant, new_tenant, prose

DAMAGED = b"%PDF-1.7\nno page follows"


async def standing(tenant: Tenant, kb: KnowledgeBase) -> StandingKnowledgeBase:
    bases = tenant.services.ingestion.knowledge_bases
    (one,) = await bases.standings_of(tenant.id, [await bases.get(tenant.id, kb.id)])
    return one


async def test_every_document_is_counted_once_by_what_has_become_of_it(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    second = await tenant.new_tag("second")
    kb = await tenant.knowledge_base(tag_ids=(tenant.tag.id, second.id))
    other = await tenant.knowledge_base(tag_ids=((await tenant.new_tag("other")).id,))
    await tenant.document("good.txt", prose("whales", 2))
    await tenant.upload("damaged.pdf", DAMAGED, tags=[tenant.tag.id, second.id])
    await tenant.upload("empty.txt", " ")
    await tenant.drain()
    embedding_server.script(Failure.UNAUTHORIZED)
    await tenant.document("refused.txt", prose("birds", 2))
    await tenant.upload("waiting.txt", prose("fish", 2))
    found = await standing(tenant, kb)
    assert (found.knowledge_base.document_count, found.members.failed, found.members.empty) == (1, 2, 1)
    assert found.waiting_document_count == 1
    assert found.health is KnowledgeBaseHealth.INCOMPLETE
    elsewhere = await standing(tenant, other)
    assert (elsewhere.members.failed, elsewhere.waiting_document_count) == (0, 0)
    assert elsewhere.health is KnowledgeBaseHealth.COMPLETE


async def test_knowledge_base_whose_documents_all_failed_is_failed(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("damaged.pdf", DAMAGED)
    await tenant.drain()
    assert (await standing(tenant, kb)).health is KnowledgeBaseHealth.FAILED


async def test_health_is_complete_only_when_nothing_waits(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.upload("new.txt", prose("whales", 2))
    assert (await standing(tenant, kb)).health is KnowledgeBaseHealth.INDEXING
    await tenant.drain()
    assert (await standing(tenant, kb)).health is KnowledgeBaseHealth.COMPLETE


async def test_failed_documents_of_another_organization_are_not_counted(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await other.upload("damaged.pdf", DAMAGED, tags=[other.tag.id])
    kb = await tenant.knowledge_base()
    await tenant.drain()
    assert (await standing(tenant, kb)).health is KnowledgeBaseHealth.COMPLETE
    mine, theirs = await asyncio.gather(
        tenant.services.repositories.announced.document_counts.of_organization(tenant.id),
        tenant.services.repositories.announced.document_counts.of_organization(other.id),
    )
    assert (mine.failures, [(item.code, item.count) for item in theirs.failures]) == ([], [("corrupt_file", 1)])
