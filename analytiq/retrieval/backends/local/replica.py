"""One index of one knowledge base in this process, refreshed to the version that a search asks for."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import structlog

from analytiq.errors import AnalytiqError, NotFoundError, StoreLoadingError
from analytiq.models.following import is_fresh, lead_on
from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.storage.repositories.index_contents import IndexContentRepository, IndexReading

log = structlog.get_logger(__name__)

T = TypeVar("T")
ViewT = TypeVar("ViewT")
OtherT = TypeVar("OtherT")

REFRESH_ROUNDS = 3
"""Rounds of a refresh: one suffices unless it began before the requested commit."""


@dataclass(frozen=True, slots=True)
class Version(Generic[ViewT]):
    """An index as a commit left it."""

    epoch: Epoch
    view: ViewT


class SharedTask(Generic[T]):
    """One task at a time, awaited by many callers; a caller who gives up waiting does not stop the task."""

    def __init__(self) -> None:
        self.task: asyncio.Task[T] | None = None

    @property
    def is_running(self) -> bool:
        """True until the task has ended."""
        return self.task is not None and not self.task.done()

    async def result(
        self, work: Callable[[], Coroutine[Any, Any, T]], name: str, kb_id: str, *, wait_seconds: float | None
    ) -> T:
        """Return the result of the running task, or of a new one.

        Raises:
            TimeoutError: it takes longer than `wait_seconds`, or was cancelled.
        """
        if self.task is None or self.task.done():
            self.task = in_background(work(), name, kb_id)
        task = self.task
        _, unfinished = await asyncio.wait([task], timeout=wait_seconds)
        if unfinished or task.cancelled():
            raise TimeoutError
        return task.result()


class IndexReplica(ABC, Generic[ViewT]):
    """An index changed by one task at a time, under `writing`, while searches read the view of its latest version."""

    name: ClassVar[str]
    rebuild_event: ClassVar[str]
    """Log event if the change log does not continue from the latest version."""
    not_ready: ClassVar[str]
    """Error text of a search that must try again: `{kb}` stands for the knowledge base's name."""

    def __init__(self, knowledge_base: KnowledgeBase, contents: IndexContentRepository) -> None:
        self.knowledge_base = knowledge_base
        self.contents = contents
        self.latest: Version[ViewT] | None = None
        self.writing = asyncio.Lock()
        self.is_closed = False
        self._refreshing = SharedTask[Version[ViewT]]()

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of the organization and the knowledge base."""
        return self.knowledge_base.organization_id, self.knowledge_base.id

    @property
    def is_refreshing(self) -> bool:
        """True while changes are being applied."""
        return self._refreshing.is_running

    async def fresh(self, epoch: Epoch, *, wait_seconds: float | None) -> Version[ViewT]:
        """Return this version or a later one; without `wait_seconds`, wait as long as that takes.

        Raises:
            StoreLoadingError: the refresh takes longer than `wait_seconds`; it continues.
            NotFoundError: the knowledge base has been deleted.
        """
        if self.latest is not None and self.latest.epoch == epoch:
            return self.latest
        # A replica that is ahead is refreshed as well: either another search saw a later epoch than this one, and
        # there is nothing to read, or the database was restored from a backup, and the replica is of a lost history.
        for _ in range(REFRESH_ROUNDS):
            try:
                latest = await self._refreshing.result(
                    self._refresh, f"refresh of {self.name}", self.knowledge_base.id, wait_seconds=wait_seconds
                )
            except TimeoutError as error:
                raise self.not_ready_within(wait_seconds) from error
            if is_fresh(latest.epoch, epoch):
                return latest
        raise too_fast(self.knowledge_base)

    async def follow(self, at: IndexReading, changes: Sequence[IndexChange]) -> bool:
        """Apply the changes since the latest version; return False if the log does not continue from it.

        Call it under `writing`.
        """
        if self.latest is None:
            return False
        have = self.latest.epoch
        if at.epoch == have:
            return True
        own = [change for change in changes if change.epoch >= have.epoch]
        if not lead_on(own, have=have, to=at.epoch):
            log.warning(self.rebuild_event, kb_id=at.epoch.kb_id, epoch=at.epoch.epoch)
            return False
        later = [change for change in own if change.epoch > have.epoch]
        await self.apply(
            at,
            added={change.added for change in later if change.added},
            removed=[change.removed for change in later if change.removed],
        )
        return True

    @abstractmethod
    async def open(self) -> None:
        """Start from the files of an earlier process, if they are intact and belong to this very knowledge base."""

    @abstractmethod
    async def build(self) -> None:
        """Build the index from everything indexed now."""

    @abstractmethod
    async def apply(self, at: IndexReading, *, added: Collection[str], removed: Collection[str]) -> None:
        """Bring the index to the version of the reading; a failure leaves the latest version as it was."""

    @abstractmethod
    def settle(self) -> None:
        """Start upkeep after a refresh."""

    async def _refresh(self) -> Version[ViewT]:
        async with self.writing:
            if self.latest is None:
                await self.open()
            if self.latest is None or not await self._follow_alone(self.latest.epoch):
                await self.build()
            latest = self.required()
        self.settle()
        return latest

    async def _follow_alone(self, have: Epoch) -> bool:
        async with self.contents.reading(*self.ids) as at:
            if at is None:
                raise gone(self.knowledge_base)
            return await self.follow(at, [] if at.epoch == have else await at.changes(after=have.epoch - 1))

    def required(self) -> Version[ViewT]:
        """Return the latest version, which a refresh has just made."""
        assert self.latest is not None  # noqa: S101  # `build` raises where it makes none
        return self.latest

    def not_ready_within(self, wait_seconds: float | None) -> StoreLoadingError:
        """Return the error of a search that does not wait any longer."""
        return StoreLoadingError(self.not_ready.format(kb=repr(self.knowledge_base.name)), retry_after=wait_seconds)

    async def run(self, pool: Executor, work: Callable[..., T], *arguments: Any) -> T:
        """Run in a thread to the end, even for a cancelled caller, since two threads must not write at once."""
        future = asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise


async def refresh_both(
    first: IndexReplica[ViewT], second: IndexReplica[OtherT]
) -> tuple[Version[ViewT], Version[OtherT]]:
    """Bring two indexes of one knowledge base to one version by one reading of the change log.

    The first one is free for other refreshes while the second one is still changed. The versions differ only if an
    index had to be built.
    """
    async with AsyncExitStack() as readings, second.writing:
        async with first.writing:
            # Under both locks: no index may be ahead of what is read here.
            at = await readings.enter_async_context(first.contents.reading(*first.ids))
            if at is None:
                raise gone(first.knowledge_base)
            known = [one.latest.epoch.epoch for one in (first, second) if one.latest is not None]
            changes = await at.changes(after=min(known) - 1) if known else []
            one = await _brought_to(first, at, changes)
        first.settle()
        other = await _brought_to(second, at, changes)
    second.settle()
    return one, other


async def _brought_to(index: IndexReplica[ViewT], at: IndexReading, changes: Sequence[IndexChange]) -> Version[ViewT]:
    if not await index.follow(at, changes):
        await index.build()
    return index.required()


def in_background(work: Coroutine[Any, Any, T], name: str, kb_id: str) -> asyncio.Task[T]:
    """Start a task, and log an unexpected failure that may have no waiting caller."""

    def note_failure(task: asyncio.Task[T]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, AnalytiqError):  # those are for who waits, and of no interest where nobody does
            log.warning("local_store.background_work_failed", work=name, kb_id=kb_id, error=repr(error))

    task = asyncio.create_task(work, name=f"{name} of {kb_id}")
    task.add_done_callback(note_failure)
    return task


def gone(knowledge_base: KnowledgeBase) -> NotFoundError:
    """Return the error for a deleted knowledge base."""
    return NotFoundError(f"The knowledge base {knowledge_base.name!r} has been deleted.")


def too_fast(knowledge_base: KnowledgeBase) -> StoreLoadingError:
    """Return the error for a search that no refresh could satisfy."""
    return StoreLoadingError(
        f"The knowledge base {knowledge_base.name!r} is changing faster than its index can follow. Ask again.",
        retry_after=1.0,
    )
