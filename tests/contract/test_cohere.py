"""Cohere at an address of one's own: one address serves embedding and reranking, however it was copied."""

from collections.abc import Iterator

import pytest

from analytiq.errors import ProviderRefusedError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.retrieval.reranking.litellm_reranker import LiteLLMReranker
from analytiq.settings import EmbeddingSettings
from tests.fakes.cohere_server import CohereServer
from tests.fakes.credentials import credential_of


@pytest.fixture
def cohere() -> Iterator[CohereServer]:
    with CohereServer() as server:
        yield server


def embedder(cohere: CohereServer, path: str = "") -> LiteLLMEmbedder:
    return LiteLLMEmbedder("cohere/embed-v4.0", credential_of(cohere.api_key, cohere.root + path), EmbeddingSettings())


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v2", "/v2/embed", "/v2/rerank"])
async def test_one_address_serves_embedding_and_reranking(cohere: CohereServer, path: str) -> None:
    vectors = await embedder(cohere, path).embed(["a", "b"], input_type=InputType.QUERY)
    assert vectors.shape == (2, 2)
    reranker = LiteLLMReranker(
        "cohere/rerank-v3.5", credential_of(cohere.api_key, cohere.root + path), timeout_seconds=60
    )
    assert await reranker.scores("q", ["a", "b"]) == [0.5, 0.5]
    assert cohere.paths == ["/v2/embed", "/v2/rerank"]


async def test_refusal_of_a_server_that_somebody_named_shows_nothing_of_its_answer(cohere: CohereServer) -> None:
    cohere.refusal = {"message": "secret=abc123"}
    with pytest.raises(ProviderRefusedError) as caught:
        await embedder(cohere).embed(["a"], input_type=InputType.QUERY)
    assert "HTTP 400" in caught.value.detail
    assert "abc123" not in caught.value.detail
