"""The connection to MongoDB: requirements on the server, and the failures that are temporary."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import (
    AutoReconnect,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    InvalidName,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WTimeoutError,
)
from pymongo.read_concern import ReadConcern
from pymongo.server_type import SERVER_TYPE

from analytiq.errors import AccessDeniedError, InvalidInputError, TransientError
from analytiq.storage.causality import LatestAnswer
from analytiq.storage.session_pool import SessionPool

Row = dict[str, Any]
"""A stored document, before a model of `analytiq.models` has read it."""

OLDEST_SERVER = (6, 0)
"""Older servers lack `collectionUUID` on writes, which the swap relies on."""

AUTHENTICATION_FAILED = 18
UNAUTHORIZED = 13


@dataclass(frozen=True, slots=True)
class MongoConnection:
    """A client and the database it works in; writes are acknowledged by a majority.

    Attributes:
        client: one per process and event loop; holds the pool.
        database: reads from the primary, without waiting for a majority.
        server_version: for example (8, 2, 1).
        is_sharded: whether a mongos answers instead of a replica set.
        latest_answer: the newest time seen in an answer; transactions start no earlier.
    """

    client: AsyncMongoClient[Row]
    database: AsyncDatabase[Row]
    server_version: tuple[int, ...]
    is_sharded: bool
    latest_answer: LatestAnswer

    @property
    def majority(self) -> AsyncDatabase[Row]:
        """The database, reading only majority-committed rows, which cannot be rolled back."""
        return self.database.with_options(read_concern=ReadConcern("majority"))

    @property
    def announcing(self) -> "MongoConnection":
        """The same client, for repositories whose reads report that something is searchable, done or failed.

        They read at majority, as a search does: a caller who is told that a document is searchable finds it by the next
        search. A worker's decisions read the connection itself: a job may be claimed some milliseconds
        before the change that caused it is majority-committed.
        """
        return replace(self, database=self.majority)

    def using(self, database: str) -> "MongoConnection":
        """Return this client on another database; closing either one closes both."""
        return replace(self, database=self.client[database])

    async def ping(self) -> None:
        """Ping the primary.

        Raises:
            TransientError: no primary can be reached.
        """
        with translated():
            await self.client.admin.command("ping")

    async def close(self) -> None:
        """Close every socket; sessions still open are ended."""
        await self.client.close()


async def connect(uri: SecretStr, database: str, *, selection_timeout_seconds: float = 10.0) -> MongoConnection:
    """Connect, and check that the server supports the platform.

    Args:
        uri: `mongodb://…` or `mongodb+srv://…`; its password appears in no error.
        database: name of the database.
        selection_timeout_seconds: time limit for finding a primary in any later call.
            Ten seconds outlast an election among healthy members.

    Raises:
        InvalidInputError: malformed URI or name, a standalone or uninitiated server, or an outdated one.
        AccessDeniedError: the server refuses the credentials.
        TransientError: no server answers.
    """
    latest_answer = LatestAnswer()
    client = make_client(uri, selection_timeout_seconds, latest_answer)
    try:
        target = _named(client, database)
        hello, version = await _introduce(client, target)
        _require_transactions(hello)
        _require_version(version)
    except BaseException:
        await client.close()
        raise
    return MongoConnection(
        client=client,
        database=target,
        server_version=version,
        is_sharded=hello.get("msg") == "isdbgrid",
        latest_answer=latest_answer,
    )


def translate(error: PyMongoError) -> TransientError | None:
    """Translate an exception of an unavailable database; return None if waiting would not help.

    Covers: no server or primary found, connection lost, pool exhausted, a primary stepping down, a time
    limit of the server, a write that a majority has not confirmed in time. The outcome of some is
    unknown: repeated operations must be idempotent.
    """
    if isinstance(error, ServerSelectionTimeoutError):
        return TransientError(
            "No MongoDB primary can be reached: check that the server runs and that this machine reaches it.",
            code="database_unreachable",
        )
    if isinstance(error, ConnectionFailure | ExecutionTimeout | WTimeoutError):
        return TransientError(
            f"MongoDB did not finish the call ({type(error).__name__}); the same call may work in a moment.",
            code="database_unreachable",
        )
    if error.has_error_label("RetryableWriteError") or error.has_error_label("TransientTransactionError"):
        return TransientError(
            "MongoDB asks to repeat the call; the same call may work in a moment.",
            code="database_unreachable",
        )
    return None


@contextmanager
def translated() -> Generator[None]:
    """Turn driver errors of an unavailable database into TransientError, within the block."""
    try:
        yield
    except PyMongoError as error:
        transient = translate(error)
        if transient is None:
            raise
        raise transient from error


def make_client(uri: SecretStr, selection_timeout_seconds: float, latest_answer: LatestAnswer) -> AsyncMongoClient[Row]:
    """Make the client, which connects with its first call.

    Raises:
        InvalidInputError: malformed URI.
    """
    try:
        return AsyncMongoClient(
            uri.get_secret_value(),
            appname="analytiq",
            tz_aware=True,
            uuidRepresentation="standard",
            # Given here, these win over options of the address. A secondary would answer with the past.
            w="majority",
            readPreference="primary",
            retryWrites=True,
            retryReads=True,
            serverSelectionTimeoutMS=int(selection_timeout_seconds * 1000),
            event_listeners=[latest_answer],
            _pool_class=SessionPool,
        )
    except (PyMongoError, ValueError, TypeError) as error:
        # The driver's text may quote the part of the URI with the password, so neither it nor the
        # chained exception is passed on.
        raise InvalidInputError.of_field(
            "MONGODB_URI",
            f"The driver cannot read the address ({type(error).__name__}). It looks like"
            " mongodb://user:password@host:27017/?replicaSet=rs0, with every character of user and password"
            " outside A-Z a-z 0-9 - . _ ~ written as %XX.",
        ) from None


def _named(client: AsyncMongoClient[Row], database: str) -> AsyncDatabase[Row]:
    try:
        return client[database]
    except InvalidName as error:
        raise InvalidInputError.of_field(
            "ANALYTIQ_MONGO__DATABASE", f"Invalid database name {database!r}: {error}."
        ) from error


async def _introduce(
    client: AsyncMongoClient[Row], database: AsyncDatabase[Row]
) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    """Return the server's `hello` and version after checking the credentials."""
    try:
        hello = await client.admin.command("hello")
        # Servers answer hello, ping and buildInfo to strangers, but not this.
        await database.command("listCollections", nameOnly=True, authorizedCollections=True)
        build = await client.admin.command("buildInfo")
    except ServerSelectionTimeoutError as error:
        raise _unreachable(client) from error
    except ConfigurationError as error:
        raise TransientError(
            f"The name in the mongodb+srv address cannot be resolved ({error}); check DNS and the network.",
            code="database_unreachable",
        ) from error
    except OperationFailure as error:
        if error.code in (AUTHENTICATION_FAILED, UNAUTHORIZED):
            raise AccessDeniedError(
                f"MongoDB refuses the user of MONGODB_URI, or refuses it the database {database.name!r}."
                " Check its password, authSource (the database that the user was created in, usually admin),"
                " and that it has the roles readWrite and dbAdmin there."
            ) from error
        raise
    except AutoReconnect as error:
        raise _unreachable(client) from error
    version = tuple(int(part) for part in build["versionArray"][:3])
    return hello, version


