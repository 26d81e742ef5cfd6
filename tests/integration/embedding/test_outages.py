"""A provider's outages and long waits kill no document: it waits, says so, and goes on by itself."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.document import Document
from analytiq.models.job import Job, JobKind, JobState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from tests.fakes.embedding_server import EmbeddingServer, Failure, Reply
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import REMOTE_MODEL, Tenant, prose

OUTAGES = [Failure.SERVER_ERROR, Failure.CUT, Failure.NOT_JSON, Reply(502, "Bad Gateway")]
DAY = 86_400


@pytest.fixture
def other_server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(api_key="sk-another-key-0123456789") as server:
        yield server


@pytest.fixture
async def tenant(tenant: Tenant) -> Tenant:
    """With a knowledge base whose own jobs are done."""
    await tenant.knowledge_base()
    await tenant.drain()
    return tenant


async def job_of(tenant: Tenant, document: Document) -> Job | None:
    jobs = await tenant.services.repositories.jobs.of_document(tenant.id, document.id)
    return next(iter(jobs), None)


async def state_of(tenant: Tenant, document: Document) -> IndexingState:
    found = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    (state,) = await tenant.services.ingestion.indexing_states.of_document(found)
    return state.state


async def days_pass(migrated: MongoConnection, *, days: int) -> None:
    """Let the waits that are under way, and their beginnings, lie so long ago."""
    shift = days * DAY * 1000
    earlier = {
        name: {"$cond": [{"$ifNull": [f"${name}", False]}, {"$subtract": [f"${name}", shift]}, None]}
        for name in ("run_at", "waiting_since")
    }
    await migrated.database["jobs"].update_many({"state": "available"}, [{"$set": earlier}])
    moments = ("blocked_until_ms", "held_until_ms", "failing_since_ms")
    sooner = {
        name: {"$cond": [{"$ifNull": [f"${name}", False]}, {"$subtract": [f"${name}", shift]}, "$$REMOVE"]}
        for name in moments
    }
    await migrated.database["rate_limits"].update_many({}, [{"$set": sooner}, {"$unset": "full_at_ms"}])


@pytest.mark.parametrize("outage", OUTAGES, ids=str)
async def test_outage_of_days_leaves_a_document_waiting_and_it_is_indexed_when_the_provider_is_back(
    tenant: Tenant, embedding_server: EmbeddingServer, migrated: MongoConnection, books: Books, outage: Failure | Reply
) -> None:
    embedding_server.rule(lambda _: outage)
    document = await tenant.document("a.txt", prose("whales", 60))
    for _ in range(20):
        await days_pass(migrated, days=1)
        await tenant.drain()
    job = await job_of(tenant, document)
    assert job is not None
    assert (job.state, job.attempt) == (JobState.AVAILABLE, 0)
    assert job.waiting_since is not None
    assert await state_of(tenant, document) is IndexingState.WAITING_FOR_PROVIDER
    asked = len(embedding_server.requests)
    assert asked <= 30
    embedding_server.rule(lambda _: None)
    await days_pass(migrated, days=1)
    await tenant.drain()
    assert await state_of(tenant, document) is IndexingState.INDEXED
    assert await books.spus() == 60
    assert await books.cached() == await books.charged()


async def test_first_answer_after_an_outage_wakes_all_that_waits(
    tenant: Tenant, embedding_server: EmbeddingServer, migrated: MongoConnection
) -> None:
    embedding_server.rule(lambda _: Failure.SERVER_ERROR)
    documents = [await tenant.document(f"{number}.txt", prose("whales", 1, first=number)) for number in range(4)]
    await days_pass(migrated, days=1)
    await tenant.drain()
    states = {await state_of(tenant, document) for document in documents}
    assert states == {IndexingState.WAITING_FOR_PROVIDER}
    embedding_server.rule(lambda _: None)
    new = await tenant.document("new.txt", prose("birds", 1))
    states = {await state_of(tenant, document) for document in [*documents, new]}
    assert states == {IndexingState.INDEXED}


@pytest.mark.parametrize("reply", [Reply(429, retry_after=str(DAY)), Failure.SERVER_ERROR], ids=["wait", "outage"])
async def test_new_key_or_address_lifts_what_a_provider_has_asked_for(
    tenant: Tenant, embedding_server: EmbeddingServer, other_server: EmbeddingServer, reply: Failure | Reply
) -> None:
    embedding_server.rule(lambda _: reply)
    document = await tenant.document("a.txt", prose("whales", 5))
    assert await state_of(tenant, document) is IndexingState.WAITING_FOR_PROVIDER
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr(other_server.api_key), api_base=other_server.url
    )
    await tenant.drain()
    assert await state_of(tenant, document) is IndexingState.INDEXED


async def test_good_test_lifts_a_wait_of_a_day_and_a_bad_one_does_not(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    accounts = tenant.services.inference.provider_accounts
    embedding_server.rule(lambda _: Reply(429, retry_after=str(DAY)))
    document = await tenant.document("a.txt", prose("whales", 5))
    assert not (await accounts.test(tenant.organization, "openai", REMOTE_MODEL)).is_working
    assert await tenant.drain() == 0
    embedding_server.rule(lambda _: None)
    assert (await accounts.test(tenant.organization, "openai", REMOTE_MODEL)).is_working
    await tenant.drain()
    assert await state_of(tenant, document) is IndexingState.INDEXED


async def test_key_that_was_refused_and_is_replaced_has_what_failed_done(
    tenant: Tenant, embedding_server: EmbeddingServer, other_server: EmbeddingServer
) -> None:
    embedding_server.rule(lambda _: Failure.UNAUTHORIZED)
    document = await tenant.document("a.txt", prose("whales", 5))
    assert await state_of(tenant, document) is IndexingState.FAILED
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr(other_server.api_key), api_base=other_server.url
    )
    await tenant.drain()
    assert await state_of(tenant, document) is IndexingState.INDEXED


async def test_sync_that_fails_with_a_key_that_was_replaced_meanwhile_is_tried_again(
    tenant: Tenant, embedding_server: EmbeddingServer, other_server: EmbeddingServer
) -> None:
    embedding_server.rule(lambda _: Failure.UNAUTHORIZED)
    document = await tenant.document("a.txt", prose("whales", 5))
    refused = await job_of(tenant, document)
    assert refused is not None
    assert refused.error is not None
    jobs = tenant.services.repositories.jobs
    await jobs.revive_syncs(tenant.id, [refused.subject.kb_id or ""], error_codes=[refused.error.code])
    running = await jobs.claim([JobKind.SYNC], worker="with the old key", lease_token=new_id(), lease_seconds=60)
    assert running is not None
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr(other_server.api_key), api_base=other_server.url
    )
    assert await jobs.bury(running, refused.error)
    await tenant.drain()
    assert await state_of(tenant, document) is IndexingState.INDEXED


async def test_reconciler_finds_by_one_free_call_that_a_provider_is_back(
    tenant: Tenant, services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    embedding_server.rule(lambda _: Failure.UNAUTHORIZED)
    failed = await tenant.document("failed.txt", prose("whales", 5))
    embedding_server.rule(lambda _: Reply(429, retry_after=str(DAY)))
    waiting = await tenant.document("waiting.txt", prose("birds", 5))
    embedding_server.requests.clear()
    (resume,) = [task.run for task in services.operations.periodic_tasks() if task.name == "stopped providers"]
    await resume(NoFence())
    assert await tenant.drain() == 0
    assert len(embedding_server.requests) == 1
    embedding_server.rule(lambda _: None)
    await resume(NoFence())
    assert await books.spus() == 0
    await tenant.drain()
    assert {await state_of(tenant, failed), await state_of(tenant, waiting)} == {IndexingState.INDEXED}


async def test_knowledge_base_tells_how_many_documents_wait_for_the_provider_and_why(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    embedding_server.rule(lambda _: Failure.SERVER_ERROR)
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.document("b.txt", prose("birds", 5))
    (kb,), _ = await tenant.services.ingestion.knowledge_bases.page(tenant.id, skip=0, limit=10, name_search=None)
    (standing,) = await tenant.services.ingestion.knowledge_bases.standings_of(tenant.id, [kb])
    work = standing.work
    assert (work.unfinished, work.given_up, work.waiting_for_provider) == (2, 0, 2)
    assert work.provider_reason is not None
    assert "HTTP 500" in work.provider_reason
