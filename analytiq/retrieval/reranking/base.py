"""Port of every reranker."""

from collections.abc import Sequence
from typing import Protocol


class RerankModel(Protocol):
    """Scores passages for a question."""

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return a score from 0 to 1 for each passage, in their order.

        Raises:
            RateLimitedError, TransientError, ProviderRefusedError: as an embedder does.
        """
        ...
