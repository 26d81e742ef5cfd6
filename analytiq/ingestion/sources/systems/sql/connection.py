"""A connection to a database for reading, in a thread of its own."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from analytiq.errors import AnalytiqError, InvalidInputError, PermanentError, TransientError
from analytiq.inference.providers.addresses import look_up
from analytiq.ingestion.sources.connections.outbound import SETTING, ForbiddenAddressError, requirement
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.sql import drivers
from analytiq.ingestion.sources.systems.sql.queries import Statement
from analytiq.ingestion.sources.systems.sql.settings import SqlSettings
from analytiq.ingestion.sources.systems.sql.sockets import MOST_ANSWER_BYTES, CheckedLine, FloodError
from analytiq.ingestion.sources.texts.wording import one_line
from analytiq.settings import SourceSettings

log = structlog.get_logger(__name__)

PIECE_ROWS = 100
"""Rows that are read at once."""
SPARE_SECONDS = 15.0
"""Time beyond the database's own time limit."""
CLOSE_SECONDS = 1.0

Result = TypeVar("Result")
Row = Sequence[object]
_POSTGRES_LOGIN = ("28",)
_POSTGRES_PASSING = ("08", "40", "53", "55", "57P", "58", "XX")
_POSTGRES_LATE = "57014"
_MYSQL_LOGIN = frozenset({1044, 1045, 1698, 1862, 4151})
_MYSQL_PASSING = frozenset({1040, 1053, 1203, 1205, 1213, 1226, 3572})
_MYSQL_LATE = frozenset({1969, 3024})
_MYSQL_CLIENT = range(2000, 3000)


class QueryRefusedError(PermanentError):
    """The database refuses the query."""

    code = "query_refused"


class SqlDatabase:
    """A connection that is opened when it is needed, and again after it broke."""

    def __init__(self, operator: SourceSettings, settings: SqlSettings, password: str) -> None:
        self._operator = operator
        self._settings = settings
        self._password = password
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="sql-source")
        self._lock = asyncio.Lock()
        self._line: CheckedLine | None = None
        self._connection: Connection | None = None
        self._cuts = 0
        self._most_seconds = settings.timeout_seconds + SPARE_SECONDS

    async def columns(self, statement: Statement) -> Sequence[str]:
        """Return the names of a statement's columns."""
        async with self._lock:
            return await self._read(lambda connection: list(connection.execute(statement).keys()))

    async def pieces(self, statement: Statement) -> AsyncGenerator[Sequence[Row]]:
        """Yield the rows of a statement, a hundred at a time, which the database keeps until they are wanted.

        Raises:
            QueryRefusedError: the database refuses the query.
            CredentialsRefusedError: the database refuses the user.
            TransientError: the connection broke, or the database has no room now.
        """
        async with self._lock:
            options: dict[str, Any] = {"stream_results": True, "max_row_buffer": PIECE_ROWS}
            result = await self._read(lambda connection: connection.execute(statement, execution_options=options))
            is_complete = False
            try:
                while True:
                    piece = await self._read(lambda _: cast("Sequence[Row]", result.fetchmany(PIECE_ROWS)))
                    if not piece:
                        break
                    yield piece
                await self._read(lambda _: result.close())
                is_complete = True
            finally:
                if not is_complete:
                    # The database would send the rest before anything else.
                    self._cut()

    async def close(self) -> None:
        """Cut the connection; a thread that waits for the database ends."""
        self._cut()
        closed = asyncio.wrap_future(self._threads.submit(lambda: None))
        self._threads.shutdown(wait=False)
        await asyncio.wait([closed], timeout=CLOSE_SECONDS)

    async def _read(self, work: Callable[[Connection], Result]) -> Result:
        if self._connection is None:
            await self._open()
        connection, line = self._connection, self._line
        if connection is None or line is None:
            raise TransientError("The connection to the database was closed.")
        line.meter.begin()
        return await self._in_thread(lambda: work(connection))

    async def _open(self) -> None:
        settings = self._settings
        try:
            addresses = await look_up(settings.host, settings.given_port)
        except (OSError, UnicodeError):
            raise TransientError(f"The host {settings.host!r} cannot be resolved. Check its name.") from None
        requirement(self._operator)(settings.host, addresses)
        if settings.tls == "none":
            self._require_private()
        cuts = self._cuts
        await self._in_thread(lambda: self._connected(addresses, cuts))

    def _connected(self, addresses: Sequence[str], cuts: int) -> None:
        line = CheckedLine(addresses, self._settings.given_port, silence_seconds=self._most_seconds)
        if cuts != self._cuts:
            # The wait for it was given up meanwhile.
            line.cut()
            line.close()
            return
        self._line = line
        connection = drivers.opened_engine(self._settings, self._password, line).connect()
        try:
            drivers.begin_reading(connection, self._settings)
        except BaseException:
            _close(connection, line)
            raise
        if cuts == self._cuts:
            self._connection = connection
        else:
            _close(connection, line)

    def _require_private(self) -> None:
        """Check that the operator names the host.

        Raises:
            ForbiddenAddressError: it may be anywhere, so the password would be readable on the way.
        """
        named = {host.lower().rstrip(".") for host in self._operator.private_hosts}
        if self._settings.host.lower().rstrip(".") not in named:
            raise ForbiddenAddressError(
                f"Without TLS only hosts are read that the operator names in {SETTING}. Choose tls=verify."
            )

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            async with asyncio.timeout(self._most_seconds):
                return await running
        except TimeoutError:
            self._cut()
            raise TransientError("The database did not answer in time.") from None
        except asyncio.CancelledError:
            self._cut()
            raise
        except AnalytiqError:
            self._cut()
            raise
        except Exception as error:  # noqa: BLE001  # drivers raise whatever a strange answer leads to
            self._cut()
            raise _failure(error, self._settings) from None

    def _cut(self) -> None:
        """Cut the connection, and let the thread close it: the thread may be reading from it."""
        line, connection = self._line, self._connection
        self._line, self._connection = None, None
        self._cuts += 1
        if line is not None:
            line.cut()
            self._threads.submit(_close, connection, line)


