"""Vector search of replicas in this process, at the index version that a search asks for."""

import asyncio
import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import Query, VectorHit
from analytiq.retrieval.backends.local.vectors.mirror import Mirror, Workshop
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet, Selection
from analytiq.storage.repositories.vectors import VectorRepository

log = structlog.get_logger(__name__)

LOADS_AT_ONCE = 2
INLINE_CELLS = 4_000_000
"""Rows times dimensions up to which a search is not worth a thread: 10,000 rows of 384 take 0.2 ms."""
INLINE_DOCUMENTS = 100
"""Of a filter: finding their rows takes 0.05 ms."""
INLINE_FILTERED_CELLS = 1_000_000
"""The same of rows that are picked out of others: 2,600 rows of 384 take 0.25 ms."""
LET_GO_ROUNDS = 3
"""How often one search loads anew what was let go meanwhile."""
PRUNE_SECONDS = 600.0
"""Between two looks for snapshots of knowledge bases that are gone."""


class LocalVectorStore:
    """Works on any MongoDB replica set; exact, except for knowledge bases large enough for a graph.

    `memory_bytes` bounds the memory: the least recently searched knowledge bases leave first. One that is larger by
    itself is held alone. Without `snapshots`, nothing is written to disk.
    """

    def __init__(
        self,
        vectors: VectorRepository,
        *,
        memory_bytes: int,
        load_wait_seconds: float,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._vectors = vectors
        self._memory_bytes = memory_bytes
        self._load_wait_seconds = load_wait_seconds
        self._snapshots = snapshots
        self._searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="vector-search")
        self._workshop = Workshop(
            vectors=vectors,
            loads=asyncio.Semaphore(LOADS_AT_ONCE),
            loading=ThreadPoolExecutor(LOADS_AT_ONCE, thread_name_prefix="vector-loading"),
            building=ThreadPoolExecutor(1, thread_name_prefix="vector-graphs"),
            snapshots=snapshots,
            has_room_for=lambda size: self.byte_size + size <= memory_bytes,
        )
        self._mirrors: dict[str, Mirror] = {}
        self._is_closing = False
        self._told_too_large: set[str] = set()
        self._pruning: asyncio.Task[None] | None = None
        self._next_pruning = 0.0

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore: the store needs nothing but the rows."""

    async def lacks(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See VectorStore."""
        return []

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, chunk_count: int) -> None:
        """See VectorStore: a search pulls missing changes itself."""

    async def discard(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore."""
        self.forget(knowledge_base.id)

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """See VectorStore."""
        view = await self._fresh_view(knowledge_base, epoch)
        selection = _selection(chunk_filter)
        nearest = partial(view.nearest, query, limit=limit, selection=selection)
        if _is_brief(view, selection):
            rows = nearest()
        else:
            rows = await asyncio.get_running_loop().run_in_executor(self._searching, nearest)
        return [VectorHit(row.generation_id, row.document_id, row.chunk_index, _relevance(row.cosine)) for row in rows]

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """See VectorStore."""
        view = await self._fresh_view(knowledge_base, epoch)
        if chunk_filter is None:
            return view.live_rows
        if _is_brief(view, chunk_filter.selection):
            return view.count(chunk_filter.selection)
        return await asyncio.get_running_loop().run_in_executor(self._searching, view.count, chunk_filter.selection)

    async def relevance_of(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        chunks: Collection[tuple[str, int]],
    ) -> dict[tuple[str, int], float]:
        """See VectorStore."""
        view = await self._fresh_view(knowledge_base, epoch)
        return {place: _relevance(cosine) for place, cosine in view.cosines(query, chunks).items()}

    def forget(self, kb_id: str) -> None:
        """See VectorStore: remove the replica from memory and disk."""
        self._let_go(kb_id)
        if self._snapshots is not None:
            self._workshop.loading.submit(self._snapshots.remove, [kb_id])

    async def close(self) -> None:
        """See VectorStore."""
        self._is_closing = True
        for kb_id in list(self._mirrors):
            self._let_go(kb_id)
        if self._pruning is not None:
            self._pruning.cancel()
        for pool in (self._searching, self._workshop.loading, self._workshop.building):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    @property
    def byte_size(self) -> int:
        """The bytes held by all replicas."""
        return sum(mirror.byte_size for mirror in self._mirrors.values())

    async def _fresh_view(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> View:
        for _ in range(LET_GO_ROUNDS):
            mirror = self._mirrors.pop(knowledge_base.id, None) or Mirror(knowledge_base, self._workshop)
            self._mirrors[knowledge_base.id] = mirror  # now the most recently used
            try:
                return await self._view_of(mirror, knowledge_base, epoch)
            except StoreLoadingError:
                # It left the memory for another knowledge base's while it was loaded: no reason to ask again.
                if not mirror.is_closed or self._is_closing:
                    raise
        raise StoreLoadingError(
            f"The knowledge base {knowledge_base.name!r} is evicted from memory as fast as it is loaded. Ask again"
            " in a moment, or raise ANALYTIQ_SEARCH__LOCAL_STORE_BYTES.",
            retry_after=1.0,
        )

    async def _view_of(self, mirror: Mirror, knowledge_base: KnowledgeBase, epoch: Epoch) -> View:
        if mirror.view is not None and mirror.epoch == epoch:
            return mirror.view
        self._prune_now_and_then()
        try:
            view = await mirror.fresh_view(epoch, wait_seconds=self._load_wait_seconds)
        except NotFoundError:
            self.forget(knowledge_base.id)
            raise
        self._make_room(knowledge_base.id)
        return view

    def _make_room(self, kb_id: str) -> None:
        """Free the least recently used replicas, except `kb_id`'s. A dict keeps the order of use."""
        for other in list(self._mirrors):
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
        mirror = self._mirrors.pop(kb_id, None)
        if mirror is not None:
            mirror.close()
            if self._snapshots is not None:
                self._snapshots.release(kb_id)

    def _prune_now_and_then(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._snapshots is not None and now >= self._next_pruning:
            self._next_pruning = now + PRUNE_SECONDS
            self._pruning = asyncio.create_task(self._prune(self._snapshots))

    async def _prune(self, snapshots: Snapshots) -> None:
        kb_ids = await asyncio.to_thread(snapshots.kb_ids)
        if kb_ids:
            gone = set(kb_ids) - await self._vectors.kb_ids_with_epoch(kb_ids)
            await asyncio.to_thread(snapshots.remove, gone)


def _is_brief(view: View, selection: Selection | None) -> bool:
    """Return True if the search costs less than handing it to a thread."""
    if view.rows * view.dimensions <= INLINE_CELLS:
        return True
    is_narrow = isinstance(selection, DocumentSet) and len(selection.document_ids) <= INLINE_DOCUMENTS
    return is_narrow and view.count(selection) * view.dimensions <= INLINE_FILTERED_CELLS


def _selection(chunk_filter: ChunkFilter | None) -> Selection | None:
    return None if chunk_filter is None else chunk_filter.selection


def _relevance(cosine: float) -> float:
    return min(1.0, max(0.0, (1.0 + cosine) / 2.0))
