"""Fuse: makes one ranking of the hits of both retrievers. Pure.

Pages of one answer are cut from lists of different depths, and must be consistent. So only the first FUSED_RANKS of
each retriever give scores: a deeper hit counts as not found by that retriever.

The vector scores of several models are brought to one scale: the height of a hit above unrelated text. Each model's
cosines lie in a band of their own: 0.7 may mean unrelated to one and identical to another. The floor is the score at
the end of a long list, which the model gives to unrelated chunks.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from analytiq.retrieval.pipeline.context import Hit, Scope, SearchContext
from analytiq.retrieval.pipeline.context import Key as HitKey
from analytiq.retrieval.pipeline.request import Fusion, Mode

Key = TypeVar("Key", bound=Hashable)

RRF_K = 60
"""From the paper (Cormack, Clarke and Büttcher 2009), and from MongoDB's `$rankFusion`."""
FUSED_RANKS = 100
LINE_WEIGHT = 4.0
LINE_EXPONENT = 12
"""Weight of the best line beside the keyword score of the whole chunk. A line with all words of a question decides, one
with two thirds counts for nothing. Of 40 prices in a list of 60 pages, 40 come first, and without lines 3. With an
exponent of 6, prose loses: nDCG@10 of 80 questions of Cranfield is .426, with 12 .433, without lines .431."""


def fuse(context: SearchContext) -> None:
    """Order the hits, best first; ties by the better rank, then in order of document and chunk."""
    scores = _scores(context)
    for hit in context.hits:
        hit.scores.fused = scores[hit.key]
    context.hits.sort(key=_order)
    is_hybrid = context.plan.mode is Mode.HYBRID
    context.trace.is_fused = is_hybrid and bool(context.vector) and bool(context.keyword)


def favour_lines(context: SearchContext, shares: Mapping[HitKey, float]) -> None:
    """Raise the first hits by the share of the question's words in one of their lines, and order again.

    The line counts with the keyword retriever's weight. Scores of a fused list stay from 0 to 1.
    """
    is_fused, head = context.trace.is_fused, first_hits(context)
    scores = [hit.scores.fused or 0.0 for hit in head]
    unit = context.weights.lexical if is_fused else max(scores) - min(scores)
    for hit, score in zip(head, scores, strict=True):
        hit.scores.fused = score + LINE_WEIGHT * unit * shares.get(hit.key, 0.0) ** LINE_EXPONENT
    if is_fused:
        for hit in context.hits:
            hit.scores.fused = (hit.scores.fused or 0.0) / (1.0 + LINE_WEIGHT * unit)
    # Deeper hits have no line; none of them has a higher score than the last of these had.
    context.hits[: len(head)] = sorted(head, key=_order)


def first_hits(context: SearchContext) -> list[Hit]:
    """Return the hits whose lines count: the same ones for every depth of retrieval."""
    return [hit for hit in context.hits[:FUSED_RANKS] if _best_rank(hit) <= FUSED_RANKS]


def floors_of(scopes: Sequence[Scope], lists: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """Return the floor of each knowledge base, the end of its list, if their models differ."""
    if not lists or len({scope.knowledge_base.embedding_model for scope in scopes}) < 2:
        return {}
    return {
        scope.knowledge_base.id: min((hit.scores.vector or 0.0 for hit in one), default=0.0)
        for scope, one in zip(scopes, lists, strict=True)
    }


def above_floor(score: float, floor: float | None) -> float:
    """Scale a vector score to 0 to 1 above the floor; keep it unchanged without a floor."""
    return score if floor is None else max(0.0, (score - floor) / max(1e-6, 1.0 - floor))


def _scores(context: SearchContext) -> dict[HitKey, float]:
    vector = {
        hit.key: above_floor(hit.scores.vector, context.scales.get(hit.kb_id))
        for hit in context.hits
        if hit.scores.vector is not None
    }
    keyword = {hit.key: hit.scores.lexical for hit in context.hits if hit.scores.lexical is not None}
    if not vector or not keyword or context.plan.mode is not Mode.HYBRID:
        # One retriever alone keeps its scores: their absolute values tell more than their relative ones.
        return vector or keyword
    if context.request.fusion is Fusion.RRF:
        return reciprocal_ranks(
            _in_order((hit.scores.vector_rank, hit.key) for hit in context.hits),
            _in_order((hit.scores.lexical_rank, hit.key) for hit in context.hits),
            alpha=context.weights.vector,
        )
    return weighted(vector, keyword, alpha=context.weights.vector)


def _order(hit: Hit) -> tuple[float, int, str, int, str]:
    """Order hits that only deep ranks found by the better rank, since fusion gives them no score."""
    fused = hit.scores.fused or 0.0
    return -fused, _best_rank(hit) if fused <= 0.0 else 0, hit.document_id, hit.chunk_index, hit.kb_id


def _best_rank(hit: Hit) -> int:
    ranks = [rank for rank in (hit.scores.vector_rank, hit.scores.lexical_rank) if rank is not None]
    return min(ranks, default=0)


def _in_order(ranked: Iterable[tuple[int | None, HitKey]]) -> Sequence[HitKey]:
    return [key for _, key in sorted((rank, key) for rank, key in ranked if rank is not None)]


def weighted(vector: Mapping[Key, float], lexical: Mapping[Key, float], *, alpha: float) -> dict[Key, float]:
    """Sum alpha x vector + (1 - alpha) x lexical, each scaled to [0, 1] by its greatest and its hundredth score.

    A hit that a retriever missed counts as its least. If one retriever found nothing, the other's order stands.
    """
    from_vector, from_lexical = _normalised(vector), _normalised(lexical)
    keys = dict.fromkeys([*vector, *lexical])
    return {key: alpha * from_vector.get(key, 0.0) + (1 - alpha) * from_lexical.get(key, 0.0) for key in keys}


def reciprocal_ranks(vector: Sequence[Key], lexical: Sequence[Key], *, alpha: float) -> dict[Key, float]:
    """Sum weight / (k + rank) over the rankings that contain the key; ranks count from 1.

    Weights are 2 x alpha and 2 x (1 - alpha), so that one half gives the scores of the paper.
    """
    scores: dict[Key, float] = dict.fromkeys([*vector, *lexical], 0.0)
    for ranking, weight in ((vector, 2 * alpha), (lexical, 2 * (1 - alpha))):
        for rank, key in enumerate(ranking[:FUSED_RANKS], start=1):
            scores[key] += weight / (RRF_K + rank)
    return scores


def _normalised(scores: Mapping[Key, float]) -> dict[Key, float]:
    if not scores:
        return {}
    ordered = sorted(scores.values(), reverse=True)
    greatest, least = ordered[0], ordered[:FUSED_RANKS][-1]
    width = greatest - least
    if width <= 0.0:
        return {key: 1.0 if score >= greatest else 0.0 for key, score in scores.items()}
    return {key: max(0.0, (score - least) / width) for key, score in scores.items()}
