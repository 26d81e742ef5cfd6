"""Vectors in memory: append-only buffers, read through immutable views, so that searches need no lock."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytiq.models.selection import Selection
from analytiq.models.vector import GenerationVectors
from analytiq.vector_stores.local.selecting import selected

GATHER_ROWS = 20_000
"""Up to so many rows of a filter are copied out and multiplied; above, all are multiplied and masked.

Measured at 384 dimensions: copying 50,000 rows takes 64 ms, scanning 100,000 takes 11 ms.
"""
COMPACT_SHARE = 0.3
"""Buffers are rebuilt once so large a share of their rows is dead."""
TIE_DECIMALS = 6
"""Cosines that agree so far are equal: the same vector's differ by 1e-7 with its place in the buffer."""


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of one generation: [start, stop) of the buffers."""

    generation_id: str
    document_id: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A chunk and its cosine to the question."""

    generation_id: str
    document_id: str
    chunk_index: int
    cosine: float


@dataclass(frozen=True, slots=True)
class View:
    """What is searchable at one epoch; never changes."""

    matrix: NDArray[np.float32]
    chunk_indexes: NDArray[np.int32]
    first_pages: NDArray[np.int32]
    last_pages: NDArray[np.int32]
    alive: NDArray[np.bool_]
    live_rows: int
    blocks: dict[str, _Block]
    """By generation id, live ones only."""
    block_starts: NDArray[np.int64]
    blocks_in_order: tuple[_Block, ...]
    document_ranks: NDArray[np.int64]
    """Of each block in order: the place of its document among all, by id."""
    of_document: dict[str, tuple[_Block, ...]]

    def count(self, selection: Selection | None) -> int:
        """How many live rows are selected."""
        rows = self._rows(selection)
        return self.live_rows if rows is None else len(rows)

    def nearest(self, query: NDArray[np.float32], *, limit: int, selection: Selection | None) -> list[ScoredRow]:
        """The rows with the largest cosine, best first, exactly; ties in order of document and chunk.

        `query` has shape (dimensions,), any length.
        """
        rows = self._rows(selection)
        if limit <= 0 or (rows is not None and not len(rows)) or not self.live_rows:
            return []
        direction = _normalised(query[np.newaxis, :])[0]
        if rows is None:
            scores = self.matrix @ direction
            scores[~self.alive] = -np.inf
            available = self.live_rows
        elif len(rows) <= GATHER_ROWS:
            scores = self.matrix[rows] @ direction
            available = len(rows)
        else:
            scores = (self.matrix @ direction)[rows]
            available = len(rows)
        scores = np.asarray(np.round(scores, TIE_DECIMALS), dtype=np.float32)
        places = _at_least_as_good_as_the_last(scores, min(limit, available))
        found = places if rows is None else rows[places]
        blocks = np.searchsorted(self.block_starts, found, side="right") - 1
        order = np.lexsort((self.chunk_indexes[found], self.document_ranks[blocks], -scores[places]))[:limit]
        return [self._scored(int(found[place]), float(scores[places[place]])) for place in order]

    def cosines(self, query: NDArray[np.float32], chunks: Collection[tuple[str, int]]) -> dict[tuple[str, int], float]:
        """(generation id, chunk index) → cosine, of those that are there."""
        direction = _normalised(query[np.newaxis, :])[0]
        found: dict[tuple[str, int], float] = {}
        for generation_id, chunk_index in chunks:
            block = self.blocks.get(generation_id)
            if block is None:
                continue
            offset = np.flatnonzero(self.chunk_indexes[block.start : block.stop] == chunk_index)
            if len(offset):
                cosine = float(self.matrix[block.start + int(offset[0])] @ direction)
                found[generation_id, chunk_index] = round(cosine, TIE_DECIMALS)
        return found

    def _rows(self, selection: Selection | None) -> NDArray[np.int64] | None:
        if selection is None:
            return None
        return np.flatnonzero(selected(selection, self) & self.alive)

    def _scored(self, row: int, cosine: float) -> ScoredRow:
        block = self.blocks_in_order[int(np.searchsorted(self.block_starts, row, side="right")) - 1]
        return ScoredRow(
            block.generation_id, block.document_id, int(self.chunk_indexes[row]), round(cosine, TIE_DECIMALS)
        )


