"""The vectors at one epoch: immutable, so that searches need no lock and see each commit whole or not at all."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytiq.retrieval.backends.local.vectors.graph import Graph
from analytiq.retrieval.backends.local.vectors.quantization import Codes, Question, at_most, cosines, question_of
from analytiq.retrieval.backends.local.vectors.segments import Part, places_of
from analytiq.retrieval.backends.local.vectors.sketch import (
    FARTHEST,
    SketchedQuestion,
    Sketcher,
    distances,
    estimates,
    smallest,
)
from analytiq.retrieval.filters.compilers.local_vectors import selected
from analytiq.retrieval.filters.selection import DocumentSet, Selection

TIE_DECIMALS = 6
"""Decimals up to which cosines count as equal."""
_SLACK = 10.0**-TIE_DECIMALS

EXACT_CELLS = 40_000
"""Up to this number of rows times dimensions (100 rows of 384), vectors are read in float32 without codes."""
GATHER_SHARE = 0.15
"""Up to this share of all rows, the codes of a filter's rows are copied out; beyond it, all are read.

Measured at 100,000 rows of 384 dimensions: see docs/reference/benchmarks.md, "The local vector store".
"""
GRAPH_CANDIDATES = 256
GRAPH_CANDIDATES_AT_MOST = 1024
GRAPH_CANDIDATES_A_ROW = 20
"""Candidates that pass the filter, requested for each of the first GRAPH_SURE_ROWS wanted rows.

Measured at 500,000 rows: if half of them pass, 256 candidates for ten rows have a recall of 0.988, and if a tenth
passes, 512 have 0.982; so filters of a tenth are left to the scan.
"""
GRAPH_SURE_ROWS = 10
GRAPH_CANDIDATES_A_LATER_ROW = 5
"""Candidates requested for each wanted row, if these are more.

Measured at 200,000 rows: of the hundred rows that a hybrid search requests, 512 candidates have all of the first ten,
and 0.997 of all, in 1.5 ms; the scan takes 4.6.
"""
GRAPH_TAIL_ROWS = 50_000
"""Most rows outside of the graph that are scanned beside it."""
SKETCHED_ROWS = 4000
SKETCHED_ROWS_A_ROW = 80
"""Rows whose cosine is estimated, at least and for each wanted row: the nearest by differing bits."""
READ_ROWS = 384
READ_ROWS_A_ROW = 12
"""Rows whose codes are read from disk, at least and for each wanted row: the nearest by estimate.

Measured at 5,000,000 rows of 384: recall@10 0.997 (0.983 with 2,000 and 256), and of the hundred rows that a hybrid
search requests 0.971; see docs/reference/benchmarks.md, "Vectors mapped from disk".
"""
SKETCHED_DIMENSIONS = 384
"""Sketches of fewer dimensions say less: in proportion, more rows are estimated and read."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows `start` to `stop` of one segment: a generation, or a part of one."""

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


