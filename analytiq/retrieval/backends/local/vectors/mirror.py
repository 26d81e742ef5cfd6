"""A replica of one knowledge base in memory: loading, refreshing to the version a search asks for, and upkeep."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from analytiq.errors import AnalytiqError, NotFoundError, StoreLoadingError
from analytiq.models.following import is_fresh, lead_on
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.graph import LINK_BYTES, Graph
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.storage.repositories.vectors import IndexedGeneration, VectorRepository

log = structlog.get_logger(__name__)

_Result = TypeVar("_Result")

REFRESH_ROUNDS = 3
"""One is enough unless a refresh began before the commit that is asked for."""
GRAPH_CELLS = 77_000_000
"""Rows times dimensions from which on a graph is built: 200,000 rows of 384, 50,000 of 1536.

Measured: see docs/reference/benchmarks.md, "The local vector store".
"""
GRAPH_LAG_ROWS = 1000
"""A graph is extended once so many rows are scanned beside it."""
SNAPSHOT_ROWS = 5000
"""Fewer are read from the database as fast as from a file."""
SNAPSHOT_SECONDS = 60.0
"""Between two snapshots of a knowledge base that changes."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The resources that all replicas of a process share."""

    vectors: VectorRepository
    loads: asyncio.Semaphore
    """Bounds how many knowledge bases are loaded at once."""
    loading: Executor
    building: Executor
    """For graphs alone: one takes minutes."""
    snapshots: Snapshots | None
    has_room_for: Callable[[int], bool]
    """Whether so many more bytes stay within the bound."""


