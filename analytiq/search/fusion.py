"""Two ranked lists become one: pure."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

RRF_K = 60
"""Of the paper, and of MongoDB's `$rankFusion`."""


def weighted(vector: Mapping[Key, float], lexical: Mapping[Key, float], *, alpha: float) -> dict[Key, float]:
    """Alpha x vector + (1 - alpha) x lexical, each brought to [0, 1] by its least and greatest score.

    What a leg has not found counts as its least. Where a leg found nothing, the other's order stands.
    """
    from_vector, from_lexical = _normalised(vector), _normalised(lexical)
    keys = dict.fromkeys([*vector, *lexical])
    return {key: alpha * from_vector.get(key, 0.0) + (1 - alpha) * from_lexical.get(key, 0.0) for key in keys}


def reciprocal_ranks(*rankings: Sequence[Key]) -> dict[Key, float]:
    """The sum of 1 / (k + rank) over the rankings that have the key; ranks count from 1."""
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (RRF_K + rank)
    return scores


def _normalised(scores: Mapping[Key, float]) -> dict[Key, float]:
    if not scores:
        return {}
    least, greatest = min(scores.values()), max(scores.values())
    width = greatest - least
    if width <= 0.0:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - least) / width for key, score in scores.items()}
