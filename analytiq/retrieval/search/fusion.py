"""Two ranked lists become one: pure.

Pages of one answer are cut from lists of different depths, and must fit each other. So only the first FUSED_RANKS of
each leg give scores: what lies deeper in a leg counts as what the leg has not found at all.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

RRF_K = 60
"""Of the paper (Cormack, Clarke and Büttcher 2009), and of MongoDB's `$rankFusion`."""
FUSED_RANKS = 100


def weighted(vector: Mapping[Key, float], lexical: Mapping[Key, float], *, alpha: float) -> dict[Key, float]:
    """Alpha x vector + (1 - alpha) x lexical, each brought to [0, 1] by its greatest and its hundredth score.

    What a leg has not found counts as its least. Where a leg found nothing, the other's order stands.
    """
    from_vector, from_lexical = _normalised(vector), _normalised(lexical)
    keys = dict.fromkeys([*vector, *lexical])
    return {key: alpha * from_vector.get(key, 0.0) + (1 - alpha) * from_lexical.get(key, 0.0) for key in keys}


def reciprocal_ranks(vector: Sequence[Key], lexical: Sequence[Key], *, alpha: float) -> dict[Key, float]:
    """The sum of weight / (k + rank) over the rankings that have the key; ranks count from 1.

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
