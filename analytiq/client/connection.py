"""The clients' connection: arguments, context managers, and the transport of each."""

from collections.abc import AsyncGenerator, Generator
from typing import Self, TypeVar

from analytiq.client.operations import Asynchronous, Synchronous
from analytiq.client.steps import Flow, Items

T = TypeVar("T")


class Connection(Synchronous):
    """One organization over REST; may be used from several threads, and as a context manager."""

    def __init__(self, url: str, organization_id: str = "", token: str = "", *, timeout_seconds: float = 120.0) -> None:
        """Prepare; no connection is opened yet.

        Args:
            url: the API's, such as `http://127.0.0.1:8000`.
            organization_id: 24 hex digits; empty for calls outside of organizations.
            token: an access token of the organization; empty for `sign_in`.
            timeout_seconds: the longest silence within one call.
        """
        # Not at import: a command that makes no call needs no HTTP library.
        from analytiq.client.transport import Transport
        from analytiq.client.wire import Wire

        wire = Wire(url, organization_id, token)
        self._url = wire.url
        self._transport = Transport(wire, timeout_seconds=timeout_seconds)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end."""
        return self._transport.run(flow)

    def iterate(self, items: Items[T]) -> Generator[T, None, None]:
        """Run a flow, and yield its items."""
        return self._transport.iterate(items)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The API's address."""
        return self._url

    def is_ready(self) -> bool:
        """Return whether the API is ready."""
        return self._transport.is_ready()


class AsyncConnection(Asynchronous):
    """One organization over REST, on one event loop; an asynchronous context manager."""

    def __init__(self, url: str, organization_id: str = "", token: str = "", *, timeout_seconds: float = 120.0) -> None:
        """Prepare; no connection is opened yet. Arguments as those of `Client`."""
        from analytiq.client.async_transport import AsyncTransport
        from analytiq.client.wire import Wire

        wire = Wire(url, organization_id, token)
        self._url = wire.url
        self._transport = AsyncTransport(wire, timeout_seconds=timeout_seconds)

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end."""
        return await self._transport.run(flow)

    def iterate(self, items: Items[T]) -> AsyncGenerator[T, None]:
        """Run a flow, and yield its items."""
        return self._transport.iterate(items)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """The API's address."""
        return self._url

    async def is_ready(self) -> bool:
        """Return whether the API is ready."""
        return await self._transport.is_ready()
