"""A connection to an IMAP server: opened to a checked address, bounded in bytes, read-only.

imapclient speaks the protocol and reads the answers. It runs in a thread of its own, over a socket that is opened
here. Mailboxes are opened by EXAMINE and bodies fetched by PEEK, so that no message is marked as read.
"""

import asyncio
import contextlib
import imaplib
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeVar, cast

import structlog
from imapclient import IMAPClient

from analytiq.errors import AnalytiqError, PermanentError, TransientError
from analytiq.inference.providers.addresses import look_up
from analytiq.ingestion.sources.connections.outbound import requirement
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.imap.login import FindLogin, Login, log_in
from analytiq.settings import SourceSettings

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 1.0
READ_SECONDS = 30.0
"""Longest silence of the server within an answer."""
MOST_ANSWER_BYTES = 8 * 1024 * 1024
"""Most bytes that the server sends in answer to one command."""
LINE_BYTES = 200
"""Bytes that a line counts for at least: reading a short one takes as long."""
LONGEST_NUMBER = 20
UIDS_OF_A_SEARCH = 50_000
"""UIDs of one search, so that its answer stays within the length of a line."""
MOST_SEARCHES = 1000
"""Searches of one mailbox; they get wider for a mailbox with higher UIDs."""

Result = TypeVar("Result")
Criteria = Sequence[object]
Message = Mapping[bytes, object]


class MailboxUnreadableError(AnalytiqError):
    """The server does not open a mailbox, although it lists it."""

    code = "mailbox_unreadable"


