"""Embed: computes the question's vector for each embedding model, and the weight of each retriever."""

from collections.abc import Sequence

import numpy as np

from analytiq.errors import AnalytiqError, QuotaExceededError, TransientError
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.retrieval.backends.base import Query
from analytiq.retrieval.pipeline.context import SearchContext
from analytiq.retrieval.pipeline.request import Mode
from analytiq.retrieval.pipeline.weights import weights_of


class Embed:
    """Embeds questions. `has_keywords`: this installation has a keyword index."""

    def __init__(self, embedding: EmbeddingService, *, has_keywords: bool) -> None:
        self._embedding = embedding
        self._has_keywords = has_keywords

    async def run(self, context: SearchContext) -> None:
        """Fill in the weights and the vectors; average the question with its hypothetical answers, if any (Gao 2022).

        Raises:
            QuotaExceededError: the quota does not allow embedding the question.
            AnalytiqError: the question could not be embedded, and keywords are not searched.
        """
        by_model = {scope.knowledge_base.embedding_model: scope.knowledge_base for scope in context.scopes}
        shares: Sequence[float | None] = ()
        if context.request.alpha is None and context.plan.mode is Mode.HYBRID:
            shares = [await self._embedding.known_share(kb, context.question) for kb in by_model.values()]
        context.weights = weights_of(context.request.alpha, shares)
        uses_keywords = context.plan.uses_keywords and self._has_keywords
        if context.plan.uses_vectors and not context.queries:
            texts = [context.question, *context.imagined]
            queries: dict[str, Query] = {}
            with context.trace.step("embed"):
                try:
                    for model, kb in by_model.items():
                        vectors = [await self._embedding.embed_query(context.organization, kb, one) for one in texts]
                        queries[model] = _mean(vectors)
                    context.queries = queries
                except QuotaExceededError:
                    raise
                except AnalytiqError as error:
                    if not uses_keywords:
                        raise
                    context.trace.leave_out("embed", error.code, error.detail)
        if not context.queries and not uses_keywords:
            raise TransientError("Cannot search: the question could not be embedded and keyword search is disabled.")


def _mean(vectors: Sequence[Query]) -> Query:
    if len(vectors) == 1:
        return vectors[0]
    lengths = [float(np.linalg.norm(vector)) or 1.0 for vector in vectors]
    together = np.mean([vector / length for vector, length in zip(vectors, lengths, strict=True)], axis=0)
    return together.astype(np.float32)
