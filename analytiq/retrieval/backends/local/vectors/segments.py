"""Rows in memory, in segments that never move: appending rows does not disturb running searches.

Rows are numbered from 0 over all segments. A segment is either allocated here and filled from its start, or mapped from
a snapshot's file and full.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analytiq.retrieval.backends.local.vectors.quantization import Codes

_Scalar = TypeVar("_Scalar", bound=np.generic)

SEGMENT_BYTES = 64 * 1024 * 1024
"""Bytes of float32 in the largest segment: large enough for fast scans, small enough to be rewritten to disk."""
SMALLEST_ROWS = 256


@dataclass(frozen=True, slots=True)
class Segment:
    """Arrays of `capacity` rows each. `vectors`: float32 (capacity, dimensions), of length 1 or 0."""

    vectors: NDArray[np.float32]
    codes: Codes
    chunk_indexes: NDArray[np.int32]
    first_pages: NDArray[np.int32]
    last_pages: NDArray[np.int32]
    blocks: NDArray[np.int32]
    """For each row, the number of its block."""

    @property
    def capacity(self) -> int:
        """The number of rows the segment can hold."""
        return len(self.vectors)

    @property
    def stored(self) -> tuple[NDArray[Any], ...]:
        """The arrays in the order of a snapshot's file: the widest elements first, so that all are aligned."""
        pages = (self.chunk_indexes, self.first_pages, self.last_pages)
        return (self.codes.steps, self.codes.errors, self.vectors, *pages, self.codes.codes)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays of the segment."""
        return (*self.stored, self.blocks)

    @property
    def byte_size(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True, slots=True)
class Part:
    """The first `rows` rows of a segment, numbered from `start`."""

    segment: Segment
    start: int
    rows: int

    @property
    def stop(self) -> int:
        """One more than the number of the last row."""
        return self.start + self.rows

    @property
    def codes(self) -> Codes:
        """The codes of these rows."""
        codes = self.segment.codes
        return Codes(codes.codes[: self.rows], codes.steps[: self.rows], codes.errors[: self.rows])


def allocate(capacity: int, dimensions: int) -> Segment:
    """Allocate an empty segment."""
    return Segment(
        vectors=np.empty((capacity, dimensions), np.float32),
        codes=Codes(np.empty((capacity, dimensions), np.int8), np.empty(capacity), np.empty(capacity)),
        chunk_indexes=np.empty(capacity, np.int32),
        first_pages=np.empty(capacity, np.int32),
        last_pages=np.empty(capacity, np.int32),
        blocks=np.empty(capacity, np.int32),
    )


def largest_segment(dimensions: int) -> int:
    """Return the number of rows of a segment of SEGMENT_BYTES."""
    return max(SMALLEST_ROWS, SEGMENT_BYTES // (4 * dimensions))


@dataclass(frozen=True, slots=True)
class Places:
    """The places of some rows: for each part that has any, their indexes in the selection and in the part."""

    count: int
    runs: tuple[tuple[Part, slice | NDArray[np.int64], NDArray[np.int64]], ...]

    def gather(self, column: Callable[[Segment], NDArray[_Scalar]]) -> NDArray[_Scalar]:
        """Copy a column of the rows, in their order."""
        if len(self.runs) == 1:
            part, _, numbers = self.runs[0]
            return np.take(column(part.segment), numbers, axis=0)  # five times as fast as an index in brackets
        first = column(self.runs[0][0].segment)
        found = np.empty((self.count, *first.shape[1:]), first.dtype)
        for part, places, numbers in self.runs:
            found[places] = np.take(column(part.segment), numbers, axis=0)
        return found


def places_of(parts: Sequence[Part], rows: NDArray[np.int64]) -> Places:
    """Locate the rows; fastest for rows in order."""
    if len(parts) == 1 or not len(rows):
        return Places(len(rows), ((parts[0], slice(0, len(rows)), rows - parts[0].start),))
    runs: list[tuple[Part, slice | NDArray[np.int64], NDArray[np.int64]]] = []
    is_ordered = bool((rows[1:] >= rows[:-1]).all())
    edges = [int(np.searchsorted(rows, part.start)) for part in parts] if is_ordered else []
    for number, part in enumerate(parts):
        if is_ordered:
            places: slice | NDArray[np.int64] = slice(edges[number], (*edges[1:], len(rows))[number])
        else:
            places = np.flatnonzero((rows >= part.start) & (rows < part.stop))
        numbers = rows[places]
        if len(numbers):
            runs.append((part, places, numbers - part.start))
    return Places(len(rows), tuple(runs))
