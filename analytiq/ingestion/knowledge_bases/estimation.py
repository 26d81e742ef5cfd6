"""Extrapolation from a sample of documents to all of them. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 1.96
"""Standard errors on each side that contain the true value in 19 of 20 samples."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A sum over all documents with its error, which is 0 if all were read."""

    value: float
    error: float

    @property
    def low(self) -> int:
        """The lower bound of the confidence interval."""
        return max(0, math.floor(self.value - self.error))

    @property
    def high(self) -> int:
        """The upper bound of the confidence interval."""
        return math.ceil(self.value + self.error)


def sample_size(documents: int, characters: int, *, budget: int, most_documents: int, longest: int) -> int:
    """Return the number of documents to read: all, if they are few and short.

    `budget`: characters to read in all; `longest`: characters of one document.
    """
    mean = max(1.0, min(characters / max(1, documents), longest))
    return max(1, min(documents, most_documents, int(budget / mean)))


def extrapolate(sample: Sequence[tuple[int, int]], *, documents: int, characters: int) -> Estimate:
    """Extrapolate from (characters, count) of the documents read to the count of all, by the ratio of sums.

    The error is that of a ratio estimator, with the correction for a finite population, in characters; a single
    document says nothing about others, so its error is as large as its value.
    """
    read = sum(size for size, _ in sample)
    if not read:
        return Estimate(0.0, 0.0)
    ratio = sum(count for _, count in sample) / read
    value = ratio * characters
    if read >= characters:
        return Estimate(float(sum(count for _, count in sample)), 0.0)
    if len(sample) < 2:
        return Estimate(value, value)
    residuals = sum((count - ratio * size) ** 2 for size, count in sample) / (len(sample) - 1)
    unread = max(0.0, 1 - read / characters)
    mean_read = read / len(sample)
    # Of `documents` as long as the parts read: long documents were read in part.
    alike = max(float(documents), characters / mean_read)
    return Estimate(value, CONFIDENCE * alike * math.sqrt(unread * residuals / len(sample)))
