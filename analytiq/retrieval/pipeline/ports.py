"""Ports of the optional model steps: each may be missing or fail, and the search continues without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from analytiq.inference.embedding.service import EmbeddingService
from analytiq.models.organization import Organization
from analytiq.retrieval.pipeline.request import Turn


@dataclass(frozen=True, slots=True)
class Understood:
    """An understood question. `question` stands alone, without the conversation; `passages`: hypothetical answers."""

    question: str
    passages: tuple[str, ...] = ()


class QueryUnderstanding(Protocol):
    """Rewrites a question and imagines its answer, in one call to a chat model."""

    async def understand(
        self, organization: Organization, question: str, history: Sequence[Turn], *, hyde: bool, model: str | None
    ) -> Understood:
        """Make the question stand alone if there is a history; with `hyde`, imagine passages that answer it."""
        ...


class Reranker(Protocol):
    """Scores question and passage together, which no index can."""

    async def rerank(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[float]:
        """Return a score from 0 to 1 for each passage, in their order."""
        ...


class Compressor(Protocol):
    """Shortens passages to the sentences that answer the question."""

    async def compress(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[str]:
        """Return the relevant sentences of each passage, word for word, or an empty string."""
        ...


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models of a search: the embedder, and the optional steps of this installation."""

    embedding: EmbeddingService
    understanding: QueryUnderstanding | None = None
    reranker: Reranker | None = None
    compressor: Compressor | None = None
