"""Drivers of databases over given connections, as engines of SQLAlchemy; they connect nowhere by themselves."""

import contextlib
from collections.abc import Sequence
from typing import Any

import pg8000.dbapi
import pymysql.connections
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import NullPool

from analytiq.ingestion.sources.systems.sql.settings import SqlSettings
from analytiq.ingestion.sources.systems.sql.sockets import CheckedLine

APPLICATION = "analytiq"
LONGEST_PAUSE_SECONDS = 600
"""Time for which the database keeps rows ready that are not read yet."""


class _Cursor(pg8000.dbapi.Cursor):
    """A cursor that sends statements as they are, and refuses several in one."""

    _c: Any
    _context: Any
    _row_iter: Any

    def execute(self, operation: str, args: Sequence[object] = (), stream: object = None) -> "_Cursor":  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run one statement with parameters $1, $2.

        The driver's own way looks for parameters in texts and comments too, and lets several statements through.
        """
        self._context = self._c.execute_unnamed(operation, vals=tuple(args), oids=self._input_oids, stream=stream)
        self._row_iter = None if self._context.rows is None else iter(self._context.rows)
        self._input_oids = ()
        self.input_types: list[object] = []
        return self


class _PostgresConnection(pg8000.dbapi.Connection):
    _usock: Any
    _sock: Any

    def close(self) -> None:
        """Close the connection, which may be cut; SQLAlchemy would log that nothing can be sent over it any more."""
        opened = (self._sock, self._usock)
        with contextlib.suppress(pg8000.dbapi.Error, OSError):
            super().close()
        for each in opened:
            if each is not None:
                with contextlib.suppress(OSError):
                    each.close()

    def cursor(self) -> _Cursor:
        return _Cursor(self)


def opened_engine(settings: SqlSettings, password: str, line: CheckedLine) -> Engine:
    """Return an engine with the one connection of a line; transactions are begun by `begin_reading`."""
    options: dict[str, Any] = {"poolclass": NullPool, "isolation_level": "AUTOCOMMIT", "hide_parameters": True}
    if settings.database_kind == "postgresql":
        return create_engine(
            "postgresql+pg8000://",
            creator=lambda: _postgres(settings, password, line),
            paramstyle="numeric_dollar",
            **options,
        )
    return create_engine("mysql+pymysql://", creator=lambda: _mysql(settings, password, line), **options)


def begin_reading(connection: Connection, settings: SqlSettings) -> None:
    """Begin a read-only transaction with a time limit, in UTC, whose rows do not change while they are read."""
    name = connection.dialect.name
    limit = settings.timeout_seconds
    statements: Sequence[str] = ()
    if name == "postgresql":
        statements = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            f"SET LOCAL statement_timeout = {limit * 1000}",
            f"SET LOCAL idle_in_transaction_session_timeout = {LONGEST_PAUSE_SECONDS * 1000}",
            "SET LOCAL TIME ZONE 'UTC'",
        )
    elif name in ("mysql", "mariadb"):
        is_mariadb = bool(getattr(connection.dialect, "is_mariadb", False))
        statements = (
            f"SET SESSION max_statement_time = {limit}"
            if is_mariadb
            else f"SET SESSION max_execution_time = {limit * 1000}",
            f"SET SESSION net_write_timeout = {LONGEST_PAUSE_SECONDS}",
            "SET SESSION time_zone = '+00:00'",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "START TRANSACTION READ ONLY",
        )
    for statement in statements:
        connection.exec_driver_sql(statement)


def _postgres(settings: SqlSettings, password: str, line: CheckedLine) -> _PostgresConnection:
    connection = _PostgresConnection(
        settings.user,
        host=settings.host,
        port=settings.given_port,
        database=settings.database,
        password=password,
        sock=line.socket,
        ssl_context=line.tls(settings.ca_certificate) if settings.tls == "verify" else False,
        application_name=APPLICATION,
    )
    connection.autocommit = True
    return connection


def _mysql(settings: SqlSettings, password: str, line: CheckedLine) -> "pymysql.connections.Connection[Any]":
    silence = line.socket.gettimeout()
    is_safe = settings.tls == "verify"
    connection: pymysql.connections.Connection[Any] = pymysql.connections.Connection(
        host=settings.host,
        port=settings.given_port,
        user=settings.user,
        # The driver would encode it in Latin-1.
        password=password.encode(),
        database=settings.database,
        ssl=line.tls(settings.ca_certificate) if is_safe else None,
        ssl_disabled=not is_safe,
        charset="utf8mb4",
        autocommit=True,
        read_timeout=silence,
        write_timeout=silence,
        program_name=APPLICATION,
        defer_connect=True,
    )
    connection.connect(line.socket)
    return connection
