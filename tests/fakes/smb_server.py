"""A small SMB 2.1 server that shares a folder for reading, strictly: it refuses what [MS-SMB2] forbids.

Written from the specification: of the client's libraries it uses MD4 only, so that no mistake of theirs is its own.
"""

import asyncio
import hashlib
import hmac
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from spnego._ntlm_raw.md4 import md4

from tests.fakes.server_loop import ServerLoop

USER, PASSWORD, DOMAIN, SHARE = "ada", "a password", "FILES", "papers"
NEGOTIATE, SETUP, TREE, CREATE, CLOSE, READ, IOCTL, QUERY = 0, 1, 3, 5, 6, 8, 11, 14
MORE_PROCESSING, NO_MORE_FILES, ACCESS_DENIED = 0xC0000016, 0x80000006, 0xC0000022
INVALID, LOGON_FAILURE, NO_SUCH_SHARE, NOT_FOUND = 0xC000000D, 0xC000006D, 0xC00000CC, 0xC0000034
NO_SUCH_FILE, IS_FOLDER, NO_FOLDER, END_OF_FILE = 0xC000000F, 0xC00000BA, 0xC0000103, 0xC0000011
_HEADER = struct.Struct("<4sHHLHHLLQLLQ16s")
_GUID, _CAPABILITIES, _SECURITY_MODE, _DIALECT = b"G" * 16, 0x4, 0x3, 0x210
_ENTRIES_OF_A_PAGE = 50
_FOLDER, _FILE = 0x10, 0x80


class RefusedError(Exception):
    """The request is refused with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(hex(status))
        self.status = status


@dataclass
class Entry:
    """An entry of a folder that no file is behind."""

    name: str
    attributes: int = _FILE
    reparse_tag: int = 0


@dataclass
class _Handle:
    path: Path
    names: list[Entry] | None = None


@dataclass
class _State:
    """The state of one client's session."""

    next_id: int = 0
    credits: int = 1
    negotiate_request: bytes = b""
    key: bytes | None = None
    has_logged_in: bool = False
    has_tree: bool = False
    handles: dict[bytes, _Handle] = field(default_factory=dict[bytes, _Handle])