_Scored = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Rows and their cosines."""


@dataclass(frozen=True, slots=True)
class View:
    """A view whose `blocks` and mappings may grow while it lives; later rows lie behind its last row."""

    parts: tuple[Part, ...]
    alive: NDArray[np.bool_]
    live_rows: int
    blocks: Sequence[Block]
    block_count: int
    """The number of blocks in this view: the first ones."""
    blocks_of_document: Mapping[str, Sequence[Block]]
    blocks_of_generation: Mapping[str, Sequence[Block]]
    graph: Graph | None
    sketcher: Sketcher | None = None
    """Present if the vectors are mapped from disk."""
    resolved: list[tuple[Selection, NDArray[np.int64]]] = field(default_factory=list, compare=False)
    """The last selection with its rows: a search uses it several times, and the next one often has the same filter."""

    @property
    def rows(self) -> int:
        """The number of rows, dead ones included."""
        return len(self.alive)

    @property
    def dimensions(self) -> int:
        """The dimensions of the vectors; 0 without vectors."""
        return self.parts[0].segment.vectors.shape[1] if self.parts else 0

    def count(self, selection: Selection | None) -> int:
        """Count the live selected rows."""
        rows = self.selected_rows(selection)
        return self.live_rows if rows is None else len(rows)

    def nearest(self, query: NDArray[np.float32], *, limit: int, selection: Selection | None) -> list[ScoredRow]:
        """Return the rows with the largest cosine, best first; ties in order of document and chunk.

        The result is exact unless the graph or sketches answer. `query` has shape (dimensions,), any length.
        """
        rows = self.selected_rows(selection)
        available = self.live_rows if rows is None else len(rows)
        limit = min(limit, available)
        if limit <= 0:
            return []
        question = question_of(query)
        if self.sketcher is not None:
            found = self._by_scan(question, self._candidates(self.sketcher, question, rows, limit), limit)
        elif (by_graph := self._by_graph(question, rows, available, limit)) is not None:
            found = by_graph
        else:
            found = self._by_scan(question, rows, limit)
        return self._ordered(*found, limit)

    def cosines(self, query: NDArray[np.float32], chunks: Collection[tuple[str, int]]) -> dict[tuple[str, int], float]:
        """Map (generation id, chunk index) to the cosine, for the chunks present."""
        found = {chunk: row for chunk in chunks if (row := self._row_of(*chunk)) is not None}
        if not found:
            return {}
        scores = self.score(question_of(query), np.fromiter(found.values(), np.int64, len(found)))
        return {chunk: round(float(score), TIE_DECIMALS) for chunk, score in zip(found, scores, strict=True)}

    def score(self, question: Question, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the exact cosines of rows, to TIE_DECIMALS; fastest for rows in order."""
        places = places_of(self.parts, rows)
        places.read_ahead(codes=False)
        vectors = places.gather(lambda segment: segment.vectors)
        return np.round(cosines(question, vectors), TIE_DECIMALS)

    def selected_rows(self, selection: Selection | None) -> NDArray[np.int64] | None:
        """Return the live rows of a selection, in order; None for all."""
        if selection is None:
            return None
        if not self.rows:
            return np.zeros(0, np.int64)
        for resolved, rows in tuple(self.resolved):
            if resolved is selection or resolved == selection:
                return rows
        if isinstance(selection, DocumentSet):
            rows = self._rows_of(selection.document_ids)
        else:
            rows = np.flatnonzero(selected(selection, self) & self.alive)
        self.resolved[:] = [(selection, rows)]
        return rows

    def _rows_of(self, document_ids: Collection[str]) -> NDArray[np.int64]:
        """Return the live rows of documents, in order, without reading the rows of other documents."""
        spans = sorted(span for document_id in document_ids for span in self.spans_of(document_id))
        if not spans:
            return np.zeros(0, np.int64)
        starts, stops = np.asarray(spans, dtype=np.int64).T
        lengths = stops - starts
        # A run of ones that jumps to the next start wherever a span ends.
        steps = np.ones(int(lengths.sum()), dtype=np.int64)
        steps[0] = starts[0]
        steps[np.cumsum(lengths)[:-1]] = starts[1:] - stops[:-1] + 1
        rows = np.cumsum(steps)
        return rows[self.alive[rows]]

    def spans_of(self, document_id: str) -> list[tuple[int, int]]:
        """Return the spans of a document's rows, from start to stop, dead ones included."""
        blocks = self.blocks_of_document.get(document_id, ())
        return [(block.start, block.stop) for block in blocks if block.stop <= self.rows]

    @property
    def chunk_indexes(self) -> NDArray[np.int32]:
        """The index of each row's chunk."""
        return np.concatenate([part.segment.chunk_indexes[: part.rows] for part in self.parts])

    @property
    def first_pages(self) -> NDArray[np.int32]:
        """The first page of each row's chunk."""
        return np.concatenate([part.segment.first_pages[: part.rows] for part in self.parts])

    @property
    def last_pages(self) -> NDArray[np.int32]:
        """The last page of each row's chunk."""
        return np.concatenate([part.segment.last_pages[: part.rows] for part in self.parts])

    def _candidates(
        self, sketcher: Sketcher, question: Question, rows: NDArray[np.int64] | None, limit: int
    ) -> NDArray[np.int64]:
        """Return the rows that may be among the best, in order, by their sketches, without a read from disk."""
        share = max(1.0, SKETCHED_DIMENSIONS / self.dimensions)
        count = int(share * max(READ_ROWS, READ_ROWS_A_ROW * limit))
        if rows is not None and len(rows) <= count:
            return rows
        asked = sketcher.question_of(question.direction)
        estimated_rows = int(share * max(SKETCHED_ROWS, SKETCHED_ROWS_A_ROW * limit))
        nearest = smallest(self._distances(asked, rows), estimated_rows)
        near = nearest if rows is None else rows[nearest]
        if len(near) <= count:
            return near
        sketches = places_of(self.parts, near).gather_sketches()
        estimated = estimates(asked, sketches.words, sketches.scales)
        return np.sort(near[np.argpartition(estimated, -count)[-count:]])

    def _distances(self, asked: SketchedQuestion, rows: NDArray[np.int64] | None) -> NDArray[np.uint16]:
        """Count the bits that differ from the question's: of rows, or of all in order, FARTHEST for dead rows."""
        if rows is not None and len(rows) <= GATHER_SHARE * self.rows:
            return distances(asked, places_of(self.parts, rows).gather_sketches().words)
        found = np.concatenate([distances(asked, part.sketches.words) for part in self.parts])
        if rows is not None:
            return found[rows]
        if self.live_rows < self.rows:
            np.copyto(found, FARTHEST, where=~self.alive)
        return found

    def _by_graph(
        self, question: Question, rows: NDArray[np.int64] | None, available: int, limit: int
    ) -> _Scored | None:
        """Search by the graph; None if a scan is needed, or is as fast.

        The nearest selected rows are the selected ones of the nearest rows. The graph is sure of the nearer half of its
        candidates only; so the answer counts if that half has enough.
        """
        if self.graph is None or self.rows - (known := min(self.graph.rows, self.rows)) > GRAPH_TAIL_ROWS:
            return None
        needed = max(GRAPH_CANDIDATES_A_ROW * min(limit, GRAPH_SURE_ROWS), GRAPH_CANDIDATES_A_LATER_ROW * limit)
        count = GRAPH_CANDIDATES
        while count * available < needed * self.rows:
            count *= 2
        if count > GRAPH_CANDIDATES_AT_MOST:
            return None
        candidates = self.graph.candidates(question, count)
        passes = candidates < known
        passes[passes] = self._is_allowed(candidates[passes], rows)
        if passes[: count // 2].sum() < limit:
            return None
        near = np.sort(candidates[passes])
        tail = self._tail(question, known, rows, limit)
        found = np.concatenate([near, tail])
        scores = self.score(question, found)
        least = float(np.partition(scores, -limit)[-limit])
        return None if self._has_lost_its_way(self.graph, question, rows, found, least) else (found, scores)

    def _has_lost_its_way(
        self, graph: Graph, question: Question, rows: NDArray[np.int64] | None, found: NDArray[np.int64], least: float
    ) -> bool:
        """Return True if the graph missed a row of its sample that is nearer than the last counted one."""
        sampled = graph.sampled(question, least + _SLACK)
        sampled = sampled[sampled < self.rows]
        sampled = sampled[self._is_allowed(sampled, rows)]
        sampled = sampled[~np.isin(sampled, found)]
        return bool(len(sampled)) and bool(self.score(question, sampled).max() > least)

    def _tail(self, question: Question, start: int, rows: NDArray[np.int64] | None, limit: int) -> NDArray[np.int64]:
        """Return the nearest rows from `start` on."""
        later = start + np.flatnonzero(self.alive[start:]) if rows is None else rows[np.searchsorted(rows, start) :]
        return self._by_scan(question, later, min(limit, len(later)))[0] if len(later) else later

    def _is_allowed(self, candidates: NDArray[np.int64], rows: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        if rows is None:
            return self.alive[candidates]
        places = np.minimum(np.searchsorted(rows, candidates), len(rows) - 1)
        return rows[places] == candidates

    def _by_scan(self, question: Question, rows: NDArray[np.int64] | None, limit: int) -> _Scored:
        """Return every row that may be among the best, exactly (see `quantization`)."""
        chosen = self.rows if rows is None else len(rows)
        if chosen * self.dimensions <= EXACT_CELLS or limit == chosen:
            found = np.flatnonzero(self.alive) if rows is None else rows
            return found, self.score(question, found)
        bounds, numbers = self._bounds(question, rows)
        # The exact cosine of any `limit` rows says what a row must reach; that of good ones says it well.
        places = np.sort(np.argpartition(bounds, -limit)[-limit:])
        least = self.score(question, places if numbers is None else numbers[places]).min() - _SLACK
        places = np.flatnonzero(bounds >= least)
        found = places if numbers is None else numbers[places]
        return found, self.score(question, found)

    def _bounds(
        self, question: Question, rows: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Return upper bounds of the cosines and the rows' numbers; None for all in order, -inf for dead rows."""
        if rows is not None and (self.sketcher is not None or len(rows) <= GATHER_SHARE * self.rows):
            places = places_of(self.parts, rows)
            places.read_ahead(codes=True)
            codes = Codes(
                places.gather(lambda segment: segment.codes.codes),
                places.gather(lambda segment: segment.codes.steps),
                places.gather(lambda segment: segment.codes.errors),
            )
            return at_most(question, codes), rows
        bounds = np.concatenate([at_most(question, part.codes) for part in self.parts])
        if rows is not None:
            return bounds[rows], rows
        if self.live_rows < self.rows:
            np.copyto(bounds, -np.inf, where=~self.alive)
        return bounds, None

    def _ordered(self, rows: NDArray[np.int64], scores: NDArray[np.float64], limit: int) -> list[ScoredRow]:
        if len(rows) > limit:
            is_kept = scores >= np.partition(scores, -limit)[-limit]
            rows, scores = rows[is_kept], scores[is_kept]
        places = places_of(self.parts, rows)
        numbers = places.gather(lambda segment: segment.blocks)
        chunk_indexes = places.gather(lambda segment: segment.chunk_indexes)
        distinct, owners = np.unique(numbers, return_inverse=True)
        documents = [self.blocks[int(number)].document_id for number in distinct]
        rank_of = {document_id: rank for rank, document_id in enumerate(sorted(set(documents)))}
        ranks = np.asarray([rank_of[document_id] for document_id in documents])[owners]
        best = np.lexsort((chunk_indexes, ranks, -scores))[:limit]
        return [self._scored(int(numbers[place]), int(chunk_indexes[place]), float(scores[place])) for place in best]

    def _scored(self, number: int, chunk_index: int, cosine: float) -> ScoredRow:
        block = self.blocks[number]
        return ScoredRow(block.generation_id, block.document_id, chunk_index, cosine)

    def _row_of(self, generation_id: str, chunk_index: int) -> int | None:
        for block in self.blocks_of_generation.get(generation_id, ()):
            if block.stop > self.rows or not self.alive[block.start]:
                continue
            part = next(part for part in self.parts if part.start <= block.start < part.stop)
            indexes = part.segment.chunk_indexes[block.start - part.start : block.stop - part.start]
            if chunk_index < len(indexes) and indexes[chunk_index] == chunk_index:
                return block.start + chunk_index  # as chunks mostly lie: whole, in order
            place = np.flatnonzero(indexes == chunk_index)
            if len(place):
                return block.start + int(place[0])
        return None
