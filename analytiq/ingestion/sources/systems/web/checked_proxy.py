"""A proxy on the loopback for one page of a browser: every connection goes to a checked address.

A browser resolves names and connects by itself, also for frames, redirects, web sockets and whatever scripts ask for.
Behind this proxy it can do neither. RFC 9110, 9.3.6 (CONNECT), RFC 9112, 3.2.2 (absolute form).
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

import structlog

from analytiq.errors import AnalytiqError
from analytiq.inference.providers.addresses import look_up
from analytiq.inference.providers.guarded_http import RequireAllowed

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 10.0
LONGEST_HEAD = 64 * 1024
BLOCK_BYTES = 64 * 1024
ACCEPT_ROUNDS = 5
USER = "page"
_OWN_HEADERS = (b"proxy-authorization:", b"proxy-connection:", b"connection:", b"keep-alive:")


class RefusedRequestError(Exception):
    """The request is answered with this status."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class CheckedProxy:
    """The proxy; `async with` starts and ends it.

    Attributes:
        password: of the only user, `USER`: other programs of this machine cannot use the proxy.
        refused: hosts that may not be connected to.
    """

    def __init__(self, require: RequireAllowed, *, most_bytes: int) -> None:
        self._require = require
        self._bytes_left = most_bytes
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.password = secrets.token_urlsafe(24)
        self.refused: set[str] = set()

    @property
    def url(self) -> str:
        """The address of the running proxy."""
        if self._server is None:
            raise RuntimeError("the proxy is not running")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def is_exhausted(self) -> bool:
        """Return True if the page asked for more bytes than one may."""
        return self._bytes_left <= 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LONGEST_HEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            # Python 3.11 leaves the socket open of a connection that is accepted in the round of the closing.
            for listening in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            for _round in range(ACCEPT_ROUNDS):
                await asyncio.sleep(0)
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            await self._pass_on(reader, writer)
        except RefusedRequestError as refused:
            challenge = 'Proxy-Authenticate: Basic realm="page"\r\n' if refused.status.startswith("407") else ""
            writer.write(
                f"HTTP/1.1 {refused.status}\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
            )
            with suppress(OSError):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # either side has gone; the browser tells the page
        except asyncio.CancelledError:
            pass  # the page is closed; asyncio would log it as an error of a server
        finally:
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *header_lines = head[:-4].split(b"\r\n")
        self._require_password(header_lines)
        method, _, rest = request_line.partition(b" ")
        target, _, version = rest.rpartition(b" ")
        if method == b"CONNECT":
            upstream_reader, upstream_writer = await self._connected(f"//{target.decode('ascii', 'replace')}", 443)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            address = target.decode("ascii", "replace")
            if not address.startswith("http://"):
                raise RefusedRequestError("400 Bad Request")
            upstream_reader, upstream_writer = await self._connected(address, 80)
            path = b"/" + target.partition(b"://")[2].partition(b"/")[2]
            kept = [line for line in header_lines if not line.lower().startswith(_OWN_HEADERS)]
            # One request a connection: a second one could be for another host.
            lines = [b" ".join([method, path, version]), *kept, b"Connection: close"]
            upstream_writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
        try:
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._copy(reader, upstream_writer))
                await self._copy(upstream_reader, writer)
                sending.cancel()
        except* OSError:
            pass
        finally:
            upstream_writer.close()

    def _require_password(self, header_lines: list[bytes]) -> None:
        for line in header_lines:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"proxy-authorization":
                with suppress(binascii.Error, ValueError):
                    given = base64.b64decode(value.strip().removeprefix(b"Basic "), validate=True)
                    if hmac.compare_digest(given, f"{USER}:{self.password}".encode()):
                        return
        raise RefusedRequestError("407 Proxy Authentication Required")

    async def _connected(self, address: str, default_port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port or default_port
        except ValueError:
            raise RefusedRequestError("400 Bad Request") from None
        try:
            addresses = await look_up(host, port)
            self._require(host, addresses)
        except AnalytiqError:
            self.refused.add(host)
            log.info("sources.browser_refused", host=host)
            raise RefusedRequestError("403 Forbidden") from None
        except (OSError, UnicodeError):
            raise RefusedRequestError("502 Bad Gateway") from None
        for each in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(each, port, limit=LONGEST_HEAD)
        raise RefusedRequestError("502 Bad Gateway")

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (block := await reader.read(BLOCK_BYTES)) and not self.is_exhausted:
            self._bytes_left -= len(block)
            writer.write(block)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
