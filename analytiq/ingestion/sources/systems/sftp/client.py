"""Folders and files of an SFTP server."""

import asyncio
import stat
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from twisted.conch.ssh.filetransfer import FX_NO_SUCH_FILE, FX_PERMISSION_DENIED, FXF_READ, SFTPError

from analytiq.errors import NotFoundError, PermanentError, TransientError
from analytiq.inference.providers.addresses import look_up
from analytiq.inference.providers.guarded_http import RequireAllowed
from analytiq.ingestion.sources.base import ItemRefusedError
from analytiq.ingestion.sources.systems.remote_files.walk import MOST_ENTRIES, EntryKind
from analytiq.ingestion.sources.systems.sftp.host_keys import HostKey
from analytiq.ingestion.sources.systems.sftp.ssh import SshLogin, SshSession, answer_of

CONNECT_SECONDS = 15.0
"""Longest time until the server is logged in to."""
CALL_SECONDS = 30.0
CHUNK_BYTES = 32 * 1024
"""Bytes of a request for content, which every server gives at once."""
CHUNKS_AT_ONCE = 8

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, and the key that it must prove to have."""

    host: str
    port: int
    host_key: HostKey | None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file or folder as the server describes it."""

    name: str
    kind: EntryKind | None
    byte_size: int | None
    modified_at: int | None
    """Seconds since 1970."""


