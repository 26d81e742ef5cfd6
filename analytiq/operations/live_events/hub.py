"""The one change stream of a process: opened for the first watcher, closed some time after the last."""

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import aclosing
from datetime import datetime
from itertools import islice
from weakref import WeakSet

import structlog

from analytiq.errors import RateLimitedError
from analytiq.models.change import Change, ChangeKey, ChangeKind, ChangeMoment
from analytiq.operations.live_events.events import RESET, Event, EventName
from analytiq.operations.live_events.reading import Reading
from analytiq.operations.live_events.watcher import Watcher
from analytiq.settings import WatchingSettings
from analytiq.storage.repositories.change_stream import ChangeStreamRepository

log = structlog.get_logger(__name__)

GATHER_SECONDS = 0.25
"""Seconds between two readings of changed rows: a frequently changing row is read and sent once in each."""
MOST_READ = 500
"""Most rows of one reading; the others wait for the next."""
MOST_PENDING = 20_000
"""Most unread changes; beyond, all watchers are told to reload."""
MOST_REMEMBERED = 20_000
"""Most changes kept for watchers that reconnect, of all organizations together: about 4 MB."""
MOST_REPEATED = 2_000
"""Most missed changes that are sent again; beyond, the watcher is told to reload."""
LINGER_SECONDS = 60.0
"""Seconds for which the stream stays open without a watcher, so that one that reconnects has missed nothing."""
RETRY_SECONDS = 15.0
"""Seconds between two attempts to open a failed stream; watchers are told to reload as often."""
OPENING_SECONDS = 5.0
"""Longest wait of a watcher for the stream to open; without it, the watcher is told to reload from time to time."""


