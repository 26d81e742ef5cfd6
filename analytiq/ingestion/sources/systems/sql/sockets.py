"""Sockets to a database server: opened to checked addresses, bounded in bytes, cut from another thread."""

import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import cast

CONNECT_SECONDS = 10.0
MOST_ANSWER_BYTES = 64 * 1024 * 1024
"""Most bytes that the server sends for one piece of rows."""


class FloodError(Exception):
    """The server sends more than a piece of rows may have."""


class Meter:
    """Counts the bytes of an answer."""

    def __init__(self) -> None:
        self._left = MOST_ANSWER_BYTES

    def begin(self) -> None:
        """Begin to count the next answer."""
        self._left = MOST_ANSWER_BYTES

    def take(self, size: int) -> None:
        """Count bytes.

        Raises:
            FloodError: there are too many.
        """
        self._left -= size
        if self._left < 0:
            raise FloodError


class MeteredSocket(socket.socket):
    """A socket whose bytes are counted; drivers read by files made of it."""

    meter: Meter

    def recv_into(self, buffer: bytearray, nbytes: int = 0, flags: int = 0) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Read, and count the bytes."""
        size = super().recv_into(buffer, nbytes, flags)
        self.meter.take(size)
        return size


class CheckedLine:
    """A connection to a server whose addresses are resolved and checked."""

    def __init__(self, addresses: Sequence[str], port: int, *, silence_seconds: float) -> None:
        """Connect to the first address that answers.

        Raises:
            OSError: none does.
        """
        self.meter = Meter()
        self.socket = _connected(addresses, port)
        self.socket.meter = self.meter
        self.socket.settimeout(silence_seconds)
        # Drivers wrap the socket in TLS, which takes the number of the file from it.
        self._same = self.socket.dup()

    def tls(self, ca_certificate: str) -> ssl.SSLContext:
        """Return the settings of TLS: certificates for the host, from the given authority or a public one."""
        meter = self.meter

        class MeteredTls(ssl.SSLSocket):
            """A TLS socket whose bytes are counted."""

            def recv_into(self, buffer: bytearray, nbytes: int | None = None, flags: int = 0) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
                size = super().recv_into(buffer, nbytes, flags)
                meter.take(size)
                return size

        context = ssl.create_default_context(cadata=ca_certificate or None)
        context.sslsocket_class = MeteredTls
        return context

    def cut(self) -> None:
        """Cut the connection; a thread that reads from it goes on at once."""
        with contextlib.suppress(OSError):
            self._same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, when no thread reads from it any more; a driver closes what it made of it."""
        self._same.close()
        self.socket.close()


def _connected(addresses: Sequence[str], port: int) -> MeteredSocket:
    failure: OSError = OSError("no address")
    for address in addresses:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )[0]
        made = MeteredSocket(family, kind, protocol)
        made.settimeout(CONNECT_SECONDS)
        try:
            made.connect(cast("tuple[str, int]", place))
        except OSError as error:
            made.close()
            failure = error
        else:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise failure
