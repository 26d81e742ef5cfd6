"""Quality measures of a ranked list, by relevance judgements. Pure."""

import math
from collections.abc import Mapping, Sequence


def ndcg_at(depth: int, ranking: Sequence[str], grades: Mapping[str, float]) -> float:
    """Return the normalised discounted cumulative gain of the first `depth`, 0 to 1 (Järvelin and Kekäläinen 2002).

    A document's gain is its grade, divided by log2(rank + 1); the sum is divided by that of the best order. Documents
    without a grade, or with one of 0 or less, have no gain; if there is none, the measure is 0.
    """
    gains = [max(0.0, grades.get(document, 0.0)) for document in dict.fromkeys(ranking)]
    ideal = sorted((grade for grade in grades.values() if grade > 0.0), reverse=True)
    best = _discounted(ideal[:depth])
    return _discounted(gains[:depth]) / best if best else 0.0


def recall_at(depth: int, ranking: Sequence[str], grades: Mapping[str, float]) -> float:
    """Return the share of the relevant documents (grade above 0) among the first `depth`, from 0 to 1."""
    relevant = {document for document, grade in grades.items() if grade > 0.0}
    found = relevant & set(list(dict.fromkeys(ranking))[:depth])
    return len(found) / len(relevant) if relevant else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
