"""The keyword index of one knowledge base: opening, building, and following the change log."""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.local.keywords.index import DamagedIndexError, State, WordIndex, require_whole
from analytiq.retrieval.backends.local.keywords.index_cache import Place, Shelf
from analytiq.retrieval.backends.local.keywords.layers import DIRECT_ROWS, Layers
from analytiq.retrieval.backends.local.keywords.view import Base, View
from analytiq.retrieval.backends.local.replica import IndexReplica, SharedTask, Version, gone, in_background
from analytiq.storage.repositories.index_contents import IndexContentRepository, IndexReading

log = structlog.get_logger(__name__)

T = TypeVar("T")

REST_SECONDS = 5.0
"""Seconds after the last change until it is merged, and the writer's threads and memory are freed."""
TOUCH_SECONDS = 60.0
RETRY_SECONDS = 10.0
"""Seconds after a failed write, such as on a full disk: a retry reads the whole knowledge base again."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The resources that all replicas of a process share."""

    contents: IndexContentRepository
    shelf: Shelf | None
    following: Executor
    """For small changes that searches wait for."""
    building: Executor
    merging: Executor
    """For merges, which wait for the disk."""
    builds: asyncio.Semaphore
    """Bounds the number of concurrent builds."""


class KeywordReplica(IndexReplica[View]):
    """A keyword index changed by one task at a time."""

    name = "keywords"
    rebuild_event = "lexical.building_anew"
    not_ready = "The keyword index of the knowledge base {kb} is being built. Ask again in a moment."

    def __init__(self, knowledge_base: KnowledgeBase, workshop: Workshop) -> None:
        super().__init__(knowledge_base, workshop.contents)
        self._workshop = workshop
        self._place: Place | None = None
        self._layers: Layers | None = None
        self._merging: asyncio.Task[Base] | None = None
        self._merge_task: asyncio.Task[None] | None = None
        self._rest_task: asyncio.Task[None] | None = None
        self._touched_at = 0.0
        self._failure: DamagedIndexError | None = None
        self._retry_at = 0.0
        self.refreshing_both = SharedTask[tuple[Version[Any], Version[View]]]()
        """The refresh of the vectors and the keyword index to one version."""

    @property
    def is_refreshing(self) -> bool:
        """See IndexReplica."""
        return self._refreshing.is_running or self.refreshing_both.is_running

    def touch(self, now_seconds: float) -> None:
        """Record the use of the index on disk, at intervals."""
        if self._place is not None and now_seconds - self._touched_at > TOUCH_SECONDS:
            self._touched_at = now_seconds
            self._place.touch()

    async def is_damaged(self) -> bool:
        """Verify the files after a failed search; the next search rebuilds damaged ones.

        Intact files mean that the question failed, and repeating the question must not cost a build each time.
        """
        async with self.writing:
            if self._layers is None or self._place is None:
                return False
            try:
                await self._end_merge()  # files must not come and go meanwhile
                await self._work(require_whole, self._place.directory)
            except DamagedIndexError as error:
                log.warning("lexical.index_damaged", kb_id=self.knowledge_base.id, reason=error.detail)
                await self._drop_index()
                if await self._work(self._place.is_there):
                    await self._work(self._place.clear)
                return True
        return False

    async def close(self) -> None:
        """Cancel running work, merge what is left, and leave the files to another process."""
        self.is_closed = True
        for task in (self._refreshing.task, self.refreshing_both.task, self._rest_task, self._merge_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        async with self.writing:
            try:
                await self._merge_at_once()
            except DamagedIndexError as error:
                log.warning("lexical.cannot_be_written", kb_id=self.knowledge_base.id, reason=error.detail)
            await self._drop_index()
            if self._place is not None:
                self._place.release()
                self._place = None

    async def open(self) -> None:
        """See IndexReplica."""
        self._raise_recent_failure()
        if self._place is None and self._workshop.shelf is not None:
            self._place = await self._work(self._workshop.shelf.take, self.knowledge_base.id)
        if self._place is None or not await self._work(self._place.has_files):
            return
        try:
            index = await self._work(WordIndex.opened, self._place.directory)
            state = await self._work(lambda: index.state)
            if state is None or not state.is_of(self.knowledge_base):
                raise DamagedIndexError("it is of another knowledge base, or of another release")
            self._take(index, await self._work(index.view), state.at)
        except DamagedIndexError as error:
            log.warning("lexical.index_ignored", kb_id=self.knowledge_base.id, reason=error.detail)

    async def build(self) -> None:
        """See IndexReplica."""
        self._raise_recent_failure()
        async with self._workshop.builds:
            await self._drop_index()
            async with self.contents.reading(*self.ids) as at:
                if at is None:
                    raise gone(self.knowledge_base)
                place = await self._place_that_is_there()
                if place is not None:
                    await self._work(place.clear)
                index = await self._work(WordIndex.created, place.directory if place is not None else None)
                await self._change(index, at, added=None, removed=())
        log.info("lexical.built", kb_id=self.knowledge_base.id, chunks=self.required().view.chunk_count)

    async def apply(self, at: IndexReading, *, added: Collection[str], removed: Collection[str]) -> None:
        """See IndexReplica: change the fresh rows; a large change is written to the index at once."""
        layers = self._layers
        assert layers is not None  # noqa: S101  # there is a latest version
        try:
            if await self._add_fresh(layers, at, added):
                self.latest = Version(at.epoch, await self._work(layers.publish, removed))
                return
            await self._merge_at_once()
        except BaseException as error:
            await self._give_up(layers.index, error)
            raise
        await self._change(layers.index, at, added=added, removed=removed)

    def settle(self) -> None:
        """See IndexReplica: merge many fresh rows at once, and few after a while without changes; then rest."""
        if self.is_closed:
            return
        if self._layers is not None and self._layers.is_merge_due:
            self._start_merge()
        if self._rest_task is not None:
            self._rest_task.cancel()
        self._rest_task = in_background(self._rest(), "rest", self.knowledge_base.id)

    async def _add_fresh(self, layers: Layers, at: IndexReading, added: Collection[str]) -> bool:
        """Add chunks to the fresh rows; False, and none of them, if there are too many for memory."""
        languages: dict[str, str] = {}
        async for chunks in at.texts(added):
            if layers.fresh_rows + len(chunks) > DIRECT_ROWS:
                await self._work(layers.discard)
                return False
            await self._work(layers.add, chunks, languages)
        return True

    def _start_merge(self) -> "asyncio.Task[None]":
        """Return the task that merges in the background."""
        if self._merge_task is None or self._merge_task.done():
            self._merge_task = in_background(self._merge(), "merge", self.knowledge_base.id)
        return self._merge_task

    async def _merge(self) -> None:
        """Merge the fresh rows into the index; only the beginning and the end delay a refresh."""
        is_due = True
        while is_due:
            async with self.writing:
                self._begin_merge()
                merging = self._merging
            if merging is None:
                return
            await asyncio.wait([merging])
            async with self.writing:
                layers = self._layers
                if self._merging is merging and layers is not None:
                    try:
                        await self._end_merge()
                    except DamagedIndexError as error:
                        await self._give_up(layers.index, error)
                is_due = self._layers is not None and self._layers.is_merge_due

    async def _merge_at_once(self) -> None:
        """Merge everything; call it under `writing`."""
        await self._end_merge()
        self._begin_merge()
        await self._end_merge()

    def _begin_merge(self) -> None:
        """Start to write the fresh rows, unless that is going on; call it under `writing`."""
        layers, latest = self._layers, self.latest
        if self._merging is None and layers is not None and latest is not None and layers.has_changes:
            batch = layers.seal(State.of(self.knowledge_base, latest.epoch))
            self._merging = asyncio.create_task(self.run(self._workshop.merging, layers.write, batch))

    async def _end_merge(self) -> None:
        """Wait for a merge that is going on, and search its result; call it under `writing`.

        Raises:
            DamagedIndexError: the rows could not be written.
        """
        if self._merging is None:
            return
        base = await asyncio.shield(self._merging)
        self._merging = None
        if self._layers is not None and self.latest is not None:
            self.latest = Version(self.latest.epoch, await self._work(self._layers.merged, base))

    async def _place_that_is_there(self) -> Place | None:
        """Return the replica's place; take another if the knowledge base was removed and recreated, as by a restore."""
        place = self._place
        if place is not None and not await self._work(place.is_there):
            self._place = None
            place.release()
            if self._workshop.shelf is not None:
                self._place = await self._work(self._workshop.shelf.take, self.knowledge_base.id)
        return self._place

    async def _change(
        self, index: WordIndex, at: IndexReading, *, added: Collection[str] | None, removed: Collection[str]
    ) -> None:
        """Bring an index to the version of a reading; `added` None stands for a new index of everything."""
        pool = self._workshop.building if added is None else self._workshop.following
        languages: dict[str, str] = {}
        try:
            await self._work(index.remove, removed)
            async for chunks in at.texts(added):
                await self.run(pool, index.add, chunks, languages)
            await self._work(index.commit, State.of(self.knowledge_base, at.epoch))
            self._take(index, await self._work(index.view), at.epoch)
        except BaseException as error:
            await self._give_up(index, error)
            if added is None:
                await self._drop_index(index)
            raise

    async def _give_up(self, index: WordIndex, error: BaseException) -> None:
        """Discard incomplete changes before the next commit; reopen an unwritable index, or rebuild it."""
        if isinstance(error, DamagedIndexError):
            log.warning("lexical.cannot_be_written", kb_id=self.knowledge_base.id, reason=error.detail)
            self._failure, self._retry_at = error, asyncio.get_running_loop().time() + RETRY_SECONDS
            await self._drop_index(index)
            return
        if self._layers is not None:
            await self._work(self._layers.discard)
        if self._merging is None:
            await self._work(index.discard)

    def _raise_recent_failure(self) -> None:
        if self._failure is not None and asyncio.get_running_loop().time() < self._retry_at:
            raise self._failure
        self._failure = None

    async def _drop_index(self, index: WordIndex | None = None) -> None:
        """Forget the index, or one that is not in use yet."""
        merging, self._merging = self._merging, None
        if merging is not None:
            await asyncio.wait([merging])
            with suppress(DamagedIndexError, asyncio.CancelledError):
                merging.result()
        if self._layers is not None:
            index = index or self._layers.index
        self._layers, self.latest = None, None
        if index is not None:
            await self._work(index.abandon)

    def _take(self, index: WordIndex, view: View, epoch: Epoch) -> None:
        self._layers, self.latest = Layers(index, view.base), Version(epoch, view)

    async def _rest(self) -> None:
        await asyncio.sleep(REST_SECONDS)
        await asyncio.wait([self._start_merge()])
        async with self.writing:
            if self._layers is not None and self._merging is None:
                await self._work(self._layers.index.rest)

    async def _work(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a small change that searches wait for."""
        return await self.run(self._workshop.following, work, *arguments)
