"""Connections to public addresses only: by name, by redirect, by a name that changes its mind.

Servers on the loopback stand for those of the Internet: `look_up` is told to answer theirs.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager

import pytest

from analytiq.errors import ProviderRefusedError, TransientError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.inference.providers import guarded_http
from analytiq.inference.providers.addresses import origin_of
from analytiq.inference.providers.guarded_http import Destination, bound_for, guarded_client, refusing_client
from analytiq.inference.providers.litellm_module import litellm
from analytiq.settings import EmbeddingSettings
from tests.fakes.credentials import credential_of

Heads = list[str]


class Site:
    """A server that answers every request alike, and keeps what was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.heads: Heads = []
        self.port = 0
        self.keeps_open = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                kind = "keep-alive" if self.keeps_open else "close"
                writer.write(f"HTTP/1.1 {self.answer}\r\nContent-Length: 0\r\nConnection: {kind}\r\n\r\n".encode())
                await writer.drain()
                if not self.keeps_open:
                    break
        except asyncio.IncompleteReadError:
            pass  # the client has closed
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

    monkeypatch.setattr(guarded_http, "look_up", answered)

    def allowed(host: str, addresses: Sequence[str], *, is_guarded: bool) -> None:
        """Refuse nothing."""

    monkeypatch.setattr(guarded_http, "require_allowed", allowed)
    return asked


def bound(*urls: str, is_guarded: bool = True) -> AbstractContextManager[None]:
    return bound_for(Destination(frozenset(origin_of(url) for url in urls), is_guarded=is_guarded))


async def test_request_to_this_machine_is_never_sent(site: Site) -> None:
    async with guarded_client(timeout=5) as client:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            url = f"http://{host}:{site.port}/"
            with bound(url), pytest.raises(ProviderRefusedError):
                await client.get(url)
    assert site.heads == []


async def test_request_elsewhere_than_the_call_is_bound_for_is_never_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = let_pass(monkeypatch, "127.0.0.1")
    async with guarded_client(timeout=5) as client:
        with pytest.raises(ProviderRefusedError):
            await client.get(f"http://models.example.com:{site.port}/")
        with bound("http://models.example.com", f"https://models.example.com:{site.port}"):
            with pytest.raises(ProviderRefusedError):
                await client.get(f"http://models.example.com:{site.port}/")
            with pytest.raises(ProviderRefusedError):
                await client.get(f"http://other.example.com:{site.port}/")
    assert (asked, site.heads) == ([], [])


async def test_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = let_pass(monkeypatch, "127.0.0.1")
    url = f"http://models.example.com:{site.port}/v1/x"
    async with guarded_client(timeout=5) as client:
        with bound(url):
            answer = await client.get(url)
    assert answer.status_code == 200
    assert asked == ["models.example.com"]
    assert f"host: models.example.com:{site.port}" in site.heads[0].lower()


async def test_connection_of_a_trusted_call_is_not_reused_by_a_guarded_one(site: Site) -> None:
    site.keeps_open = True
    url = f"http://localhost:{site.port}/"
    async with guarded_client(timeout=5) as client:
        with bound(url, is_guarded=False):
            assert (await client.get(url)).status_code == 200
        with bound(url), pytest.raises(ProviderRefusedError):
            await client.get(url)
    assert len(site.heads) == 1


async def test_redirect_is_refused_and_not_followed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, "127.0.0.1")
    url = f"http://models.example.com:{site.port}/"
    site.answer = f"307 Temporary Redirect\r\nLocation: {url}secret"
    async with guarded_client(timeout=5) as client:
        with bound(url), pytest.raises(ProviderRefusedError, match="redirect"):
            await client.post(url)
    assert len(site.heads) == 1


async def test_second_address_is_tried_where_the_first_takes_no_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_pass(monkeypatch, "127.0.0.2", "127.0.0.1")
    url = f"http://models.example.com:{site.port}/"
    async with guarded_client(timeout=5) as client:
        with bound(url):
            assert (await client.get(url)).status_code == 200


async def test_cookie_of_one_call_is_not_sent_by_the_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, "127.0.0.1")
    url = f"http://models.example.com:{site.port}/"
    site.answer = "200 OK\r\nSet-Cookie: who=the-first"
    async with guarded_client(timeout=5) as client:
        with bound(url):
            await client.get(url)
            await client.get(url)
    assert len(site.heads) == 2
    assert "the-first" not in site.heads[1]


async def test_proxy_of_the_environment_gets_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{site.port}")
    async with guarded_client(timeout=5) as client:
        with bound("http://127.0.0.1/"), pytest.raises((ProviderRefusedError, TransientError)):
            await client.get("http://127.0.0.1/")
    assert site.heads == []


def test_synchronous_call_is_refused() -> None:
    with refusing_client() as client, pytest.raises(ProviderRefusedError):
        client.get("https://models.example.com/")


async def test_socket_that_goes_around_the_transport_is_refused_within_a_call_only(site: Site) -> None:
    litellm()
    with socket.socket() as around:
        with bound(f"http://127.0.0.1:{site.port}/", is_guarded=False), pytest.raises(ProviderRefusedError):
            around.connect(("127.0.0.1", site.port))
        around.connect(("127.0.0.1", site.port))


async def test_refusal_comes_out_of_litellm_as_what_it_was(site: Site) -> None:
    credential = credential_of("key", f"http://127.0.0.1:{site.port}/v1", is_guarded=True)
    embedder = LiteLLMEmbedder("openai/m", credential, EmbeddingSettings())
    with pytest.raises(ProviderRefusedError) as caught:
        await embedder.embed(["a"], input_type=InputType.DOCUMENT)
    assert caught.value.code == "provider_address_forbidden"
    assert site.heads == []