class SmbServer:
    """Serves a folder as SHARE on `port`.

    Attributes:
        alter: changes a signed answer, by its command, before it is sent.
        statuses: answers a command with a status instead.
        extra: further entries by folder.
        endless: folders are listed without end.
        contexts: the contexts in the answers to CREATE, which nobody asked for.
        is_guest: everybody is logged in as a guest.
        workstations: names that clients gave for their machines.
        accesses: the rights that clients asked for.
        open_handles: number of files and folders that are open.
    """

    def __init__(self, folder: Path) -> None:
        self.port = 0
        self.alter: Callable[[int, bytes], bytes] = lambda _, answer: answer
        self.statuses: dict[int, int] = {}
        self.extra: dict[Path, list[Entry]] = {}
        self.endless = False
        self.contexts = b""
        self.is_guest = False
        self.workstations: list[str] = []
        self.accesses: set[int] = set()
        self.open_handles = 0
        self.folder = folder
        self._loop = ServerLoop()
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._loop.start()
        self._server = self._loop.run(self._listen())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._loop.stop(self._server)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state = _State()
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = _Conversation(self, state).answer(await reader.readexactly(size))
                writer.write(len(answer).to_bytes(4, "big") + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            self.open_handles -= len(state.handles)
            writer.close()


class _Conversation:
    """The answer to one request."""

    def __init__(self, server: SmbServer, state: _State) -> None:
        self._server = server
        self._state = state

    def answer(self, message: bytes) -> bytes:
        protocol, size, charge, _, command, asked, flags, following, number, _, tree, session, _ = _HEADER.unpack(
            message[:64]
        )
        state = self._state
        assert (protocol, size, following, flags & ~0x8) == (b"\xfeSMB", 64, 0, 0), "not a single request"
        assert number == state.next_id, "the numbers of messages rise by the charge"
        assert max(charge, 1) <= state.credits, "more than what was granted"
        state.next_id += max(charge, 1)
        granted = max(asked, 1)
        state.credits += granted - max(charge, 1)
        status, body = 0, b""
        try:
            if state.has_logged_in:
                self._check_signature(message, flags)
            if command in self._server.statuses:
                raise RefusedError(self._server.statuses[command])
            if command not in (NEGOTIATE, SETUP) and not state.has_logged_in:
                raise RefusedError(ACCESS_DENIED)
            status, body = self._handler(command, tree)(message[64:])
        except RefusedError as refused:
            status, body = refused.status, struct.pack("<HBBLB", 9, 0, 0, 0, 0)
        header = _HEADER.pack(
            *(b"\xfeSMB", 64, charge, status, command, granted, 0x1, 0, number, 0, 1 if command == TREE else tree),
            *(1 if state.negotiate_request and command != NEGOTIATE else session, bytes(16)),
        )
        return self._server.alter(command, self._signed(header + body))

    def _handler(self, command: int, tree: int) -> Callable[[bytes], tuple[int, bytes]]:
        if command in (CREATE, CLOSE, READ, QUERY) and (tree != 1 or not self._state.has_tree):
            raise RefusedError(0xC00000C9)
        handlers = {
            NEGOTIATE: self._negotiate,
            SETUP: self._set_up,
            TREE: self._connect,
            CREATE: self._create,
            CLOSE: self._close,
            READ: self._read,
            IOCTL: self._validate,
            QUERY: self._query,
        }
        if command not in handlers:
            raise RefusedError(0xC00000BB)
        return handlers[command]

    def _check_signature(self, message: bytes, flags: int) -> None:
        assert self._state.key is not None
        if not flags & 0x8 or _signature(self._state.key, message) != message[48:64]:
            raise RefusedError(ACCESS_DENIED)

    def _signed(self, message: bytes) -> bytes:
        if self._state.key is None or not self._state.has_logged_in:
            return message
        flagged = message[:16] + struct.pack("<L", 0x9) + message[20:48] + bytes(16) + message[64:]
        return flagged[:48] + _signature(self._state.key, flagged) + flagged[64:]

    def _negotiate(self, body: bytes) -> tuple[int, bytes]:
        size, count, mode, _, capabilities, guid = struct.unpack("<HHHHL16s", body[:28])
        dialects = struct.unpack(f"<{count}H", body[36 : 36 + 2 * count])
        if size != 36 or mode != 2 or self._state.negotiate_request:
            raise RefusedError(INVALID)
        assert _DIALECT in dialects
        assert not capabilities & 0x1, "offers to follow DFS"
        self._state.negotiate_request = (
            struct.pack("<L16sHH", capabilities, guid, mode, count) + body[36 : 36 + 2 * count]
        )
        most = 2**20
        fixed = (65, _SECURITY_MODE, _DIALECT, 0, _GUID, _CAPABILITIES, most, most, most, 0, 0, 128, 0, 0)
        return 0, struct.pack("<HHHH16sLLLLQQHHL", *fixed)

    def _set_up(self, body: bytes) -> tuple[int, bytes]:
        size, _, mode, _, _, offset, length, _ = struct.unpack("<HBBLLHHQ", body[:24])
        if size != 25 or not mode & 2:
            raise RefusedError(INVALID)
        token = body[offset - 64 :][:length]
        assert token[:8] == b"NTLMSSP\0", "offers something besides NTLM"
        if token[8:12] == struct.pack("<L", 1):
            challenge = _challenge()
            return MORE_PROCESSING, struct.pack("<HHHH", 9, 0, 72, len(challenge)) + challenge
        if self._server.is_guest:
            self._state.key = bytes(16)
        else:
            self._log_in(token)
        self._state.has_logged_in = True
        return 0, struct.pack("<HHHH", 9, 1 if self._server.is_guest else 0, 72, 0)

    def _log_in(self, token: bytes) -> None:
        second, domain, user, workstation = (_field(token, 20 + 8 * number) for number in range(4))
        self._server.workstations.append(workstation.decode("utf-16-le"))
        if len(second) <= 24 or user.decode("utf-16-le") != USER:
            raise RefusedError(LOGON_FAILURE)
        name = (USER.upper() + domain.decode("utf-16-le")).encode("utf-16-le")
        hashed = hmac.digest(md4(PASSWORD.encode("utf-16-le")), name, "md5")
        proof, blob = second[:16], second[16:]
        if domain.decode("utf-16-le") not in ("", DOMAIN) or proof != hmac.digest(hashed, b"12345678" + blob, "md5"):
            raise RefusedError(LOGON_FAILURE)
        self._state.key = hmac.digest(hashed, proof, "md5")

    def _connect(self, body: bytes) -> tuple[int, bytes]:
        size, _, offset, length = struct.unpack("<HHHH", body[:8])
        if size != 9:
            raise RefusedError(INVALID)
        if body[offset - 64 :][:length].decode("utf-16-le").lower() != rf"\\127.0.0.1\{SHARE}":
            raise RefusedError(NO_SUCH_SHARE)
        self._state.has_tree = True
        return 0, struct.pack("<HBBLLL", 16, 1, 0, 0, 0x8, 0x1F01FF)  # the capability of DFS

    def _validate(self, body: bytes) -> tuple[int, bytes]:
        size, _, code, handle, offset, length = struct.unpack("<HHL16sLL", body[:32])
        if (size, code, handle) != (57, 0x140204, b"\xff" * 16):
            raise RefusedError(0xC00000BB)
        assert body[offset - 64 :][:length] == self._state.negotiate_request, "not what was negotiated"
        answer = struct.pack("<L16sHH", _CAPABILITIES, _GUID, _SECURITY_MODE, _DIALECT)
        return 0, struct.pack("<HHL16sLLLLLL", 49, 0, code, handle, 112, 0, 112, len(answer), 0, 0) + answer

    def _create(self, body: bytes) -> tuple[int, bytes]:
        size, _, _, _, _, _, access, _, share, disposition, options, offset, length = struct.unpack(
            "<HBBLQQLLLLLHH", body[:48]
        )
        self._server.accesses.add(access)
        if (size, disposition, share) != (57, 1, 7) or access & ~0x20081:
            raise RefusedError(ACCESS_DENIED)
        name = body[offset - 64 :][:length].decode("utf-16-le")
        parts = name.split("\\") if name else []
        if any(part in ("", ".", "..") or set(part) & set('/:*?"<>|') for part in parts):
            raise RefusedError(0xC0000033)
        path = self._server.folder.joinpath(*parts)
        if not path.exists():
            raise RefusedError(NOT_FOUND)
        if options & 0x40 and path.is_dir():
            raise RefusedError(IS_FOLDER)
        if options & 0x1 and not path.is_dir():
            raise RefusedError(NO_FOLDER)
        handle = struct.pack("<QQ", len(self._state.handles) + self._state.next_id, 7)
        self._state.handles[handle] = _Handle(path)
        self._server.open_handles += 1
        contexts = self._server.contexts
        tail = struct.pack("<LL16sLL", _attributes(path), 0, handle, 152 if contexts else 0, len(contexts))
        return 0, struct.pack("<HBBL", 89, 0, 0, 1) + _times(path) + _sizes(path) + tail + contexts

    def _close(self, body: bytes) -> tuple[int, bytes]:
        size, flags, _, handle = struct.unpack("<HHL16s", body[:24])
        path = self._handle(handle).path
        del self._state.handles[handle]
        self._server.open_handles -= 1
        if size != 24 or not flags or not path.exists():
            return 0, struct.pack("<HHL52x", 60, 0, 0)
        return 0, struct.pack("<HHL", 60, 1, 0) + _times(path) + _sizes(path) + struct.pack("<L", _attributes(path))

    def _read(self, body: bytes) -> tuple[int, bytes]:
        size, _, _, length, offset, handle = struct.unpack("<HBBLQ16s", body[:32])
        if size != 49 or length > 2**20:
            raise RefusedError(INVALID)
        block = self._handle(handle).path.read_bytes()[offset : offset + length]
        if not block:
            raise RefusedError(END_OF_FILE)
        return 0, struct.pack("<HBBLLL", 17, 80, 0, len(block), 0, 0) + block

    def _query(self, body: bytes) -> tuple[int, bytes]:
        size, kind, flags, _, number, offset, length, most = struct.unpack("<HBBL16sHHL", body[:32])
        if size != 33 or kind != 38 or most < 4096:
            raise RefusedError(INVALID)
        handle = self._handle(number)
        pattern = body[offset - 64 :][:length].decode("utf-16-le")
        is_first = handle.names is None or bool(flags & 0x1)
        if is_first:
            handle.names = self._names(handle.path, pattern)
        names = handle.names or []
        if not names:
            raise RefusedError(NO_SUCH_FILE if is_first else NO_MORE_FILES)
        page, rest = names[:_ENTRIES_OF_A_PAGE], names[_ENTRIES_OF_A_PAGE:]
        handle.names = names if self._server.endless else rest
        entries = [_packed(handle.path, entry) for entry in page]
        padded = [entry + bytes(-len(entry) % 8) for entry in entries[:-1]]
        joined = b"".join(struct.pack("<L", len(entry)) + entry[4:] for entry in padded) + entries[-1]
        return 0, struct.pack("<HHL", 9, 72, len(joined)) + joined

    def _names(self, folder: Path, pattern: str) -> list[Entry]:
        names = [Entry(".", _FOLDER), Entry("..", _FOLDER)]
        names += [Entry(path.name, _attributes(path)) for path in folder.iterdir()]
        names += self._server.extra.get(folder, [])
        return [entry for entry in names if pattern == "*" or entry.name.lower() == pattern.lower()]

    def _handle(self, number: bytes) -> _Handle:
        if number not in self._state.handles:
            raise RefusedError(0xC0000128)
        return self._state.handles[number]


def _signature(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message[:48] + bytes(16) + message[64:], hashlib.sha256).digest()[:16]


def _challenge() -> bytes:
    """Return a challenge that asks for the second version of NTLM, Unicode, a version, and session security."""
    flags = 0x1 | 0x4 | 0x10 | 0x200 | 0x8000 | 0x20000 | 0x80000 | 0x800000 | 0x2000000 | 0x20000000 | 0x80000000
    target = DOMAIN.encode("utf-16-le")
    information = struct.pack("<HH", 2, len(target)) + target + bytes(4)
    head = struct.pack("<8sLHHLL8s8x", b"NTLMSSP\0", 2, len(target), len(target), 56, flags, b"12345678")
    fields = struct.pack("<HHL8s", len(information), len(information), 56 + len(target), b"\x0a\0\0\0\0\0\0\x0f")
    return head + fields + target + information


def _field(token: bytes, at: int) -> bytes:
    length, _, offset = struct.unpack("<HHL", token[at : at + 8])
    return token[offset : offset + length]


def _packed(folder: Path, entry: Entry) -> bytes:
    """Return FileIdFullDirectoryInformation without the offset of the next."""
    path = folder / entry.name
    times, sizes, number = bytes(32), bytes(16), 0
    if path.exists():
        times, number = _times(path), path.stat().st_ino
        sizes = struct.pack("<QQ", 0 if path.is_dir() else path.stat().st_size, 0)
    name = entry.name.encode("utf-16-le", "surrogatepass")
    tail = struct.pack("<LLLLQ", entry.attributes, len(name), entry.reparse_tag, 0, number)
    return struct.pack("<LL", 0, 0) + times + sizes + tail + name


def _attributes(path: Path) -> int:
    return _FOLDER if path.is_dir() else _FILE


def _times(path: Path) -> bytes:
    found = path.stat()
    written, changed = (
        nanoseconds // 100 + 116444736000000000 for nanoseconds in (found.st_mtime_ns, found.st_ctime_ns)
    )
    return struct.pack("<QQQQ", written, written, written, changed)


def _sizes(path: Path) -> bytes:
    size = 0 if path.is_dir() else path.stat().st_size
    return struct.pack("<QQ", size, size)
