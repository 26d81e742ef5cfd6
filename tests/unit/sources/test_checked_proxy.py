"""The proxy of a browser's page: checked addresses, one user, one host for a connection."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Sequence

import pytest

from analytiq.errors import AccessDeniedError
from analytiq.ingestion.sources.systems.web.checked_proxy import USER, CheckedProxy


def require_name(host: str, _: Sequence[str]) -> None:
    """Refuse all hosts but one."""
    if host != "127.0.0.1":
        raise AccessDeniedError("not this one")


@pytest.fixture
async def proxy() -> AsyncGenerator[CheckedProxy]:
    async with CheckedProxy(require_name, most_bytes=100_000) as made:
        yield made


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    """Run a server that answers with the head of each request, and keeps its connections."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.read(10_000):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(head), head))
            if b"close" in head.lower():
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def exchanged(proxy: CheckedProxy, *requests: bytes, password: str | None = None) -> bytes:
    """Send requests over one connection, and return all that comes."""
    pair = base64.b64encode(f"{USER}:{password or proxy.password}".encode())
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    answer = b""
    for number, request in enumerate(requests):
        if number:
            answer += await reader.read(10_000)
        writer.write(request.replace(b"\r\n\r\n", b"\r\nProxy-Authorization: Basic " + pair + b"\r\n\r\n", 1))
    writer.write_eof()
    answer += await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_request_is_passed_on_without_the_password(proxy: CheckedProxy, port: int) -> None:
    answer = await exchanged(proxy, b"GET http://127.0.0.1:%d/a?b HTTP/1.1\r\nHost: x\r\n\r\n" % port)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: close" in answer
    assert b"Proxy-Authorization" not in answer


async def test_tunnel_is_opened(proxy: CheckedProxy, port: int) -> None:
    answer = await exchanged(proxy, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port, b"close me")
    assert answer.startswith(b"HTTP/1.1 200 Connection established")
    assert answer.endswith(b"close me")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"CONNECT localhost:443 HTTP/1.1", b"403"),
        (b"GET http://localhost/ HTTP/1.1", b"403"),
        (b"GET http://[::1]/ HTTP/1.1", b"403"),
        (b"GET /etc/passwd HTTP/1.1", b"400"),
        (b"GET file:///etc/passwd HTTP/1.1", b"400"),
        (b"CONNECT 127.0.0.1:notaport HTTP/1.1", b"400"),
        (b"CONNECT no-such-host.invalid:443 HTTP/1.1", b"502"),
        (b"nonsense", b"400"),
    ],
    ids=lambda value: value.decode() if isinstance(value, bytes) else str(value),
)
async def test_other_requests_are_refused(request_line: bytes, status: bytes, proxy: CheckedProxy) -> None:
    assert (await exchanged(proxy, request_line + b"\r\n\r\n")).startswith(b"HTTP/1.1 " + status)


async def test_password_is_needed(proxy: CheckedProxy, port: int) -> None:
    answer = await exchanged(proxy, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port, password="another")
    assert answer.startswith(b"HTTP/1.1 407")


async def test_bytes_are_bounded(proxy: CheckedProxy, port: int) -> None:
    sent = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port
    await exchanged(proxy, sent, b"x" * 120_000 + b"close")
    assert proxy.is_exhausted
