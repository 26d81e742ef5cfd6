"""Eviction from the embedding cache.

A row may be evicted although a knowledge base was made from it: the vectors lie in the knowledge base. The same text
then costs a call and an SPU when it is indexed again: by a new version of its document, another knowledge base, or a
rebuild.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from analytiq import clock
from analytiq.settings import EmbeddingSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.embedding_cache import USE_NOTED_AFTER, CacheSize, EmbeddingCacheRepository, Removed
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import metrics
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

BATCH_ROWS = 1000
"""Rows of one transaction: at 1,536 dimensions 7 MB, far below the limit of the server's cache."""
LOWERED_TO = 0.95
"""Share of the bound to which the cache is reduced, so that it does not reach the bound again at once."""
PAUSE_SECONDS = 0.01
"""Pause between batches: embedding and searching come first."""
SPARED = USE_NOTED_AFTER + timedelta(minutes=5)
"""Age below which a row is never removed, however small the bound: a failed attempt is repeated within five minutes,
and needs the embeddings already paid for. A use is recorded up to USE_NOTED_AFTER late, hence the sum."""


@dataclass(frozen=True, slots=True)
class EvictionReport:
    """Counts of removed rows by reason; `left` is the cache afterwards."""

    unused_rows: int
    surplus_rows: int
    removed_bytes: int
    left: CacheSize


class CacheEviction:
    """Removes embeddings in batches; each is one transaction with the record of their owners."""

    def __init__(
        self, connection: MongoConnection, cache: EmbeddingCacheRepository, settings: EmbeddingSettings
    ) -> None:
        self._connection = connection
        self._cache = cache
        self._settings = settings

    async def run(self) -> EvictionReport:
        """Remove expired embeddings, then, above the bound, the least recently used.

        Concurrent runs remove nothing twice; they only slow each other down.
        """
        unused = await self._remove_unused()
        surplus = await self._remove_surplus()
        left = await self._cache.size()
        metrics.cache_evictions.labels(reason="unused").inc(unused.rows)
        metrics.cache_evictions.labels(reason="surplus").inc(surplus.rows)
        metrics.cache_rows.set(left.rows)
        metrics.cache_bytes.set(left.bytes)
        report = EvictionReport(unused.rows, surplus.rows, unused.bytes + surplus.bytes, left)
        if unused.rows or surplus.rows:
            log.info("embedding.cache_evicted", unused=unused.rows, surplus=surplus.rows, left=left.rows)
        return report

    async def _remove_unused(self) -> Removed:
        days = self._settings.cache_unused_days
        removed = Removed(0, 0)
        if not days:
            return removed
        before = clock.now() - timedelta(days=days)
        while keys := await self._cache.least_recently_used(limit=BATCH_ROWS, before=before):
            removed = _sum(removed, await self._remove(keys, before))
            await asyncio.sleep(PAUSE_SECONDS)
        return removed

    async def _remove_surplus(self) -> Removed:
        size = await self._cache.size()
        removed = Removed(0, 0)
        surplus_bytes = surplus(size, self._settings.cache_max_bytes)
        before = clock.now() - SPARED
        while removed.bytes < surplus_bytes:
            limit = rows_for(surplus_bytes - removed.bytes, size)
            keys = await self._cache.least_recently_used(limit=limit, before=before)
            if not keys:
                log.warning(
                    "embedding.cache_above_its_bound", bytes=size.bytes - removed.bytes,
                    max_bytes=self._settings.cache_max_bytes, why="everything that is left was used minutes ago",
                )  # fmt: skip
                break
            removed = _sum(removed, await self._remove(keys, before))
            await asyncio.sleep(PAUSE_SECONDS)
        return removed

    async def _remove(self, keys: Collection[str], unused_since: datetime) -> Removed:
        async def remove(session: Session) -> Removed:
            removed = await self._cache.remove(session, keys, unused_since=unused_since)
            await checkpoint("eviction.batch_deleted")
            return removed

        removed = await run_in_transaction(self._connection, remove)
        await checkpoint("eviction.batch_committed")
        return removed


def surplus(size: CacheSize, max_bytes: int) -> int:
    """Return the bytes to remove; 0 within the bound, or without one (`max_bytes` 0)."""
    if not max_bytes or size.bytes <= max_bytes:
        return 0
    return size.bytes - int(max_bytes * LOWERED_TO)


def rows_for(wanted_bytes: int, size: CacheSize) -> int:
    """Estimate the number of rows with that many bytes; at most a batch, at least one."""
    mean_bytes = max(1.0, size.bytes / max(1, size.rows))
    return max(1, min(BATCH_ROWS, round(wanted_bytes / mean_bytes)))


def _sum(one: Removed, other: Removed) -> Removed:
    return Removed(one.rows + other.rows, one.bytes + other.bytes)
