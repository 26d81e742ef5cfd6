"""Setup of an embedded mongod: a one-node replica set with an administrator and the application's user."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import SecretStr
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure, OperationFailure

from analytiq.errors import PermanentError

REPLICA_SET = "analytiq"
USER = "analytiq"
"""The administrator: only the code that starts the server logs in with it."""
APPLICATION_USER = "application"
APPLICATION_PASSWORD_FILE = "mongod.application"  # noqa: S105  # the name of the file
APPLICATION_ROLES = ("readWrite", "dbAdmin")
"""Roles in its own database: rows, change streams, collections, indexes and sizes; no users and no other databases."""
HOST = "127.0.0.1"

AUTHENTICATION_FAILED = 18
USER_EXISTS = 51003
UNAUTHORIZED = 13
ALREADY_INITIALIZED = 23
INVALID_REPLICA_SET_CONFIG = 93
NOT_YET_INITIALIZED = 94
PRIMARY_STATE = 1
POLL_SECONDS = 0.02


class _Standing(Enum):
    """The start-up state of the server."""

    PRIMARY = "primary"
    NO_USER = "no user yet"
    NOT_A_MEMBER = "its own configuration does not name it"
    ON_ITS_WAY = "starting or electing itself"


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The identity of a mongod process that accepted our password."""

    pid: int
    version: tuple[int, ...]


def connection_uri(port: int, password: SecretStr, *, user: str = USER) -> SecretStr:
    """Return the address for clients; `password` is URL-safe by construction."""
    return SecretStr(
        f"mongodb://{user}:{password.get_secret_value()}@{HOST}:{port}/?replicaSet={REPLICA_SET}&authSource=admin"
    )


async def provide_application_user(port: int, password: SecretStr, own_password: SecretStr, database: str) -> None:
    """Create the application's user, or give it this password and its roles in this database alone.

    Data of earlier releases have the administrator only. A lost and recreated password file counts as such.

    Args:
        port: of a server that is primary.
        password: of the administrator.
        own_password: of the application's user.
        database: the database that the user may access.
    """
    user: dict[str, Any] = {
        "pwd": own_password.get_secret_value(),
        "roles": [{"role": role, "db": database} for role in APPLICATION_ROLES],
        "writeConcern": {"w": "majority"},
    }
    async with _client(port, password) as administrator:
        try:
            await administrator.admin.command("createUser", APPLICATION_USER, **user)
        except OperationFailure as error:
            if error.code != USER_EXISTS:
                raise
            await administrator.admin.command("updateUser", APPLICATION_USER, **user)


async def wait_until_listening(port: int) -> None:
    """Return once a process accepts connections on the port.

    The driver's own monitor looks only twice a second, which would double the time to start.
    """
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(POLL_SECONDS)
        else:
            writer.close()
            await writer.wait_closed()
            return


async def make_primary(port: int, password: SecretStr) -> ServerIdentity:
    """Bring the server at `port` to primary, from any state.

    A fresh server is initiated and gets its user, both by the localhost exception. A server whose port has
    changed is reconfigured by force: it is not a member of its own configuration and would never elect itself.
    There is no time limit; the caller sets the deadline and watches the process.

    Raises:
        PermanentError: the server has a user with another password.
    """
    await wait_until_listening(port)
    async with _client(port, password) as member:
        while True:
            standing = await _standing(member)
            if standing is _Standing.PRIMARY:
                return await _identity(member)
            if standing is _Standing.NO_USER:
                await _found(port, password)
            elif standing is _Standing.NOT_A_MEMBER:
                await _reconfigure(member, port)
            await asyncio.sleep(POLL_SECONDS)


async def identify(port: int, password: SecretStr) -> ServerIdentity | None:
    """Return the server at the port, or None without a server that accepts our password."""
    async with _client(port, password) as member:
        try:
            return await _identity(member)
        except (ConnectionFailure, OperationFailure):
            return None


@asynccontextmanager
async def _client(port: int, password: SecretStr | None) -> AsyncGenerator[AsyncMongoClient[dict[str, Any]]]:
    """Return a client of this one server, in any state; unauthenticated without a password."""
    credentials: dict[str, Any] = {}
    if password is not None:
        credentials = {"username": USER, "password": password.get_secret_value(), "authSource": "admin"}
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
        HOST, port, directConnection=True, serverSelectionTimeoutMS=2000, **credentials
    )
    try:
        yield client
    finally:
        await client.close()


async def _standing(member: AsyncMongoClient[dict[str, Any]]) -> _Standing:
    try:
        status = await member.admin.command("replSetGetStatus")
    except ConnectionFailure:
        return _Standing.ON_ITS_WAY
    except OperationFailure as error:
        if error.code == AUTHENTICATION_FAILED:
            return _Standing.NO_USER
        if error.code == INVALID_REPLICA_SET_CONFIG:
            return _Standing.NOT_A_MEMBER
        if error.code == NOT_YET_INITIALIZED:
            # The user exists, so it was initiated: it has only not read its configuration yet.
            return _Standing.ON_ITS_WAY
        raise
    if status.get("myState") != PRIMARY_STATE:
        return _Standing.ON_ITS_WAY
    hello = await member.admin.command("hello")
    return _Standing.PRIMARY if hello.get("isWritablePrimary") else _Standing.ON_ITS_WAY


async def _found(port: int, password: SecretStr) -> None:
    """Initiate the set and create the first user, as the localhost exception allows."""
    async with _client(port, None) as stranger:
        configuration = {"_id": REPLICA_SET, "members": [{"_id": 0, "host": f"{HOST}:{port}"}]}
        try:
            await stranger.admin.command("replSetInitiate", configuration)
        except OperationFailure as error:
            if error.code == UNAUTHORIZED:
                raise PermanentError(
                    "The embedded database exists, but not with the password in mongod.password of the data"
                    " directory: put the file back that belongs to these data.",
                    code="embedded_server_failed",
                ) from error
            # An earlier start got this far and no further.
            if error.code != ALREADY_INITIALIZED:
                raise
        await _elected(stranger)
        await stranger.admin.command(
            "createUser",
            USER,
            pwd=password.get_secret_value(),
            roles=["root"],
            writeConcern={"w": "majority"},
        )


async def _elected(stranger: AsyncMongoClient[dict[str, Any]]) -> None:
    while True:
        hello = await stranger.admin.command("hello")
        if hello.get("isWritablePrimary"):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _reconfigure(member: AsyncMongoClient[dict[str, Any]], port: int) -> None:
    answer = await member.admin.command("replSetGetConfig")
    configuration: dict[str, Any] = answer["config"]
    configuration["members"] = [{"_id": 0, "host": f"{HOST}:{port}"}]
    configuration["version"] += 1
    await member.admin.command("replSetReconfig", configuration, force=True)


async def _identity(member: AsyncMongoClient[dict[str, Any]]) -> ServerIdentity:
    status = await member.admin.command("serverStatus", repl=0, metrics=0, wiredTiger=0, locks=0)
    version = tuple(int(part) for part in status["version"].split("-")[0].split("."))
    return ServerIdentity(pid=int(status["pid"]), version=version)
