"""Rerank: a model reads the question with each of the best passages."""

from analytiq.models.vector import in_context
from analytiq.retrieval.pipeline.context import SearchContext
from analytiq.retrieval.pipeline.ports import Reranker
from analytiq.retrieval.pipeline.select_hits import RERANK_DEPTH


async def rerank(context: SearchContext, reranker: Reranker | None, *, timeout_seconds: float) -> None:
    """Put the first RERANK_DEPTH in the reranker's order; one paid call a search.

    With a threshold, keep only hits that the reranker scored high enough; if it fails, those with a high enough score
    of the search itself.
    """
    scores = await _scores(context, reranker, timeout_seconds)
    threshold = context.request.score_threshold
    if scores is not None:
        read, rest = context.selected[: len(scores)], context.selected[len(scores) :]
        for hit, score in zip(read, scores, strict=True):
            hit.scores.rerank = min(1.0, max(0.0, score))
        read.sort(key=lambda hit: -(hit.scores.rerank or 0.0))
        context.trace.statistics.reranked = len(read)
        context.selected = read if threshold is not None else [*read, *rest]
    if threshold is not None:
        above = [hit for hit in context.selected if hit.relevance >= threshold]
        context.trace.statistics.below_threshold = len(context.selected) - len(above)
        context.selected = above
        # Passages that the reranker has not read appear on no page.
        context.is_complete = True


async def _scores(context: SearchContext, reranker: Reranker | None, timeout_seconds: float) -> list[float] | None:
    """Score the first hits; None if there is no reranker or it fails."""
    if reranker is None:
        context.trace.leave_out(
            "rerank", "not_configured", "no reranking model is configured; the order is that of the search"
        )
        return None
    # Without their context, passages of several products are alike: nDCG lost more than reranking gained.
    passages = [context.texts[hit.key] for hit in context.selected[:RERANK_DEPTH]]
    texts = [in_context(passage.context, passage.chunk_text) for passage in passages]
    if not texts:
        return []
    work = reranker.rerank(context.organization, context.question, texts, model=context.request.rerank_model)
    return await context.trace.attempt("rerank", work, seconds=timeout_seconds)