class Watching:
    """The watchers of organizations and their change stream; used from one event loop."""

    def __init__(self, changes: ChangeStreamRepository, reading: Reading, settings: WatchingSettings) -> None:
        self._changes = changes
        self._reading = reading
        self._settings = settings
        self._watchers: dict[str, WeakSet[Watcher]] = {}
        self._pending: dict[ChangeKey, str | None] = {}
        self._remembered: deque[Change] = deque(maxlen=MOST_REMEMBERED)
        self._floor: ChangeMoment | None = None
        """The position from which on all changes are kept; None without a stream."""
        self._received = ChangeMoment(0, 0)
        self._position = ChangeMoment(0, 0)
        self._is_repeating = False
        """True while missed changes are being read again; until they are sent, no position advances."""
        self._stands = asyncio.Event()
        self._has_pending = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._is_closing = False

    async def enter(
        self,
        organization_id: str,
        depends_on: Iterable[str],
        after: ChangeMoment | None = None,
        ends_at: datetime | None = None,
    ) -> Watcher:
        """Return a new watcher with its first event; it is registered while referenced.

        Args:
            organization_id: the organization to watch.
            depends_on: ids of the rows that grant the right to watch; see `Watcher.check`.
            after: the position reached on an earlier connection.
            ends_at: the expiry of the right to watch.

        Raises:
            RateLimitedError: the organization has its maximum of watchers.
        """
        watchers = self._watchers.setdefault(organization_id, WeakSet())
        if len(watchers) >= self._settings.max_connections:
            raise RateLimitedError(
                f"The organization has {self._settings.max_connections} open connections for events. Close some,"
                " or share one among your open pages.",
                retry_after=RETRY_SECONDS,
                code="too_many_watchers",
            )
        watcher = Watcher(organization_id, depends_on, ends_at, position=self._position)
        watchers.add(watcher)
        await self._open()
        watcher.greet(*self._greeting(organization_id, after))
        if self._is_closing:
            watcher.end()
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Remove a watcher whose connection has ended."""
        watchers = self._watchers.get(watcher.organization_id)
        if watchers is not None:
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[watcher.organization_id]

    def begin_closing(self) -> None:
        """End all connections: a stopping server would wait for them."""
        self._is_closing = True
        for watcher in self._all():
            watcher.end()

    async def close(self) -> None:
        """Stop the stream and all background work."""
        self.begin_closing()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _open(self) -> None:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name="watching")
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                await self._stands.wait()
        except TimeoutError:
            pass

    def _greeting(self, organization_id: str, after: ChangeMoment | None) -> tuple[Event, ChangeMoment]:
        """Choose a watcher's first event and position.

        Missed changes are read and sent like present ones, to the other watchers too: those receive a state twice.
        """
        if not self._stands.is_set():
            return RESET, self._position
        if after is None:
            return Event(EventName.READY), self._position
        if self._floor is None or after < self._floor:
            return RESET, self._position
        missed = [
            change
            for change in self._remembered
            # Not only later ones: changes of one transaction have the same position.
            if change.moment >= after and change.organization_id in (None, organization_id)
        ]
        if len(missed) > MOST_REPEATED:
            return RESET, self._position
        self._is_repeating = bool(missed)
        self._put(missed)
        return Event(EventName.READY), after if missed else self._position

    async def _run(self) -> None:
        telling = asyncio.create_task(self._tell(), name="watching: telling")
        try:
            while self._watchers:
                try:
                    await self._follow()
                except Exception:  # any error: no watcher may wait for an event that never comes
                    log.warning("watching.stream_failed", exc_info=True)
                    self._forget()
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    self._forget()
        finally:
            telling.cancel()

    async def _follow(self) -> None:
        """Receive changes until no one has watched for a while."""
        loop = asyncio.get_running_loop()
        start = await self._changes.now()
        watched_at = loop.time()
        async with aclosing(self._changes.watch(start)) as stream:
            async for changes in stream:
                if not self._stands.is_set():
                    self._floor = self._received = self._position = start
                    self._stands.set()
                    self._tell_all(RESET)
                self._receive(changes)
                if any(True for _ in self._all()):
                    watched_at = loop.time()
                elif loop.time() - watched_at > LINGER_SECONDS:
                    self._watchers.clear()
                    return

    def _receive(self, changes: list[Change]) -> None:
        for change in changes:
            self._received = change.moment
            if change.key.kind is ChangeKind.CREDENTIAL:
                for watcher in self._all():
                    if change.key.id in watcher.depends_on:
                        watcher.check()
                continue
            if len(self._remembered) == MOST_REMEMBERED:
                self._floor = self._remembered[1].moment
            self._remembered.append(change)
            self._put([change])

    def _put(self, changes: list[Change]) -> None:
        for change in changes:
            known = self._pending.pop(change.key, None)
            self._pending[change.key] = change.organization_id or known
        if len(self._pending) > MOST_PENDING:
            self._pending.clear()
            self._tell_all(RESET)
        if self._pending:
            self._has_pending.set()

    async def _tell(self) -> None:
        """Read changed rows in a loop, and send their events."""
        while True:
            await self._has_pending.wait()
            await asyncio.sleep(GATHER_SECONDS)
            received = self._received
            taken = dict(islice(self._pending.items(), MOST_READ))
            for key in taken:
                del self._pending[key]
            self._is_repeating = False
            is_all = not self._pending
            if is_all:
                self._has_pending.clear()
            try:
                events = await self._reading.events(taken, list(self._watchers))
            except Exception:  # one unreadable row must not silence all later ones
                log.warning("watching.reading_failed", exc_info=True)
                self._tell_all(RESET)
                continue
            if is_all and not self._is_repeating:
                self._position = received
            self._hand_out(events)

    def _hand_out(self, events: list[Event]) -> None:
        by_organization: dict[str, list[Event]] = {}
        for event in events:
            by_organization.setdefault(event.organization_id, []).append(event)
        for organization_id, watchers in self._watchers.items():
            own = by_organization.get(organization_id)
            for watcher in watchers:
                if own:
                    watcher.tell(own, self._position)
                else:
                    watcher.note_position(self._position)

    def _tell_all(self, event: Event) -> None:
        for watcher in self._all():
            watcher.tell([event], self._position)

    def _forget(self) -> None:
        """Drop the position: without a stream, missed changes are unknown."""
        self._stands.clear()
        self._floor = None
        self._remembered.clear()
        self._pending.clear()
        self._has_pending.clear()
        self._tell_all(RESET)
        for watcher in self._all():
            watcher.check()

    def _all(self) -> list[Watcher]:
        return [watcher for watchers in self._watchers.values() for watcher in watchers]
