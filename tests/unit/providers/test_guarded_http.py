"""Connections to public addresses only: by name, by redirect, by a name that changes its mind.

Servers on the loopback stand for those of the Internet: `public_addresses` is told to answer theirs.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from analytiq.errors import ProviderRefusedError, TransientError
from analytiq.providers import guarded_http
from analytiq.providers.guarded_http import guarded_openai_client, public_only_client
from analytiq.providers.litellm_errors import translated

Heads = list[str]


class Site:
    """A server that answers every request alike, and keeps what was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.heads: Heads = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        writer.write(f"HTTP/1.1 {self.answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    opened = Site("200 OK")
    server = await asyncio.start_server(opened.serve, "127.0.0.1", 0)
    opened.port = server.sockets[0].getsockname()[1]
    async with server:
        yield opened


def let_pass(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Answer these for every name that is asked for; returns the names."""
    asked: list[str] = []

    async def answered(host: str, port: int) -> list[str]:
        asked.append(host)
        return list(addresses)

    monkeypatch.setattr(guarded_http, "public_addresses", answered)
    return asked


async def test_request_to_this_machine_is_never_sent(site: Site) -> None:
    async with public_only_client(timeout_seconds=5) as client:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            with pytest.raises(ProviderRefusedError):
                await client.get(f"http://{host}:{site.port}/")
    assert site.heads == []


async def test_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = let_pass(monkeypatch, "127.0.0.1")
    async with public_only_client(timeout_seconds=5) as client:
        answer = await client.get(f"http://models.example.com:{site.port}/v1/x")
    assert answer.status_code == 200
    assert asked == ["models.example.com"]
    assert f"host: models.example.com:{site.port}" in site.heads[0].lower()


async def test_redirect_is_not_followed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, "127.0.0.1")
    site.answer = f"307 Temporary Redirect\r\nLocation: http://169.254.169.254:{site.port}/secret"
    async with public_only_client(timeout_seconds=5) as client:
        answer = await client.post(f"http://models.example.com:{site.port}/")
    assert answer.status_code == 307
    assert len(site.heads) == 1


async def test_second_address_is_tried_where_the_first_takes_no_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_pass(monkeypatch, "127.0.0.2", "127.0.0.1")
    async with public_only_client(timeout_seconds=5) as client:
        assert (await client.get(f"http://models.example.com:{site.port}/")).status_code == 200


async def test_proxy_of_the_environment_gets_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{site.port}")
    async with public_only_client(timeout_seconds=5) as client:
        with pytest.raises((ProviderRefusedError, TransientError)):
            await client.get("http://127.0.0.1/")
    assert site.heads == []


async def test_refusal_comes_out_of_openais_client_as_what_it_was(site: Site) -> None:
    client = guarded_openai_client(None, f"http://127.0.0.1:{site.port}/v1", timeout_seconds=5)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever it is: it is translated
        await client.embeddings.create(model="m", input=["a"])
    await client.close()
    error = translated(caught.value, model="m", api_key=None)
    assert isinstance(error, ProviderRefusedError)
    assert error.code == "provider_address_forbidden"
    assert site.heads == []
