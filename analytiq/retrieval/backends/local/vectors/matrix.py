"""The rows of one knowledge base and their single writer; searches read the views that it publishes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.graph import Graph
from analytiq.retrieval.backends.local.vectors.quantization import Codes, normalised, quantize
from analytiq.retrieval.backends.local.vectors.segment_file import SegmentFiles
from analytiq.retrieval.backends.local.vectors.segments import (
    SMALLEST_ROWS,
    Part,
    Segment,
    allocate,
    largest_segment,
    segment_in,
)
from analytiq.retrieval.backends.local.vectors.sketch import Sketcher, Sketches, allocate_sketches, mean_of
from analytiq.retrieval.backends.local.vectors.view import Block, View
from analytiq.storage.ids import new_id

COMPACT_SHARE = 0.3
"""Share of dead rows from which on the rows are rewritten."""
MEAN_ROWS = 50_000
"""Rows of the sample from which the mean of all is taken."""


class VectorMatrix:
    """Append-only rows and a mark for the live ones. One writer at a time; views stay valid after any change.

    Additions are invisible until `publish`, and `discard` takes them back. `numbering` identifies this numbering of
    rows: two matrices with the same numbering agree on every row that both have. With `files`, full segments are
    mapped from disk once the rows take more memory than `files` allows.
    """

    def __init__(self, dimensions: int, *, numbering: str | None = None, files: SegmentFiles | None = None) -> None:
        self.dimensions = dimensions
        self.numbering = numbering or new_id()
        self.files = files
        self.sketcher: Sketcher | None = None
        self.graph: Graph | None = None
        self._segments: list[Segment] = []
        self._starts: list[int] = []
        self._used = 0
        self._expected = 0
        self._settled = 0
        self._alive = np.zeros(0, dtype=np.bool_)
        self._blocks: list[Block] = []
        self._published_blocks = 0
        self._of_document: dict[str, tuple[Block, ...]] = {}
        self._of_generation: dict[str, tuple[Block, ...]] = {}
        self._live: set[str] = set()

    @property
    def byte_size(self) -> int:
        """The bytes of the rows in memory."""
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
            self._append(_encoded(wanted, self.sketcher), owners)
            self.move_to_disk()

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
            sketcher=self.sketcher,
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
        self._settled = min(self._settled, len(self._segments))
        if self._segments and self._used < self._starts[-1] + self._segments[-1].capacity:
            self._make_writable(self._segments[-1])

    def compacted(self, view: View, *, is_wanted: Callable[[], bool] = lambda: True) -> "VectorMatrix | None":
        """Return a published, renumbered copy of a view's live rows alone, of as many as `is_wanted` allows.

        This matrix stays unchanged, and may change meanwhile. None if the copy was no longer wanted.
        """
        smaller = VectorMatrix(self.dimensions, files=self.files)
        smaller.expect(view.live_rows)
        if self.files is not None and view.live_rows * _row_bytes(self.dimensions) > self.files.from_bytes:
            smaller.sketcher = self.sketcher
        for block, part in _live_blocks(view, 0):
            if not is_wanted():
                return None
            smaller._copy(block, part)
        smaller.publish()
        return smaller

    def catch_up(self, other: "VectorMatrix", since: View) -> View:
        """Repeat the changes of the matrix of which this one is a copy, since the copied view."""
        for block, part in _live_blocks(other.view(), since.block_count):
            self._copy(block, part)
        return self.publish(self._live.difference(other.generation_ids))

    def move_to_disk(self) -> None:
        """Map the full segments from files, if the rows take too much memory; without room, they stay in memory."""
        if self.files is None or (self.sketcher is None and self.byte_size <= self.files.from_bytes):
            return
        if self.sketcher is None:
            self._begin_sketches()
        while self._settled < len(self._segments):
            segment = self._segments[self._settled]
            if self._starts[self._settled] + segment.capacity > self._used:
                return
            if not segment.is_on_disk and (file := self.files.put(segment.stored(segment.capacity))) is not None:
                mapped = segment_in(file, segment.capacity, self.dimensions, with_sketches=True)
                self._segments[self._settled] = replace(mapped, blocks=segment.blocks)
            self._settled += 1

    def adopt(self, segments: Iterable[Segment], blocks: Iterable[Block], sketcher: Sketcher | None) -> View:
        """Load full segments and the live blocks of a snapshot, in order, into this empty matrix."""
        self.sketcher = sketcher
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
                segment.copy_from(rows, source, target)
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
        self._segments.append(allocate(capacity, self.dimensions, with_sketches=self.sketcher is not None))
        self._starts.append(self._used)
        return self._segments[-1], self._starts[-1]

    def _copy(self, block: Block, part: Part) -> None:
        rows = slice(block.start - part.start, block.stop - part.start)
        owner = (block.generation_id, block.document_id, block.stop - block.start)
        self._append(_sliced(part.segment, rows), [owner])
        self.move_to_disk()

    def _begin_sketches(self) -> None:
        parts = [
            segment.vectors[: min(segment.capacity, self._used - start)]
            for segment, start in zip(self._segments, self._starts, strict=True)
        ]
        stride = max(1, self._used // MEAN_ROWS)
        sketcher = Sketcher(mean_of([vectors[::stride] for vectors in parts]))
        for place, vectors in enumerate(parts):
            segment = self._segments[place]
            sketches = allocate_sketches(segment.capacity, self.dimensions)
            sketcher.sketch(vectors, sketches)
            self._segments[place] = replace(segment, sketches=sketches, file=None)
        self.graph = None
        self.sketcher = sketcher

    def _make_writable(self, last: Segment) -> None:
        """Bring the last segment back to memory if it is mapped, because its later rows have been discarded."""
        if last.file is not None:
            copy = allocate(last.capacity, self.dimensions, with_sketches=last.sketches is not None)
            kept = slice(0, self._used - self._starts[-1])
            copy.copy_from(last, kept, kept)
            copy.blocks[kept] = last.blocks[kept]
            self._segments[-1] = copy
        self._settled = min(self._settled, len(self._segments) - 1)


def _encoded(parts: Sequence[GenerationVectors], sketcher: Sketcher | None) -> Segment:
    vectors = normalised(np.concatenate([part.matrix for part in parts]))
    count = len(vectors)
    codes = Codes(np.empty(vectors.shape, np.int8), np.empty(count), np.empty(count))
    quantize(vectors, codes)
    sketches = None
    if sketcher is not None:
        sketches = allocate_sketches(*vectors.shape)
        sketcher.sketch(vectors, sketches)
    return Segment(
        vectors=vectors,
        codes=codes,
        chunk_indexes=_column([part.chunk_indexes for part in parts]),
        first_pages=_column([part.first_pages for part in parts]),
        last_pages=_column([part.last_pages for part in parts]),
        blocks=np.zeros(count, np.int32),
        sketches=sketches,
    )


def _column(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts)


def _row_bytes(dimensions: int) -> int:
    """Return the bytes of a row in memory: float32 and int8, and four to eight of each other column."""
    return 5 * dimensions + 32


def _live_blocks(view: View, start: int) -> Iterable[tuple[Block, Part]]:
    """Yield the live blocks of a view from number `start` on, each with its part."""
    parts = iter(view.parts)
    part = next(parts, None)
    for number in range(start, view.block_count):
        block = view.blocks[number]
        while part is not None and part.stop <= block.start:
            part = next(parts, None)
        if part is not None and view.alive[block.start]:
            yield block, part


def _sliced(segment: Segment, rows: slice) -> Segment:
    codes, sketches = segment.codes, segment.sketches
    return Segment(
        vectors=segment.vectors[rows],
        codes=Codes(codes.codes[rows], codes.steps[rows], codes.errors[rows]),
        chunk_indexes=segment.chunk_indexes[rows],
        first_pages=segment.first_pages[rows],
        last_pages=segment.last_pages[rows],
        blocks=segment.blocks[rows],
        sketches=None if sketches is None else Sketches(sketches.words[:, rows], sketches.scales[rows]),
    )
