"""Servers that stand in for others, on an event loop in a thread of their own."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from aiohttp import web

T = TypeVar("T")
Disconnect = Callable[[], Coroutine[Any, Any, None]]


class ServerLoop:
    """An event loop that runs from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; the caller waits."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function soon, on the loop's thread."""
        self._loop.call_soon_threadsafe(function, *arguments)

    def stop(
        self, server: asyncio.Server, *, disconnect: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        """End a server of this loop, its connections and the loop; harmless twice.

        `disconnect` closes the connections that the end of their tasks does not close.
        """
        if self._loop.is_closed():
            return
        self.run(_end(server, disconnect))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AppServer:
    """An aiohttp application on a port of the loopback; `url` is known from `start` on."""

    def __init__(self, app: web.Application, *, port: int = 0) -> None:
        self.url = ""
        self.port = port
        self.loop = ServerLoop()
        self._server: asyncio.Server | None = None
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen."""
        self.loop.start()
        self._server = self.loop.run(self._listen())
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Cut all connections and stop listening; harmless twice."""
        if self._server is not None:
            self.loop.stop(self._server, disconnect=self._runner.cleanup)

    async def _listen(self) -> asyncio.Server:
        await self._runner.setup()
        assert self._runner.server is not None
        return await asyncio.get_running_loop().create_server(self._runner.server, "127.0.0.1", self.port)


async def _end(server: asyncio.Server, disconnect: Disconnect | None) -> None:
    """Close a server and end all tasks, without leaving a socket open.

    A connection that was just accepted has no task yet: if the server is closed then, Python 3.11 leaves its socket
    open, and a later test is told of it. The same is true of a task that is cancelled before its first step.
    """
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
    while any("_accept_connection2" in repr(task.get_coro()) for task in _other_tasks()):
        await asyncio.sleep(0)
    server.close()
    if disconnect is not None:
        await disconnect()
    while others := _other_tasks():
        for task in others:
            coroutine = task.get_coro()
            if not inspect.iscoroutine(coroutine) or inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED:
                task.cancel()
        await asyncio.sleep(0)
    await asyncio.sleep(0)  # closed transports close their sockets in the next round


def _other_tasks() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}
