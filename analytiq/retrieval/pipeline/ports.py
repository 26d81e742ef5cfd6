"""Ports of the optional model steps: each may be absent or fail, and the search goes on without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from analytiq.inference.embedding.service import EmbeddingService
from analytiq.models.organization import Organization
from analytiq.retrieval.pipeline.request import Turn


@dataclass(frozen=True, slots=True)
class Understood:
    """What is searched for. `question` stands alone, without the conversation; `passages` are hypothetical answers."""

    question: str
    passages: tuple[str, ...] = ()


class QueryUnderstanding(Protocol):
    """Rewrites a question and imagines its answer, in one call to a chat model."""

    async def understand(
        self, organization: Organization, question: str, history: Sequence[Turn], *, hyde: bool, model: str | None
    ) -> Understood:
        """Make the question stand alone where there is a history; imagine passages that answer it where `hyde`."""
        ...


class Reranker(Protocol):
    """Reads question and passage together, which no index can."""

    async def rerank(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[float]:
        """A score from 0 to 1 for each passage, in their order."""
        ...


class Compressor(Protocol):
    """Leaves only the sentences that answer."""

    async def compress(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[str]:
        """Of each passage its sentences that matter, word by word, or an empty string."""
        ...


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models of a search: what embeds, and the optional steps that this installation can make."""

    embedding: EmbeddingService
    understanding: QueryUnderstanding | None = None
    reranker: Reranker | None = None
    compressor: Compressor | None = None
