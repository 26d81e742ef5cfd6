"""Servers that take little at a time: calls are split, the size is remembered, and only a bad text fails a document."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.models.job import JobState
from analytiq.settings import EmbeddingSettings
from tests.fakes.credentials import credential_of
from tests.fakes.embedding_server import EmbeddingServer, Outcome, Reply
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]


def sizes(server: EmbeddingServer) -> list[int]:
    return [len(request["input"]) for request in server.requests if isinstance(request["input"], list)]


@pytest.fixture
def strict_server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(is_without_encoding_format=True) as server:
        yield server


async def test_server_that_takes_ten_texts_gets_ten_and_no_larger_call_once_that_is_known(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    embedding_server.most_texts = 10
    kb = await tenant.knowledge_base()
    await tenant.drain()
    await tenant.document("a.txt", prose("whales", 120))
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 120
    assert {count for text, count in embedding_server.text_counts.items() if "Sentence" in text} == {1}
    assert await books.spus() == 120
    assert await books.cached() == await books.charged()
    embedding_server.requests.clear()
    await tenant.document("b.txt", prose("birds", 60))
    assert max(sizes(embedding_server)) <= 10
    assert sum(sizes(embedding_server)) == 60


async def test_server_that_takes_few_tokens_keeps_its_large_calls_of_short_texts(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("short.txt", prose("whales", 50))
    embedding_server.most_tokens = 650
    long = await tenant.knowledge_base(chunk_size=64)
    await tenant.drain()
    await tenant.document("long.txt", prose("birds", 200))
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, long.id)).document_count == 2
    embedding_server.requests.clear()
    await tenant.document("again.txt", prose("trees", 50))
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).document_count == 3
    assert max(sizes(embedding_server)) >= 40


async def test_single_text_that_is_refused_fails_its_document_and_the_others_are_kept(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()

    def outcome(_: int) -> Outcome:
        return Reply(400, "unsafe") if "year 1033" in str(embedding_server.requests[-1]["input"]) else None

    embedding_server.rule(outcome)
    bad = await tenant.document("bad.txt", prose("whales", 50))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{bad.id}")
    assert job is not None
    assert job.error is not None
    assert (job.state, job.error.code) == (JobState.DEAD, "text_refused")
    assert "by itself" in job.error.detail
    assert "unsafe" in job.error.detail
    (state,) = await tenant.services.ingestion.indexing_states.of_document(bad)
    assert state.state is IndexingState.FAILED
    assert await books.spus() >= 25
    assert await books.cached() == await books.charged()
    embedding_server.requests.clear()
    await tenant.document("good.txt", prose("birds", 50, first=100))
    assert sizes(embedding_server) == [50]


async def test_field_that_a_strict_server_refuses_is_left_out_from_then_on(strict_server: EmbeddingServer) -> None:
    embedder = LiteLLMEmbedder(
        REMOTE_MODEL, credential_of(strict_server.api_key, strict_server.url), EmbeddingSettings()
    )
    repeated: list[str] = []

    async def before_repeat() -> None:
        repeated.append("taken")

    for _ in range(3):
        vectors = await embedder.embed(["a", "b"], input_type=InputType.DOCUMENT, before_repeat=before_repeat)
        assert vectors.shape == (2, 64)
    assert repeated == ["taken"]
    assert strict_server.calls == len(strict_server.requests) == 3


async def test_knowledge_base_of_a_strict_server_is_indexed(
    compose_services: Compose, strict_server: EmbeddingServer
) -> None:
    strict_server.most_texts = 10
    tenant = await new_tenant(await compose_services())
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr(strict_server.api_key), api_base=strict_server.url
    )
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 40))
    assert await tenant.found(kb.id, "whales") == [document.id]
