"""Processes that move one database command at a time, and die between any two.

An `Actor` is a task that stands for a process at work. Every command that it is about to send to MongoDB, and every
named checkpoint, is a gate: it waits there until the test lets it go on, so that of all actors only one moves at a
time. A transaction is passed as one: its effect is there at once or not at all, and one that waited while open would
only make the others conflict.

An actor that was killed never sends another command: each gate raises `Killed`, which is no Exception, so whatever
its clean-up tries is refused. That is what the database sees of a process that was killed.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from pydantic import SecretStr
from pymongo import AsyncMongoClient

from analytiq.storage.causality import LatestAnswer
from analytiq.storage.client import MongoConnection

ACTOR: ContextVar["Actor | None"] = ContextVar("actor", default=None)
"""The actor whose work the running task does; None: nobody's, and no gate stops it."""
STALLED_SECONDS = 60.0


class Killed(BaseException):
    """The process is dead; nothing of it may reach the database any more."""


class Actor:
    """A task that stops at every gate."""

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self.name = name
        self.place = "begun"
        self.has_written = False
        """True if it sent a command that may have changed something since it was last asked to move."""
        self.commits = 0
        self._is_dead = False
        self._waiting: list[asyncio.Future[None]] = []
        self._in_flight = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        """Its own and those that it has started, as far as they were seen at a gate."""
        self._stirred = asyncio.Event()
        self.task = asyncio.create_task(self._run(work))

    async def _run(self, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
        ACTOR.set(self)
        try:
            return await work()
        finally:
            self._stirred.set()

    @property
    def is_done(self) -> bool:
        return self.task.done()

    async def gate(self, place: str) -> None:
        """Wait until the test lets this actor go on."""
        if self._is_dead:
            raise Killed(place)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
        self.place = place
        self._stirred.set()
        try:
            await waiter
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        if self._is_dead:
            raise Killed(place)

    async def send(self, send: Callable[[], Coroutine[Any, Any, Any]], *, is_write: bool, is_commit: bool) -> Any:
        """Send a command; notes what may have come of it."""
        if self._is_dead:
            raise Killed("before a command")
        self._in_flight += 1
        try:
            answer = await send()
            self.commits += is_commit
            return answer
        finally:
            self.has_written |= is_write
            self._in_flight -= 1
            self._stirred.set()

    async def settle_down(self) -> None:
        """Wait until it stands at a gate, with nothing under way, or has ended."""
        async with asyncio.timeout(STALLED_SECONDS):
            while not self.task.done():
                if self._waiting and not self._in_flight:
                    # What was just answered may make a second task of it go on, which has not stopped yet.
                    for _ in range(5):
                        await asyncio.sleep(0)
                    if self._waiting and not self._in_flight:
                        return
                self._stirred.clear()
                stirred = asyncio.create_task(self._stirred.wait())
                await asyncio.wait([self.task, stirred], return_when=asyncio.FIRST_COMPLETED)
                stirred.cancel()

    async def move(self) -> None:
        """Go on from the gate where it stands to the next one."""
        await self.settle_down()
        self.has_written = False
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
        await self.settle_down()

    async def kill(self) -> None:
        """Die where it stands."""
        self._is_dead = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        tasks = {self.task, *self._tasks}
        for task in tasks:
            task.cancel()
        async with asyncio.timeout(STALLED_SECONDS):
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # seen, so that asyncio does not report it as forgotten


class GatedClient(AsyncMongoClient[dict[str, Any]]):
    """The driver's client, with a gate before every command that is not within an open transaction."""

    async def _retry_internal(
        self, func: Any, session: Any, bulk: Any, operation: str, *args: Any, **kwargs: Any
    ) -> Any:
        async def send() -> Any:
            return await super(GatedClient, self)._retry_internal(func, session, bulk, operation, *args, **kwargs)

        actor = ACTOR.get()
        if actor is None:
            return await send()
        name = str(getattr(operation, "value", operation))
        begins = session is not None and session._starting_transaction
        is_within = session is not None and session.in_transaction and not begins
        is_finishing = name in ("commitTransaction", "abortTransaction")
        if not is_within and not is_finishing:
            await actor.gate(f"{'transaction ' if begins else ''}{name}")
        # The driver takes every command of a caller's own for a read, the insert of staged vectors too.
        is_write = not kwargs.get("is_read", False) or kwargs.get("is_run_command", False)
        return await actor.send(send, is_write=is_write, is_commit=name == "commitTransaction")


def gated_connection(uri: SecretStr, database: str, server_version: tuple[int, ...]) -> MongoConnection:
    """A connection whose client has gates; close it."""
    latest_answer = LatestAnswer()
    client = GatedClient(
        uri.get_secret_value(),
        tz_aware=True,
        uuidRepresentation="standard",
        w="majority",
        event_listeners=[latest_answer],
    )
    return MongoConnection(
        client=client,
        database=client[database],
        server_version=server_version,
        is_sharded=False,
        latest_answer=latest_answer,
    )


async def stop_at_checkpoint(name: str) -> None:
    """The hook of `analytiq.telemetry.checkpoints`."""
    actor = ACTOR.get()
    if actor is not None:
        await actor.gate(f"checkpoint {name}")