class _FloodError(Exception):
    """The server sends more than an answer may have."""


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server; `security` is "tls", "starttls" or "none"."""

    host: str
    port: int
    security: str


@dataclass(frozen=True, slots=True)
class MailboxInfo:
    """A mailbox as the server lists it; `path` has slashes."""

    name: str
    path: str
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class MailboxState:
    """The numbers of an opened mailbox; `change_number` is HIGHESTMODSEQ, 0 without CONDSTORE."""

    validity: int
    next_uid: int
    count: int
    change_number: int


class MailConnection:
    """A connection that is opened when it is needed, and again after it broke."""

    def __init__(self, operator: SourceSettings, server: Server, find_login: FindLogin) -> None:
        self._require = requirement(operator)
        self._server = server
        self._find_login = find_login
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="imap-source")
        self._lock = asyncio.Lock()
        self._client: _BoundedClient | None = None
        self._socket: socket.socket | None = None
        self._opened: tuple[str, MailboxState] | None = None

    async def mailboxes(self) -> list[MailboxInfo]:
        """List the mailboxes that can be opened."""
        async with self._lock:
            listed = await self._run(lambda client: client.list_folders())
        return [info for info in (_mailbox_info(*entry) for entry in listed) if info is not None]

    async def tells_changes(self) -> bool:
        """Return True if the server numbers the changes of flags (RFC 7162)."""
        async with self._lock:
            return await self._run(lambda client: client.has_capability("CONDSTORE"))

    async def examine(self, mailbox: str) -> MailboxState:
        """Open a mailbox read-only, and return its present state.

        Raises:
            MailboxUnreadableError: the server does not open it.
        """
        async with self._lock:
            return await self._examine(mailbox)

    async def search(self, mailbox: str, first: int, end: int, criteria: Criteria) -> list[int]:
        """Return the UIDs from `first` to before `end` that match, in their order."""
        found: list[int] = []
        step = max(UIDS_OF_A_SEARCH, (end - first) // MOST_SEARCHES + 1)
        for start in range(first, end, step):
            asked = ["UID", f"{start}:{min(start + step, end) - 1}", *criteria]
            found += await self._in_mailbox(mailbox, partial(_searched, criteria=asked))
        # A strange server may answer with others.
        return sorted({uid for uid in found if first <= uid < end})

    async def fetch(self, mailbox: str, uids: Sequence[int], parts: Sequence[str]) -> Mapping[int, Message]:
        """Return parts of messages by UID."""
        wanted = frozenset(uids)
        fetched = await self._in_mailbox(mailbox, lambda client: client.fetch(uids, parts))
        return {uid: message for uid, message in fetched.items() if uid in wanted}

    async def validity(self, mailbox: str) -> int:
        """Return the UIDVALIDITY of a mailbox as it was opened last."""
        async with self._lock:
            return (await self._opened_state(mailbox)).validity

    async def close(self) -> None:
        """Cut the connection; a thread that waits for the server ends."""
        self._cut()
        closed = asyncio.wrap_future(self._threads.submit(lambda: None))
        self._threads.shutdown(wait=False)
        # The thread is about to end; a look-up of a name may hold it a little longer.
        await asyncio.wait([closed], timeout=CLOSE_SECONDS)

    async def _in_mailbox(self, mailbox: str, work: Callable[[IMAPClient], Result]) -> Result:
        async with self._lock:
            await self._opened_state(mailbox)
            return await self._run(work)

    async def _opened_state(self, mailbox: str) -> MailboxState:
        if self._client is not None and self._opened is not None and self._opened[0] == mailbox:
            return self._opened[1]
        return await self._examine(mailbox)

    async def _examine(self, mailbox: str) -> MailboxState:
        self._opened = None
        answered = await self._run(lambda client: _examined(client, mailbox))
        if answered is None:
            raise MailboxUnreadableError(f"The server does not open the mailbox {mailbox[:200]!r}.")
        state = MailboxState(
            validity=_number(answered, b"UIDVALIDITY"),
            next_uid=_number(answered, b"UIDNEXT"),
            count=_number(answered, b"EXISTS"),
            change_number=_number(answered, b"HIGHESTMODSEQ"),
        )
        if not state.validity or not state.next_uid:
            raise PermanentError("The server names no UIDVALIDITY and UIDNEXT, so messages cannot be followed.")
        self._opened = (mailbox, state)
        return state

    async def _run(self, work: Callable[[IMAPClient], Result]) -> Result:
        """Run a command in the thread."""
        client = self._client or await self._connected()
        try:
            return await self._in_thread(client, lambda: work(client))
        except BaseException:
            # Also when the wait was cut short: the rest of the answer would be taken for that of the next command.
            self._cut()
            raise

    async def _in_thread(self, client: "_BoundedClient | None", work: Callable[[], Result]) -> Result:
        try:
            if client is not None:
                client.begin_answer()
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (AnalytiqError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001  # imapclient raises whatever a strange answer leads to
            _raise_failure(error)

    async def _connected(self) -> "_BoundedClient":
        login = await self._find_login(None)
        try:
            return await self._logged_in(login)
        except CredentialsRefusedError:
            if not login.is_token:
                raise
            return await self._logged_in(await self._find_login(login))

    async def _logged_in(self, login: Login) -> "_BoundedClient":
        try:
            addresses = await look_up(self._server.host, self._server.port)
        except (OSError, UnicodeError):
            raise TransientError(f"The host {self._server.host!r} cannot be resolved. Check its name.") from None
        self._require(self._server.host, addresses)
        try:
            client = await self._in_thread(None, lambda: self._open(addresses))
            await self._in_thread(client, lambda: log_in(client, login))
        except BaseException:
            self._cut()
            raise
        return client

    def _open(self, addresses: Sequence[str]) -> "_BoundedClient":
        context = ssl.create_default_context()
        self._socket = connection = _connection(addresses, self._server.port)
        if self._server.security == "tls":
            self._socket = connection = context.wrap_socket(connection, server_hostname=self._server.host)
        client = self._client = _BoundedClient(self._server, connection)
        if self._server.security == "starttls":
            client.starttls(context)
            self._socket = client.connection
        return client

    def _cut(self) -> None:
        """Cut the connection, and let the thread close it: the thread may be reading from it."""
        connection, client = self._socket, self._client
        self._socket, self._client, self._opened = None, None, None
        if connection is None:
            return
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        self._threads.submit(_close, connection, client)


class _BoundedSession(imaplib.IMAP4):
    """The protocol over a given connection, with a bound for the bytes of an answer."""

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self._given = connection
        self.left = MOST_ANSWER_BYTES
        super().__init__(server.host, server.port)

    def _create_socket(self, timeout: float | None) -> socket.socket:  # pyright: ignore[reportIncompatibleMethodOverride]
        del timeout
        return self._given

    def read(self, size: int) -> bytes:
        """Read a literal."""
        self._take(size)
        return super().read(size)

    def readline(self) -> bytes:
        """Read a line."""
        line = super().readline()
        self._take(max(len(line), LINE_BYTES))
        return line

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _FloodError


class _BoundedClient(IMAPClient):
    """imapclient over a given connection; it connects nowhere by itself."""

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self._session = _BoundedSession(server, connection)
        super().__init__(server.host, server.port, ssl=server.security == "tls", timeout=READ_SECONDS)
        # It would write each line, with the password, to the log.
        self._imap.debug = 0
        self.normalise_times = False

    def _create_IMAP4(self) -> imaplib.IMAP4:  # noqa: N802  # imapclient's name
        return self._session

    @property
    def connection(self) -> socket.socket:
        """Return the socket, which STARTTLS replaces."""
        return self._session.socket()

    def begin_answer(self) -> None:
        """Begin to count the bytes of the next answer."""
        self._session.left = MOST_ANSWER_BYTES


def _connection(addresses: Sequence[str], port: int) -> socket.socket:
    *others, last = addresses
    for address in others:
        with contextlib.suppress(OSError):
            return _settled(socket.create_connection((address, port), CONNECT_SECONDS))
    return _settled(socket.create_connection((last, port), CONNECT_SECONDS))


def _close(connection: socket.socket, client: IMAPClient | None) -> None:
    if client is not None:
        with contextlib.suppress(OSError, imaplib.IMAP4.error):
            client.shutdown()
    connection.close()


def _settled(connection: socket.socket) -> socket.socket:
    connection.settimeout(READ_SECONDS)
    return connection


def _examined(client: IMAPClient, mailbox: str) -> Mapping[bytes, object] | None:
    """Open a mailbox; None if the server refuses."""
    try:
        return client.select_folder(mailbox, readonly=True)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error:
        return None


def _searched(client: IMAPClient, criteria: Criteria) -> list[int]:
    return client.search(criteria)


def _mailbox_info(flags: Sequence[bytes], delimiter: bytes | None, name: str) -> MailboxInfo | None:
    attributes = frozenset(flag.decode("ascii", "replace").lower() for flag in flags)
    if attributes & {"\\noselect", "\\nonexistent"}:
        return None
    mark = delimiter.decode("ascii", "replace") if delimiter else ""
    path = "INBOX" if name.upper() == "INBOX" else name
    return MailboxInfo(name, path.replace(mark, "/") if mark else path, attributes)


def _number(answered: Mapping[bytes, object], key: bytes) -> int:
    value = answered.get(key)
    if isinstance(value, list | tuple) and value:
        value = cast("Sequence[object]", value)[0]
    # imapclient leaves numbers as bytes that it does not know.
    if isinstance(value, bytes) and value.isdigit() and len(value) <= LONGEST_NUMBER:
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else 0


def _raise_failure(error: Exception) -> NoReturn:
    if isinstance(error, _FloodError):
        raise PermanentError(f"The mail server answers a command with more than {MOST_ANSWER_BYTES:,} bytes.") from None
    if isinstance(error, ssl.SSLError):
        reason = error.reason or type(error).__name__
        raise TransientError(
            f"No secure connection to the mail server: {reason}. Check host, port, certificate."
        ) from None
    if isinstance(error, TimeoutError):
        raise TransientError("The mail server did not answer in time.") from None
    if isinstance(error, imaplib.IMAP4.abort | OSError):
        raise TransientError("The mail server closed the connection, or cannot be reached.") from None
    if isinstance(error, imaplib.IMAP4.error):
        raise PermanentError("The mail server refuses a command. Check the settings.") from None
    log.warning("sources.imap_answer_unreadable", error=type(error).__name__)
    raise PermanentError("The mail server's answer cannot be read.") from None
