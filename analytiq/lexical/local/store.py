"""Keeps knowledge bases' indexes of words as fresh as the epoch asks (design 2.3)."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import structlog

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.lexical.base import LexicalHit
from analytiq.lexical.local.index import WordIndex, Writing
from analytiq.lexical.local.shelf import Place, Shelf
from analytiq.models.following import is_fresh, lead_on
from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.selection import ChunkFilter
from analytiq.mongo.repositories.chunk_texts import ChunkTextRepository, TextsAt

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

BUILDS_AT_ONCE = 2
REFRESH_ROUNDS = 3
"""One is enough unless a refresh began before the commit that is asked for."""
PRUNE_SECONDS = 600.0


@dataclass(slots=True)
class _Held:
    """One knowledge base's index; changed by one refresh at a time, while searches read."""

    knowledge_base: KnowledgeBase
    index: WordIndex | None = None
    place: Place | None = None
    epoch: Epoch | None = None
    refresh: asyncio.Task[None] | None = None

    def close(self) -> None:
        if self.refresh is not None:
            self.refresh.cancel()
        self.leave()

    def leave(self) -> None:
        """Give the place up, once: a descriptor that is closed twice may by then be another file's."""
        place, self.place = self.place, None
        if place is not None:
            place.close()


class LocalLexicalIndex:
    """Works on any MongoDB replica set.

    The files of an index are one process's at a time; another that searches the same knowledge base on the same machine
    keeps its index in memory. `disk_bytes` bounds the files: those searched longest ago leave first.
    """

    def __init__(
        self, texts: ChunkTextRepository, root: Path | None, *, disk_bytes: int, build_wait_seconds: float
    ) -> None:
        self._texts = texts
        self._shelf = Shelf(root) if root is not None else None
        self._disk_bytes = disk_bytes
        self._build_wait_seconds = build_wait_seconds
        self._held: dict[str, _Held] = {}
        self._building = ThreadPoolExecutor(BUILDS_AT_ONCE, thread_name_prefix="lexical-building")
        self._searching = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="lexical-search")
        self._pruning: asyncio.Task[None] | None = None
        self._next_pruning = 0.0

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        question: str,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[LexicalHit]:
        """See LexicalIndex.

        Raises:
            StoreLoadingError: the index is still being built; ask again.
        """
        index = await self._fresh(knowledge_base, epoch)
        found = partial(index.search, question, limit=limit, chunk_filter=chunk_filter)
        return await asyncio.get_running_loop().run_in_executor(self._searching, found)

    def forget(self, kb_id: str) -> None:
        """See LexicalIndex: it leaves the memory and the disk."""
        self._let_go(kb_id)
        if self._shelf is not None:
            self._building.submit(self._shelf.remove, kb_id)

    async def close(self) -> None:
        """Let go of everything; the files stay."""
        if self._pruning is not None:
            self._pruning.cancel()
        for kb_id in list(self._held):
            self._let_go(kb_id)
        for pool in (self._building, self._searching):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _let_go(self, kb_id: str) -> None:
        held = self._held.pop(kb_id, None)
        if held is not None:
            held.close()

    async def _fresh(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> WordIndex:
        held = self._held.pop(knowledge_base.id, None) or _Held(knowledge_base)
        self._held[knowledge_base.id] = held  # now the most recently used
        if held.index is not None and held.epoch == epoch:
            return held.index
        self._prune_now_and_then()
        for _ in range(REFRESH_ROUNDS):
            try:
                await self._wait_for_refresh(held)
            except NotFoundError:
                self.forget(knowledge_base.id)
                raise
            if held.index is not None and held.epoch is not None and is_fresh(held.epoch, epoch):
                self._make_room(knowledge_base.id)
                return held.index
        raise StoreLoadingError(
            f"the knowledge base {knowledge_base.name!r} is changing faster than it can be followed; ask again",
            retry_after=1.0,
        )

    async def _wait_for_refresh(self, held: _Held) -> None:
        """One refresh at a time for a knowledge base; a caller who gives up waiting does not stop it."""
        if held.refresh is None or held.refresh.done():
            held.refresh = asyncio.create_task(self._refresh(held))
        task = held.refresh
        _, unfinished = await asyncio.wait([task], timeout=self._build_wait_seconds)
        if unfinished:
            raise StoreLoadingError(
                f"the words of knowledge base {held.knowledge_base.name!r} are being indexed; ask again in a moment",
                retry_after=self._build_wait_seconds,
            )
        if task.cancelled():
            raise StoreLoadingError("the index of words was let go; ask again", retry_after=1.0)
        task.result()

    async def _refresh(self, held: _Held) -> None:
        kb = held.knowledge_base
        if held.index is None:
            await self._in_thread(self._open, held)
        async with self._texts.reading(kb.organization_id, kb.id) as at:
            if at is None:
                raise NotFoundError(f"the knowledge base {kb.name!r} has been deleted")
            if held.epoch == at.epoch and held.index is not None:
                return
            try:
                if held.index is not None and held.epoch is not None:
                    changes = await at.changes(after=held.epoch.epoch - 1)
                    if lead_on(changes, have=held.epoch, to=at.epoch):
                        await self._apply(held, held.index, at, changes)
                        return
                    log.warning("lexical.building_anew", kb_id=kb.id, epoch=at.epoch.epoch)
                await self._build(held, at)
            except BaseException:
                # What is half written is not committed, and what the index holds in memory may be ahead of it.
                held.index, held.epoch = None, None
                held.leave()
                raise

    def _open(self, held: _Held) -> None:
        held.place = self._shelf.take(held.knowledge_base) if self._shelf is not None else None
        saved = held.place.load() if held.place is not None else None
        if saved is not None and held.place is not None:
            held.index, held.epoch = WordIndex(held.place.directory, saved.contents), saved.epoch

    async def _apply(self, held: _Held, index: WordIndex, at: TextsAt, changes: list[IndexChange]) -> None:
        removed = [change.removed for change in changes if change.removed is not None]
        known = index.contents.numbers()
        added = {change.added for change in changes if change.added is not None and change.added not in known}
        writing = await self._in_thread(index.writing)
        await self._in_thread(writing.remove, removed)
        if added:
            async for chunks in at.texts(added):
                await self._in_thread(writing.add, chunks)
        await self._in_thread(self._commit, held, index, writing, at.epoch)

    async def _build(self, held: _Held, at: TextsAt) -> None:
        if held.place is not None:
            await self._in_thread(held.place.clear)
        index = await self._in_thread(WordIndex, held.place.directory if held.place is not None else None)
        writing = await self._in_thread(index.writing)
        async for chunks in at.texts(None):
            await self._in_thread(writing.add, chunks)
        await self._in_thread(self._commit, held, index, writing, at.epoch)

    def _commit(self, held: _Held, index: WordIndex, writing: Writing, epoch: Epoch) -> None:
        mark = writing.commit()
        if held.place is not None:
            held.place.describe(epoch, mark, index.contents)
        index.reload()
        held.index, held.epoch = index, epoch

    async def _in_thread(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._building, partial(function, *arguments, **named))

    def _make_room(self, kb_id: str) -> None:
        """Let the least recently used go, with their files, but not `kb_id`. A dict keeps the order of use."""
        sizes = {other: held.place.byte_size for other, held in self._held.items() if held.place is not None}
        total = sum(sizes.values())
        for other, size in sizes.items():
            if total <= self._disk_bytes:
                return
            if other != kb_id:
                log.info("lexical.evicted", kb_id=other)
                self.forget(other)
                total -= size

    def _prune_now_and_then(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._shelf is not None and now >= self._next_pruning:
            self._next_pruning = now + PRUNE_SECONDS
            self._pruning = asyncio.create_task(self._prune(self._shelf))

    async def _prune(self, shelf: Shelf) -> None:
        """Remove the files of knowledge bases that are gone."""
        kb_ids = await asyncio.to_thread(shelf.kb_ids)
        if kb_ids:
            for kb_id in set(kb_ids) - await self._texts.existing(kb_ids):
                self.forget(kb_id)