def _close(connection: Connection | None, line: CheckedLine) -> None:
    if connection is not None:
        # What a driver says about a connection that was cut tells nothing.
        with contextlib.suppress(Exception):
            connection.invalidate()
        with contextlib.suppress(Exception):
            connection.close()
    line.close()


def _failure(error: Exception, settings: SqlSettings) -> AnalytiqError:
    """Return the error of what a driver raises."""
    original: BaseException = error
    if isinstance(error, DBAPIError) and error.orig is not None:
        original = error.orig
    secure = _of_type(original, ssl.SSLError)
    if secure is not None:
        reason = getattr(secure, "verify_message", None) or getattr(secure, "reason", None) or "TLS failed"
        reason = str(reason).rstrip(".")
        return TransientError(f"No secure connection to the database: {reason}. Check host, port, certificate.")
    if _of_type(original, FloodError) is not None:
        return PermanentError(f"{PIECE_ROWS} rows of the query have more than {MOST_ANSWER_BYTES:,} bytes.")
    code, message = _told(original)
    if isinstance(code, str):
        return _postgres_failure(code, message, settings)
    if isinstance(code, int) and code not in _MYSQL_CLIENT:
        return _mysql_failure(code, message, settings)
    if "refuses SSL" in str(original) or "SSL is required" in str(original):
        return InvalidInputError.of_field("settings.tls", "The database offers no TLS. Let its operator switch it on.")
    if code is not None or _of_type(original, OSError) is not None or isinstance(error, DBAPIError):
        return TransientError("The database closed the connection, or cannot be reached. Check host and port.")
    log.warning("sources.sql_answer_unreadable", error=type(original).__name__)
    return PermanentError("The database's answer cannot be read.")


def _postgres_failure(code: str, message: str, settings: SqlSettings) -> AnalytiqError:
    if code.startswith(_POSTGRES_LOGIN):
        return _refused_login()
    if code == _POSTGRES_LATE:
        return _late(settings)
    if code.startswith(_POSTGRES_PASSING):
        return TransientError(f"The database cannot answer now: {message}")
    return QueryRefusedError(f"The database refuses the query: {message}")


def _mysql_failure(code: int, message: str, settings: SqlSettings) -> AnalytiqError:
    if code in _MYSQL_LOGIN:
        return _refused_login()
    if code in _MYSQL_LATE:
        return _late(settings)
    if code in _MYSQL_PASSING:
        return TransientError(f"The database cannot answer now: {message}")
    return QueryRefusedError(f"The database refuses the query: {message}")


def _refused_login() -> AnalytiqError:
    return CredentialsRefusedError("The database refuses the user, the password or the rights. Renew the credentials.")


def _late(settings: SqlSettings) -> AnalytiqError:
    return QueryRefusedError(
        f"The query took more than {settings.timeout_seconds} s. Make it cheaper, or raise timeout_seconds."
    )


def _told(error: BaseException) -> tuple[str | int | None, str]:
    """Return the database's code and message: PostgreSQL's has five characters, MySQL's is a number."""
    first = error.args[0] if error.args else None
    if isinstance(first, dict):
        told = cast("dict[str, object]", first)
        return str(told.get("C", "XX000"))[:5], one_line(str(told.get("M", "")), most=300)
    if isinstance(first, int) and not isinstance(error, OSError):
        return first, one_line(str(error.args[1]) if len(error.args) > 1 else "", most=300)
    return None, ""


def _of_type(error: BaseException, wanted: type[BaseException]) -> BaseException | None:
    """Return an error of a type among an error and its causes; drivers keep some as an attribute."""
    found: BaseException | None = error
    for _ in range(10):
        if found is None or isinstance(found, wanted):
            return found
        kept = getattr(found, "original_exception", None)
        found = kept if isinstance(kept, BaseException) else found.__cause__ or found.__context__
    return None
