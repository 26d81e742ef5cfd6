"""Pages of a knowledge base's chunks: how many there are is exact, and costs little once they are counted."""

from bson import ObjectId

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.client import MongoConnection
from tests.integration.tenant import Tenant, new_tenant, prose


async def total_and_sums(tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection) -> tuple[int, int]:
    """Return the number of chunks on the page, and how often entries were added up for it."""
    await migrated.database.command("profile", 2)
    try:
        _, total = await tenant.services.ingestion.knowledge_bases.chunks(
            tenant.id, kb.id, document_id=None, skip=0, limit=5
        )
    finally:
        await migrated.database.command("profile", 0)
    sums = {"command.aggregate": "document_index", "command.pipeline.1.$group": {"$exists": True}}
    ran = [row async for row in migrated.database["system.profile"].find(sums)]
    await migrated.database["system.profile"].drop()
    assert all(row["docsExamined"] == 0 for row in ran)
    return total, len(ran)


async def test_number_of_chunks_is_exact_before_and_after_they_are_counted(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 12))
    assert await total_and_sums(tenant, kb, migrated) == (12, 0)
    await tenant.upload("b.txt", prose("birds", 7))
    await tenant.services.jobs.new_runner().run_until_idle()
    assert await total_and_sums(tenant, kb, migrated) == (19, 1)
    await tenant.services.ingestion.life_cycle.settle_noted()
    assert await total_and_sums(tenant, kb, migrated) == (19, 0)


async def test_number_of_chunks_of_one_document_and_of_another_organization(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.document("b.txt", prose("birds", 4))
    chunks = tenant.services.ingestion.knowledge_bases.chunks
    assert (await chunks(tenant.id, kb.id, document_id=document.id, skip=0, limit=2))[1] == 3
    other = await new_tenant(tenant.services)
    own = await other.knowledge_base()
    assert (await chunks(other.id, own.id, document_id=document.id, skip=0, limit=2)) == ([], 0)


async def test_page_of_chunks_sorts_no_entries(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 3))
    entries = migrated.database["document_index"]
    (first,) = [row async for row in entries.find({"kb_id": kb.id})]
    behind = [{**first, "_id": ObjectId(), "document_id": f"z{number:04}"} for number in range(100)]
    await entries.insert_many(behind)
    await migrated.database.command("profile", 2)
    try:
        listed, _ = await tenant.services.ingestion.knowledge_bases.chunks(
            tenant.id, kb.id, document_id=None, skip=1, limit=2
        )
    finally:
        await migrated.database.command("profile", 0)
    read = [row async for row in migrated.database["system.profile"].find({"command.aggregate": "document_index"})]
    await migrated.database["system.profile"].drop()
    assert [item.passage.chunk_index for item in listed] == [1, 2]
    (window,) = read
    assert not window.get("hasSortStage")
