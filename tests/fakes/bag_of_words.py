"""Deterministic vectors in which texts that share words are close: hashed bags of words. A test tool."""

import functools
import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

# Letters of scripts without spaces count as words of their own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_PLACES = 8
_OWN_WEIGHT = 0.05


def bag_of_words(texts: Sequence[str], dimensions: int) -> Vectors:
    """Unit vectors, shape (len(texts), dimensions); the same text always has the same one.

    A word adds to eight of the dimensions, by its hash; the text as a whole adds a little, so that two texts
    of the same words are close, not equal. 20,000 texts of 30 words take 2 s.
    """
    positions: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    for row, text in enumerate(texts):
        start = row * dimensions
        for word in _WORD.findall(text.lower()):
            places, signs = _direction(word)
            positions.append(start + places % dimensions)
            weights.append(signs)
        places, signs = _directions_of(text)
        positions.append(start + places % dimensions)
        weights.append(signs * _OWN_WEIGHT)
    sums = np.bincount(np.concatenate(positions), weights=np.concatenate(weights), minlength=len(texts) * dimensions)
    vectors = sums.reshape(len(texts), dimensions)
    # Opposite signs can cancel out where there are few dimensions; a zero vector would be refused.
    vectors[~vectors.any(axis=1), 0] = 1.0
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@functools.lru_cache(maxsize=200_000)
def _direction(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return _directions_of(word)


def _directions_of(text: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_PLACES * 4).digest()
    numbers = np.frombuffer(digest, dtype="<u4").astype(np.int64)
    return numbers >> 1, np.where(numbers & 1, 1.0, -1.0)
