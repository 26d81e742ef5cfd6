"""The counts of waiting work that `/metrics` answers with, at a bounded share of the database's time."""

import asyncio

from analytiq.models.job import JobKind
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.telemetry import metrics

LEAST_SECONDS = 1.0
"""Seconds for which counts are reused, however fast they were."""
MOST_SHARE = 0.05
"""Most of the time that counting may take: a long queue is counted less often, not longer."""


class WaitingWork:
    """Counts jobs for the scrapes of this process; scrapes at the same time share one count."""

    def __init__(self, *, least_seconds: float = LEAST_SECONDS) -> None:
        self._least_seconds = least_seconds
        self._turn = asyncio.Lock()
        self._next_count = float("-inf")

    async def measure(self, jobs: JobRepository) -> None:
        """Set the gauges of waiting jobs, unless they were set a short while ago."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            begun = loop.time()
            if begun < self._next_count:
                return
            metrics.queue_depth.set(await jobs.count_waiting(JobKind.SYNC))
            metrics.jobs_due.set(await jobs.count_work())
            seconds = loop.time() - begun
            self._next_count = loop.time() + max(self._least_seconds, seconds / MOST_SHARE)
