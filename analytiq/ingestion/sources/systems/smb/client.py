"""Folders and files of an SMB share."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError, PermanentError, TransientError
from analytiq.inference.providers.addresses import look_up
from analytiq.inference.providers.guarded_http import RequireAllowed
from analytiq.ingestion.sources.base import ItemRefusedError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.remote_files.walk import MOST_ENTRIES, Segments
from analytiq.ingestion.sources.systems.smb.listing import SmbEntry, entries_of
from analytiq.ingestion.sources.systems.smb.protocol import (
    CALL_SECONDS,
    EncryptionMissingError,
    Share,
    SharePlace,
    SmbLogin,
    status_of,
)
from analytiq.ingestion.sources.systems.smb.transport import CheckedTransport

CONNECT_SECONDS = 15.0
"""Longest time until the share is connected to."""
FOLDER_SECONDS = 120.0
"""Longest time of the listing of a folder."""
CLOSE_SECONDS = 1.0
BLOCK_BYTES = 256 * 1024
_MARGIN_SECONDS = 5.0
_DOTS = (".", "..")
_REFUSED_LOGINS = frozenset(
    {
        *(0xC0000022, 0xC0000064, 0xC000006A, 0xC000006D, 0xC000006E, 0xC000006F, 0xC0000070, 0xC0000071, 0xC0000072),
        *(0xC000015B, 0xC0000193, 0xC0000224, 0xC0000234),
    }
)
_NOT_FOUND = frozenset({0xC000000F, 0xC0000033, 0xC0000034, 0xC0000039, 0xC000003A, 0xC0000056, 0xC00000BA, 0xC0000103})
_IN_USE = frozenset({0xC0000043, 0xC0000054})
_BROKEN = frozenset({0xC00000C9, 0xC0000203, 0xC000035C, 0xC000009A, 0xC0000205, 0xC00000B5, 0xC000026E})
_ACCESS_DENIED, _NO_SUCH_SHARE, _ELSEWHERE, _LINK = 0xC0000022, 0xC00000CC, 0xC0000257, 0x8000002D

Result = TypeVar("Result")


class SmbClient:
    """A connection to a share, opened when it is needed, and again after it broke."""

    def __init__(self, place: SharePlace, login: SmbLogin, require: RequireAllowed) -> None:
        self._place = place
        self._login = login
        self._require = require
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="smb-source")
        self._opening = asyncio.Lock()
        self._transport: CheckedTransport | None = None
        self._share: Share | None = None

    async def require_folder(self, path: Segments) -> None:
        """Check that a path is a folder that can be listed; see `folder`."""
        name = _encodable("\\".join(path))
        share = await self._connected()
        opened = await self._answer(lambda: share.open_folder(name, "*", follows=True))
        try:
            await self._answer(lambda: share.list_page(opened))
        finally:
            self._release(opened.close)

    async def folder(self, path: Segments, pattern: str = "*", *, follows: bool = False) -> Sequence[SmbEntry]:
        """Return the entries of a folder, and the folder itself as `.` if the server lists it.

        Args:
            path: below the share.
            pattern: a name, or `*` for all.
            follows: the folder may itself be a junction.

        Raises:
            NotFoundError: it does not exist, or is a file.
            PermanentError: the server refuses, or it has too many entries.
            TransientError: the server does not answer.
        """
        name = _encodable("\\".join(path))
        try:
            async with asyncio.timeout(FOLDER_SECONDS):
                share = await self._connected()
                opened = await self._answer(lambda: share.open_folder(name, pattern, follows=follows))
                found: list[SmbEntry] = []
                try:
                    while page := await self._answer(lambda: share.list_page(opened)):
                        found += await self._answer(lambda page=page: list(entries_of(page)))
                        if len(found) > MOST_ENTRIES + len(_DOTS):
                            raise PermanentError(f"The folder has more than {MOST_ENTRIES:,} entries.")
                finally:
                    self._release(opened.close)
        except TimeoutError:
            self._cut()
            raise TransientError("The SMB server did not list a folder in time.") from None
        return [entry for entry in found if not _leads_elsewhere(entry.name)]

    async def content(self, path: Segments, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file.

        Raises:
            ItemRefusedError: it is larger.
            TransientError: it was changed while it was read.
            AnalytiqError: see `folder`.
        """
        name = _encodable("\\".join(path))
        share = await self._connected()
        opened = await self._answer(lambda: share.open_file(name))
        is_open = True
        try:
            size = opened.state.byte_size
            if size > most_bytes:
                raise ItemRefusedError(f"Larger than {most_bytes:,} bytes.")
            at = 0
            while at < size:
                block = await self._answer(lambda at=at: opened.read(at, min(BLOCK_BYTES, size - at)))
                at += len(block)
                yield block
            is_open = False
            after = await self._answer(opened.close)
        finally:
            if is_open:
                self._release(opened.close)
        if after != opened.state:
            raise TransientError("The file was changed while it was read. The next run reads it again.")

    async def close(self) -> None:
        """Cut the connection; a thread that waits for the server ends."""
        self._cut()
        closed = asyncio.wrap_future(self._threads.submit(lambda: None))
        self._threads.shutdown(wait=False)
        await asyncio.wait([closed], timeout=CLOSE_SECONDS)

    async def _connected(self) -> Share:
        async with self._opening:
            if self._share is not None and self._transport is not None and self._transport.connected:
                return self._share
            self._cut()
            self._share = await self._new_share()
            return self._share

    async def _new_share(self) -> Share:
        server, port = self._place.server, self._place.port
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await look_up(server, port)
                self._require(server, addresses)
                transport = CheckedTransport(addresses, port, connect_seconds=CONNECT_SECONDS)
                self._transport = transport
                share = Share(transport, self._place, self._login)
                connect = partial(share.connect, seconds=CONNECT_SECONDS)
                await asyncio.get_running_loop().run_in_executor(self._threads, connect)
                return share
        except TimeoutError:
            failure = TransientError(f"The SMB server {server!r} did not answer within {CONNECT_SECONDS:g} s.")
        except EncryptionMissingError:
            failure = InvalidInputError.of_field("settings.require_encryption", "The server does not encrypt.")
        except AnalytiqError as error:
            failure = error
        except Exception as error:  # noqa: BLE001  # the library raises whatever it stumbles over in a strange answer
            failure = _login_failure(error)
            if isinstance(error, OSError | UnicodeError) and not (self._transport and self._transport.was_connected):
                failure = TransientError(f"The SMB server {server!r} could not be reached. Check server and port.")
        self._cut()
        raise failure from None

    async def _answer(self, work: Callable[[], Result]) -> Result:
        """Do a part of the work in the thread.

        Raises:
            AnalytiqError: see `folder`.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS + _MARGIN_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            failure: Exception = TransientError("The SMB server did not answer in time.")
        except AnalytiqError as error:
            raise error from None
        except Exception as error:  # noqa: BLE001  # likewise
            status = status_of(error)
            if status is not None and status not in _BROKEN:
                raise _failure(status) from None
            failure = TransientError("The SMB server closed the connection, or its answer cannot be read.")
        self._cut()
        raise failure from None

    def _release(self, close: Callable[[], object]) -> None:
        """Close a handle; nothing waits for it."""

        def quietly() -> None:
            with contextlib.suppress(Exception):
                close()

        if self._transport is not None and self._transport.connected:
            with contextlib.suppress(RuntimeError):  # the client is closed
                self._threads.submit(quietly)

    def _cut(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._transport = self._share = None


def _login_failure(error: Exception) -> Exception:
    status = status_of(error)
    if status in _REFUSED_LOGINS:
        return CredentialsRefusedError(
            "The SMB server does not accept the user and password, or the user may not read the share."
        )
    if status == _NO_SUCH_SHARE:
        return InvalidInputError.of_field("settings.share", "The server has no such share.")
    if status is not None and status not in _BROKEN:
        return PermanentError(f"The SMB server refuses the connection (status {status:#010x}).")
    return TransientError(
        "The SMB server cannot be understood, or does not sign its answers. SMB 2 or later and a user are needed."
    )


def _failure(status: int) -> Exception:
    if status in _NOT_FOUND:
        return NotFoundError("The SMB server does not have it.")
    if status == _ACCESS_DENIED:
        return PermanentError("The SMB server denies the permission.")
    if status in _IN_USE:
        return TransientError("Another program has locked the file.")
    if status == _ELSEWHERE:
        return PermanentError("It is on another server (DFS). Add a source for that server.")
    if status == _LINK:
        return PermanentError("A symbolic link, which is never followed.")
    return PermanentError(f"The SMB server refuses (status {status:#010x}).")


def _encodable(path: str) -> str:
    try:
        path.encode("utf-16-le")
    except UnicodeEncodeError:
        raise PermanentError("The name is not valid Unicode.") from None
    return path


def _leads_elsewhere(name: str) -> bool:
    """Return True for names that are not of one entry, besides `.`."""
    return not name or name == ".." or any(letter in name for letter in "/\\\0")
