"""The TCP connection of an SMB client, to addresses that were checked.

It takes the place of smbprotocol's own transport, which resolves the name itself, reserves whatever size a server
announces, and waits for a server that does not read.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Protocol

MOST_MESSAGE_BYTES = 1024 * 1024
"""Most bytes of a message; all requests ask for much less."""
SEND_SECONDS = 15.0
"""Longest time until a server takes a request."""
STALL_SECONDS = 30.0
"""Longest time between two pieces of a message."""
_PLAIN = b"\xfeSMB"


class Packed(Protocol):
    """A message of smbprotocol."""

    def pack(self) -> bytes:
        """Return its bytes."""
        ...


class CheckedTransport:
    """A connection with the interface of smbprotocol's `Tcp`. One thread receives, and frees the socket at the end."""

    def __init__(self, addresses: Sequence[str], port: int, *, connect_seconds: float) -> None:
        self._addresses = addresses
        self._port = port
        self._connect_seconds = connect_seconds
        self._found: socket.socket | None = None
        self._receiver: int | None = None
        self._sending = threading.Lock()
        self._is_cut = False
        self.connected = False
        self.was_connected = False

    def connect(self) -> None:
        """Connect to the first address that answers.

        Raises:
            OSError: none does.
        """
        ends_at = time.monotonic() + self._connect_seconds
        failure: OSError = ConnectionRefusedError()
        for address in self._addresses:
            try:
                left = max(ends_at - time.monotonic(), 0.1)
                self._found = socket.create_connection((address, self._port), timeout=left)
            except OSError as error:
                failure = error
                continue
            self._found.settimeout(SEND_SECONDS)
            self.connected = self.was_connected = True
            if self._is_cut:
                self.close()
                break
            return
        raise failure

    def close(self) -> None:
        """Cut the connection; the thread that receives ends."""
        self._is_cut = True
        self.connected = False
        if self._found is None:
            return
        with contextlib.suppress(OSError):
            self._found.shutdown(socket.SHUT_RDWR)
        if self._receiver in (None, threading.get_ident()):
            self._found.close()

    def send(self, message: bytes | Packed) -> None:
        """Send one message.

        Raises:
            OSError: the server is gone, or takes nothing.
        """
        data = message if isinstance(message, bytes) else message.pack()
        with self._sending:
            self._socket.sendall(struct.pack(">L", len(data)) + data)

    def recv(self, timeout: float) -> bytes:
        """Return the next message; empty after the end of the connection.

        Raises:
            TimeoutError: the server is silent between two messages.
            ValueError: the message is too large, or not a single one.
        """
        self._receiver = threading.get_ident()
        try:
            return self._message(timeout)
        except (OSError, ValueError):
            if self.connected:
                raise
            self.close()
            return b""

    @property
    def _socket(self) -> socket.socket:
        if self._found is None:
            raise ConnectionError
        return self._found

    def _message(self, seconds: float) -> bytes:
        if not self._may_read(seconds):
            raise TimeoutError
        size = self._exactly(4)
        length = struct.unpack(">L", size)[0] if size else 0
        if length > MOST_MESSAGE_BYTES:
            raise ValueError("A message is too large.")
        message = self._exactly(length)
        if message[:4] == _PLAIN:
            require_single(message)
        return message

    def _may_read(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _exactly(self, length: int) -> bytes:
        """Read these many bytes; empty at the end of the connection."""
        pieces: list[bytes] = []
        ends_at = time.monotonic() + STALL_SECONDS
        while length:
            if not self._may_read(max(ends_at - time.monotonic(), 0.0)):
                raise ValueError("A message does not end.")
            piece = self._socket.recv(min(length, 65536))
            if not piece:
                self.close()
                return b""
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)


def require_single(message: bytes) -> None:
    """Refuse several messages in one: nothing here asks for them, and reading them takes quadratic time.

    Raises:
        ValueError: they are several, or it is cut off.
    """
    if len(message) < 64 or message[20:24] != bytes(4):
        raise ValueError("Not a single message of SMB.")