class VectorMatrix:
    """The buffers of one knowledge base. One writer at a time; views stay valid after any change."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._matrix = np.zeros((0, dimensions), dtype=np.float32)
        self._chunk_indexes = np.zeros(0, dtype=np.int32)
        self._first_pages = np.zeros(0, dtype=np.int32)
        self._last_pages = np.zeros(0, dtype=np.int32)
        self._alive = np.zeros(0, dtype=np.bool_)
        self._used = 0
        self._blocks: dict[str, _Block] = {}

    @property
    def byte_size(self) -> int:
        """Bytes held by the buffers."""
        pages = self._first_pages.nbytes + self._last_pages.nbytes
        return self._matrix.nbytes + self._chunk_indexes.nbytes + pages + self._alive.nbytes

    @property
    def generation_ids(self) -> Collection[str]:
        """The generations that are in it."""
        return self._blocks.keys()

    def add(self, generations: Collection[GenerationVectors]) -> None:
        """Append generations that are not in it; one without rows is left out."""
        wanted = [item for item in generations if len(item.matrix) and item.generation_id not in self._blocks]
        self._reserve(sum(len(item.matrix) for item in wanted))
        for item in wanted:
            start, stop = self._used, self._used + len(item.matrix)
            order = np.argsort(item.chunk_indexes, kind="stable")
            self._matrix[start:stop] = _normalised(item.matrix[order])
            self._chunk_indexes[start:stop] = item.chunk_indexes[order]
            self._first_pages[start:stop] = item.first_pages[order]
            self._last_pages[start:stop] = item.last_pages[order]
            self._blocks[item.generation_id] = _Block(item.generation_id, item.document_id, start, stop)
            self._used = stop
        # A new array, not a larger buffer: `remove` replaces it, and a view may be reading the old one.
        added = np.ones(self._used - len(self._alive), dtype=np.bool_)
        self._alive = np.concatenate([self._alive, added])

    def remove(self, generation_ids: Collection[str]) -> None:
        """Take generations out; unknown ones are no error."""
        gone = [self._blocks.pop(identity) for identity in generation_ids if identity in self._blocks]
        if not gone:
            return
        alive = self._alive.copy()
        for block in gone:
            alive[block.start : block.stop] = False
        self._alive = alive
        if self._used and 1 - alive.sum() / self._used > COMPACT_SHARE:
            self._compact()

    def view(self) -> View:
        """What a search may read from now on, whatever is added or removed later."""
        blocks = sorted(self._blocks.values(), key=lambda block: block.start)
        of_document: dict[str, tuple[_Block, ...]] = {}
        for block in blocks:
            of_document[block.document_id] = (*of_document.get(block.document_id, ()), block)
        rank_of = {document_id: rank for rank, document_id in enumerate(sorted(of_document))}
        return View(
            matrix=self._matrix[: self._used],
            chunk_indexes=self._chunk_indexes[: self._used],
            first_pages=self._first_pages[: self._used],
            last_pages=self._last_pages[: self._used],
            alive=self._alive[: self._used],
            live_rows=sum(block.stop - block.start for block in blocks),
            blocks=dict(self._blocks),
            block_starts=np.asarray([block.start for block in blocks], dtype=np.int64),
            blocks_in_order=tuple(blocks),
            document_ranks=np.asarray([rank_of[block.document_id] for block in blocks], dtype=np.int64),
            of_document=of_document,
        )

    def _reserve(self, rows: int) -> None:
        needed = self._used + rows
        if needed <= len(self._matrix):
            return
        # The first load takes what it needs; later growth by half again, so that appending stays linear.
        capacity = needed if not self._used else max(needed, self._used + self._used // 2)
        matrix = np.empty((capacity, self._dimensions), dtype=np.float32)
        matrix[: self._used] = self._matrix[: self._used]
        self._matrix = matrix
        self._chunk_indexes = self._grown(self._chunk_indexes, capacity)
        self._first_pages = self._grown(self._first_pages, capacity)
        self._last_pages = self._grown(self._last_pages, capacity)

    def _grown(self, column: NDArray[np.int32], capacity: int) -> NDArray[np.int32]:
        grown = np.empty(capacity, dtype=np.int32)
        grown[: self._used] = column[: self._used]
        return grown

    def _compact(self) -> None:
        rows = np.flatnonzero(self._alive[: self._used])
        self._matrix = self._matrix[rows]
        self._chunk_indexes = self._chunk_indexes[rows]
        self._first_pages = self._first_pages[rows]
        self._last_pages = self._last_pages[rows]
        self._alive = np.ones(len(rows), dtype=np.bool_)
        self._used = len(rows)
        position = 0
        for block in sorted(self._blocks.values(), key=lambda block: block.start):
            length = block.stop - block.start
            self._blocks[block.generation_id] = _Block(
                block.generation_id, block.document_id, position, position + length
            )
            position += length


def _normalised(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32, copy=False)


def _at_least_as_good_as_the_last(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Places of the `count` largest scores, and of all that tie with the last of them, in no order."""
    if count >= len(scores):
        return np.arange(len(scores))
    # argpartition breaks ties at the border as it likes.
    border = scores[np.argpartition(-scores, count - 1)[:count]].min()
    return np.flatnonzero(scores >= border)
