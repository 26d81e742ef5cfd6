"""HTTP that connects to public addresses only, whatever a name resolves to and wherever a server redirects."""

import importlib
from collections.abc import Mapping
from typing import Any

import httpx
from pydantic import SecretStr

from analytiq.providers.addresses import public_addresses
from analytiq.providers.litellm_module import NO_KEY

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


def guarded_openai_client(api_key: SecretStr | None, api_base: str | None, *, timeout_seconds: float) -> Any:
    """OpenAI's client over such connections, which LiteLLM takes as `client` in the place of its own; to be closed.

    Args:
        api_key: None for a server that asks for none.
        api_base: the address that a tenant has named.
        timeout_seconds: for one call.
    """
    # Imported by LiteLLM anyway; by itself it takes a second.
    openai: Any = importlib.import_module("openai")
    return openai.AsyncOpenAI(
        api_key=api_key.get_secret_value() if api_key else NO_KEY,
        base_url=api_base,
        http_client=public_only_client(timeout_seconds=timeout_seconds),
        max_retries=0,
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