def _unreachable(client: AsyncMongoClient[Row]) -> InvalidInputError | TransientError:
    """Explain why no primary was found, by the client's view of the servers."""
    servers = client.topology_description.server_descriptions()
    named = sorted(f"{host}:{port}" for host, port in servers)
    addresses = ", ".join(named) or "no address"
    kinds = {server.server_type for server in servers.values()}
    if SERVER_TYPE.RSGhost in kinds:
        return InvalidInputError(
            f"The MongoDB server at {addresses} runs with --replSet, but its replica set was never initiated, or"
            f" it is not a member of it. Run once: mongosh {named[0]} --eval 'rs.initiate()'.",
            code="database_not_initiated",
        )
    reasons = sorted({str(server.error) for server in servers.values() if server.error is not None})
    seen = f" ({'; '.join(reasons)[:500]})" if reasons else ""
    return TransientError(
        f"No MongoDB primary answers at {addresses}{seen}. Check that the server runs, that this machine"
        " reaches it, and that the host names in the replica set's configuration resolve from here.",
        code="database_unreachable",
    )


def _require_transactions(hello: Mapping[str, Any]) -> None:
    if hello.get("setName") or hello.get("msg") == "isdbgrid":
        return
    raise InvalidInputError(
        "The MongoDB server is standalone, and a standalone server has no transactions. Make it a replica set"
        " of one: restart it with `mongod --replSet rs0` and its other options as before (or"
        " replication.replSetName: rs0 in mongod.conf), then run once `mongosh --eval 'rs.initiate()'`."
        " The data stays.",
        code="database_standalone",
    )


def _require_version(version: tuple[int, ...]) -> None:
    if version[:2] >= OLDEST_SERVER:
        return
    raise InvalidInputError(
        f"The MongoDB server is version {'.'.join(map(str, version))}; at least"
        f" {'.'.join(map(str, OLDEST_SERVER))} is needed. Upgrade it one major version at a time.",
        code="database_too_old",
    )
