"""Transactions with a retry policy of this module.

The driver's `with_transaction` accepts no deadline and retries a swallowed
DuplicateKey (measured: 120 s); and transactions of one knowledge base in one process would only abort each
other, so callers hand in that knowledge base's lock.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from pymongo import ReadPreference
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from analytiq.errors import ConflictError, TransactionTooLargeError, TransientError
from analytiq.storage.client import MongoConnection, translate

FIRST_BACKOFF_SECONDS = 0.005
MAX_BACKOFF_SECONDS = 0.5
MAX_DUPLICATE_RERUNS = 3
DEADLINE_SECONDS = 30.0
DEADLINE_CODE = "transaction_deadline"
DUPLICATE_KEY = 11000
MAX_TIME_EXPIRED = 50
NO_SUCH_TRANSACTION = 251
"""The server's code for a transaction that it has ended: it was too old, or a failover came between."""
TOO_LARGE = 388
"""The server's code for a transaction that outgrows its cache: about 20 MB of writes at 0.25 GB of cache. It comes
without the label of errors that are worth a repetition."""

T = TypeVar("T")


@dataclass(slots=True)
class _Progress:
    """The progress of a transaction, for the error at its deadline."""

    attempts: int = 0
    duplicates: int = 0
    lost: int = 0
    """Attempts in a row that the server ended."""
    is_committing: bool = False
    last_error: PyMongoError | None = None


async def run_in_transaction(
    connection: MongoConnection,
    operation: Callable[[AsyncClientSession], Awaitable[T]],
    *,
    lock: asyncio.Lock | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    most_lost: int | None = None,
) -> T:
    """Run `operation` in a transaction and commit it; on a conflict, run it again from its start.

    The operation must pass its session to every call, may be run several times, and so has
    no effect outside the database. It makes no network call other than to MongoDB: an open transaction
    holds locks that others wait for, and the server ends it after 60 s. It inserts with upserts; a
    duplicate key counts as a race with another writer, and the operation is run again to see the
    other's row. To roll back, it raises.

    Reads see one snapshot, no older than any answer that this process has received from MongoDB; the commit is
    acknowledged by a majority.

    Args:
        connection: the database.
        operation: the work; its return value is returned.
        lock: held from the first attempt to the last; share one among conflicting transactions of
            this process.
        deadline_seconds: for all of it: waiting for the lock, attempts, pauses, commit.
        most_lost: for an operation that can be split, the times in a row that the server may end its transaction,
            which takes too long then, before it counts as too large.

    Raises:
        TransientError: the deadline passed or the database cannot be reached. With the code
            `commit_outcome_unknown` the transaction may have been committed: read before repeating it.
        TransactionTooLargeError: the writes do not fit into the server's cache; split them.
        ConflictError: a key was still a duplicate after three repetitions.
    """
    progress = _Progress()
    holding: AbstractAsyncContextManager[Any] = lock if lock is not None else nullcontext()
    scope = asyncio.timeout(deadline_seconds)
    try:
        async with scope, holding, connection.client.start_session() as session:
            return await _run_until_committed(connection, session, operation, progress, most_lost)
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise _past_deadline(progress, deadline_seconds) from (progress.last_error or error)
    except PyMongoError as error:
        if _is_too_large(error):
            raise _too_large() from error
        transient = translate(error)
        if transient is None:
            raise
        raise transient from error


async def _run_until_committed(
    connection: MongoConnection,
    session: AsyncClientSession,
    operation: Callable[[AsyncClientSession], Awaitable[T]],
    progress: _Progress,
    most_lost: int | None,
) -> T:
    while True:
        if progress.attempts:
            await asyncio.sleep(_backoff_seconds(progress.attempts))
        progress.attempts += 1
        if (told := connection.latest_answer.operation_time) is not None:
            session.advance_operation_time(told)
        try:
            result = await _attempt(session, operation)
            await _commit(session, progress)
        except PyMongoError as error:
            progress.is_committing = False
            progress.last_error = error
            progress.lost = progress.lost + 1 if getattr(error, "code", None) == NO_SUCH_TRANSACTION else 0
            if most_lost is not None and progress.lost >= most_lost:
                raise _too_large() from error
            if not _is_worth_another_run(error, progress):
                raise
        else:
            return result


