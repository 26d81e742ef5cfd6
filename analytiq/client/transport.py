"""The synchronous transport: runs the steps of flows."""

import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

import httpx

from analytiq.client.steps import Emit, Flow, Identify, Items, Open, Pause, ReadBlock, ReadLine, Reply, Send
from analytiq.client.wire import Wire
from analytiq.errors import AnalytiqError

T = TypeVar("T")


class Transport:
    """Calls to one API; may be used from several threads at once."""

    def __init__(self, wire: Wire, *, timeout_seconds: float) -> None:
        self._wire = wire
        self._http = httpx.Client(timeout=timeout_seconds, trust_env=wire.trusts_environment)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end, and return its result."""
        with _Stream() as stream:
            try:
                step = next(flow)
                while True:
                    try:
                        received = self._take(step, stream)
                    except AnalytiqError as error:
                        step = flow.throw(error)
                    else:
                        step = flow.send(received)
            except StopIteration as end:
                return end.value
            finally:
                flow.close()

    def iterate(self, items: Items[T]) -> Generator[T, None, None]:
        """Run a flow, and yield the items that it emits."""
        with _Stream() as stream:
            try:
                step = next(items)
                while True:
                    if isinstance(step, Emit):
                        yield step.item
                        step = next(items)
                        continue
                    try:
                        received = self._take(step, stream)
                    except AnalytiqError as error:
                        step = items.throw(error)
                    else:
                        step = items.send(received)
            except StopIteration:
                return
            finally:
                items.close()

    def is_ready(self) -> bool:
        """Return whether the API is ready."""
        try:
            return self._http.get(f"{self._wire.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _take(self, step: Any, stream: "_Stream") -> Any:
        match step:
            case Send(request):
                built = self._wire.build(self._http, request)
                return self._sent(built)
            case Open(request):
                built = self._wire.build(self._http, request)
                return self._opened(built, stream)
            case ReadLine():
                return self._next(stream.lines)
            case ReadBlock():
                return self._next(stream.blocks)
            case Pause(seconds):
                time.sleep(seconds)
            case Identify(headers):
                self._wire.headers.update(headers)
            case _:
                raise TypeError(f"{step!r} is not a step.")
        return None

    def _sent(self, request: httpx.Request) -> Reply:
        try:
            response = self._http.send(request)
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error
        return self._wire.reply(response, response.content)

    def _opened(self, request: httpx.Request, stream: "_Stream") -> Reply:
        try:
            response = stream.hold(self._http.send(request, stream=True))
            content = b"" if response.is_success else response.read()
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error
        return self._wire.reply(response, content)

    def _next(self, parts: Iterator[T]) -> T | None:
        try:
            return next(parts, None)
        except httpx.TransportError as error:
            raise self._wire.unreachable(error) from error


class _Stream(ExitStack):
    """The answer that a flow reads in parts."""

    lines: Iterator[str] = iter(())
    blocks: Iterator[bytes] = iter(())

    def hold(self, response: httpx.Response) -> httpx.Response:
        """Read this answer from now on; close the one before."""
        self.close()
        self.callback(response.close)
        self.lines, self.blocks = response.iter_lines(), response.iter_bytes()
        return response
