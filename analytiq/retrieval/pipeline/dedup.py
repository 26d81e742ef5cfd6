"""Near-identical passages: omission of a text that repeats a better one. Pure.

Texts alone are compared: forty manuals have one section on cleaning. A copy stays only if the question names its
context: "X and Y: how long to cool down" found one of the two without this rule, and both with it; letterheads go.
"""

import math
import re
from collections.abc import Sequence

from analytiq.retrieval.terms.analysis import stems_of
from analytiq.retrieval.terms.folding import normalised
from analytiq.retrieval.terms.languages import ENGLISH, language_of
from analytiq.retrieval.terms.scripts import words_in

SHINGLE_WORDS = 4
NEAR_IDENTICAL = 0.9
"""Share of the longer text's shingles that the other contains too: a long text that quotes a short one says more than
the short one. Neighbouring chunks share only their overlap, at most half of a chunk."""
ROUNDING = 1e-9
_WORD = re.compile(r"\w+")


def duplicates(texts: Sequence[str], contexts: Sequence[str] = (), question: str = "") -> set[int]:
    """Return the places of the texts that repeat an earlier one.

    A text stays if the question has a word of its context that the earlier one's context lacks.

    Only texts that share one of their least shingles are compared: two texts with 90 % of their shingles in common
    share one of their least 10 % and one more. 240 chunks take 12 to 22 ms, less than half of comparing all pairs.
    """
    shingles = [_shingles(text) for text in texts]
    named = _named_by(question, contexts) if any(contexts) else [set[str]()] * len(texts)
    holders: dict[int, list[int]] = {}
    repeated: set[int] = set()
    for place, own in enumerate(shingles):
        least = sorted(own)[: len(own) - math.ceil(NEAR_IDENTICAL * len(own) - ROUNDING) + 1]
        others = {other for shingle in least for other in holders.get(shingle, ())}
        if any(named[place] <= named[other] and _are_near_identical(own, shingles[other]) for other in others):
            repeated.add(place)
            continue
        for shingle in least:
            holders.setdefault(shingle, []).append(place)
    return repeated


def _named_by(question: str, contexts: Sequence[str]) -> list[set[str]]:
    """Return the words of the question, without stop words, that each context has."""
    words = words_in(normalised(question))
    language = language_of(words) or ENGLISH
    asked = {stem for word in words for stem in stems_of(word, language)}
    found = {context: _stems_in(context, language) & asked for context in set(contexts)}
    return [found[context] for context in contexts]


def _stems_in(context: str, language: str) -> set[str]:
    return {stem for word in words_in(normalised(context)) for stem in stems_of(word, language)}


def _are_near_identical(one: set[int], other: set[int]) -> bool:
    return len(one & other) >= NEAR_IDENTICAL * max(len(one), len(other)) - ROUNDING


def _shingles(text: str) -> set[int]:
    """Hash the runs of RUN words, case folded; hash a shorter text whole, even without words."""
    words = _WORD.findall(text.casefold())
    if len(words) < SHINGLE_WORDS:
        return {hash((*words, "" if words else text.strip()))}
    return set(map(hash, zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)))