class Mirror:
    """A replica changed by one refresh or upkeep task at a time, while searches read `view`."""

    def __init__(self, knowledge_base: KnowledgeBase, workshop: Workshop) -> None:
        self._knowledge_base = knowledge_base
        self._workshop = workshop
        self._matrix: VectorMatrix | None = None
        self._loading: VectorMatrix | None = None
        self._graph: Graph | None = None
        self._writing = asyncio.Lock()
        self._refresh_task: asyncio.Task[None] | None = None
        self._chores: dict[str, asyncio.Task[None]] = {}
        self._snapshot_epoch: Epoch | None = None
        self._next_snapshot = 0.0
        self.is_closed = False
        self.view: View | None = None
        self.epoch: Epoch | None = None

    @property
    def byte_size(self) -> int:
        """The bytes held, including those being loaded."""
        held = [matrix.byte_size for matrix in (self._matrix, self._loading) if matrix is not None]
        return sum(held) + (self._graph.byte_size if self._graph else 0)

    async def fresh_view(self, epoch: Epoch, *, wait_seconds: float) -> View:
        """Return the view at this epoch or a later one.

        Raises:
            StoreLoadingError: the refresh takes longer than `wait_seconds`; loading continues.
            NotFoundError: the knowledge base has been deleted.
        """
        if self.view is not None and self.epoch == epoch:
            return self.view
        # A mirror that is ahead is read anew as well: either another search saw a later epoch than this one, and
        # there is nothing to read, or the database was restored from a backup, and the mirror is of a lost history.
        for _ in range(REFRESH_ROUNDS):
            await self._wait_for_refresh(wait_seconds)
            if self.view is not None and is_fresh(self.epoch, epoch):
                return self.view
        raise StoreLoadingError(
            f"The knowledge base {self._knowledge_base.name!r} is changing faster than its index can follow. Ask"
            " again.",
            retry_after=1.0,
        )

    def close(self) -> None:
        """Cancel background work."""
        self.is_closed = True
        for task in [*self._chores.values(), *([self._refresh_task] if self._refresh_task else [])]:
            task.cancel()
        if self._graph is not None:
            self._graph.cancel()

    async def _wait_for_refresh(self, wait_seconds: float) -> None:
        """Wait for the one refresh at a time; a caller who gives up waiting does not stop the refresh."""
        if self._refresh_task is None or self._refresh_task.done():
            self._refresh_task = _in_background(self._refresh(), "refresh", self._knowledge_base.id)
        task = self._refresh_task
        _, unfinished = await asyncio.wait([task], timeout=wait_seconds)
        if unfinished or task.cancelled():
            raise StoreLoadingError(
                f"The knowledge base {self._knowledge_base.name!r} is being loaded into memory. Ask again in a moment.",
                retry_after=wait_seconds,
            )
        task.result()

    async def _refresh(self) -> None:
        async with self._writing:
            if self._matrix is not None and self.epoch is not None:
                if not await self._follow(self._matrix, self.epoch):
                    await self._load()
            elif not await self._resume():
                await self._load()
        self._tend()

    async def _follow(self, matrix: VectorMatrix, have: Epoch) -> bool:
        """Pull the changes; return False if the change log does not continue from the replica's version."""
        try:
            at = await self._workshop.vectors.read_changes(
                *self._ids, self._sink_into(matrix), after=have.epoch - 1, known=matrix.generation_ids
            )
            if at is None:
                raise self._gone()
            if not lead_on(at.changes, have=have, to=at.epoch):
                log.warning("local_store.reloading", kb_id=self._knowledge_base.id, epoch=at.epoch.epoch)
                matrix.discard()
                return False
            removed = [change.removed for change in at.changes if change.removed is not None]
            view = await self._run(matrix.publish, removed)
        except BaseException:  # the rows of half a reading must not be there when the next one begins
            matrix.discard()
            raise
        self._take(matrix, view, at.epoch)
        await self._run(_tell_hollow, matrix, at.indexed)
        return True

    async def _resume(self) -> bool:
        """Start from the snapshot and the changes since; return False if they do not lead to the present version."""
        snapshots = self._workshop.snapshots
        if snapshots is None:
            return False
        async with self._workshop.loads:
            snapshot = await self._run(snapshots.read, self._knowledge_base)
            if snapshot is None:
                return False
            self._snapshot_epoch = snapshot.epoch
            is_present = await self._follow(snapshot.matrix, snapshot.epoch)
        if is_present:
            log.info("local_store.resumed", kb_id=self._knowledge_base.id, rows=snapshot.view.rows)
        return is_present

    async def _load(self) -> None:
        async with self._workshop.loads:
            matrix = VectorMatrix(self._knowledge_base.embedding_dimensions)
            self._loading = matrix
            try:
                at = await self._workshop.vectors.read_all(*self._ids, self._sink_into(matrix))
                if at is None:
                    raise self._gone()
                view = await self._run(matrix.publish)
            finally:
                self._loading = None
        self._take(matrix, view, at.epoch)
        await self._run(_tell_hollow, matrix, at.indexed)
        log.info("local_store.loaded", kb_id=self._knowledge_base.id, rows=view.rows)

    def _take(self, matrix: VectorMatrix, view: View, epoch: Epoch) -> None:
        if matrix is not self._matrix:
            self._drop_graph()
        self._matrix, self.view, self.epoch = matrix, view, epoch

    def _tend(self) -> None:
        """Start useful upkeep: no task delays a search, and only compaction delays a refresh."""
        matrix, view = self._matrix, self.view
        if self.is_closed or matrix is None or view is None:
            return
        if matrix.is_sparse:
            self._start("compaction", self._compact)
        elif self._wants_graph(view):
            self._start("graph", self._extend_graph)
        if view.rows >= SNAPSHOT_ROWS and self.epoch != self._snapshot_epoch and self._workshop.snapshots:
            self._start("snapshot", self._keep_snapshot)

    def _start(self, name: str, chore: Callable[[], Coroutine[Any, Any, None]]) -> None:
        running = self._chores.get(name)
        if running is None or running.done():
            self._chores[name] = _in_background(chore(), name, self._knowledge_base.id)

    async def _compact(self) -> None:
        async with self._writing:
            if self._matrix is None or self.epoch is None:
                return
            smaller = await self._run(self._matrix.compacted)
            self._take(smaller, smaller.view(), self.epoch)
        self._chores.pop("compaction")
        self._tend()

    def _wants_graph(self, view: View) -> bool:
        if view.live_rows * view.dimensions < GRAPH_CELLS:
            return False
        missing = view.rows - (self._graph.rows if self._graph else 0)
        return missing > GRAPH_LAG_ROWS and self._workshop.has_room_for(missing * LINK_BYTES)

    async def _extend_graph(self) -> None:
        matrix, view = self._matrix, self.view
        if matrix is None or view is None:
            return
        graph = self._graph = self._graph or Graph(view.dimensions)
        try:
            await asyncio.get_running_loop().run_in_executor(self._workshop.building, graph.extend, view.parts)
        except BaseException:  # it may have some of the rows, and would refuse to take them again
            if self._graph is graph:
                self._drop_graph()
                matrix.graph = None
                self.view = replace(self.view or view, graph=None)
            raise
        if self._matrix is matrix and self._graph is graph:
            if matrix.graph is None:
                matrix.graph = graph
                self.view = replace(self.view or view, graph=graph)
            self._chores.pop("graph")
            self._tend()

    def _drop_graph(self) -> None:
        if self._graph is not None:
            self._graph.cancel()
            self._graph = None

    async def _keep_snapshot(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._next_snapshot - loop.time()))
        matrix, view, epoch, snapshots = self._matrix, self.view, self.epoch, self._workshop.snapshots
        if matrix is None or view is None or epoch is None or snapshots is None:
            return
        if not await self._run(snapshots.write, self._knowledge_base, matrix.numbering, view, epoch):
            return
        self._snapshot_epoch = epoch
        self._next_snapshot = loop.time() + SNAPSHOT_SECONDS
        self._chores.pop("snapshot")
        self._tend()

    @property
    def _ids(self) -> tuple[str, str]:
        return self._knowledge_base.organization_id, self._knowledge_base.id

    def _sink_into(self, matrix: VectorMatrix) -> "_Sink":
        return _Sink(matrix, self._run)

    async def _run(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._workshop.loading, work, *arguments)

    def _gone(self) -> NotFoundError:
        return NotFoundError(f"The knowledge base {self._knowledge_base.name!r} has been deleted.")


@dataclass(frozen=True, slots=True)
class _Sink:
    """A sink that appends the rows read to a matrix, off the event loop."""

    matrix: VectorMatrix
    run: Callable[..., Coroutine[Any, Any, None]]

    def expect(self, rows: int) -> None:
        self.matrix.expect(rows)

    async def receive(self, parts: Sequence[GenerationVectors]) -> None:
        await self.run(self.matrix.add, parts)


def _in_background(work: Coroutine[Any, Any, None], name: str, kb_id: str) -> asyncio.Task[None]:
    def tell(task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, AnalytiqError):  # those are for who waits, and of no interest where nobody does
            log.warning("local_store.background_work_failed", work=name, kb_id=kb_id, error=repr(error))

    task = asyncio.create_task(work, name=f"{name} of {kb_id}")
    task.add_done_callback(tell)
    return task


def _tell_hollow(matrix: VectorMatrix, indexed: Collection[IndexedGeneration]) -> None:
    for entry in indexed:
        rows = matrix.rows_of(entry.generation_id)
        if rows != entry.chunk_count:
            # The reconciler mends it; what is left is still worth finding.
            log.error(
                "local_store.hollow_generation", generation_id=entry.generation_id, document_id=entry.document_id,
                rows=rows, expected=entry.chunk_count,
            )  # fmt: skip
