"""Collection `leases`: exclusive, time-limited rights of one process, by the server's clock.

A lease is taken for some seconds and renewed while its holder lives. Every taker gets a fresh token. Writes
under a lease belong to a transaction that also writes the lease's row, so that a holder who slept
through its lease cannot commit (`hold`).
"""

import contextlib

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError, ExecutionTimeout, OperationFailure

from analytiq.errors import LeaseLostError
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row
from analytiq.storage.session import Session

INDEXES: dict[str, list[IndexModel]] = {"leases": []}

TAKE_MILLISECONDS = 2000
"""A holder stopped within a transaction blocks the row for at most a minute: try again later."""
_WRITE_CONFLICT = 112


class LeaseRepository:
    """Leases by name."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["leases"]

    async def take(self, name: str, token: str, *, holder: str, lease_seconds: float) -> bool:
        """Take the lease if it is free or expired; use `renew` for an own lease."""
        await self.prepare(name)
        is_free: Row = {"$or": [{"token": None}, {"$expr": {"$lt": ["$expires_at", "$$NOW"]}}]}
        lease: Row = {
            "token": token,
            "holder": {"$literal": holder},
            "taken_at": "$$NOW",
            "expires_at": _in_seconds(lease_seconds),
        }
        try:
            row: Row | None = await self._collection.find_one_and_update(
                {"_id": name, **is_free}, [{"$set": lease}], projection={"_id": 1}, maxTimeMS=TAKE_MILLISECONDS
            )
        except ExecutionTimeout:
            return False
        except OperationFailure as error:
            if error.code == _WRITE_CONFLICT:
                return False
            raise
        return row is not None

    async def renew(self, name: str, token: str, *, lease_seconds: float) -> bool:
        """Extend the lease to this many seconds from now; return False if it is lost."""
        result = await self._collection.update_one(
            _held(name, token), [{"$set": {"expires_at": _in_seconds(lease_seconds)}}]
        )
        return result.matched_count == 1

    async def release(self, name: str, token: str) -> None:
        """Release the lease at once; do nothing if it is lost."""
        await self._collection.update_one({"_id": name, "token": token}, {"$set": {"token": None}})

    async def hold(self, name: str, token: str, *, session: Session | None = None) -> None:
        """Check that the lease is held; in a transaction, a concurrent taker makes the commit fail.

        Raises:
            LeaseLostError: the lease has expired, or another process has it.
        """
        result = await self._collection.update_one(_held(name, token), {"$inc": {"writes": 1}}, session=session)
        if not result.matched_count:
            raise LeaseLostError(f"The lease {name!r} has expired. Another process continues the work.")

    async def take_turns(self, name: str, session: Session) -> None:
        """Make concurrent transactions under this name conflict; call `prepare` before."""
        await self._collection.update_one({"_id": name}, {"$inc": {"writes": 1}}, session=session)

    async def prepare(self, name: str) -> None:
        """Create the row of a name, if missing."""
        with contextlib.suppress(DuplicateKeyError):  # another process has just created it
            await self._collection.update_one({"_id": name}, {"$setOnInsert": {"token": None}}, upsert=True)

    async def is_due(self, name: str, task: str, *, interval_seconds: float) -> bool:
        """Return True if a periodic task under the lease last ran `interval_seconds` ago, or never."""
        last_run_at = f"$tasks.{task}"
        earliest: Row = {"$subtract": ["$$NOW", int(interval_seconds * 1000)]}
        query: Row = {"_id": name, "$expr": {"$lte": [{"$ifNull": [last_run_at, earliest]}, earliest]}}
        return await self._collection.find_one(query, {"_id": 1}) is not None

    async def note_run(self, name: str, token: str, task: str) -> bool:
        """Record that a periodic task has just run; return False if the lease is lost."""
        result = await self._collection.update_one(_held(name, token), [{"$set": {f"tasks.{task}": "$$NOW"}}])
        return result.matched_count == 1


def _held(name: str, token: str) -> Row:
    return {"_id": name, "token": token, "$expr": {"$gte": ["$expires_at", "$$NOW"]}}


def _in_seconds(seconds: float) -> Row:
    return {"$add": ["$$NOW", int(seconds * 1000)]}
