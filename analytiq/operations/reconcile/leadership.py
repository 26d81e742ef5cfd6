"""Which reconciler leads: chores are done by one process at a time, however many run (design 2.9)."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

import structlog

from analytiq.errors import LeaseLostError
from analytiq.operations.reconcile.fences import Fence, LeaseFence
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

LEASE = "reconciler"
RENEWALS = 4
"""A lease is renewed so often before it ends: three may fail."""
WAIT_SECONDS = 5.0
"""Between looks whether a chore is due, and whether the leader has gone."""
MOST_OF_THE_TIME = 0.1
"""A chore that takes long is done less often, so that it takes no more than this share of the time."""

Chore = tuple[str, float, Callable[[Fence], Awaitable[object]]]
"""A periodic chore: (name, interval_seconds, do).

name: a field's name in the row of the lease, under which the last time is remembered: a restart, or another process
that leads from now on, repeats nothing. interval_seconds: between its beginnings, at least. do: awaited by the leader,
one chore after the other; what it returns is ignored, what it raises is logged and tried again after the interval.

It is given the leader's fence: a chore that lasts, or must not be done twice, calls `await fence.hold()` before each
batch (or `fence.hold(session=session)` in its transaction) and lets LeaseLostError pass. One that may be done twice
need not look at it. Chores are listed in `Application.reconcile_leader`.
"""


class Leader:
    """Holds the lease while it can, and does the chores that are due while it holds it."""

    def __init__(self, leases: LeaseRepository, chores: Sequence[Chore], *, lease_seconds: float) -> None:
        self._leases = leases
        self._chores = chores
        self._lease_seconds = lease_seconds
        self._not_before: dict[str, float] = {}
        self.holder = f"{socket.gethostname()}:{os.getpid()}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Lead, or wait to lead, until told to stop."""
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
            working.result()  # it ends by itself for want of the lease, or by an error that nobody foresaw
        if working.cancelled() and renewing.cancelled():
            with contextlib.suppress(DatabaseError):
                await self._leases.release(LEASE, token)
            return
        log.warning("reconciler.lost_lead", holder=self.holder)

    async def _renew(self, token: str) -> None:
        """Return once the lease is lost, or may be: trust in it ends before it does, by this process's own clock."""
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
        """Do the chores that are due, one after the other, again and again."""
        fence = LeaseFence(self._leases, LEASE, token)
        try:
            while True:
                for name, interval_seconds, do in self._chores:
                    if await self._is_due(name, interval_seconds):
                        await self._do(name, interval_seconds, do, fence, token)
                await _wait(stopping, WAIT_SECONDS)
        except LeaseLostError as error:
            log.info("reconciler.lease_lost", detail=error.detail)

    async def _is_due(self, name: str, interval_seconds: float) -> bool:
        if monotonic() < self._not_before.get(name, 0.0):
            return False
        return await self._leases.is_due(LEASE, name, interval_seconds=interval_seconds)

    async def _do(
        self, name: str, interval_seconds: float, do: Callable[[Fence], Awaitable[object]], fence: Fence, token: str
    ) -> None:
        began = monotonic()
        try:
            await do(fence)
        except LeaseLostError:
            raise
        except Exception:
            # Whatever it was, the other chores are not to wait for it.
            log.exception("reconciler.chore_failed", chore=name)
            self._not_before[name] = monotonic() + interval_seconds
            return
        seconds = monotonic() - began
        self._not_before[name] = monotonic() + seconds / MOST_OF_THE_TIME
        if not await self._leases.note_done(LEASE, token, name):
            raise LeaseLostError("the lead was lost while the chore was done; another process may do it again")
        log.info("reconciler.chore_done", chore=name, seconds=round(seconds, 3))


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
