"""From a sample of documents to all of them: pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 1.96
"""Standard errors to each side that hold the truth in 19 samples of 20."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A sum over all documents, and how far it may be off: 0 where all were read."""

    value: float
    error: float

    @property
    def low(self) -> int:
        """The least that it probably is."""
        return max(0, math.floor(self.value - self.error))

    @property
    def high(self) -> int:
        """The most that it probably is."""
        return math.ceil(self.value + self.error)


def sample_size(documents: int, characters: int, *, budget: int, most_documents: int, longest: int) -> int:
    """Return the number of documents to read: all, if they are few and short.

    `budget` are the characters to read in all, `longest` those of one document.
    """
    mean = max(1.0, min(characters / max(1, documents), longest))
    return max(1, min(documents, most_documents, int(budget / mean)))


def extrapolate(sample: Sequence[tuple[int, int]], *, documents: int, characters: int) -> Estimate:
    """From (characters, count) of what was read of each document to the count of all, by the ratio of the sums.

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
    # Of `documents` as long as those that were read: of long ones only the beginning was.
    alike = max(float(documents), characters / mean_read)
    return Estimate(value, CONFIDENCE * alike * math.sqrt(unread * residuals / len(sample)))
