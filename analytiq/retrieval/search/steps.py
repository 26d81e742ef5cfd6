"""Ports of the steps that a model makes; each may be absent, and each may fail without the search failing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from analytiq.models.organization import Organization
from analytiq.retrieval.search.request import Turn


@dataclass(frozen=True, slots=True)
class Understood:
    """What is searched for. `question` stands alone, without the conversation; `passages` are hypothetical answers."""

    question: str
    passages: tuple[str, ...] = ()


class QueryUnderstanding(Protocol):
    """Rewrites a question and imagines its answer, in one call to a chat model (seeds 000 and 003)."""

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
class ModelSteps:
    """The steps that this installation can make."""

    understanding: QueryUnderstanding | None = None
    reranker: Reranker | None = None
    compressor: Compressor | None = None
