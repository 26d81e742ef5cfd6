"""A connection that watches an organization."""

import asyncio
import math
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from datetime import datetime

from analytiq import clock
from analytiq.models.change import ChangeMoment
from analytiq.operations.live_events.events import Event, Untold

KEEP_ALIVE_SECONDS = 15.0
"""Seconds between heartbeats on a connection without events; proxies commonly close one after 60."""
CHECK_SECONDS = 60.0
"""Seconds between checks of a watcher's rights; the end of a token, session or role is noticed at once."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The events to send now; an empty batch is a heartbeat.

    Attributes:
        events: in order.
        position: the watcher's position after reading all of them.
        must_check: the right to watch has to be checked again before sending.
    """

    events: list[Event]
    position: ChangeMoment
    must_check: bool


class Watcher:
    """A collector of unread events of its organization; used from one event loop.

    `depends_on` are the ids of the rows that grant the right to watch; the right expires at `ends_at`.
    """

    def __init__(
        self,
        organization_id: str,
        depends_on: Iterable[str],
        ends_at: datetime | None = None,
        *,
        position: ChangeMoment,
    ) -> None:
        self.organization_id = organization_id
        self.rest_on(depends_on, ends_at)
        self._position = position
        self._untold = Untold()
        self._news = asyncio.Event()
        self._must_check = False
        self._is_over = False

    def rest_on(self, depends_on: Iterable[str], ends_at: datetime | None) -> None:
        """Set the rows that grant the right to watch."""
        self.depends_on = frozenset({self.organization_id, *depends_on})
        self._ends_at = ends_at

    def greet(self, event: Event, position: ChangeMoment) -> None:
        """Set the first event, replacing all earlier ones."""
        self._untold.take()
        self.tell([event], position)

    def tell(self, events: Iterable[Event], position: ChangeMoment) -> None:
        """Add events."""
        self._untold.add(events)
        self._position = position
        self._news.set()

    def note_position(self, position: ChangeMoment) -> None:
        """Advance past irrelevant changes; the next heartbeat carries the position."""
        self._position = position

    def check(self) -> None:
        """Request a new check of the right to watch, after a change of a row that grants it."""
        self._must_check = True
        self._news.set()

    def end(self) -> None:
        """End the connection of a stopping process; its reader reconnects to another one."""
        self._is_over = True
        self._news.set()

    async def batches(self) -> AsyncGenerator[Batch]:
        """Yield events as they come, until the process stops."""
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        while not self._is_over:
            try:
                async with asyncio.timeout(min(KEEP_ALIVE_SECONDS, self._seconds_left())):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            is_due = loop.time() - checked_at >= CHECK_SECONDS or self._seconds_left() <= 0
            must_check = self._must_check or is_due
            if must_check:
                self._must_check, checked_at = False, loop.time()
            yield Batch(self._untold.take(), self._position, must_check)

    def _seconds_left(self) -> float:
        """Return the remaining seconds of the right to watch, at least 0."""
        return math.inf if self._ends_at is None else max(0.0, (self._ends_at - clock.now()).total_seconds())
