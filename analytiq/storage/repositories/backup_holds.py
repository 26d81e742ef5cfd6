"""Collection `backup_holds`: organizations of which nothing may be deleted physically for now.

A backup reads what a snapshot names, after the snapshot; a restore writes files before the documents that name them.
While either holds the organization, jobs that delete files, texts and vectors wait (they look after they have read
what they decide by, so that a hold that is older than that is always seen). A hold expires by the server's clock, so
that a killed backup holds nothing for good.
"""

from pymongo import IndexModel

from analytiq.errors import RateLimitedError
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.rows import Row

HOLD_SECONDS = 120.0
RENEW_SECONDS = 20.0
LOOK_AGAIN_SECONDS = 30.0
"""After which a job that met a hold looks again."""

INDEXES = {
    "backup_holds": [
        IndexModel([("organization_id", 1)]),
        IndexModel([("expires_at", 1)], expireAfterSeconds=3600),
    ],
}


class BackupHoldRepository:
    """Holds on organizations."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["backup_holds"]
        self._majority = connection.majority["backup_holds"]

    async def take(self, organization_id: str, *, reason: str) -> str:
        """Hold the organization for HOLD_SECONDS; returns the hold's id. A majority knows of it when this returns."""
        hold_id = new_id()
        row: Row = {"organization_id": organization_id, "reason": {"$literal": reason}, "expires_at": _expiry()}
        await self._collection.update_one({"_id": object_id(hold_id)}, [{"$set": row}], upsert=True)
        return hold_id

    async def renew(self, organization_id: str, hold_id: str) -> bool:
        """Hold on; False where the hold has run out, and what it held may be gone."""
        result = await self._collection.update_one(
            {"_id": object_id(hold_id), "organization_id": organization_id, **_live()},
            [{"$set": {"expires_at": _expiry()}}],
        )
        return result.matched_count == 1

    async def release(self, organization_id: str, hold_id: str) -> None:
        """Let go."""
        await self._collection.delete_one({"_id": object_id(hold_id), "organization_id": organization_id})

    async def reason(self, organization_id: str) -> str | None:
        """Why the organization is held; None where it is not."""
        row: Row | None = await self._majority.find_one({"organization_id": organization_id, **_live()})
        return None if row is None else str(row["reason"])

    async def is_anything_held(self) -> bool:
        """Return True if any organization has a retention hold: rows without an owner may belong to it."""
        return await self._majority.find_one(_live(), {"_id": 1}) is not None

    async def require_free(self, organization_id: str) -> None:
        """Let a job that deletes go on only where nothing holds the organization.

        Raises:
            RateLimitedError: something does; waiting for it is not held against the job.
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
