"""Clients that trickle, and the headers of every kind of answer: against uvicorn, over sockets."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from analytiq.composition import Services
from analytiq.settings import ApiSettings
from api.application import create_app
from api.slow_clients import TimedProtocol
from tests.integration.conftest import Compose

WAIT_SECONDS = 0.5


class _Impatient(TimedProtocol):
    head_seconds = WAIT_SECONDS


@pytest.fixture
async def port(compose_services: Compose) -> AsyncIterator[int]:
    """Of a server that waits half a second for whatever a client owes it."""
    services = await compose_services(api=ApiSettings(body_wait_seconds=WAIT_SECONDS))

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Services]:
        yield services

    config = uvicorn.Config(create_app(opened), port=0, log_level="warning", http=_Impatient, log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done()
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


async def exchanged(port: int, sent: bytes, trickle: bytes = b"", *, every_seconds: float = 0.1) -> bytes:
    """Send, then trickle byte by byte, until the server has closed the connection; returns what it said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)

    async def go_on() -> None:
        for byte in trickle:
            await asyncio.sleep(every_seconds)
            writer.write(bytes([byte]))

    going_on = asyncio.create_task(go_on())
    try:
        async with asyncio.timeout(30):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        going_on.cancel()
        writer.close()


def post(path: str, length: int, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


async def test_connection_that_asks_nothing_is_closed(port: int) -> None:
    assert await exchanged(port, b"") == b""


async def test_head_that_trickles_is_not_waited_for(port: int) -> None:
    assert await exchanged(port, b"GET /health HTTP/1.1\r\n", b"X-Trickle: " + b"x" * 1000) == b""


async def test_second_head_of_a_connection_is_not_waited_for_either(port: int) -> None:
    first = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    answered = await exchanged(port, first + b"GET /health HTTP/1.1\r\n", b"X-Trickle: " + b"x" * 1000)
    assert answered.count(b"HTTP/1.1 200") == 1


async def test_body_that_stops_is_answered_408_and_the_connection_closed(port: int) -> None:
    answered = await exchanged(port, post("/v0/auth/sign-in", 1000, b'{"email":'))
    assert answered.startswith(b"HTTP/1.1 408")
    assert b'"code":"too_slow"' in answered


async def test_body_that_trickles_is_answered_408(port: int) -> None:
    answered = await exchanged(port, post("/v0/auth/sign-in", 1000, b'{"email":'), b"x" * 900, every_seconds=0.05)
    assert answered.startswith(b"HTTP/1.1 408")


async def test_body_that_is_slow_but_arrives_is_taken(port: int) -> None:
    body = b'{"email": "nobody@example.com", "password": "nobody knows it"}'
    answered = await exchanged(
        port, post("/v0/auth/sign-in", len(body), body[:60]), body[60:] + b"\r\n", every_seconds=0.1
    )
    assert answered.startswith(b"HTTP/1.1 40")
    assert not answered.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "path", ["/health", "/v0/orgs/0123456789abcdef01234567/tags", "/v0/no-such", "/no-such", "/openapi.json"]
)
async def test_answers_of_the_api_let_no_script_run(port: int, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    head = (await exchanged(port, request.encode())).partition(b"\r\n\r\n")[0].lower()
    assert b"content-security-policy: default-src 'none'; frame-ancestors 'none'" in head
    assert b"x-content-type-options: nosniff" in head
    assert b"x-frame-options: deny" in head
