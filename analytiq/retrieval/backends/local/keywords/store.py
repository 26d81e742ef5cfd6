"""Keyword search of knowledge bases at the index version that a search asks for."""

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from analytiq.errors import StoreLoadingError, TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.index import DamagedIndexError, searched
from analytiq.retrieval.backends.local.keywords.index_cache import Shelf
from analytiq.retrieval.backends.local.keywords.replica import KeywordReplica, Workshop
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.backends.local.replica_cache import ReplicaCache
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.storage.repositories.index_contents import IndexContentRepository

log = structlog.get_logger(__name__)

BUILDS_AT_ONCE = 2
FOLLOWERS_AT_ONCE = 4
MERGES_AT_ONCE = 2
OPEN_AT_ONCE = 200
"""Most knowledge bases with open files; the others' files stay on disk, closed."""
TIDY_SECONDS = 10.0
"""Seconds between two checks of the used disk space."""
PRUNE_SECONDS = 600.0
"""Seconds between two searches for files of deleted knowledge bases."""


class LocalLexicalIndex(ReplicaCache[KeywordReplica, View]):
    """Keyword indexes by tantivy, in this process and on its disk.

    `disk_bytes` bounds the files of all processes of this machine: the least recently searched are evicted first.
    Without `root`, indexes are in memory alone.
    """

    evicted = "The keyword index of the knowledge base {kb} is evicted as fast as it is built. Ask again in a moment."

    def __init__(
        self, contents: IndexContentRepository, root: Path | None, *, disk_bytes: int, build_wait_seconds: float
    ) -> None:
        super().__init__(wait_seconds=build_wait_seconds)
        self._contents = contents
        self._disk_bytes = disk_bytes
        self._searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="lexical-search")
        self._workshop = Workshop(
            contents=contents,
            shelf=Shelf(root) if root is not None else None,
            following=ThreadPoolExecutor(FOLLOWERS_AT_ONCE, thread_name_prefix="lexical-following"),
            building=ThreadPoolExecutor(BUILDS_AT_ONCE, thread_name_prefix="lexical-building"),
            merging=ThreadPoolExecutor(MERGES_AT_ONCE, thread_name_prefix="lexical-merging"),
            builds=asyncio.Semaphore(BUILDS_AT_ONCE),
        )
        self._chores: set[asyncio.Task[None]] = set()
        self._forgetting: set[asyncio.Task[None]] = set()
        self._next_tidying = 0.0
        self._next_pruning = 0.0

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        question: str,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[KeywordHit]:
        """See IndexReader.

        Raises:
            StoreLoadingError: the index is still being built; ask again.
            TransientError: the index cannot be read or written, with the reason.
        """
        view = (await self.fresh(knowledge_base, epoch)).view
        return await self.search_in(view, knowledge_base, question, limit=limit, chunk_filter=chunk_filter)

    async def available(
        self, knowledge_base: KnowledgeBase, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """Search the present index, which may lack the latest commits."""
        replica = self._replicas.get(knowledge_base.id)
        if replica is None or replica.latest is None:
            return []
        return await self.search_in(
            replica.latest.view, knowledge_base, question, limit=limit, chunk_filter=chunk_filter
        )

    def is_building(self, kb_id: str) -> bool:
        """See RetrievalBackend."""
        replica = self._replicas.get(kb_id)
        return replica is not None and replica.is_refreshing

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """Bring the index up to an epoch, however long that takes; its place in the order of last use stays."""
        replica = self._replicas.setdefault(knowledge_base.id, self.new_replica(knowledge_base))
        await replica.fresh(epoch, wait_seconds=None)
        self.make_room(knowledge_base.id)

    async def search_in(
        self, view: View, knowledge_base: KnowledgeBase, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """Search one version; damage that a failure reveals makes the next search build the index again."""
        selection = None if chunk_filter is None else chunk_filter.selection
        work = partial(searched, view, question, limit=limit, selection=selection)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._searching, work)
        except DamagedIndexError as error:
            log.warning("lexical.search_failed", kb_id=knowledge_base.id, reason=error.detail)
            replica = self._replicas.get(knowledge_base.id)
            if replica is None or not await replica.is_damaged():
                raise TransientError(
                    f"The keyword index of the knowledge base {knowledge_base.name!r} could not be searched for"
                    " this question. Change the question's words.",
                    code="lexical_search_failed",
                ) from error
            raise StoreLoadingError(
                f"The keyword index of the knowledge base {knowledge_base.name!r} is damaged and is being rebuilt."
                " Ask again in a moment.",
                retry_after=self.wait_seconds,
            ) from error

    def forget(self, kb_id: str) -> None:
        """See ReplicaCache."""
        self._start(self._forget(kb_id), self._forgetting)

    async def close(self) -> None:
        """Release every index; the files stay, except those of deleted knowledge bases."""
        self._is_closing = True
        if self._forgetting:
            await asyncio.wait(self._forgetting)
        for task in list(self._chores):
            task.cancel()
            await asyncio.wait([task])
        await asyncio.gather(*(self._let_go(kb_id) for kb_id in list(self._replicas)))
        workshop = self._workshop
        for pool in (workshop.building, workshop.following, workshop.merging, self._searching):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def replica_of(self, knowledge_base: KnowledgeBase) -> KeywordReplica:
        """See ReplicaCache; record the use on disk too."""
        replica = super().replica_of(knowledge_base)
        replica.touch(asyncio.get_running_loop().time())
        return replica

    def new_replica(self, knowledge_base: KnowledgeBase) -> KeywordReplica:
        """See ReplicaCache."""
        return KeywordReplica(knowledge_base, self._workshop)

    def make_room(self, kb_id: str) -> None:
        """See ReplicaCache: close the files of indexes beyond OPEN_AT_ONCE; at intervals, free disk space."""
        del kb_id  # files in use stay open
        now = asyncio.get_running_loop().time()
        for kb_id in list(self._replicas)[:-OPEN_AT_ONCE]:
            self._start(self._let_go(kb_id))
        if self._workshop.shelf is None:
            return
        if now >= self._next_tidying:
            self._next_tidying = now + TIDY_SECONDS
            self._start(self._free_disk(self._workshop.shelf))
        if now >= self._next_pruning:
            self._next_pruning = now + PRUNE_SECONDS
            self._start(self._prune(self._workshop.shelf))

    async def _free_disk(self, shelf: Shelf) -> None:
        """Remove the least recently used indexes from disk, except the last searched."""
        holdings = await asyncio.to_thread(shelf.holdings)
        total = sum(holding.byte_size for holding in holdings)
        for holding in holdings:
            if total <= self._disk_bytes:
                return
            if holding.kb_id == next(reversed(self._replicas), None):
                continue
            await self._let_go(holding.kb_id)
            if await asyncio.to_thread(shelf.remove_one, holding):
                log.info("lexical.evicted", kb_id=holding.kb_id, bytes=holding.byte_size)
                total -= holding.byte_size

    async def _prune(self, shelf: Shelf) -> None:
        """Remove the files of deleted knowledge bases."""
        kb_ids = await asyncio.to_thread(shelf.kb_ids)
        if kb_ids:
            for kb_id in set(kb_ids) - await self._contents.existing(kb_ids):
                await self._forget(kb_id)

    async def _forget(self, kb_id: str) -> None:
        await self._let_go(kb_id)
        if self._workshop.shelf is not None:
            await asyncio.to_thread(self._workshop.shelf.remove, kb_id)

    async def _let_go(self, kb_id: str) -> None:
        replica = self._replicas.pop(kb_id, None)
        if replica is not None:
            await replica.close()

    def _start(self, chore: Coroutine[Any, Any, None], among: set[asyncio.Task[None]] | None = None) -> None:
        task = asyncio.create_task(chore)
        (self._chores if among is None else among).add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._chores.discard(task)
        self._forgetting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("lexical.background_work_failed", error=repr(error))
