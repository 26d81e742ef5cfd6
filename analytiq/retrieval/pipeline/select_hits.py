"""Select: orders hits by their best lines, then keeps those that reach the threshold and repeat no better hit."""

import asyncio

from analytiq.retrieval.pipeline.context import Hit, SearchContext
from analytiq.retrieval.pipeline.dedup import duplicates
from analytiq.retrieval.pipeline.fuse import favour_lines, first_hits
from analytiq.retrieval.pipeline.overlaps import in_several_types, without_overlaps
from analytiq.retrieval.pipeline.passages import PassageReader
from analytiq.retrieval.pipeline.request import Fusion, Mode
from analytiq.retrieval.pipeline.together import shares_of_analysed

RERANK_DEPTH = 50
"""Hits that a reranker reads: the same for every page, so that pages are consistent."""


async def order_by_lines(context: SearchContext, passages: PassageReader) -> None:
    """Read the texts of the first hits and order them by their best lines, unless vectors or ranks alone decide."""
    by_ranks = context.trace.is_fused and context.request.fusion is Fusion.RRF
    if not context.keyword or by_ranks or context.plan.mode is Mode.VECTOR or not context.hits:
        return
    keys = [hit.key for hit in first_hits(context)]
    with context.trace.step("passages"):
        context.texts = await passages.read(context, keys)
    with context.trace.step("lines"):
        found = [key for key in keys if key in context.texts]
        shares = await asyncio.to_thread(
            shares_of_analysed,
            context.question,
            [context.analysed[key] for key in found],
            [context.texts[key].context for key in found],
        )
        favour_lines(context, dict(zip(found, shares, strict=True)))


async def select_hits(context: SearchContext, passages: PassageReader) -> None:
    """Fill in the selected hits. Before a reranker, leave the threshold to its scores."""
    plan, statistics = context.plan, context.trace.statistics
    hits, threshold = context.hits, context.request.score_threshold
    if threshold is not None and not plan.reranks:
        hits = [hit for hit in hits if hit.relevance >= threshold]
        statistics.below_threshold = len(context.hits) - len(hits)
    context.selected, statistics.duplicates = [], 0
    if plan.deduplicates:
        found, hits = len(hits), await _of_one_type(context, passages, hits)
        statistics.duplicates = found - len(hits)
    wanted = max(plan.needed, RERANK_DEPTH) if plan.reranks else plan.needed
    window = max(wanted * 2, 20)
    for first in range(0, len(hits), window):
        if len(context.selected) >= wanted:
            context.is_complete = False
            return
        part = hits[first : first + window]
        with context.trace.step("passages"):
            unread = [hit.key for hit in part if hit.key not in context.texts]
            context.texts |= await passages.read(context, unread)
        # A row may be gone by now: its document was re-indexed, and the next search finds the new rows.
        context.selected += [hit for hit in part if hit.key in context.texts]
        if plan.deduplicates:
            with context.trace.step("deduplicate"):
                texts = [context.texts[hit.key] for hit in context.selected]
                repeated = duplicates(
                    [passage.chunk_text for passage in texts],
                    [passage.context for passage in texts],
                    context.question,
                )
            context.selected = [hit for place, hit in enumerate(context.selected) if place not in repeated]
            statistics.duplicates += len(repeated)
    context.is_complete = context.is_whole or context.is_below_threshold


async def _of_one_type(context: SearchContext, passages: PassageReader, hits: list[Hit]) -> list[Hit]:
    """Leave out larger hits around smaller ones of the same document; read the places of those that may overlap."""
    several = in_several_types(hits)
    if not several:
        return hits
    with context.trace.step("overlaps"):
        spans = await passages.spans(context, [hit.key for hit in several])
    return without_overlaps(hits, spans)
