"""Weights of the two retrievers of a hybrid search, by the models' knowledge of the question. Pure.

A model ranks well in the languages of its training. A model for English splits Arabic into letters, and its vectors
then say little: fused half and half with them, the keyword retriever's nDCG@10 of 0.94 on Arabic questions falls to
0.70. The tokenizer tells before the search: a trained model knows a language by whole words.
"""

from collections.abc import Iterable
from dataclasses import dataclass

EQUAL_WEIGHT = 0.5
"""Weight of the vector retriever unless the question's language speaks against it: mean nDCG@10 over four English
collections 0.646 at 0.5, 0.642 at 0.4 and 0.6."""
READ_SHARE = 0.8
"""Share of a question's letters in words that the model knows whole, above which the vector retriever has full weight.
English questions have 0.9 on average, German ones 0.25, Chinese and Arabic ones less than 0.05. From 0.7 to 1.0 the
choice moves no collection's nDCG@10 by more than 0.003 (docs/explanation/search.md)."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of one search.

    `vector`: weight of the vector retriever, from 0 to 1; the keyword retriever has the rest. `reason`: for people.
    """

    vector: float
    reason: str

    @property
    def lexical(self) -> float:
        """The keyword retriever's weight."""
        return 1.0 - self.vector


def weights_of(alpha: float | None, known_shares: Iterable[float | None]) -> Weights:
    """Return the weights of one search.

    Args:
        alpha: the caller's weight, taken unchanged.
        known_shares: for each embedding model, the share of the question's letters (0 to 1) in words known to it
            whole; None for a model without that information, such as a provider's.
    """
    if alpha is not None:
        return Weights(alpha, "`alpha` was given")
    told = [share for share in known_shares if share is not None]
    if not told:
        return Weights(
            EQUAL_WEIGHT, "both retrievers count alike: the embedding model does not tell which words it knows"
        )
    # One list of several models is as good as the worst of them.
    share = min(told)
    known = f"the embedding model knows {share:.0%} of the question's letters as whole words"
    if share >= READ_SHARE:
        return Weights(EQUAL_WEIGHT, f"both retrievers count alike: {known}")
    vector = round(EQUAL_WEIGHT * share / READ_SHARE, 3)
    return Weights(vector, f"words count for more: {known}, and is trusted in full from {READ_SHARE:.0%} on")
