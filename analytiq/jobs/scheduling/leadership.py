"""Election of a leader: one process at a time runs the periodic tasks."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence
from time import monotonic

import structlog

from analytiq.errors import LeaseLostError
from analytiq.jobs.scheduling.fences import LeaseFence
from analytiq.jobs.scheduling.tasks import PeriodicTask
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

LEASE = "reconciler"
RENEWALS = 4
"""Renewals of a lease before it ends: three may fail."""
WAIT_SECONDS = 5.0
"""Seconds between two checks for due tasks, and for a leader that has gone."""
MOST_OF_THE_TIME = 0.1
"""Largest share of the time that one task takes: a long one runs less often."""


class Leader:
    """A process that holds the lease while it can, and runs due tasks."""

    def __init__(self, leases: LeaseRepository, tasks: Sequence[PeriodicTask], *, lease_seconds: float) -> None:
        self._leases = leases
        self._tasks = tasks
        self._lease_seconds = lease_seconds
        self._not_before: dict[str, float] = {}
        self.holder = f"{socket.gethostname()}:{os.getpid()}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Lead, or wait to lead, until `stopping` is set."""
        while not stopping.is_set():
            token = new_id()
            try:
                if await self._leases.take(LEASE, token, holder=self.holder, lease_seconds=self._lease_seconds):
                    await self._lead(token, stopping)
            except DatabaseError:
                log.warning("reconciler.database_away", exc_info=True)
            await _wait(stopping, min(WAIT_SECONDS, self._lease_seconds))

    async def _lead(self, token: str, stopping: asyncio.Event) -> None:
        log.info("reconciler.leads", holder=self.holder)
        working = asyncio.create_task(self._work(token, stopping))
        renewing = asyncio.create_task(self._renew(token))
        stop = asyncio.create_task(stopping.wait())
        tasks = (working, renewing, stop)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not working.cancelled():
            working.result()  # it ends by itself after losing the lease, or by an unexpected error
        if working.cancelled() and renewing.cancelled():
            with contextlib.suppress(DatabaseError):
                await self._leases.release(LEASE, token)
            return
        log.warning("reconciler.lost_lead", holder=self.holder)

    async def _renew(self, token: str) -> None:
        """Renew the lease; return once it is lost, or may be lost by this process's own clock."""
        trusted_until = monotonic() + self._lease_seconds
        while True:
            await asyncio.sleep(self._lease_seconds / RENEWALS)
            asked_at = monotonic()
            try:
                if not await self._leases.renew(LEASE, token, lease_seconds=self._lease_seconds):
                    return
                trusted_until = asked_at + self._lease_seconds
            except DatabaseError:
                log.warning("reconciler.lease_not_renewed", exc_info=True)
                if monotonic() > trusted_until:
                    return

    async def _work(self, token: str, stopping: asyncio.Event) -> None:
        """Run the due tasks one after another in a loop."""
        fence = LeaseFence(self._leases, LEASE, token)
        try:
            while True:
                for task in self._tasks:
                    if await self._is_due(task):
                        await self._run(task, fence, token)
                await _wait(stopping, WAIT_SECONDS)
        except LeaseLostError as error:
            log.info("reconciler.lease_lost", detail=error.detail)

    async def _is_due(self, task: PeriodicTask) -> bool:
        if monotonic() < self._not_before.get(task.name, 0.0):
            return False
        return await self._leases.is_due(LEASE, task.name, interval_seconds=task.interval_seconds)

    async def _run(self, task: PeriodicTask, fence: LeaseFence, token: str) -> None:
        began = monotonic()
        try:
            await task.run(fence)
        except LeaseLostError:
            raise
        except Exception:
            # Whatever the error, the other tasks do not wait for this one.
            log.exception("reconciler.task_failed", task=task.name)
            self._not_before[task.name] = monotonic() + task.interval_seconds
            return
        seconds = monotonic() - began
        self._not_before[task.name] = monotonic() + seconds / MOST_OF_THE_TIME
        if not await self._leases.note_run(LEASE, token, task.name):
            raise LeaseLostError(f"The task {task.name!r} lost the lead while it ran. The next leader may repeat it.")
        log.info("reconciler.task_done", task=task.name, seconds=round(seconds, 3))


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
