"""The vectors of one knowledge base in memory: loading, following the change log, and upkeep."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import structlog

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.replica import IndexReplica, Version, gone, in_background
from analytiq.retrieval.backends.local.vectors.graph import LINK_BYTES, Graph
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.storage.repositories.index_contents import IndexContentRepository, IndexedGeneration, IndexReading

log = structlog.get_logger(__name__)

T = TypeVar("T")

GRAPH_CELLS = 77_000_000
"""Rows times dimensions from which on a graph is built: 200,000 rows of 384, 50,000 of 1536.

Measured: see docs/reference/benchmarks.md, "The local vector store".
"""
GRAPH_LAG_ROWS = 1000
"""Rows scanned beside a graph from which on it is extended."""
SNAPSHOT_ROWS = 5000
"""Least rows of a snapshot: fewer are read from the database as fast as from a file."""
SNAPSHOT_SECONDS = 60.0
"""Seconds between two snapshots of a changing knowledge base."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The resources that all replicas of a process share."""

    contents: IndexContentRepository
    loads: asyncio.Semaphore
    """Bounds the number of concurrent loads."""
    loading: Executor
    building: Executor
    """For graphs and compaction, since they take minutes."""
    snapshots: Snapshots | None
    has_room_for: Callable[[int], bool]
    """Returns True if this many more bytes stay within the bound."""


