"""Vectors as one bit a dimension: what stays in memory of a knowledge base whose vectors are mapped from disk.

A vector is taken relative to the collection's mean and rotated at random; the signs of the result are its sketch. Two
estimates of a cosine follow from it, both without a read from disk:

- the number of bits that differ from the question's, counted over all rows by numpy: 8 ms a million rows of 384;
- for the rows that are nearest by that count, the product of the question's numbers and the row's signs, times the
  row's `scale`, which makes the estimate unbiased (as in RaBitQ, Gao and Long, 2024).

The rotation matters: without it, one dimension that varies much has no more bits than one that hardly does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numkong
import numpy as np
from numpy.typing import NDArray

_WORD_BITS = 64
_SLICE_ROWS = 65_536
"""Rows of a slice: few enough for intermediate results to fit into the cache."""
_WORDS_IN_A_BYTE = 3
"""Words whose counts of differing bits can be added in eight bits."""
_SAMPLE_STRIDE = 16
_SEED = 20_261_130
FARTHEST = np.iinfo(np.uint16).max
"""Distance of rows that must not be found."""


@dataclass(frozen=True, slots=True)
class Sketches:
    """`words` uint64 (words, rows): a row's bits lie in one column, so that a scan reads whole words in order.

    `scales` float32 (rows,).
    """

    words: NDArray[np.uint64]
    scales: NDArray[np.float32]

    @property
    def byte_size(self) -> int:
        """The bytes of the arrays."""
        return self.words.nbytes + self.scales.nbytes


@dataclass(frozen=True, slots=True)
class SketchedQuestion:
    """A question as bits, uint64 (words,), and as rotated numbers, float32 (dimensions,)."""

    words: NDArray[np.uint64]
    rotated: NDArray[np.float32]


class Sketcher:
    """The conversion of vectors to sketches; `mean`: float32 (dimensions,), fixed for all rows of a numbering."""

    def __init__(self, mean: NDArray[np.float32]) -> None:
        self.mean = mean
        self._rotation = _rotation_of(len(mean))
        self._axes = np.ascontiguousarray(self._rotation.T)

    @property
    def word_count(self) -> int:
        """The number of words of a sketch."""
        return words_of(len(self.mean))

    def sketch(self, vectors: NDArray[np.float32], into: Sketches) -> None:
        """Write the sketches of vectors (rows, dimensions) over `into`, of the same number of rows."""
        for start in range(0, len(vectors), _SLICE_ROWS):
            rows = slice(start, min(start + _SLICE_ROWS, len(vectors)))
            rotated = (vectors[rows] - self.mean) @ self._rotation
            into.words[:, rows] = _bits_of(rotated, self.word_count).T
            sums = np.abs(rotated).sum(axis=1)
            squares = np.einsum("rd,rd->r", rotated, rotated)
            into.scales[rows] = squares / np.maximum(sums, np.finfo(np.float32).tiny)

    def question_of(self, direction: NDArray[np.float32]) -> SketchedQuestion:
        """Prepare a question of length 1, shape (dimensions,)."""
        # By numkong: a product by BLAS wakes its threads, which then spin longer than the product takes.
        centred, rotated = _products(np.stack([direction - self.mean, direction]), self._axes)
        return SketchedQuestion(_bits_of(centred[np.newaxis], self.word_count)[0], rotated)


def words_of(dimensions: int) -> int:
    """Return the number of words of a sketch."""
    return -(-dimensions // _WORD_BITS)


def allocate_sketches(rows: int, dimensions: int) -> Sketches:
    """Allocate room for the sketches of a number of rows."""
    return Sketches(np.empty((words_of(dimensions), rows), np.uint64), np.empty(rows, np.float32))


def mean_of(samples: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean of the samples' rows."""
    return np.concatenate(samples).mean(axis=0, dtype=np.float64).astype(np.float32)


def distances(question: SketchedQuestion, words: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Count the bits of each row that differ from the question's; uint16 (rows,)."""
    count, rows = words.shape
    found = np.empty(rows, np.uint16)
    differing = np.empty(min(rows, _SLICE_ROWS), np.uint64)
    counted, summed = np.empty(len(differing), np.uint8), np.empty(len(differing), np.uint8)
    for start in range(0, rows, _SLICE_ROWS):
        stop = min(start + _SLICE_ROWS, rows)
        into, bits = found[start:stop], differing[: stop - start]
        ones, total = counted[: stop - start], summed[: stop - start]
        into.fill(0)
        for first in range(0, count, _WORDS_IN_A_BYTE):
            total.fill(0)
            for word in range(first, min(first + _WORDS_IN_A_BYTE, count)):
                np.bitwise_xor(words[word, start:stop], question.words[word], out=bits)
                np.add(total, np.bitwise_count(bits, out=ones), out=total)
            np.add(into, total, out=into)
    return found


def smallest(values: NDArray[np.uint16], count: int) -> NDArray[np.int64]:
    """Return the places of the `count` smallest values below FARTHEST, in order of place; fewer if there are fewer.

    A sample tells the value up to which enough lie; numpy's own selection takes ten times as long.
    """
    sample = values[::_SAMPLE_STRIDE] if len(values) > count * _SAMPLE_STRIDE else values
    share = len(sample) / max(len(values), 1)
    seen = np.cumsum(np.bincount(sample[sample < FARTHEST]))
    level = int(np.searchsorted(seen, count * share * 1.25))
    while len(places := np.flatnonzero(values <= min(level, FARTHEST - 1))) < count and level < FARTHEST - 1:
        level = level + 2 if level < len(seen) else FARTHEST - 1
    if len(places) <= count:
        return places
    return np.sort(places[np.argpartition(values[places], count - 1)[:count]])


def estimates(
    question: SketchedQuestion, words: NDArray[np.uint64], scales: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Estimate the cosines of rows, but for a number that all share; `words`: (words, rows), float32 (rows,)."""
    rows = np.ascontiguousarray(words.T)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, count=len(question.rotated), bitorder="little")
    # The sign is 2 × bit - 1, so the sum over the signs is twice that over the set bits, less the sum of all numbers.
    over_set_bits = _products(question.rotated[np.newaxis], bits.astype(np.float32))[0]
    return (2 * over_set_bits - question.rotated.sum()) * scales


def _products(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply each row of `left` with each of `right`; shape (rows of left, rows of right)."""
    return np.asarray(numkong.cdist(left, right, metric="dot"), dtype=np.float32)


def _bits_of(rotated: NDArray[np.floating], words: int) -> NDArray[np.uint64]:
    packed = np.packbits(rotated > 0, axis=1, bitorder="little")
    padded = np.zeros((len(rotated), words * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


@lru_cache(maxsize=4)
def _rotation_of(dimensions: int) -> NDArray[np.float32]:
    """Return the same random rotation for the same number of dimensions, (dimensions, dimensions)."""
    random = np.random.default_rng(_SEED)
    return np.linalg.qr(random.standard_normal((dimensions, dimensions), dtype=np.float32))[0]
