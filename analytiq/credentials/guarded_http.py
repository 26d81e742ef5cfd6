"""HTTP that connects to public addresses only, whatever a name resolves to and wherever a server redirects."""

from collections.abc import Mapping
from typing import Any

import httpx

from analytiq.credentials.addresses import public_addresses

_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


class PublicOnlyTransport(httpx.AsyncBaseTransport):
    """Resolves, checks, and connects to what it has checked: between a check and another look-up a name may change."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the first of the host's addresses that takes the connection.

        Raises:
            ProviderRefusedError: the host is not on the public Internet.
            TransientError: its name cannot be resolved.
            httpx.HTTPError: as httpx.
        """
        host = request.url.host
        port = request.url.port or _PORTS[request.url.scheme]
        *others, last = await public_addresses(host, port)
        for address in others:
            try:
                return await self._inner.handle_async_request(_to(request, address, host))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_to(request, last, host))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def public_only_client(*, timeout_seconds: float) -> httpx.AsyncClient:
    """A client for addresses that somebody else named; it goes through no proxy and follows no redirect."""
    return httpx.AsyncClient(
        transport=PublicOnlyTransport(), timeout=timeout_seconds, follow_redirects=False, trust_env=False
    )


def _to(request: httpx.Request, address: str, host: str) -> httpx.Request:
    """The same request to an address, with the name in its Host header and for its certificate."""
    extensions: dict[str, Any] = {**request.extensions, "sni_hostname": host}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )
