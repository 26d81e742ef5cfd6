"""A provider that refuses, stumbles or asks to wait: what becomes of documents, and how often it is called."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from pydantic import SecretStr

from analytiq.errors import RateLimitedError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.models.job import JobState
from analytiq.models.knowledge_base import KnowledgeBaseStatus
from analytiq.settings import EmbeddingSettings, RateLimitSettings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.tenancy.rate_limits.limits import RateLimits
from tests.fakes.credentials import credential_of
from tests.fakes.embedding_server import EmbeddingServer, Outcome, Reply
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import REMOTE_MODEL, Tenant, prose

WORKERS = 12


def closed_for(seconds: float, *, after_calls: int) -> Callable[[int], Outcome]:
    """The first calls are answered; then, for so long, each is told to come when that time is over."""
    opens_at: float | None = None

    def outcome(number: int) -> Outcome:
        nonlocal opens_at
        if number <= after_calls:
            return None
        if opens_at is None:
            opens_at = time.monotonic() + seconds
        remaining = opens_at - time.monotonic()
        return None if remaining <= 0 else Reply(429, retry_after=str(math.ceil(remaining)))

    return outcome


@pytest.fixture
async def connections(migrated: MongoConnection, mongo_uri: SecretStr) -> AsyncIterator[Sequence[MongoConnection]]:
    """Three clients, as three processes have them, on the test's database."""
    opened = [await connect(mongo_uri, migrated.database.name) for _ in range(3)]
    yield opened
    for connection in opened:
        await connection.close()


async def test_document_whose_every_second_call_is_told_to_wait_is_finished_and_nothing_is_embedded_twice(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.text_counts.clear()
    embedding_server.rule(lambda number: Reply(429, "slow down", retry_after="0") if number % 2 else None)
    document = await tenant.document("a.txt", prose("whales", 250))
    stored = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert (stored.chunk_count, stored.status) == (250, KnowledgeBaseStatus.ACTIVE)
    assert await tenant.found(kb.id, "whales") == [document.id]
    embedded = {text: count for text, count in embedding_server.text_counts.items() if "Sentence" in text}
    assert len(embedded) == 250
    assert set(embedded.values()) == {1}
    assert await books.spus() == 250
    assert await books.cached() == await books.charged()


async def test_crowd_of_workers_hits_a_closed_provider_once_each_at_most(
    connections: Sequence[MongoConnection], embedding_server: EmbeddingServer
) -> None:
    organization_id, batches = new_id(), [[f"text {number}"] for number in range(60)]
    embedding_server.rule(closed_for(2.0, after_calls=5))
    left = list(reversed(batches))

    async def worker(connection: MongoConnection) -> None:
        limits = RateLimits(RateLimitRepository(connection), RateLimitSettings())
        embedder = LiteLLMEmbedder(
            REMOTE_MODEL, credential_of(embedding_server.api_key, embedding_server.url), EmbeddingSettings()
        )
        while left:
            batch = left.pop()
            while not await has_embedded(limits, embedder, batch):
                pass

    async def has_embedded(limits: RateLimits, embedder: LiteLLMEmbedder, batch: list[str]) -> bool:
        try:
            await limits.take_call(organization_id, REMOTE_MODEL, tokens=2)
        except RateLimitedError as error:
            await asyncio.sleep(error.retry_after or 0)
            return False
        try:
            await embedder.embed(batch, input_type=InputType.DOCUMENT)
        except RateLimitedError as error:
            await limits.told_to_wait(organization_id, REMOTE_MODEL, seconds=error.retry_after or 0)
            return False
        return True

    await asyncio.gather(*[worker(connections[number % len(connections)]) for number in range(WORKERS)])
    assert set(embedding_server.text_counts.values()) == {1}
    assert embedding_server.texts == len(batches)
    refused = len(embedding_server.requests) - embedding_server.calls
    assert 1 <= refused <= WORKERS


@pytest.mark.parametrize(
    "reply",
    [
        Reply(400, "Error code: 429 - rate limit reached, retry after 500 ms"),
        Reply(400, "quota: 429 Too Many Requests; 503 Service Unavailable; timed out"),
        Reply(422, "500 Internal Server Error"),
        Reply(413, "exceeded 401 403 404"),
        Reply(400, "connection error, overloaded, try again later"),
    ],
    ids=lambda reply: f"{reply.status}-{reply.message[:12]}",
)
async def test_document_that_is_refused_fails_alone_whatever_digits_its_error_contains(
    tenant: Tenant, embedding_server: EmbeddingServer, reply: Reply
) -> None:
    kb = await tenant.knowledge_base()
    first = await tenant.document("first.txt", prose("birds", 1))
    embedding_server.script(reply)
    bad = await tenant.document("bad.txt", prose("whales", 1))
    good = await tenant.document("good.txt", prose("trees", 1))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{bad.id}")
    assert job is not None
    assert job.error is not None
    assert (job.state, job.attempt, job.error.code) == (JobState.DEAD, 1, "text_refused")
    assert f"HTTP {reply.status}" in job.error.detail
    (state,) = await tenant.services.ingestion.indexing_states.of_document(bad)
    assert state.state.value == "failed"
    stored = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert (stored.status, stored.document_count) == (KnowledgeBaseStatus.ACTIVE, 2)
    assert await tenant.found(kb.id, "quite plainly") == sorted([first.id, good.id])


@pytest.mark.parametrize(
    "reply",
    [Reply(500, "400 Bad Request: invalid api key"), Reply(503, "content policy violation 400")],
    ids=["500", "503"],
)
async def test_document_that_meets_a_failure_is_tried_again_whatever_digits_its_error_contains(
    tenant: Tenant, embedding_server: EmbeddingServer, reply: Reply
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(*[reply] * 3)
    document = await tenant.document("a.txt", prose("whales", 1))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.state, job.attempt) == (JobState.AVAILABLE, 0)
    stored = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert stored.status is KnowledgeBaseStatus.ACTIVE
