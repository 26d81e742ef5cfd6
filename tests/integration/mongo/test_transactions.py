"""`run_in_transaction` on a real server: conflicts, duplicates, lost connections, deadlines, cancelling."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import SecretStr
from pymongo import AsyncMongoClient, InsertOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import BulkWriteError, OperationFailure

from analytiq.errors import ConflictError, TransactionTooLargeError, TransientError
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.transactions import run_in_transaction

StartMongod = Callable[..., Awaitable[int]]


async def count(database: MongoConnection, collection: str = "rows") -> int:
    return await database.majority[collection].count_documents({})


async def test_transaction_commits_everything_and_returns_the_result(database: MongoConnection) -> None:
    async def operation(session: AsyncClientSession) -> str:
        await database.database.rows.insert_one({}, session=session)
        await database.database.others.insert_one({}, session=session)
        return "done"

    assert await run_in_transaction(database, operation) == "done"
    assert (await count(database), await count(database, "others")) == (1, 1)


async def test_transaction_that_raises_leaves_nothing(database: MongoConnection) -> None:
    async def operation(session: AsyncClientSession) -> None:
        await database.database.rows.insert_one({}, session=session)
        raise LookupError("backing out")

    with pytest.raises(LookupError, match="backing out"):
        await run_in_transaction(database, operation)
    assert await count(database) == 0


async def test_transaction_without_any_call_commits(database: MongoConnection) -> None:
    async def operation(_: AsyncClientSession) -> int:
        return 7

    assert await run_in_transaction(database, operation) == 7


@pytest.mark.parametrize("is_locked", [True, False], ids=["with a lock", "without a lock"])
async def test_concurrent_increments_of_one_row_all_count(database: MongoConnection, is_locked: bool) -> None:
    await database.database.rows.insert_one({"_id": 1, "count": 0})
    lock = asyncio.Lock() if is_locked else None
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        row = await database.database.rows.find_one({"_id": 1}, session=session)
        assert row is not None
        await database.database.rows.update_one({"_id": 1}, {"$set": {"count": row["count"] + 1}}, session=session)

    await asyncio.gather(*(run_in_transaction(database, operation, lock=lock) for _ in range(16)))
    row = await database.majority.rows.find_one({"_id": 1})
    assert row is not None
    assert row["count"] == 16
    if is_locked:
        assert runs == 16
    else:
        assert runs > 16


async def test_conflict_with_a_write_outside_is_run_again_and_sees_that_write(
    database: MongoConnection,
) -> None:
    await database.database.rows.insert_one({"_id": 1, "name": "before"})
    seen: list[str] = []

    async def operation(session: AsyncClientSession) -> None:
        row = await database.database.rows.find_one({"_id": 1}, session=session)
        assert row is not None
        seen.append(row["name"])
        if len(seen) == 1:
            await database.database.rows.update_one({"_id": 1}, {"$set": {"name": "outside"}})
        await database.database.rows.update_one({"_id": 1}, {"$inc": {"rev": 1}}, session=session)

    await run_in_transaction(database, operation)
    assert seen == ["before", "outside"]


async def test_conflict_inside_a_bulk_write_is_run_again(database: MongoConnection) -> None:
    await database.database.rows.insert_one({"_id": 0})
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await database.database.rows.find_one({}, session=session)
        if runs == 1:
            await database.database.rows.insert_one({"_id": 1})
            await database.database.rows.delete_one({"_id": 1})
        await database.database.rows.bulk_write([InsertOne({"_id": 1}), InsertOne({"_id": 2})], session=session)

    await run_in_transaction(database, operation)
    assert runs == 2
    assert await count(database) == 3


async def test_operation_that_always_conflicts_ends_at_the_deadline(database: MongoConnection) -> None:
    await database.database.rows.insert_one({"_id": 1})
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await database.database.rows.find_one({"_id": 1}, session=session)
        await database.database.rows.update_one({"_id": 1}, {"$inc": {"rev": 1}})
        await database.database.rows.update_one({"_id": 1}, {"$set": {"never": True}}, session=session)

    with pytest.raises(TransientError, match="nothing was changed") as caught:
        await run_in_transaction(database, operation, deadline_seconds=1.0)
    assert caught.value.code == "transaction_deadline"
    assert isinstance(caught.value.__cause__, OperationFailure)
    assert runs > 1
    assert await database.majority.rows.count_documents({"never": True}) == 0


async def test_waiting_for_the_lock_counts_against_the_deadline(database: MongoConnection) -> None:
    lock = asyncio.Lock()

    async def operation(_: AsyncClientSession) -> None:
        raise AssertionError("the lock is held")

    async with lock:
        with pytest.raises(TransientError, match="not finished within"):
            await run_in_transaction(database, operation, lock=lock, deadline_seconds=0.1)


async def test_timeout_of_the_operations_own_is_not_taken_for_the_deadline(database: MongoConnection) -> None:
    async def operation(_: AsyncClientSession) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await run_in_transaction(database, operation)


async def test_duplicate_key_is_run_three_times_more_and_then_a_conflict(database: MongoConnection) -> None:
    await database.database.rows.create_index([("organization_id", 1), ("name", 1)], unique=True)
    await database.database.rows.insert_one({"organization_id": "o", "name": "secret name"})
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await database.database.rows.insert_one({"organization_id": "o", "name": "secret name"}, session=session)

    with pytest.raises(ConflictError, match="same organization_id, name") as caught:
        await run_in_transaction(database, operation)
    assert "secret name" not in str(caught.value)
    assert runs == 4
    assert await count(database) == 1


async def test_duplicate_key_in_a_bulk_write_is_a_conflict_too(database: MongoConnection) -> None:
    await database.database.rows.insert_one({"_id": 1})

    async def operation(session: AsyncClientSession) -> None:
        await database.database.rows.insert_many([{"_id": 2}, {"_id": 1}], session=session)

    with pytest.raises(ConflictError, match="same _id") as caught:
        await run_in_transaction(database, operation)
    assert isinstance(caught.value.__cause__, BulkWriteError)
    assert await count(database) == 1


async def test_duplicate_key_that_another_writer_takes_back_is_survived(database: MongoConnection) -> None:
    await database.database.rows.insert_one({"_id": 1})
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            await database.database.rows.delete_one({"_id": 1})
        await database.database.rows.insert_one({"_id": 1, "mine": True}, session=session)

    await run_in_transaction(database, operation)
    assert runs == 2
    assert await database.majority.rows.count_documents({"mine": True}) == 1


async def test_mistaken_call_is_raised_as_it_is_and_not_repeated(database: MongoConnection) -> None:
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await database.database.rows.update_one({}, {"$nonsense": 1}, session=session)

    with pytest.raises(OperationFailure, match="nonsense"):
        await run_in_transaction(database, operation)
    assert runs == 1


async def test_cancelled_transaction_leaves_nothing_and_releases_what_it_held(
    database: MongoConnection,
) -> None:
    await database.database.rows.insert_one({"_id": 1, "name": "before"})
    written = asyncio.Event()

    async def operation(session: AsyncClientSession) -> None:
        await database.database.rows.update_one({"_id": 1}, {"$set": {"name": "mine"}}, session=session)
        written.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_in_transaction(database, operation))
    await written.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # A transaction left open would make this conflict for 60 s.
    async with asyncio.timeout(10):
        await database.database.rows.update_one({"_id": 1}, {"$set": {"after": True}})
    row = await database.majority.rows.find_one({})
    assert row == {"_id": 1, "name": "before", "after": True}


async def test_transaction_cancelled_twice_is_still_aborted(database: MongoConnection) -> None:
    await database.database.rows.insert_one({"_id": 1})
    written = asyncio.Event()

    async def operation(session: AsyncClientSession) -> None:
        await database.database.rows.update_one({"_id": 1}, {"$set": {"mine": True}}, session=session)
        written.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_in_transaction(database, operation))
    await written.wait()
    running.cancel()
    await asyncio.sleep(0)  # let the first cancellation reach the abort
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(10):
        await database.database.rows.update_one({"_id": 1}, {"$set": {"after": True}})
    assert await database.majority.rows.find_one({}) == {"_id": 1, "after": True}


@pytest.fixture
async def fragile(start_mongod: StartMongod) -> AsyncIterator[MongoConnection]:
    """A connection on a mongod that can be told to fail."""
    port = await start_mongod("--replSet", "rs0", "--setParameter", "enableTestCommands=1")
    member: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient("127.0.0.1", port, directConnection=True)
    await member.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]})
    await member.close()
    connection = await connect(SecretStr(f"mongodb://127.0.0.1:{port}"), "test")
    await connection.database.create_collection("rows")
    yield connection
    await connection.close()


async def fail(connection: MongoConnection, mode: Any, **data: Any) -> None:
    await connection.client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)


async def test_commit_with_an_unknown_outcome_is_repeated_without_the_operation(
    fragile: MongoConnection,
) -> None:
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await fragile.database.rows.insert_one({}, session=session)

    # Three: the driver repeats a commit once by itself.
    await fail(fragile, {"times": 3}, failCommands=["commitTransaction"], closeConnection=True)
    await run_in_transaction(fragile, operation)
    assert runs == 1
    assert await count(fragile) == 1


async def test_commit_never_confirmed_says_that_its_outcome_is_unknown(fragile: MongoConnection) -> None:
    async def operation(session: AsyncClientSession) -> None:
        await fragile.database.rows.insert_one({}, session=session)

    await fail(fragile, "alwaysOn", failCommands=["commitTransaction"], closeConnection=True)
    with pytest.raises(TransientError, match="may or may not have been made") as caught:
        await run_in_transaction(fragile, operation, deadline_seconds=1.0)
    assert caught.value.code == "commit_outcome_unknown"


async def test_connection_lost_within_the_operation_is_survived(fragile: MongoConnection) -> None:
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await fragile.database.rows.insert_one({}, session=session)

    await fail(fragile, {"times": 1}, failCommands=["insert"], closeConnection=True)
    await run_in_transaction(fragile, operation)
    assert runs == 2
    assert await count(fragile) == 1


async def test_transaction_aborted_by_the_commit_is_run_again(fragile: MongoConnection) -> None:
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await fragile.database.rows.insert_one({}, session=session)

    no_such_transaction = 251
    await fail(
        fragile,
        {"times": 1},
        failCommands=["commitTransaction"],
        errorCode=no_such_transaction,
        errorLabels=["TransientTransactionError"],
    )
    await run_in_transaction(fragile, operation)
    assert runs == 2
    assert await count(fragile) == 1


@pytest.mark.parametrize(
    "refusal",
    [BulkWriteError({"writeErrors": [{"code": 388}]}), OperationFailure("too large", 388)],
    ids=["write", "command"],
)
async def test_transaction_that_outgrows_the_cache_says_so_and_leaves_nothing(
    database: MongoConnection, refusal: Exception
) -> None:
    async def operation(session: AsyncClientSession) -> None:
        await database.database.rows.insert_one({}, session=session)
        raise refusal  # a real one takes a server with little memory, and its cache

    with pytest.raises(TransactionTooLargeError):
        await run_in_transaction(database, operation)
    assert await count(database) == 0


async def test_transaction_that_the_server_ends_again_and_again_counts_as_too_large_where_it_can_be_split(
    database: MongoConnection,
) -> None:
    runs = 0

    async def operation(session: AsyncClientSession) -> None:
        nonlocal runs
        runs += 1
        await database.database.rows.insert_one({}, session=session)
        # As the server does with a transaction that has become too old.
        await database.client.admin.command("killSessions", [session.session_id])
        await database.database.rows.insert_one({}, session=session)

    with pytest.raises(TransactionTooLargeError):
        await run_in_transaction(database, operation, most_lost=2)
    assert (runs, await count(database)) == (2, 0)
