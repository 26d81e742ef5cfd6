"""A knowledge base at its limit of documents: its lane waits, nobody else's does, and nothing is lost."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from bson import ObjectId

from analytiq.composition import Services
from analytiq.errors import RateLimitedError
from analytiq.ingestion.membership import sync_request
from analytiq.models.document import Document
from analytiq.settings import EmbeddingSettings, RateLimitSettings
from analytiq.storage.client import MongoConnection
from analytiq.telemetry import metrics
from analytiq.tenancy.rate_limits.limits import DOCUMENTS_CODE
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]

WAITING = 10_000


@asynccontextmanager
async def working(*applications: Services) -> AsyncGenerator[None]:
    """Workers of so many processes."""
    runners = [services.jobs.new_runner() for services in applications]
    tasks = [asyncio.create_task(runner.run()) for runner in runners]
    try:
        yield
    finally:
        for runner in runners:
            await runner.stop(drain_seconds=0)
        await asyncio.gather(*tasks)


async def multiplied(connection: MongoConnection, document: Document, count: int) -> list[str]:
    """So many documents beside this one that differ from it in their ids and names; returns their ids."""
    rows = connection.database["docs"]
    original: dict[str, Any] | None = await rows.find_one({"_id": ObjectId(document.id)})
    texts = connection.database["document_texts"]
    text: dict[str, Any] | None = await texts.find_one({"document_id": document.id})
    assert original is not None
    assert text is not None
    ids = [(ObjectId(), ObjectId()) for _ in range(count)]
    await rows.insert_many(
        [
            {**original, "_id": new, "identity": f"copy {new}", "document_name": f"{new}.txt", "text_id": str(text_id)}
            for new, text_id in ids
        ]
    )
    await texts.insert_many([{**text, "_id": text_id, "document_id": str(new)} for new, text_id in ids])
    return [str(new) for new, _ in ids]


async def entries(connection: MongoConnection, kb_id: str) -> int:
    return await connection.database["document_index"].count_documents({"kb_id": kb_id})


async def take_all(services: Services, organization_id: str, kb_id: str) -> None:
    """Use up the knowledge base's documents of this minute."""
    with contextlib.suppress(RateLimitedError):
        while True:
            await services.tenancy.rate_limits.take_document(organization_id, kb_id)


async def test_ten_thousand_waiting_documents_do_not_delay_the_single_one_of_another_knowledge_base(
    compose_services: Compose, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    # A burst of six documents, and then fewer than one a second.
    settings = RateLimitSettings(documents_per_minute=60)
    first, second = await compose_services(rate_limits=settings), await compose_services(rate_limits=settings)
    tenant = await new_tenant(first)
    crowded = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 1))
    copies = await multiplied(migrated, document, WAITING)
    requests = [sync_request(tenant.id, crowded.id, copy) for copy in copies]
    await first.repositories.jobs.enqueue(requests)
    limited = metrics.indexing_errors.labels(kb_id=crowded.id, error_type=DOCUMENTS_CODE)
    async with working(first, second):

        async def crowded_is_at_its_limit() -> bool:
            return await migrated.database["jobs"].find_one({"error.code": DOCUMENTS_CODE}) is not None

        await eventually(crowded_is_at_its_limit)
        other = await new_tenant(first)
        single = await other.knowledge_base()
        own = await tenant.new_tag("own")
        neighbour = await tenant.knowledge_base(tag_ids=(own.id,))
        await other.upload("b.txt", prose("birds", 1))
        await tenant.upload("c.txt", prose("trees", 1), tags=[own.id])
        before = await entries(migrated, crowded.id)

        async def singles_are_indexed() -> bool:
            return all([await entries(migrated, kb.id) == 1 for kb in (single, neighbour)])

        await eventually(singles_are_indexed)
        # The crowd had its own share at most, and was not worked off first.
        assert await entries(migrated, crowded.id) - before <= 200
    taken = await entries(migrated, crowded.id)
    waiting = [job async for job in migrated.database["jobs"].find({"subject.kb_id": crowded.id, "kind": "sync"})]
    assert len({job["subject"]["document_id"] for job in waiting}) >= WAITING - taken
    assert {(job["state"], job["attempt"], job.get("deaths", 0)) for job in waiting} == {("available", 0, 0)}
    assert limited._value.get() == 0


async def test_documents_over_the_limit_are_all_indexed_in_their_time(
    compose_services: Compose, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    settings = RateLimitSettings(documents_per_minute=240)
    apart = [await compose_services(rate_limits=settings) for _ in range(2)]
    tenant = await new_tenant(apart[0])
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 1))
    copies = await multiplied(migrated, document, 12)
    await take_all(apart[0], tenant.id, kb.id)
    await apart[0].repositories.jobs.enqueue([sync_request(tenant.id, kb.id, copy) for copy in copies])
    async with working(*apart):

        async def nothing_is_left_to_do() -> bool:
            return await migrated.database["jobs"].find_one({"kind": "sync"}) is None

        await eventually(nothing_is_left_to_do)
    assert await entries(migrated, kb.id) == 13
    assert await migrated.database["job_history"].count_documents({"error.code": DOCUMENTS_CODE}) > 0


async def test_document_that_waits_for_its_provider_gives_its_turn_back(
    compose_services: Compose, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    settings = RateLimitSettings(documents_per_minute=1)
    tenant = await new_tenant(await compose_services(rate_limits=settings, embedding=EmbeddingSettings()))
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.retry_after = "600"
    embedding_server.script(Failure.RATE_LIMITED)
    document = await tenant.document("a.txt", prose("whales", 1))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert job.error is not None
    assert job.error.code == "rate_limited"
    row = await migrated.database["rate_limits"].find_one({"_id": f"document:{tenant.id}:{kb.id}"})
    assert row is not None
    assert row["full_at_ms"]["documents"] <= row["outcome"]["now_ms"]


async def test_leaving_takes_no_turn(compose_services: Compose, migrated: MongoConnection) -> None:
    tenant = await new_tenant(await compose_services(rate_limits=RateLimitSettings(documents_per_minute=1)))
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 1))
    assert await entries(migrated, kb.id) == 1
    await tenant.set_tags(document, [])
    await tenant.drain()
    assert await entries(migrated, kb.id) == 0