class VectorReplica(IndexReplica[View]):
    """Vectors changed by one refresh or upkeep task at a time."""

    name = "vectors"
    rebuild_event = "local_store.reloading"
    not_ready = "The knowledge base {kb} is being loaded into memory. Ask again in a moment."

    def __init__(self, knowledge_base: KnowledgeBase, workshop: Workshop) -> None:
        super().__init__(knowledge_base, workshop.contents)
        self._workshop = workshop
        self._matrix: VectorMatrix | None = None
        self._loading: VectorMatrix | None = None
        self._graph: Graph | None = None
        self._upkeep: dict[str, asyncio.Task[None]] = {}
        self._snapshot_epoch: Epoch | None = None
        self._next_snapshot = 0.0

    @property
    def byte_size(self) -> int:
        """The bytes held, including those being loaded."""
        held = [matrix.byte_size for matrix in (self._matrix, self._loading) if matrix is not None]
        return sum(held) + (self._graph.byte_size if self._graph else 0)

    def close(self) -> None:
        """Cancel background work."""
        self.is_closed = True
        for task in (*self._upkeep.values(), self._refreshing.task):
            if task is not None:
                task.cancel()
        if self._graph is not None:
            self._graph.cancel()

    async def open(self) -> None:
        """See IndexReplica: start from the snapshot."""
        snapshots = self._workshop.snapshots
        if snapshots is None:
            return
        async with self._workshop.loads:
            snapshot = await self._load(snapshots.read, self.knowledge_base)
        if snapshot is not None:
            self._snapshot_epoch = snapshot.epoch
            await self._load(snapshot.matrix.move_to_disk)
            self._take(snapshot.matrix, snapshot.matrix.view(), snapshot.epoch)
            log.info("local_store.resumed", kb_id=self.knowledge_base.id, rows=snapshot.view.rows)

    async def build(self) -> None:
        """See IndexReplica: load everything."""
        async with self._workshop.loads:
            snapshots = self._workshop.snapshots
            files = snapshots.files if snapshots else None
            matrix = VectorMatrix(self.knowledge_base.embedding_dimensions, files=files)
            self._loading = matrix
            try:
                async with self.contents.reading(*self.ids) as at:
                    if at is None:
                        raise gone(self.knowledge_base)
                    indexed = await at.vectors(None, self._sink_into(matrix))
                view = await self._load(matrix.publish)
            finally:
                self._loading = None
        self._take(matrix, view, at.epoch)
        await self._load(_note_incomplete, matrix, indexed)
        log.info("local_store.loaded", kb_id=self.knowledge_base.id, rows=view.rows)

    async def apply(self, at: IndexReading, *, added: Collection[str], removed: Collection[str]) -> None:
        """See IndexReplica."""
        matrix = self._matrix
        assert matrix is not None  # noqa: S101  # there is a latest version
        try:
            indexed = await at.vectors(set(added) - set(matrix.generation_ids), self._sink_into(matrix))
            view = await self._load(matrix.publish, removed)
        except BaseException:  # the rows of half a reading must not be there when the next one begins
            matrix.discard()
            raise
        self._take(matrix, view, at.epoch)
        await self._load(_note_incomplete, matrix, indexed)

    def _take(self, matrix: VectorMatrix, view: View, epoch: Epoch) -> None:
        if matrix is not self._matrix or view.sketcher is not None:
            self._drop_graph()
        self._matrix, self.latest = matrix, Version(epoch, view)

    def settle(self) -> None:
        """See IndexReplica: no task delays a search, and only compaction delays a refresh."""
        matrix, latest = self._matrix, self.latest
        if self.is_closed or matrix is None or latest is None:
            return
        view = latest.view
        if matrix.is_sparse and self._has_room_to_compact(view):
            self._start("compaction", self._compact)
        elif self._wants_graph(view):
            self._start("graph", self._extend_graph)
        if view.rows >= SNAPSHOT_ROWS and latest.epoch != self._snapshot_epoch and self._workshop.snapshots:
            self._start("snapshot", self._keep_snapshot)

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        running = self._upkeep.get(name)
        if running is None or running.done():
            self._upkeep[name] = in_background(work(), name, self.knowledge_base.id)

    def _has_room_to_compact(self, view: View) -> bool:
        """Return False if the rows would have to come back into memory."""
        snapshots = self._workshop.snapshots
        if view.sketcher is None or snapshots is None or snapshots.files is None:
            return True
        return snapshots.files.has_room_for(sum(part.segment.file_bytes(part.rows) for part in view.parts))

    async def _compact(self) -> None:
        """Rewrite the live rows beside searches and refreshes, and then repeat what they changed meanwhile."""
        matrix, latest = self._matrix, self.latest
        if matrix is None or latest is None:
            return
        copy = partial(matrix.compacted, latest.view, is_wanted=lambda: not self.is_closed)
        smaller = await self.run(self._workshop.building, copy)
        async with self.writing:
            if smaller is None or self._matrix is not matrix or self.latest is None:
                return
            view = await self._load(smaller.catch_up, matrix, latest.view)
            self._take(smaller, view, self.latest.epoch)
        self._upkeep.pop("compaction")
        self.settle()

    def _wants_graph(self, view: View) -> bool:
        if view.sketcher is not None or view.live_rows * view.dimensions < GRAPH_CELLS:
            return False
        missing = view.rows - (self._graph.rows if self._graph else 0)
        return missing > GRAPH_LAG_ROWS and self._workshop.has_room_for(missing * LINK_BYTES)

    async def _extend_graph(self) -> None:
        matrix, latest = self._matrix, self.latest
        if matrix is None or latest is None:
            return
        view = latest.view
        graph = self._graph = self._graph or Graph(view.dimensions)
        try:
            await asyncio.get_running_loop().run_in_executor(self._workshop.building, graph.extend, view.parts)
        except BaseException:  # it may have some of the rows, and would refuse to take them again
            if self._graph is graph:
                self._drop_graph()
                matrix.graph = None
                self._show(None, latest)
            raise
        if self._matrix is matrix and self._graph is graph:
            if matrix.graph is None:
                matrix.graph = graph
                self._show(graph, latest)
            self._upkeep.pop("graph")
            self.settle()

    def _show(self, graph: Graph | None, otherwise: Version[View]) -> None:
        """Search by this graph from now on."""
        latest = self.latest or otherwise
        self.latest = replace(latest, view=replace(latest.view, graph=graph))

    def _drop_graph(self) -> None:
        if self._graph is not None:
            self._graph.cancel()
            self._graph = None

    async def _keep_snapshot(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._next_snapshot - loop.time()))
        matrix, latest, snapshots = self._matrix, self.latest, self._workshop.snapshots
        if matrix is None or latest is None or snapshots is None:
            return
        wrote = await self._load(snapshots.write, self.knowledge_base, matrix.numbering, latest.view, latest.epoch)
        if not wrote:
            return
        self._snapshot_epoch = latest.epoch
        self._next_snapshot = loop.time() + SNAPSHOT_SECONDS
        self._upkeep.pop("snapshot")
        self.settle()

    def _sink_into(self, matrix: VectorMatrix) -> "_Sink":
        return _Sink(matrix, self._load)

    async def _load(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self.run(self._workshop.loading, work, *arguments)


@dataclass(frozen=True, slots=True)
class _Sink:
    """A sink that appends the rows read to a matrix, off the event loop."""

    matrix: VectorMatrix
    run: Callable[..., Coroutine[Any, Any, None]]

    def expect(self, rows: int) -> None:
        self.matrix.expect(rows)

    async def receive(self, parts: Sequence[GenerationVectors]) -> None:
        await self.run(self.matrix.add, parts)


def _note_incomplete(matrix: VectorMatrix, indexed: Collection[IndexedGeneration]) -> None:
    for entry in indexed:
        rows = matrix.rows_of(entry.generation_id)
        if rows != entry.chunk_count:
            # The reconciler mends it; what is left is still worth finding.
            log.error(
                "local_store.hollow_generation", generation_id=entry.generation_id, document_id=entry.document_id,
                rows=rows, expected=entry.chunk_count,
            )  # fmt: skip
