"""The asynchronous transport: runs the steps of flows."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import IO, Any, TypeVar, cast

import httpx

from analytiq.client.steps import (
    Emit,
    Flow,
    Identify,
    Items,
    Open,
    Pause,
    ReadBlock,
    ReadLine,
    Reply,
    ReportsLater,
    Send,
)
from analytiq.client.wire import Wire
from analytiq.errors import AnalytiqError

T = TypeVar("T")


class AsyncTransport:
    """Calls to one API, on one event loop."""

    def __init__(self, wire: Wire, *, timeout_seconds: float) -> None:
        self._wire = wire
        self._http = httpx.AsyncClient(timeout=timeout_seconds, trust_env=wire.trusts_environment)

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end, and return its result."""
        async with _Stream() as stream:
            try:
                step = next(flow)
                while True:
                    try:
                        received = await self._take(step, stream)
                    except AnalytiqError as error:
                        step = flow.throw(error)
                    else:
                        step = flow.send(received)
            except StopIteration as end:
                return end.value
            finally:
                flow.close()

    async def iterate(self, items: Items[T]) -> AsyncGenerator[T, None]:
        """Run a flow, and yield the items that it emits."""
        async with _Stream() as stream:
            try:
                step = next(items)
                while True:
                    if isinstance(step, Emit):
                        yield step.item
                        step = next(items)
                        continue
                    try:
                        received = await self._take(step, stream)
                    except AnalytiqError as error:
                        step = items.throw(error)
                    else:
                        step = items.send(received)
            except StopIteration:
                return
            finally:
                items.close()

    async def is_ready(self) -> bool:
        """Return whether the API is ready."""
        try:
            return (await self._http.get(f"{self._wire.url}/ready")).status_code == 200
        except httpx.TransportError:
            return False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _take(self, step: Any, stream: "_Stream") -> Any:
        match step:
            case Send(request):
                built = self._wire.build(self._http, request)
                return await self._sent(built, [file for _, (_, file, _) in request.files])
            case Open(request):
                built = self._wire.build(self._http, request)
                return await self._opened(built, stream)
            case ReadLine():
                return await self._next(stream.lines)
            case ReadBlock():
                return await self._next(stream.blocks)
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Identify(headers):
                self._wire.headers.update(headers)
            case _:
                raise TypeError(f"{step!r} is not a step.")
        return None

    async def _sent(self, request: httpx.Request, files: Sequence[IO[bytes]]) -> Reply:
        if files:
            request.stream = _FilesInThreads(cast("httpx.SyncByteStream", request.stream), files)
        try:
            response = await self._http.send(request)
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error
        return self._wire.reply(response, response.content)

    async def _opened(self, request: httpx.Request, stream: "_Stream") -> Reply:
        try:
            response = await stream.hold(await self._http.send(request, stream=True))
            content = b"" if response.is_success else await response.aread()
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error
        return self._wire.reply(response, content)

    async def _next(self, parts: AsyncIterator[T]) -> T | None:
        try:
            return await anext(parts, None)
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error


class _FilesInThreads(httpx.AsyncByteStream):
    """A body whose files are read in threads, so that a slow disk or stream holds up no other task."""

    def __init__(self, body: httpx.SyncByteStream, files: Sequence[IO[bytes]]) -> None:
        self._body = body
        self._files = [file for file in files if isinstance(file, ReportsLater)]
        for file in self._files:
            file.reports_later = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        blocks = iter(self._body)
        while (block := await asyncio.to_thread(next, blocks, None)) is not None:
            for file in self._files:
                file.report()  # here, so that callbacks run on the event loop
            yield block


async def _nothing() -> AsyncGenerator[Any, None]:
    for nothing in ():
        yield nothing


class _Stream(AsyncExitStack):
    """The answer that a flow reads in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: AsyncIterator[str] = _nothing()
        self.blocks: AsyncIterator[bytes] = _nothing()

    async def hold(self, response: httpx.Response) -> httpx.Response:
        """Read this answer from now on; close the one before."""
        await self.aclose()
        self.push_async_callback(response.aclose)
        self.lines, self.blocks = response.aiter_lines(), response.aiter_bytes()
        return response
