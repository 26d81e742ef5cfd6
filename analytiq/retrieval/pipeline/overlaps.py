"""Overlaps: one passage of a document is found in several index types, and shown once. Pure.

The smallest is shown: it is what a question is about, and the section around it can be had with it (`include_section`).
It takes the place of the larger one if that ranks better, so that what only the whole section says still counts.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytiq.models.index_types import IndexType, index_type_at
from analytiq.retrieval.pipeline.context import Hit, Key

Span = tuple[int, int]
"""Start and end of a chunk in its document's text."""


@dataclass(slots=True)
class _Placed:
    hit: Hit
    rank: int
    start: int
    end: int


def in_several_types(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of the documents that were found in more than one index type."""
    types: dict[tuple[str, str], set[IndexType]] = {}
    for hit in hits:
        types.setdefault(hit.key[:2], set()).add(index_type_at(hit.chunk_index))
    return [hit for hit in hits if len(types[hit.key[:2]]) > 1]


def without_overlaps(hits: Sequence[Hit], spans: Mapping[Key, Span]) -> list[Hit]:
    """Leave out each hit that has at least half of a hit of a smaller type, best first.

    Args:
        hits: best first.
        spans: of the hits that may overlap; others stay.
    """
    by_document: dict[tuple[str, str], list[_Placed]] = {}
    placed: list[_Placed] = []
    for rank, hit in enumerate(hits):
        span = spans.get(hit.key)
        one = _Placed(hit, rank, *(span or (0, 0)))
        if span is None:
            placed.append(one)
        else:
            by_document.setdefault(hit.key[:2], []).append(one)
    for of_document in by_document.values():
        placed += _smallest(of_document)
    return [one.hit for one in sorted(placed, key=lambda one: one.rank)]


def _smallest(placed: Sequence[_Placed]) -> list[_Placed]:
    """Return the hits of one document that have no smaller one in them."""
    kept: list[_Placed] = []
    for index_type in IndexType:
        kept.sort(key=lambda one: one.start)
        starts = [one.start for one in kept]
        longest = max((one.end - one.start for one in kept), default=0)
        larger = [one for one in placed if index_type_at(one.hit.chunk_index) is index_type]
        alone: list[_Placed] = []
        for one in larger:
            near = kept[bisect_left(starts, one.start - longest) : bisect_left(starts, one.end)]
            inside = [other for other in near if _has_half_of(one, other)]
            if inside:
                _promote(min(inside, key=lambda other: other.rank), one)
            else:
                alone.append(one)
        kept += alone
    return kept


def _has_half_of(one: _Placed, other: _Placed) -> bool:
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared >= other.end - other.start and shared > 0


def _promote(smaller: _Placed, larger: _Placed) -> None:
    if larger.rank < smaller.rank:
        smaller.rank = larger.rank
        smaller.hit.scores.fused = larger.hit.scores.fused