class SftpClient:
    """A connection to an SFTP server, opened when it is needed."""

    def __init__(self, endpoint: Endpoint, login: SshLogin, require: RequireAllowed) -> None:
        self._endpoint = endpoint
        self._login = login
        self._require = require
        self._session: SshSession | None = None
        self._opening = asyncio.Lock()

    async def described(self, path: str, *, follows_links: bool = False) -> RemoteFile:
        """Return the description of a path.

        Raises:
            NotFoundError: it does not exist.
            PermanentError: the server refuses.
            TransientError: the server does not answer.
        """
        client = await self._client()
        found = await self._answer(client.getAttrs(_encoded(path), followLinks=follows_links))
        return _described("", cast("dict[str, Any]", found))

    async def folder(self, path: str) -> Sequence[RemoteFile]:
        """Return the entries of a folder; see `described`."""
        client = await self._client()
        opened = await self._answer(client.openDirectory(_encoded(path)))
        found: list[RemoteFile] = []
        try:
            while len(found) <= MOST_ENTRIES:
                try:
                    entries = await self._answer(opened.read())
                except EOFError:
                    return found
                if not entries:
                    raise PermanentError("The server lists the folder without end.")
                found += [_described(_decoded(name), attributes) for name, _, attributes in entries]
        finally:
            await self._release(opened)
        raise PermanentError(f"The folder has more than {MOST_ENTRIES:,} entries.")

    async def content(self, path: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file.

        Raises:
            ItemRefusedError: it is larger.
            TransientError: it was changed while it was read.
            AnalytiqError: see `described`.
        """
        client = await self._client()
        opened = await self._answer(client.openFile(_encoded(path), FXF_READ, {}))
        try:
            before = _described("", await self._answer(opened.getAttrs()))
            at = 0
            async for block in self._blocks(opened):
                at += len(block)
                if at > most_bytes:
                    raise ItemRefusedError(f"Larger than {most_bytes:,} bytes.")
                yield block
            after = _described("", await self._answer(opened.getAttrs()))
        finally:
            await self._release(opened)
        if after != before:
            raise TransientError("The file was changed while it was read. The next run reads it again.")

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            self._session.end(TransientError("The connection was closed."))

    async def _blocks(self, opened: Any) -> AsyncIterator[bytes]:
        """Yield the content with several requests under way; a short answer makes the later ones worthless."""
        at = asked = 0
        pending: deque[asyncio.Future[Any]] = deque()
        try:
            while True:
                while len(pending) < CHUNKS_AT_ONCE:
                    pending.append(answer_of(opened.readChunk(asked, CHUNK_BYTES)))
                    asked += CHUNK_BYTES
                try:
                    block = cast("bytes", await self._answer(pending.popleft()))
                except EOFError:
                    return
                if not 0 < len(block) <= CHUNK_BYTES:
                    raise PermanentError("The server gives more or less of a file than it was asked for.")
                yield block
                at += len(block)
                if len(block) < CHUNK_BYTES:
                    await _ended(pending)
                    asked = at
        finally:
            await _ended(pending)

    async def _release(self, opened: Any) -> None:
        if self._session is not None and not self._session.is_closed:
            # Nothing waits for the answer; its failure is of no interest.
            answer_of(opened.close()).add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _client(self) -> Any:
        async with self._opening:
            if self._session is None or self._session.is_closed:
                self._session = await self._connected()
            return await asyncio.shield(self._session.client)

    async def _connected(self) -> SshSession:
        host, port = self._endpoint.host, self._endpoint.port
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await look_up(host, port)
                self._require(host, addresses)
                session = await self._first_that_answers(addresses)
                try:
                    await asyncio.shield(session.client)
                except BaseException:
                    session.end(TransientError("The connection was closed."))
                    raise
                return session
        except TimeoutError:
            raise TransientError(f"The SSH server {host!r} did not answer within {CONNECT_SECONDS:g} s.") from None
        except (OSError, UnicodeError):
            raise TransientError(f"The SSH server {host!r} could not be reached. Check host and port.") from None

    async def _first_that_answers(self, addresses: Sequence[str]) -> SshSession:
        loop = asyncio.get_running_loop()
        for address in addresses[:-1]:
            try:
                return (await loop.create_connection(self._new_session, address, self._endpoint.port))[1]
            except OSError:
                continue
        return (await loop.create_connection(self._new_session, addresses[-1], self._endpoint.port))[1]

    def _new_session(self) -> SshSession:
        return SshSession(self._login, self._endpoint.host_key)

    async def _answer(self, deferred: Any) -> Any:
        """Wait for an answer.

        Raises:
            EOFError: the end of a file or folder.
            AnalytiqError: see `described`.
        """
        waiting = cast("asyncio.Future[Any]", deferred if isinstance(deferred, asyncio.Future) else answer_of(deferred))
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await waiting
        except TimeoutError:
            await self.close()
            raise TransientError("The SSH server did not answer in time.") from None
        except SFTPError as error:
            raise _failure(error) from None
        except EOFError:
            raise
        except NotImplementedError:
            raise PermanentError("The SSH server does not have this operation of SFTP.") from None
        except ConnectionError:
            raise TransientError("The SSH server closed the connection.") from None
        except Exception as error:
            if type(error).__module__.startswith("twisted."):
                raise TransientError("The SSH server closed the connection.") from None
            raise


async def _ended(pending: "deque[asyncio.Future[Any]]") -> None:
    """Let answers that nothing needs come and go."""
    while pending:
        pending.popleft().add_done_callback(lambda done: done.cancelled() or done.exception())


def _described(name: str, attributes: "dict[str, Any]") -> RemoteFile:
    mode = attributes.get("permissions")
    kind = _KINDS.get(stat.S_IFMT(mode), EntryKind.OTHER) if mode is not None and stat.S_IFMT(mode) else None
    return RemoteFile(name, kind, attributes.get("size"), attributes.get("mtime"))


_KINDS = {stat.S_IFREG: EntryKind.FILE, stat.S_IFDIR: EntryKind.FOLDER, stat.S_IFLNK: EntryKind.LINK}


def _failure(error: SFTPError) -> Exception:
    code = cast("int", error.code)  # pyright: ignore[reportUnknownMemberType]
    if code == FX_NO_SUCH_FILE:
        return NotFoundError("The SSH server does not have it.")
    if code == FX_PERMISSION_DENIED:
        return PermanentError("The SSH server denies the permission.")
    return PermanentError(f"The SSH server refuses (status {code}).")


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
