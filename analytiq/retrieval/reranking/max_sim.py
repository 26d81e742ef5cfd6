"""MaxSim by the local model's token vectors (Khattab and Zaharia 2020, "ColBERT"): no key, and slow.

The model was not trained for it. Measured: blended with the order of the search it gains half a point of nDCG@10 on
XQuAD and Cranfield, and alone it loses on Cranfield; so it is opt-in, never a default.
"""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analytiq.inference.embedding.providers.local import LocalEmbedder

Tokens = NDArray[np.float32]
"""Shape (tokens, dimensions), each row of length 1."""


class MaxSim:
    """Scores by the best match of each token of the question."""

    def __init__(self, local: LocalEmbedder) -> None:
        self._local = local

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """See RerankModel; average the cosine of each question token to its best passage token, scaled to [0, 1]."""
        return await asyncio.to_thread(self._scores, question, passages)

    def _scores(self, question: str, passages: Sequence[str]) -> list[float]:
        asked = _normalised(self._local.token_vectors(question))
        return [_score(asked, _normalised(self._local.token_vectors(passage))) for passage in passages]


def _score(asked: Tokens, passage: Tokens) -> float:
    if not len(asked) or not len(passage):
        return 0.0
    return float((1.0 + (asked @ passage.T).max(axis=1).mean()) / 2.0)


def _normalised(tokens: Tokens) -> Tokens:
    return tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-12)