async def _attempt(session: AsyncClientSession, operation: Callable[[AsyncClientSession], Awaitable[T]]) -> T:
    await session.start_transaction(
        read_concern=ReadConcern("snapshot"),
        write_concern=WriteConcern("majority"),
        read_preference=ReadPreference.PRIMARY,
    )
    try:
        return await operation(session)
    except BaseException:
        await _abort(session)
        raise


async def _abort(session: AsyncClientSession) -> None:
    """Abort, even while being cancelled a second time.

    An abort that is not sent leaves the transaction open on the server, its locks held, for 60 s.
    """
    if not session.in_transaction:
        return
    aborting = asyncio.ensure_future(session.abort_transaction())
    try:
        await asyncio.shield(aborting)
    except asyncio.CancelledError:
        await asyncio.wait([aborting])
        raise


async def _commit(session: AsyncClientSession, progress: _Progress) -> None:
    """Commit; if the outcome is unknown, repeat the commit alone, which the server applies once."""
    if not session.in_transaction:
        return
    progress.is_committing = True
    repeats = 0
    while True:
        try:
            await session.commit_transaction()
        except PyMongoError as error:
            progress.last_error = error
            expired = getattr(error, "code", None) == MAX_TIME_EXPIRED
            if expired or not error.has_error_label("UnknownTransactionCommitResult"):
                raise
            repeats += 1
            await asyncio.sleep(_backoff_seconds(repeats))
        else:
            return


def _is_worth_another_run(error: PyMongoError, progress: _Progress) -> bool:
    """Return True if the operation should run again.

    Raises:
        ConflictError: a duplicate key came up once too often.
    """
    if error.has_error_label("TransientTransactionError"):
        return True
    if not _is_duplicate_key(error):
        return False
    progress.duplicates += 1
    if progress.duplicates <= MAX_DUPLICATE_RERUNS:
        return True
    raise ConflictError(
        f"{_duplicate(error)} still exists after {MAX_DUPLICATE_RERUNS} more attempts. Reload and decide again."
    ) from error


def _is_duplicate_key(error: PyMongoError) -> bool:
    return isinstance(error, DuplicateKeyError) or _has_write_error(error, DUPLICATE_KEY)


def _is_too_large(error: PyMongoError) -> bool:
    return getattr(error, "code", None) == TOO_LARGE or _has_write_error(error, TOO_LARGE)


def _too_large() -> TransactionTooLargeError:
    return TransactionTooLargeError(
        "The change is too large for one transaction. Nothing was changed. Make it in smaller parts."
    )


def _has_write_error(error: PyMongoError, code: int) -> bool:
    return isinstance(error, BulkWriteError) and any(
        failure.get("code") == code for failure in (error.details or {}).get("writeErrors", ())
    )


def _duplicate(error: PyMongoError) -> str:
    """Return the fields of the violated unique key, never their values."""
    details: Any = getattr(error, "details", None) or {}
    failures: Any = details.get("writeErrors") or [details]
    fields = ", ".join(failures[0].get("keyPattern", {})) or "its key"
    return f"A row with the same {fields}"


def _backoff_seconds(attempt: int) -> float:
    """Return a pause with full jitter: from zero to a bound that doubles with each attempt."""
    bound = min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(attempt, 10))
    return random.uniform(0.0, bound)  # noqa: S311  # spreads rivals out, guards no secret


def _past_deadline(progress: _Progress, deadline_seconds: float) -> TransientError:
    if progress.is_committing:
        return TransientError(
            f"MongoDB has not confirmed a commit within {deadline_seconds:g} s, so it may or may not have"
            " been made; read the state before repeating the change.",
            code="commit_outcome_unknown",
        )
    return TransientError(
        f"A transaction was not finished within {deadline_seconds:g} s ({progress.attempts} attempts);"
        " nothing was changed. Try again when the database is less busy.",
        code=DEADLINE_CODE,
    )
