"""Select: orders hits by their best lines, then keeps those that reach the threshold and repeat no better hit."""

import asyncio
from collections.abc import Sequence

from analytiq.models.vector import Passage
from analytiq.retrieval.pipeline.context import Hit, Key, SearchContext
from analytiq.retrieval.pipeline.dedup import duplicates
from analytiq.retrieval.pipeline.fuse import favour_lines, first_hits
from analytiq.retrieval.pipeline.overlaps import in_several_types, without_overlaps
from analytiq.retrieval.pipeline.request import Fusion, Mode
from analytiq.retrieval.pipeline.together import shares_in_one_line
from analytiq.storage.repositories.vectors import VectorRepository

RERANK_DEPTH = 50
"""Hits that a reranker reads: the same for every page, so that pages are consistent."""


async def order_by_lines(context: SearchContext, vectors: VectorRepository) -> None:
    """Read the texts of the first hits and order them by their best lines, unless vectors or ranks alone decide."""
    by_ranks = context.trace.is_fused and context.request.fusion is Fusion.RRF
    if not context.keyword or by_ranks or context.plan.mode is Mode.VECTOR or not context.hits:
        return
    keys = [hit.key for hit in first_hits(context)]
    with context.trace.step("passages"):
        context.texts = await read_texts(context, vectors, keys)
    with context.trace.step("lines"):
        passages = {key: context.texts[key] for key in keys if key in context.texts}
        shares = await asyncio.to_thread(
            shares_in_one_line,
            context.question,
            [passage.chunk_text for passage in passages.values()],
            [passage.context for passage in passages.values()],
        )
        favour_lines(context, dict(zip(passages, shares, strict=True)))


async def select_hits(context: SearchContext, vectors: VectorRepository) -> None:
    """Fill in the selected hits. Before a reranker, leave the threshold to its scores."""
    plan, statistics = context.plan, context.trace.statistics
    hits, threshold = context.hits, context.request.score_threshold
    if threshold is not None and not plan.reranks:
        hits = [hit for hit in hits if hit.relevance >= threshold]
        statistics.below_threshold = len(context.hits) - len(hits)
    context.selected, statistics.duplicates = [], 0
    if plan.deduplicates:
        found, hits = len(hits), await _of_one_type(context, vectors, hits)
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
            context.texts |= await read_texts(context, vectors, unread)
        # A row may be gone by now: its document was re-indexed, and the next search finds the new rows.
        context.selected += [hit for hit in part if hit.key in context.texts]
        if plan.deduplicates:
            with context.trace.step("deduplicate"):
                passages = [context.texts[hit.key] for hit in context.selected]
                repeated = duplicates(
                    [passage.chunk_text for passage in passages],
                    [passage.context for passage in passages],
                    context.question,
                )
            context.selected = [hit for place, hit in enumerate(context.selected) if place not in repeated]
            statistics.duplicates += len(repeated)
    context.is_complete = context.is_whole or context.is_below_threshold


async def _of_one_type(context: SearchContext, vectors: VectorRepository, hits: list[Hit]) -> list[Hit]:
    """Leave out larger hits around smaller ones of the same document; read the places of those that may overlap."""
    several = in_several_types(hits)
    if not several:
        return hits
    with context.trace.step("overlaps"):
        spans = await _read_spans(context, vectors, [hit.key for hit in several])
    return without_overlaps(hits, spans)


async def _read_spans(
    context: SearchContext, vectors: VectorRepository, keys: Sequence[Key]
) -> dict[Key, tuple[int, int]]:
    spans: dict[Key, tuple[int, int]] = {}
    for kb_id in {key[0] for key in keys}:
        found = await vectors.spans(context.organization.id, kb_id, _chunks_in(kb_id, keys))
        spans |= {(kb_id, *chunk): span for chunk, span in found.items()}
    return spans


def _chunks_in(kb_id: str, keys: Sequence[Key]) -> list[tuple[str, int]]:
    return [(generation_id, index) for of_kb, generation_id, index in keys if of_kb == kb_id]


async def read_texts(context: SearchContext, vectors: VectorRepository, keys: Sequence[Key]) -> dict[Key, Passage]:
    """Read chunks without their vectors, from all knowledge bases at once; missing chunks are left out."""

    async def of(kb_id: str) -> dict[Key, Passage]:
        found = await vectors.passages(context.organization.id, kb_id, _chunks_in(kb_id, keys))
        return {(kb_id, *chunk): passage for chunk, passage in found.items()}

    parts = await asyncio.gather(*(of(kb_id) for kb_id in {key[0] for key in keys}))
    return {key: passage for part in parts for key, passage in part.items()}
