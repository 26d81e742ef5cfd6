"""The replica of one knowledge base's keyword index, refreshed to the index version that a search asks for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.models.following import is_fresh, lead_on
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.local.keywords.index import DamagedIndexError, State, WordIndex, require_whole
from analytiq.retrieval.backends.local.keywords.index_cache import Place, Shelf
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.storage.repositories.chunk_texts import ChunkTextRepository, TextsAt

log = structlog.get_logger(__name__)

T = TypeVar("T")

REFRESH_ROUNDS = 3
"""One is enough unless a refresh began before the commit that is asked for."""
REST_SECONDS = 5.0
"""After the last change, before the writer's threads and memory are given back."""
TOUCH_SECONDS = 60.0
RETRY_SECONDS = 10.0
"""After a failure to write, such as a full disk: another attempt would read the whole knowledge base again."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """The resources that all replicas of a process share."""

    texts: ChunkTextRepository
    shelf: Shelf | None
    following: Executor
    """For what is small and waited for: what has changed."""
    building: Executor
    builds: asyncio.Semaphore
    """Bounds how many knowledge bases are built at once."""


class Mirror:
    """A replica changed by one task at a time, while searches read `view`."""

    def __init__(self, knowledge_base: KnowledgeBase, workshop: Workshop) -> None:
        self._knowledge_base = knowledge_base
        self._workshop = workshop
        self._place: Place | None = None
        self._index: WordIndex | None = None
        self._writing = asyncio.Lock()
        self._refresh_task: asyncio.Task[None] | None = None
        self._rest_task: asyncio.Task[None] | None = None
        self._touched_at = 0.0
        self._failure: DamagedIndexError | None = None
        self._retry_at = 0.0
        self.view: View | None = None
        self.epoch: Epoch | None = None
        self.is_closed = False

    @property
    def is_refreshing(self) -> bool:
        """True while changes are being indexed."""
        return self._refresh_task is not None and not self._refresh_task.done()

    async def fresh_view(self, epoch: Epoch, *, wait_seconds: float | None) -> View:
        """Return the view at this epoch or a later one; without `wait_seconds`, wait as long as that takes.

        Raises:
            StoreLoadingError: the refresh takes longer than `wait_seconds`; it continues.
            NotFoundError: the knowledge base has been deleted.
        """
        if self.view is not None and self.epoch == epoch:
            return self.view
        # One that is ahead is looked at as well: the database may have been restored from a backup.
        for _ in range(REFRESH_ROUNDS):
            await self._wait_for_refresh(wait_seconds)
            if self.view is not None and is_fresh(self.epoch, epoch):
                return self.view
        raise StoreLoadingError(
            f"The knowledge base {self._knowledge_base.name!r} is changing faster than its index can follow. Ask"
            " again.",
            retry_after=1.0,
        )

    def touch(self, now_seconds: float) -> None:
        """Record the use of the index on disk, at intervals."""
        if self._place is not None and now_seconds - self._touched_at > TOUCH_SECONDS:
            self._touched_at = now_seconds
            self._place.touch()

    async def is_damaged(self) -> bool:
        """Verify the files after a failed search; the next search rebuilds damaged ones.

        Intact files mean that the question failed, and repeating the question must not cost a build each time.
        """
        async with self._writing:
            if self._index is None or self._place is None:
                return False
            try:
                await self._run(self._workshop.following, require_whole, self._place.directory)
            except DamagedIndexError as error:
                log.warning("lexical.index_damaged", kb_id=self._knowledge_base.id, reason=error.detail)
                await self._drop_index()
                if await self._run(self._workshop.following, self._place.is_there):
                    await self._run(self._workshop.following, self._place.clear)
                return True
        return False

    async def close(self) -> None:
        """Cancel running work, and leave the files to another process."""
        self.is_closed = True
        for task in (self._refresh_task, self._rest_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        async with self._writing:
            await self._drop_index()
            if self._place is not None:
                self._place.release()
                self._place = None

    async def _wait_for_refresh(self, wait_seconds: float | None) -> None:
        """Wait for the one refresh at a time; a caller who gives up waiting does not stop the refresh."""
        if self._refresh_task is None or self._refresh_task.done():
            self._refresh_task = asyncio.create_task(self._refresh(), name=f"words of {self._knowledge_base.id}")
            self._refresh_task.add_done_callback(_told)
        task = self._refresh_task
        _, unfinished = await asyncio.wait([task], timeout=wait_seconds)
        if unfinished or task.cancelled():
            raise StoreLoadingError(
                f"The keyword index of the knowledge base {self._knowledge_base.name!r} is being built. Ask again"
                " in a moment.",
                retry_after=wait_seconds,
            )
        task.result()

    async def _refresh(self) -> None:
        async with self._writing:
            if self._failure is not None and asyncio.get_running_loop().time() < self._retry_at:
                raise self._failure
            self._failure = None
            if self._index is None:
                await self._open()
            if self._index is None or self.epoch is None or not await self._follow(self._index, self.epoch):
                await self._build()
        self._rest_later()

    async def _open(self) -> None:
        """Start from the files of an earlier process, if they are intact and belong to this very knowledge base."""
        if self._place is None and self._workshop.shelf is not None:
            self._place = await self._run(self._workshop.following, self._workshop.shelf.take, self._knowledge_base.id)
        if self._place is None or not await self._run(self._workshop.following, self._place.has_files):
            return
        try:
            index = await self._run(self._workshop.following, WordIndex.opened, self._place.directory)
            state = await self._run(self._workshop.following, lambda: index.state)
            if state is None or not state.is_of(self._knowledge_base):
                raise DamagedIndexError("it is of another knowledge base, or of another release")
            self._take(index, await self._run(self._workshop.following, index.view), state.at)
        except DamagedIndexError as error:
            log.warning("lexical.index_ignored", kb_id=self._knowledge_base.id, reason=error.detail)

    async def _follow(self, index: WordIndex, have: Epoch) -> bool:
        """Pull the changes; return False if the change log does not continue from the replica's version."""
        async with self._workshop.texts.reading(*self._ids) as at:
            if at is None:
                raise self._gone()
            if at.epoch == have:
                return True
            changes = await at.changes(after=have.epoch - 1)
            if not lead_on(changes, have=have, to=at.epoch):
                log.warning("lexical.building_anew", kb_id=self._knowledge_base.id, epoch=at.epoch.epoch)
                return False
            later = [change for change in changes if change.epoch > have.epoch]
            try:
                await self._run(self._workshop.following, index.remove, [one.removed for one in later if one.removed])
                await self._add(index, at, {one.added for one in later if one.added}, self._workshop.following)
                await self._commit(index, at.epoch)
            except BaseException as error:
                await self._give_up(index, error)
                raise
        return True

    async def _build(self) -> None:
        async with self._workshop.builds:
            await self._drop_index()
            async with self._workshop.texts.reading(*self._ids) as at:
                if at is None:
                    raise self._gone()
                place = await self._place_that_is_there()
                if place is not None:
                    await self._run(self._workshop.following, place.clear)
                directory = place.directory if place is not None else None
                index = await self._run(self._workshop.following, WordIndex.created, directory)
                try:
                    await self._add(index, at, None, self._workshop.building)
                    await self._commit(index, at.epoch)
                except BaseException as error:
                    await self._give_up(index, error)
                    await self._drop_index()
                    raise
        log.info("lexical.built", kb_id=self._knowledge_base.id, chunks=self.view.chunk_count if self.view else 0)

    async def _place_that_is_there(self) -> Place | None:
        """Return the replica's place; take another if the knowledge base was removed and recreated, as by a restore."""
        place = self._place
        if place is not None and not await self._run(self._workshop.following, place.is_there):
            self._place = None
            place.release()
            if self._workshop.shelf is not None:
                self._place = await self._run(
                    self._workshop.following, self._workshop.shelf.take, self._knowledge_base.id
                )
        return self._place

    async def _add(self, index: WordIndex, at: TextsAt, generation_ids: set[str] | None, pool: Executor) -> None:
        languages: dict[str, str] = {}
        if generation_ids is None or generation_ids:
            async for chunks in at.texts(generation_ids):
                await self._run(pool, index.add, chunks, languages)

    async def _commit(self, index: WordIndex, epoch: Epoch) -> None:
        await self._run(self._workshop.following, index.commit, State.of(self._knowledge_base, epoch))
        self._take(index, await self._run(self._workshop.following, index.view), epoch)

    async def _give_up(self, index: WordIndex, error: BaseException) -> None:
        """Discard half-done changes before the next commit; reopen an unwritable index, or rebuild it."""
        self._index = index
        if isinstance(error, DamagedIndexError):
            log.warning("lexical.cannot_be_written", kb_id=self._knowledge_base.id, reason=error.detail)
            self._failure, self._retry_at = error, asyncio.get_running_loop().time() + RETRY_SECONDS
            await self._drop_index()
        else:
            await self._run(self._workshop.following, index.discard)

    async def _drop_index(self) -> None:
        index, self._index = self._index, None
        self.view, self.epoch = None, None
        if index is not None:
            await self._run(self._workshop.following, index.abandon)

    def _take(self, index: WordIndex, view: View, epoch: Epoch) -> None:
        self._index, self.view, self.epoch = index, view, epoch

    def _rest_later(self) -> None:
        if self._rest_task is not None:
            self._rest_task.cancel()
        self._rest_task = asyncio.create_task(self._rest(), name=f"rest of {self._knowledge_base.id}")
        self._rest_task.add_done_callback(_told)

    async def _rest(self) -> None:
        await asyncio.sleep(REST_SECONDS)
        async with self._writing:
            if self._index is not None:
                await self._run(self._workshop.following, self._index.rest)

    @property
    def _ids(self) -> tuple[str, str]:
        return self._knowledge_base.organization_id, self._knowledge_base.id

    async def _run(self, pool: Executor, work: Callable[..., T], *arguments: Any) -> T:
        """Run in a thread to the end, even for a cancelled caller, since two threads must not write at once."""
        future = asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise

    def _gone(self) -> NotFoundError:
        return NotFoundError(f"The knowledge base {self._knowledge_base.name!r} has been deleted.")


def _told(task: asyncio.Task[None]) -> None:
    """Consume an error that no caller waits for."""
    if not task.cancelled():
        task.exception()
