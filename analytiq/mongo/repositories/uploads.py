"""Collection `uploads`: bytes that are being written, each under a lease."""

from datetime import datetime, timedelta

from pymongo import IndexModel

from analytiq import clock
from analytiq.models.upload import Upload
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.ids import object_id
from analytiq.mongo.repositories.rows import decode, encode
from analytiq.mongo.session import Session

INDEXES = {"uploads": [IndexModel([("lease_expires_at", 1)])]}


class UploadRepository:
    """Uploads under way."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["uploads"]

    async def insert(self, upload: Upload) -> None:
        """Announce an upload, before its first byte is written."""
        await self._collection.insert_one(encode(upload))

    async def renew(self, upload: Upload, *, lease_seconds: float) -> bool:
        """Extend the lease; False where the upload was given up as abandoned."""
        result = await self._collection.update_one(
            {"_id": object_id(upload.id), "organization_id": upload.organization_id},
            {"$set": {"lease_expires_at": clock.now() + timedelta(seconds=lease_seconds)}},
        )
        return result.matched_count == 1

    async def delete(self, upload: Upload, *, session: Session | None = None) -> bool:
        """The upload is done, or undone; False where it was given up as abandoned."""
        result = await self._collection.delete_one(
            {"_id": object_id(upload.id), "organization_id": upload.organization_id}, session=session
        )
        return result.deleted_count == 1

    async def abandoned(self, moment: datetime, *, limit: int) -> list[Upload]:
        """Uploads whose lease ran out before `moment`, of any organization; for the reconciler."""
        cursor = self._collection.find({"lease_expires_at": {"$lt": moment}}).limit(limit)
        return [decode(Upload, row) async for row in cursor]
