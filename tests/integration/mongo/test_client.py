"""`connect`: which servers it accepts, and what it says about those that it does not."""

import socket
import uuid
from collections.abc import Awaitable, Callable

import pytest
from pydantic import SecretStr
from pymongo import ReadPreference
from pymongo.errors import (
    AutoReconnect,
    ExecutionTimeout,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, TransientError
from analytiq.storage.client import MongoConnection, connect, translate, translated

StartMongod = Callable[..., Awaitable[int]]


async def test_connection_reads_back_aware_times_and_uuids(database: MongoConnection) -> None:
    row = {"_id": uuid.uuid4(), "at": clock.now()}
    await database.database.rows.insert_one(row)
    assert await database.majority.rows.find_one({}) == row


async def test_connection_says_what_it_is_connected_to(database: MongoConnection) -> None:
    assert database.server_version >= (6, 0, 0)
    assert not database.is_sharded
    await database.ping()


async def test_writes_are_acknowledged_by_a_majority(database: MongoConnection) -> None:
    assert database.database.write_concern.document == {"w": "majority"}
    assert database.majority.read_concern.level == "majority"


async def test_address_weakens_no_promise(mongo_uri: SecretStr) -> None:
    weak = "&readPreference=secondaryPreferred&w=1&retryWrites=false&retryReads=false"
    connection = await connect(SecretStr(mongo_uri.get_secret_value() + weak), "unused")
    try:
        options = connection.client.options
        assert connection.database.read_preference == ReadPreference.PRIMARY, "a secondary answers with the past"
        assert connection.database.write_concern.document == {"w": "majority"}
        assert (options.retry_writes, options.retry_reads) == (True, True)
    finally:
        await connection.close()


async def test_standalone_server_is_refused_with_the_commands_that_mend_it(start_mongod: StartMongod) -> None:
    port = await start_mongod()
    with pytest.raises(InvalidInputError, match=r"mongod --replSet rs0.*rs\.initiate\(\)") as caught:
        await connect(SecretStr(f"mongodb://127.0.0.1:{port}"), "analytiq")
    assert caught.value.code == "database_standalone"


async def test_uninitiated_replica_set_is_refused_with_the_command_that_initiates_it(
    start_mongod: StartMongod,
) -> None:
    port = await start_mongod("--replSet", "rs0")
    with pytest.raises(InvalidInputError, match=rf"mongosh 127\.0\.0\.1:{port} --eval 'rs\.initiate"):
        await connect(SecretStr(f"mongodb://127.0.0.1:{port}"), "analytiq", selection_timeout_seconds=1)


async def test_unreachable_server_is_a_transient_error_that_names_the_address_but_not_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        port = taken.getsockname()[1]
        with pytest.raises(TransientError, match=f"127.0.0.1:{port}") as caught:
            await connect(SecretStr(f"mongodb://user:hush-hush@127.0.0.1:{port}"), "x", selection_timeout_seconds=0.5)
    assert caught.value.code == "database_unreachable"
    assert "hush-hush" not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        "mongodb://user:hush:hush@localhost",
        "mongodb://user:hush@hush@localhost",
        "mongodb://user:hush/hush@localhost",
        "mongodb://user:hush%zz@localhost:notaport",
        "postgres://user:hush@localhost",
        "",
    ],
)
async def test_malformed_uri_is_refused_without_quoting_it(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="MONGODB_URI") as caught:
        await connect(SecretStr(uri), "analytiq", selection_timeout_seconds=0.1)
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_wrong_password_is_refused_without_quoting_it(mongo_uri: SecretStr) -> None:
    host = mongo_uri.get_secret_value().partition("@")[2]
    with pytest.raises(AccessDeniedError, match="authSource") as caught:
        await connect(SecretStr(f"mongodb://analytiq:hush-hush@{host}"), "analytiq")
    assert "hush-hush" not in str(caught.value)


async def test_missing_credentials_are_refused(mongo_uri: SecretStr) -> None:
    host = mongo_uri.get_secret_value().partition("@")[2]
    with pytest.raises(AccessDeniedError, match="refuses the user"):
        await connect(SecretStr(f"mongodb://{host}"), "analytiq")


async def test_impossible_database_name_is_refused(mongo_uri: SecretStr) -> None:
    with pytest.raises(InvalidInputError, match=r"'a\.b'"):
        await connect(mongo_uri, "a.b")


@pytest.mark.parametrize(
    "error",
    [
        ServerSelectionTimeoutError("no primary"),
        AutoReconnect("closed"),
        NetworkTimeout("slow"),
        NotPrimaryError("stepped down"),
        WaitQueueTimeoutError("pool"),
        ExecutionTimeout("maxTimeMS"),
        OperationFailure("write conflict", 112, {"errorLabels": ["TransientTransactionError"]}),
        OperationFailure("shutting down", 91, {"errorLabels": ["RetryableWriteError"]}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_pass_by_themselves_become_transient(error: Exception) -> None:
    with pytest.raises(TransientError) as caught, translated():
        raise error
    assert caught.value.__cause__ is error


def test_errors_that_waiting_does_not_mend_are_left_alone() -> None:
    error = OperationFailure("unknown operator", 2)
    assert translate(error) is None
    with pytest.raises(OperationFailure), translated():
        raise error
