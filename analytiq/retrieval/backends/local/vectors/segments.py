"""Rows in memory, in segments that never move: appending rows does not disturb running searches.

Rows are numbered from 0 over all segments. A segment is either allocated here and filled from its start, or mapped from
a file and full (`segment_file`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from analytiq.retrieval.backends.local.vectors.quantization import Codes
from analytiq.retrieval.backends.local.vectors.segment_file import SegmentFile
from analytiq.retrieval.backends.local.vectors.sketch import Sketches, allocate_sketches, words_of

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
    sketches: Sketches | None = None
    """Present in a knowledge base that is mapped from disk."""
    file: SegmentFile | None = None
    """The file from which all arrays but `blocks` are mapped."""

    @property
    def capacity(self) -> int:
        """The number of rows the segment can hold."""
        return len(self.vectors)

    @property
    def is_on_disk(self) -> bool:
        """True if searches leave vectors and codes on disk, except for candidates."""
        return self.file is not None and self.sketches is not None

    def file_bytes(self, rows: int) -> int:
        """Return the bytes of a file of the first rows."""
        words = 0 if self.sketches is None else len(self.sketches.words)
        return rows * (5 * self.vectors.shape[1] + 28 + (8 * words + 4 if words else 0))

    @property
    def byte_size(self) -> int:
        """The bytes of the arrays that searches need in memory."""
        sketches = self.sketches.byte_size if self.sketches else 0
        columns = [self.codes.steps, self.codes.errors, self.chunk_indexes, self.first_pages, self.last_pages]
        if not self.is_on_disk:
            columns += [self.vectors, self.codes.codes]
        return sketches + self.blocks.nbytes + sum(column.nbytes for column in columns)

    def stored(self, rows: int) -> tuple[NDArray[Any], ...]:
        """Return the first rows of the arrays in the order of a file.

        The widest elements come first, so that all are aligned; what only candidates need comes last.
        """
        codes = self.codes
        columns = (codes.steps, codes.errors, self.chunk_indexes, self.first_pages, self.last_pages)
        large = (self.vectors[:rows], codes.codes[:rows])
        if self.sketches is None:
            return (*(column[:rows] for column in columns), *large)
        words = np.ascontiguousarray(self.sketches.words[:, :rows])
        return (words, *(column[:rows] for column in columns), self.sketches.scales[:rows], *large)

    def copy_from(self, other: "Segment", source: slice, target: slice) -> None:
        """Write the rows `source` of another segment over the rows `target` of this one, except `blocks`."""
        self.vectors[target] = other.vectors[source]
        self.codes.codes[target] = other.codes.codes[source]
        self.codes.steps[target] = other.codes.steps[source]
        self.codes.errors[target] = other.codes.errors[source]
        self.chunk_indexes[target] = other.chunk_indexes[source]
        self.first_pages[target] = other.first_pages[source]
        self.last_pages[target] = other.last_pages[source]
        if self.sketches is not None and other.sketches is not None:
            self.sketches.words[:, target] = other.sketches.words[:, source]
            self.sketches.scales[target] = other.sketches.scales[source]


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

    @property
    def sketches(self) -> Sketches:
        """The sketches of these rows; only for a view with a sketcher."""
        sketches = self.segment.sketches
        assert sketches is not None  # noqa: S101  # every segment has some once there is a sketcher
        return Sketches(sketches.words[:, : self.rows], sketches.scales[: self.rows])


def allocate(capacity: int, dimensions: int, *, with_sketches: bool = False) -> Segment:
    """Allocate an empty segment."""
    return Segment(
        vectors=np.empty((capacity, dimensions), np.float32),
        codes=Codes(np.empty((capacity, dimensions), np.int8), np.empty(capacity), np.empty(capacity)),
        chunk_indexes=np.empty(capacity, np.int32),
        first_pages=np.empty(capacity, np.int32),
        last_pages=np.empty(capacity, np.int32),
        blocks=np.empty(capacity, np.int32),
        sketches=allocate_sketches(capacity, dimensions) if with_sketches else None,
    )


def segment_in(file: SegmentFile, rows: int, dimensions: int, *, with_sketches: bool) -> Segment:
    """Map the rows of a file.

    Raises:
        ValueError: the file has another length.
    """
    position = 0

    def column(kind: str, *shape: int) -> NDArray[Any]:
        nonlocal position
        found = np.frombuffer(file.content, kind, int(np.prod(shape)), position)
        position += found.nbytes
        return found.reshape(shape)

    words = column("<u8", words_of(dimensions), rows) if with_sketches else None
    steps, errors = column("<f8", rows), column("<f8", rows)
    chunk_indexes, first_pages, last_pages = column("<i4", rows), column("<i4", rows), column("<i4", rows)
    sketches = None if words is None else Sketches(words, column("<f4", rows))
    vectors_at = position
    vectors, codes_at = column("<f4", rows, dimensions), position
    codes = column("i1", rows, dimensions)
    if position != len(file.content):
        raise ValueError(f"{file.path.name} has {len(file.content)} bytes instead of {position}")
    if with_sketches:
        file.expect_candidates_behind(vectors_at, codes_at)
    return Segment(
        vectors=vectors,
        codes=Codes(codes, steps, errors),
        chunk_indexes=chunk_indexes,
        first_pages=first_pages,
        last_pages=last_pages,
        blocks=np.zeros(rows, np.int32),
        sketches=sketches,
        file=file,
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

    def gather_sketches(self) -> Sketches:
        """Copy the sketches of the rows, in their order; every segment has some."""
        found = allocate_sketches(self.count, self.runs[0][0].segment.vectors.shape[1])
        for part, places, numbers in self.runs:
            found.words[:, places] = np.take(part.sketches.words, numbers, axis=1)
            found.scales[places] = np.take(part.sketches.scales, numbers)
        return found

    def read_ahead(self, *, codes: bool) -> None:
        """Ask the kernel to read the codes or the vectors of the rows from disk, many at once."""
        for part, _, numbers in self.runs:
            segment = part.segment
            if segment.file is not None and segment.is_on_disk:
                width = segment.vectors.shape[1]
                segment.file.read_ahead(numbers, width if codes else 4 * width, codes=codes)


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
