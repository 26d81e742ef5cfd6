"""The one transport of every call to a provider: it connects only to allowed destinations.

A call is bound for its provider's own origins, or for the address named by its organization (`bound_for`). Any other
origin is refused before a connection is opened, from any source: a model's name, a variable of the environment, a
redirect, a new version of LiteLLM. Names are resolved here, every resolved address is checked, and the connection goes
to the checked address: a name may change between a check and a second look-up.
"""

import asyncio
import functools
import ssl
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, cast
from weakref import WeakKeyDictionary

import httpcore
import httpx

from analytiq.errors import ProviderRefusedError
from analytiq.inference.providers.addresses import look_up, origin_of, require_allowed

CONNECTIONS = 1000
IDLE_CONNECTIONS = 100
IDLE_SECONDS = 30.0
_AUDITED = frozenset({"socket.connect", "socket.sendto"})


@dataclass(frozen=True, slots=True)
class Destination:
    """The origins of a call. `is_guarded`: connect to public addresses only."""

    origins: frozenset[str]
    is_guarded: bool = True


_destination: ContextVar[Destination | None] = ContextVar("destination", default=None)
_is_connecting: ContextVar[bool] = ContextVar("is_connecting", default=False)


@contextmanager
def bound_for(destination: Destination) -> Generator[None]:
    """Let the calls of this block connect to the destination only."""
    token = _destination.set(destination)
    try:
        yield
    finally:
        _destination.reset(token)


class GuardedTransport(httpx.AsyncBaseTransport):
    """HTTP without proxies and redirects, to the destination of the call."""

    def __init__(self) -> None:
        # A connection that was opened for a trusted destination is never reused for a guarded one.
        self._guarded = _transport(is_guarded=True)
        self._trusted = _transport(is_guarded=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request.

        Raises:
            ProviderRefusedError: the origin is not the call's, its host has an address that may not be connected to,
                or the server redirects.
            httpx.HTTPError: as httpx; ConnectError also if the host cannot be resolved.
        """
        destination = _destination.get()
        if destination is None or origin_of(str(request.url)) not in destination.origins:
            raise _refused(f"Refused to call {request.url.host!r}: it is not the provider's address.")
        inner = self._guarded if destination.is_guarded else self._trusted
        response = await inner.handle_async_request(request)
        if response.has_redirect_location:
            await response.aclose()
            raise _refused(
                "The provider's address answers with a redirect, which is not followed: use the address behind it."
            )
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._guarded.aclose()
        await self._trusted.aclose()

    async def close_idle(self) -> None:
        """Close idle connections."""
        for transport in (self._guarded, self._trusted):
            for connection in _pool_of(transport).connections:
                if connection.is_idle():
                    await connection.aclose()


class _SharedTransport(httpx.AsyncBaseTransport):
    """A transport that shares one pool in the running event loop.

    LiteLLM makes a client for each key and address, keeps 200 and drops the oldest without closing it: a pool of each
    client's own would leave its connections open.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        loop = asyncio.get_running_loop()
        transport = _transports.get(loop)
        if transport is None:
            transport = _transports[loop] = GuardedTransport()
        return await transport.handle_async_request(request)


_transports: WeakKeyDictionary[asyncio.AbstractEventLoop, GuardedTransport] = WeakKeyDictionary()


async def close_idle_connections() -> None:
    """Close the running event loop's idle connections to providers."""
    transport = _transports.get(asyncio.get_running_loop())
    if transport is not None:
        await transport.close_idle()


class RefusingTransport(httpx.BaseTransport):
    """A transport that refuses synchronous calls: the platform makes none, and they would block the event loop."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Refuse the request.

        Raises:
            ProviderRefusedError: always.
        """
        raise _refused(f"Refused to call {request.url.host!r} synchronously.")


def guarded_client(
    *, timeout: float | httpx.Timeout | None, headers: Mapping[str, str] | None = None
) -> httpx.AsyncClient:
    """Return a client over the guarded transport; each call runs in a block of `bound_for`."""
    return httpx.AsyncClient(
        transport=_SharedTransport(),
        timeout=timeout,
        headers=headers,
        cookies=_no_cookies(),
        follow_redirects=False,
        trust_env=False,
    )


def refusing_client() -> httpx.Client:
    """Return a client that refuses every call."""
    return httpx.Client(transport=RefusingTransport(), trust_env=False)


def refuse_other_sockets() -> None:
    """Refuse, for the rest of the process, connections of a call to a provider that bypass the transport.

    For example botocore's and those of `requests`. Interpreters have no way to remove such a hook.
    """
    sys.addaudithook(_audit)


def _audit(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _AUDITED and _destination.get() is not None and not _is_connecting.get():
        raise _refused("Refused a connection of a provider's library that bypasses the guarded transport.")


RequireAllowed = Callable[[str, Sequence[str]], None]
"""Raises an `AnalytiqError` if a host has one of these resolved addresses that may not be connected to."""


class CheckingBackend(httpcore.AsyncNetworkBackend):
    """A network backend that resolves, checks, and connects to the checked address."""

    def __init__(self, require: RequireAllowed) -> None:
        self._require = require
        # httpcore's types know its methods only where anyio is installed, which they cannot tell.
        self._inner = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the host that answers.

        Raises:
            AnalytiqError: an address may not be connected to.
            httpcore.ConnectError: the host cannot be resolved, or no address answers.
        """
        try:
            *others, last = addresses = await look_up(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the host {host!r} cannot be resolved") from error
        self._require(host, addresses)
        token = _is_connecting.set(True)
        try:
            for address in others:
                try:
                    return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
                except (httpcore.ConnectError, httpcore.ConnectTimeout):
                    continue
            return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)
        finally:
            _is_connecting.reset(token)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


def _transport(*, is_guarded: bool) -> httpx.AsyncHTTPTransport:
    def require(host: str, addresses: Sequence[str]) -> None:
        require_allowed(host, addresses, is_guarded=is_guarded)

    return checking_transport(require, connections=CONNECTIONS)


def checking_transport(require: RequireAllowed, *, connections: int) -> httpx.AsyncHTTPTransport:
    """Return a transport with a pool of its own that checks the resolved addresses of each connection."""
    transport = httpx.AsyncHTTPTransport(trust_env=False)
    # httpx has no parameter for it. The certificates are the system's, or those of SSL_CERT_FILE.
    transport._pool = httpcore.AsyncConnectionPool(  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        ssl_context=_ssl_context(),
        max_connections=connections,
        max_keepalive_connections=min(connections, IDLE_CONNECTIONS),
        keepalive_expiry=IDLE_SECONDS,
        network_backend=CheckingBackend(require),
    )
    return transport


def _pool_of(transport: httpx.AsyncHTTPTransport) -> httpcore.AsyncConnectionPool:
    pool = transport._pool  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return cast("httpcore.AsyncConnectionPool", pool)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    # Loading the certificates takes 70 ms.
    return httpx.create_ssl_context()


def _no_cookies() -> CookieJar:
    """Return a cookie jar that stores nothing: organizations share the client."""
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))


def _refused(detail: str) -> ProviderRefusedError:
    return ProviderRefusedError(detail, code="provider_address_forbidden")
