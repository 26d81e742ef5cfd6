"""The keyword index of one knowledge base: opening, building, and following the change log."""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.local.keywords.index import DamagedIndexError, State, WordIndex, require_whole
from analytiq.retrieval.backends.local.keywords.index_cache import Place, Shelf
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.backends.local.replica import IndexReplica, SharedTask, Version, gone, in_background
from analytiq.storage.repositories.index_contents import IndexContentRepository, IndexReading

log = structlog.get_logger(__name__)

T = TypeVar("T")

REST_SECONDS = 5.0
"""Seconds after the last change until the writer's threads and memory are freed."""
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
        self._index: WordIndex | None = None
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
            if self._index is None or self._place is None:
                return False
            try:
                await self._work(require_whole, self._place.directory)
            except DamagedIndexError as error:
                log.warning("lexical.index_damaged", kb_id=self.knowledge_base.id, reason=error.detail)
                await self._drop_index()
                if await self._work(self._place.is_there):
                    await self._work(self._place.clear)
                return True
        return False

    async def close(self) -> None:
        """Cancel running work, and leave the files to another process."""
        self.is_closed = True
        for task in (self._refreshing.task, self.refreshing_both.task, self._rest_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        async with self.writing:
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
        """See IndexReplica."""
        index = self._index
        assert index is not None  # noqa: S101  # there is a latest version
        await self._change(index, at, added=added, removed=removed)

    def settle(self) -> None:
        """See IndexReplica: rest after a while without changes."""
        if self._rest_task is not None:
            self._rest_task.cancel()
        self._rest_task = in_background(self._rest(), "rest", self.knowledge_base.id)

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
                await self._drop_index()
            raise

    async def _give_up(self, index: WordIndex, error: BaseException) -> None:
        """Discard incomplete changes before the next commit; reopen an unwritable index, or rebuild it."""
        self._index = index
        if isinstance(error, DamagedIndexError):
            log.warning("lexical.cannot_be_written", kb_id=self.knowledge_base.id, reason=error.detail)
            self._failure, self._retry_at = error, asyncio.get_running_loop().time() + RETRY_SECONDS
            await self._drop_index()
        else:
            await self._work(index.discard)

    def _raise_recent_failure(self) -> None:
        if self._failure is not None and asyncio.get_running_loop().time() < self._retry_at:
            raise self._failure
        self._failure = None

    async def _drop_index(self) -> None:
        index, self._index, self.latest = self._index, None, None
        if index is not None:
            await self._work(index.abandon)

    def _take(self, index: WordIndex, view: View, epoch: Epoch) -> None:
        self._index, self.latest = index, Version(epoch, view)

    async def _rest(self) -> None:
        await asyncio.sleep(REST_SECONDS)
        async with self.writing:
            if self._index is not None:
                await self._work(self._index.rest)

    async def _work(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a small change that searches wait for."""
        return await self.run(self._workshop.following, work, *arguments)
