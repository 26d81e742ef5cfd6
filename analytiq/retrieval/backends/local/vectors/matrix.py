"""The rows of one knowledge base and their single writer; searches read the views that it publishes."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.graph import Graph
from analytiq.retrieval.backends.local.vectors.quantization import Codes, normalised, quantize
from analytiq.retrieval.backends.local.vectors.segments import SMALLEST_ROWS, Part, Segment, allocate, largest_segment
from analytiq.retrieval.backends.local.vectors.view import Block, View
from analytiq.storage.ids import new_id

COMPACT_SHARE = 0.3
"""Share of dead rows from which on the rows are rewritten."""


class VectorMatrix:
    """Append-only rows and a mark for the live ones. One writer at a time; views stay valid after any change.

    Additions are invisible until `publish`, and `discard` takes them back. `numbering` identifies this numbering of
    rows: two matrices with the same numbering agree on every row that both have.
    """

    def __init__(self, dimensions: int, *, numbering: str | None = None) -> None:
        self.dimensions = dimensions
        self.numbering = numbering or new_id()
        self.graph: Graph | None = None
        self._segments: list[Segment] = []
        self._starts: list[int] = []
        self._used = 0
        self._expected = 0
        self._alive = np.zeros(0, dtype=np.bool_)
        self._blocks: list[Block] = []
        self._published_blocks = 0
        self._of_document: dict[str, tuple[Block, ...]] = {}
        self._of_generation: dict[str, tuple[Block, ...]] = {}
        self._live: set[str] = set()

    @property
    def byte_size(self) -> int:
        """The bytes of the rows."""
        return self._alive.nbytes + sum(segment.byte_size for segment in list(self._segments))

    @property
    def rows(self) -> int:
        """The number of published rows, dead ones included."""
        return len(self._alive)

    @property
    def generation_ids(self) -> Collection[str]:
        """The live published generations."""
        return self._live

    @property
    def is_sparse(self) -> bool:
        """True if enough rows are dead for a rewrite to pay."""
        return bool(self.rows) and 1 - self._alive.sum() / self.rows > COMPACT_SHARE

    def expect(self, rows: int) -> None:
        """Reserve room for a number of rows, so that they lie in few segments."""
        self._expected = self._used + rows

    def add(self, parts: Sequence[GenerationVectors]) -> None:
        """Append generations, or parts of them, not yet live; vectors of other dimensions are skipped."""
        wanted = [
            part
            for part in parts
            if len(part.matrix) and part.matrix.shape[1] == self.dimensions and part.generation_id not in self._live
        ]
        if wanted:
            owners = [(part.generation_id, part.document_id, len(part.matrix)) for part in wanted]
            self._append(_encoded(wanted), owners)

    def publish(self, removed: Collection[str] = ()) -> View:
        """Publish the additions and removals to later searches.

        Unknown generations are ignored.
        """
        alive = np.concatenate([self._alive, np.ones(self._used - len(self._alive), dtype=np.bool_)])
        added = {block.generation_id for block in self._blocks[self._published_blocks :]}
        for generation_id in removed:
            if generation_id in self._live or generation_id in added:
                for block in self._of_generation[generation_id]:
                    alive[block.start : block.stop] = False
        self._live |= added
        self._live.difference_update(removed)
        self._alive = alive  # a new array: views of the past keep theirs
        self._published_blocks = len(self._blocks)
        return self.view()

    def view(self) -> View:
        """Return the last published view, with the graph if there is one."""
        parts = [
            Part(segment, start, min(segment.capacity, self.rows - start))
            for segment, start in zip(self._segments, self._starts, strict=True)
            if start < self.rows
        ]
        return View(
            parts=tuple(parts),
            alive=self._alive,
            live_rows=int(self._alive.sum()),
            blocks=self._blocks,
            block_count=self._published_blocks,
            blocks_of_document=self._of_document,
            blocks_of_generation=self._of_generation,
            graph=self.graph,
        )

    def rows_of(self, generation_id: str) -> int:
        """Count the rows of a generation."""
        return sum(block.stop - block.start for block in self._of_generation.get(generation_id, ()))

    def discard(self) -> None:
        """Drop the additions since the last `publish`."""
        for block in reversed(self._blocks[self._published_blocks :]):
            for index, key in ((self._of_document, block.document_id), (self._of_generation, block.generation_id)):
                index[key] = index[key][:-1]
        del self._blocks[self._published_blocks :]
        self._used = len(self._alive)
        while self._starts and self._starts[-1] >= self._used:
            self._starts.pop()
            self._segments.pop()

    def compacted(self) -> "VectorMatrix":
        """Return a published, renumbered copy of the live rows alone; this matrix stays unchanged."""
        smaller = VectorMatrix(self.dimensions)
        smaller.expect(int(self._alive.sum()))
        parts = iter(self.view().parts)
        part = next(parts, None)
        for block in self._blocks[: self._published_blocks]:
            while part is not None and part.stop <= block.start:
                part = next(parts, None)
            if part is not None and self._alive[block.start]:
                rows = slice(block.start - part.start, block.stop - part.start)
                owner = (block.generation_id, block.document_id, block.stop - block.start)
                smaller._append(_sliced(part.segment, rows), [owner])
        smaller.publish()
        return smaller

    def adopt(self, segments: Iterable[Segment], blocks: Iterable[Block]) -> View:
        """Load full segments and the live blocks of a snapshot, in order, into this empty matrix."""
        for segment in segments:
            self._segments.append(segment)
            self._starts.append(self._used)
            self._used += segment.capacity
        self._alive = np.zeros(self._used, dtype=np.bool_)
        owner = 0
        for number, block in enumerate(blocks):
            while block.start >= self._starts[owner] + self._segments[owner].capacity:
                owner += 1
            start = self._starts[owner]
            self._segments[owner].blocks[block.start - start : block.stop - start] = number
            self._note(block)
            self._alive[block.start : block.stop] = True
            self._live.add(block.generation_id)
        self._published_blocks = len(self._blocks)
        return self.view()

    def _append(self, rows: Segment, owners: Iterable[tuple[str, str, int]]) -> None:
        """Copy rows to the end; `owners`: generation, document and number of rows, in their order."""
        position = 0
        for generation_id, document_id, count in owners:
            end = position + count
            while position < end:
                segment, start = self._room(end - position)
                into = self._used - start
                taken = min(end - position, segment.capacity - into)
                source, target = slice(position, position + taken), slice(into, into + taken)
                for column, values in zip(segment.arrays, rows.arrays, strict=True):
                    column[target] = values[source]
                segment.blocks[target] = len(self._blocks)
                self._note(Block(generation_id, document_id, self._used, self._used + taken))
                self._used += taken
                position += taken

    def _note(self, block: Block) -> None:
        self._blocks.append(block)
        for index, key in ((self._of_document, block.document_id), (self._of_generation, block.generation_id)):
            index[key] = (*index.get(key, ()), block)

    def _room(self, rows: int) -> tuple[Segment, int]:
        """Return a segment with free rows, and the number of its first row."""
        if self._segments and self._used - self._starts[-1] < self._segments[-1].capacity:
            return self._segments[-1], self._starts[-1]
        # By half again of what there is: many small additions lie in few segments, and little is kept unused.
        growth = self._expected - self._used if self._expected > self._used else max(self._used // 2, SMALLEST_ROWS)
        capacity = min(max(rows, growth), largest_segment(self.dimensions))
        self._segments.append(allocate(capacity, self.dimensions))
        self._starts.append(self._used)
        return self._segments[-1], self._starts[-1]


def _encoded(parts: Sequence[GenerationVectors]) -> Segment:
    vectors = normalised(np.concatenate([part.matrix for part in parts]))
    count = len(vectors)
    codes = Codes(np.empty(vectors.shape, np.int8), np.empty(count), np.empty(count))
    quantize(vectors, codes)
    return Segment(
        vectors=vectors,
        codes=codes,
        chunk_indexes=_column([part.chunk_indexes for part in parts]),
        first_pages=_column([part.first_pages for part in parts]),
        last_pages=_column([part.last_pages for part in parts]),
        blocks=np.zeros(count, np.int32),
    )


def _column(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts)


def _sliced(segment: Segment, rows: slice) -> Segment:
    codes = segment.codes
    return Segment(
        vectors=segment.vectors[rows],
        codes=Codes(codes.codes[rows], codes.steps[rows], codes.errors[rows]),
        chunk_indexes=segment.chunk_indexes[rows],
        first_pages=segment.first_pages[rows],
        last_pages=segment.last_pages[rows],
        blocks=segment.blocks[rows],
    )
