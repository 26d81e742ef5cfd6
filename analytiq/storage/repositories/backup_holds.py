"""Collection `backup_holds`: retention holds, which forbid the physical deletion of an organization's data.

A backup reads the files, texts and vectors of a snapshot after the snapshot; a restore writes files before the
documents that refer to them. While either holds the organization, jobs that delete files, texts and vectors wait.
Such a job checks for holds after reading its own input, so that it sees every older hold. A hold expires by the
server's clock, so that a killed backup releases it.
"""

from pymongo import IndexModel

from analytiq.errors import RateLimitedError
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.rows import Row

HOLD_SECONDS = 120.0
RENEW_SECONDS = 20.0
LOOK_AGAIN_SECONDS = 30.0
"""Seconds after which a job that met a hold checks again."""

INDEXES = {
    "backup_holds": [
        IndexModel([("organization_id", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=3600),
    ],
}


class BackupHoldRepository:
    """Retention holds on organizations."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["backup_holds"]
        self._majority = connection.majority["backup_holds"]

    async def take(self, organization_id: str, *, reason: str) -> str:
        """Hold the organization for HOLD_SECONDS; return the hold's id once a majority has it."""
        hold_id = new_id()
        row: Row = {"organization_id": organization_id, "reason": {"$literal": reason}, "expires_at": _expiry()}
        await self._collection.update_one({"_id": object_id(hold_id)}, [{"$set": row}], upsert=True)
        return hold_id

    async def renew(self, organization_id: str, hold_id: str) -> bool:
        """Extend the hold; return False if it has expired, so that held data may be gone."""
        result = await self._collection.update_one(
            {"_id": object_id(hold_id), "organization_id": organization_id, **_live()},
            [{"$set": {"expires_at": _expiry()}}],
        )
        return result.matched_count == 1

    async def release(self, organization_id: str, hold_id: str) -> None:
        """Release the hold."""
        await self._collection.delete_one({"_id": object_id(hold_id), "organization_id": organization_id})

    async def reason(self, organization_id: str) -> str | None:
        """Return the reason of the organization's hold, None without a hold."""
        row: Row | None = await self._majority.find_one({"organization_id": organization_id, **_live()})
        return None if row is None else str(row["reason"])

    async def is_anything_held(self) -> bool:
        """Return True if any organization has a retention hold: rows without an owner may belong to it."""
        return await self._majority.find_one(_live(), {"_id": 1}) is not None

    async def require_free(self, organization_id: str) -> None:
        """Refuse a deleting job while the organization is held.

        Raises:
            RateLimitedError: the organization is held; waiting does not count as a failed attempt.
        """
        reason = await self.reason(organization_id)
        if reason is not None:
            raise RateLimitedError(
                f"{reason} is running and needs these data. The deletion continues afterwards.",
                retry_after=LOOK_AGAIN_SECONDS,
                code="held_by_backup",
            )


def _expiry() -> Row:
    return {"$add": ["$$NOW", int(HOLD_SECONDS * 1000)]}


def _live() -> Row:
    return {"$expr": {"$gt": ["$expires_at", "$$NOW"]}}
