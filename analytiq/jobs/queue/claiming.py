"""Claims jobs in turn: keeps the book of partitions, and claims from the partition whose turn it is."""

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import structlog

from analytiq.jobs.queue.job_work import JobWork
from analytiq.jobs.queue.lanes import ANYTHING, LaneBook, Wanted
from analytiq.jobs.queue.turn_sizes import TurnSizes
from analytiq.models.job import Job
from analytiq.settings import QueueSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.job_lanes import LaneNews
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

HELD_SECONDS = 0.05
"""Time for which a partition is skipped if open transactions or faster workers hold all of its jobs."""
OVERLAP = timedelta(seconds=5)
"""Overlap of two searches for due jobs: longer than any commit takes to become visible."""
LONGEST_DEFERRAL_SECONDS = 60.0
WHOLE_LOOK_SECONDS = 60.0
"""Seconds between searches of all partitions, which find everything missed otherwise."""


class Claims:
    """Hands out jobs, fairly by organization and partition; see `analytiq.jobs.queue.lanes`."""

    def __init__(self, jobs: JobRepository, work: JobWork, *, worker: str, settings: QueueSettings) -> None:
        self._jobs = jobs
        self._kinds = list(work.handlers)
        self._worker = worker
        self._lease_seconds = settings.lease_seconds
        self._poll_seconds = settings.poll_seconds
        self._book = LaneBook(settings.extractions_per_organization)
        self._sizes = TurnSizes(work.batch_handlers, settings.batch_size)
        self._news = asyncio.Event()

    async def claim(self, wanted: Wanted = ANYTHING) -> list[Job]:
        """Claim jobs of one partition for a slot; none if no suitable partition has any. `ended` must follow a claim.

        Several are of a kind that is handled in batches.
        """
        loop = asyncio.get_running_loop()
        while (lane := self._book.next(loop.time(), wanted)) is not None:
            version = lane.version
            # Before the call: other slots use the book meanwhile.
            self._book.begin(lane.organization_id, lane.lane_id)
            jobs: list[Job] = []
            try:
                jobs = await self._claim_of(lane.lane_id)
            finally:
                if not jobs:
                    self._book.end(lane.organization_id, lane_id=lane.lane_id)
            if jobs:
                self._book.served(lane, jobs[0].priority)
                return jobs
            if await self._jobs.has_due(self._kinds, lane.lane_id):
                self._book.block(lane, loop.time() + HELD_SECONDS)
            else:
                self._book.empty(lane, version)
        return []

    async def claim_any(self) -> list[Job]:
        """Claim the most urgent due jobs, whosever turn it is."""
        lane = await self._jobs.due_lane(self._kinds)
        return [] if lane is None else await self._claim_of(lane)

    async def _claim_of(self, lane: str) -> list[Job]:
        """Claim up to a turn's jobs of a partition."""
        limit = self._sizes.of(lane)
        lease_token, seconds = new_id(), self._lease_seconds
        if limit > 1:
            return await self._jobs.claim_many(
                self._kinds, worker=self._worker, lease_token=lease_token, lease_seconds=seconds, lane=lane, limit=limit
            )
        job = await self._jobs.claim(
            self._kinds, worker=self._worker, lease_token=lease_token, lease_seconds=seconds, lane=lane
        )
        return [] if job is None else [job]

    def ended(self, jobs: Sequence[Job], seconds: float) -> None:
        """Free the slot of ended jobs of one claim and note their duration."""
        self._book.end(jobs[0].organization_id, seconds, jobs[0].lane)
        self.note_pace(jobs, seconds)
        self._news.set()

    def leave(self, job: Job) -> None:
        """Free the slot of a job that waits for an answer. It stays a slow one, of which a process runs few."""
        self._book.leave(job.organization_id)
        self._news.set()

    def enter(self, job: Job) -> None:
        """Count the slot of a job that waits no longer."""
        self._book.enter(job.organization_id)

    def note_pace(self, jobs: Sequence[Job], seconds: float) -> None:
        """Note how long the jobs of a claim took."""
        self._sizes.note(jobs[0].lane, len(jobs), seconds)

    def note_returned(self, job: Job) -> None:
        """Note that jobs of this one's partition are available again: no event tells of them."""
        self._book.note(job.lane, job.organization_id, job.priority)
        self._news.set()

    def wake(self) -> None:
        """Let every waiter look again."""
        self._news.set()

    async def wait(self, wanted: Wanted = ANYTHING) -> None:
        """Wait for news of a partition, at most until the next poll."""
        soonest = self._book.soonest(wanted)
        seconds = self._poll_seconds
        if soonest is not None:
            seconds = min(seconds, max(HELD_SECONDS, soonest - asyncio.get_running_loop().time()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def defer(self, job: Job, seconds: float) -> None:
        """Defer the job's partition: the cause of the delay affects its other jobs too.

        For at most LONGEST_DEFERRAL_SECONDS: the provider may have recovered by the time of the next job.
        """
        self._book.defer(job.lane, asyncio.get_running_loop().time() + min(seconds, LONGEST_DEFERRAL_SECONDS))

    async def watch(self) -> None:
        """Learn of partitions as work is enqueued; if the stream breaks, `look` continues."""
        while True:
            try:
                async for news in self._jobs.watch_enqueues():
                    self._note([news])
            except DatabaseError:
                log.warning("queue.watch_failed", exc_info=True)
            await asyncio.sleep(self._poll_seconds)

    async def look(self) -> None:
        """Search for partitions with due jobs in a loop."""
        since: datetime | None = None
        looked_at_all = float("-inf")
        loop = asyncio.get_running_loop()
        while True:
            try:
                now = await self._jobs.server_time()
                if since is None or loop.time() - looked_at_all >= WHOLE_LOOK_SECONDS:
                    self._note(await self._jobs.all_lanes())
                    looked_at_all = loop.time()
                else:
                    self._note(await self._jobs.lanes_due_since(since))
                since = now - OVERLAP
            except DatabaseError:
                log.warning("queue.look_failed", exc_info=True)
            await asyncio.sleep(self._poll_seconds)

    def _note(self, news: Collection[LaneNews]) -> None:
        for item in news:
            self._book.note(item.lane, item.organization_id, item.priority)
            if item.is_woken:
                self._book.unblock(item.lane, item.organization_id)
        if news:
            self._news.set()
