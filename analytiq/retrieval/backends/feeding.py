"""Feeder of this process's keyword indexes: it follows commits, so that no search has to build an index."""

import asyncio

import structlog

from analytiq.errors import AnalytiqError
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.5
"""Pause between two rounds; commits made meanwhile are followed together."""
RETRY_SECONDS = 5.0
AT_ONCE = 2
"""Knowledge bases followed concurrently: the same number as may be built concurrently."""


class KeywordFeeder:
    """Follower of the commits to all knowledge bases; the next commit or search makes up for a missed one."""

    def __init__(self, backends: Backends, knowledge_bases: KnowledgeBaseRepository, epochs: EpochRepository) -> None:
        self._backends = backends
        self._knowledge_bases = knowledge_bases
        self._epochs = epochs
        self._changed: set[str] = set()
        self._has_changed = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            for _ in range(AT_ONCE):
                group.create_task(self._follow_continuously())

    async def _watch(self) -> None:
        while True:
            try:
                async for kb_id in self._epochs.watch_commits():
                    self._backends.expect(kb_id)
                    self._changed.add(kb_id)
                    self._has_changed.set()
            except DatabaseError:
                log.warning("keywords.watch_failed", exc_info=True)
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow_continuously(self) -> None:
        while True:
            await self._has_changed.wait()
            while self._changed:
                await self._follow(self._changed.pop())
            self._has_changed.clear()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _follow(self, kb_id: str) -> None:
        try:
            epoch = await self._epochs.read(kb_id)
            found = await self._knowledge_bases.shown_of(None, kb_id)
            if epoch is not None and found:
                await self._backends.of(found[0]).follow(found[0], epoch)
        except (AnalytiqError, DatabaseError):
            log.warning("keywords.not_followed", kb_id=kb_id, exc_info=True)
        finally:
            if kb_id not in self._changed:
                self._backends.expect_no_longer(kb_id)
