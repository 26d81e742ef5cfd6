"""Vector search of replicas in this process, at the index version that a search asks for."""

import asyncio
import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import ChunkKey, Query, VectorHit
from analytiq.retrieval.backends.local.replica_cache import ReplicaCache
from analytiq.retrieval.backends.local.vectors.replica import VectorReplica, Workshop
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet, Selection
from analytiq.storage.repositories.index_contents import IndexContentRepository

log = structlog.get_logger(__name__)

LOADS_AT_ONCE = 2
INLINE_CELLS = 4_000_000
"""Rows times dimensions up to which a search needs no thread: 10,000 rows of 384 take 0.2 ms."""
INLINE_DOCUMENTS = 100
"""Most documents of a filter for a search without a thread: finding their rows takes 0.05 ms."""
INLINE_FILTERED_CELLS = 1_000_000
"""The same for filtered rows: 2,600 rows of 384 take 0.25 ms."""
PRUNE_SECONDS = 600.0
"""Seconds between two searches for snapshots of deleted knowledge bases."""


class LocalVectorStore(ReplicaCache[VectorReplica, View]):
    """Works on any MongoDB replica set; exact, except for knowledge bases large enough for a graph.

    `memory_bytes` bounds the memory: the least recently searched knowledge bases leave first. One that is larger by
    itself is held alone. Without `snapshots`, nothing is written to disk; with them, large knowledge bases are mapped
    from disk as `snapshots` say.
    """

    evicted = (
        "The knowledge base {kb} is evicted from memory as fast as it is loaded. Ask again in a moment, or raise"
        " ANALYTIQ_SEARCH__LOCAL_STORE_BYTES."
    )

    def __init__(
        self,
        contents: IndexContentRepository,
        *,
        memory_bytes: int,
        load_wait_seconds: float,
        snapshots: Snapshots | None = None,
    ) -> None:
        super().__init__(wait_seconds=load_wait_seconds)
        self._contents = contents
        self._memory_bytes = memory_bytes
        self._snapshots = snapshots
        self._searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="vector-search")
        self._workshop = Workshop(
            contents=contents,
            loads=asyncio.Semaphore(LOADS_AT_ONCE),
            loading=ThreadPoolExecutor(LOADS_AT_ONCE, thread_name_prefix="vector-loading"),
            building=ThreadPoolExecutor(1, thread_name_prefix="vector-graphs"),
            snapshots=snapshots,
            has_room_for=lambda size: self.byte_size + size <= memory_bytes,
        )
        self._told_too_large: set[str] = set()
        self._pruning: asyncio.Task[None] | None = None
        self._next_pruning = 0.0

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """See IndexReader."""
        view = (await self.fresh(knowledge_base, epoch)).view
        return await self.search_in(view, query, limit=limit, chunk_filter=chunk_filter)

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """See IndexReader."""
        return await self.count_in((await self.fresh(knowledge_base, epoch)).view, chunk_filter=chunk_filter)

    async def search_in(
        self, view: View, query: Query, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[VectorHit]:
        """Search one version."""
        selection = _selection(chunk_filter)
        nearest = partial(view.nearest, query, limit=limit, selection=selection)
        if _is_brief(view, selection):
            rows = nearest()
        else:
            rows = await asyncio.get_running_loop().run_in_executor(self._searching, nearest)
        return [VectorHit(row.generation_id, row.document_id, row.chunk_index, _relevance(row.cosine)) for row in rows]

    async def count_in(self, view: View, *, chunk_filter: ChunkFilter | None) -> int:
        """Count the chunks of one version."""
        if chunk_filter is None:
            return view.live_rows
        if _is_brief(view, chunk_filter.selection):
            return view.count(chunk_filter.selection)
        return await asyncio.get_running_loop().run_in_executor(self._searching, view.count, chunk_filter.selection)

    async def scores_in(self, view: View, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        """Return the relevance of these chunks, without those missing from the version."""
        if view.sketcher is None:
            cosines = view.cosines(query, chunks)
        else:
            cosines = await asyncio.get_running_loop().run_in_executor(self._searching, view.cosines, query, chunks)
        return {chunk: _relevance(cosine) for chunk, cosine in cosines.items()}

    def new_replica(self, knowledge_base: KnowledgeBase) -> VectorReplica:
        """See ReplicaCache."""
        return VectorReplica(knowledge_base, self._workshop)

    def forget(self, kb_id: str) -> None:
        """See ReplicaCache."""
        self._let_go(kb_id)
        if self._snapshots is not None:
            self._workshop.loading.submit(self._snapshots.remove, [kb_id])

    async def close(self) -> None:
        """End all work, and leave the snapshots."""
        self._is_closing = True
        for kb_id in list(self._replicas):
            self._let_go(kb_id)
        if self._pruning is not None:
            self._pruning.cancel()
        for pool in (self._searching, self._workshop.loading, self._workshop.building):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        if self._snapshots is not None and self._snapshots.files is not None:
            await asyncio.to_thread(self._snapshots.files.close)

    @property
    def byte_size(self) -> int:
        """The bytes held by all replicas."""
        return sum(replica.byte_size for replica in self._replicas.values())

    def make_room(self, kb_id: str) -> None:
        """See ReplicaCache: free memory; at intervals, remove files of deleted knowledge bases and ended processes."""
        self._prune_now_and_then()
        for other in list(self._replicas):
            if self.byte_size <= self._memory_bytes:
                return
            if other != kb_id:
                log.info("local_store.evicted", kb_id=other)
                self._let_go(other)
        if self.byte_size > self._memory_bytes and kb_id not in self._told_too_large:
            self._told_too_large.add(kb_id)
            log.warning(
                "local_store.larger_than_its_bound",
                kb_id=kb_id,
                bytes=self.byte_size,
                local_store_bytes=self._memory_bytes,
            )

    def _let_go(self, kb_id: str) -> None:
        replica = self._replicas.pop(kb_id, None)
        if replica is not None:
            replica.close()
            if self._snapshots is not None:
                self._snapshots.release(kb_id)

    def _prune_now_and_then(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._snapshots is not None and now >= self._next_pruning:
            self._next_pruning = now + PRUNE_SECONDS
            self._pruning = asyncio.create_task(self._prune(self._snapshots))

    async def _prune(self, snapshots: Snapshots) -> None:
        if snapshots.files is not None:
            await asyncio.to_thread(snapshots.files.remove_ended)
        kb_ids = await asyncio.to_thread(snapshots.kb_ids)
        if kb_ids:
            gone = set(kb_ids) - await self._contents.existing(kb_ids)
            await asyncio.to_thread(snapshots.remove, gone)


def _is_brief(view: View, selection: Selection | None) -> bool:
    """Return True if the search costs less than handing it to a thread."""
    if view.sketcher is not None:
        return False  # it may wait for the disk
    if view.rows * view.dimensions <= INLINE_CELLS:
        return True
    is_narrow = isinstance(selection, DocumentSet) and len(selection.document_ids) <= INLINE_DOCUMENTS
    return is_narrow and view.count(selection) * view.dimensions <= INLINE_FILTERED_CELLS


def _selection(chunk_filter: ChunkFilter | None) -> Selection | None:
    return None if chunk_filter is None else chunk_filter.selection


def _relevance(cosine: float) -> float:
    return min(1.0, max(0.0, (1.0 + cosine) / 2.0))
