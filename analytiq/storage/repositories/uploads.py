"""Collection `uploads`: uploads in progress, each under a lease."""

from collections.abc import Collection

from pymongo import IndexModel

from analytiq.models.upload import Upload
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {"uploads": [IndexModel([("lease_expires_at", 1)])]}


class UploadRepository:
    """Uploads in progress."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["uploads"]

    async def insert(self, upload: Upload, *, lease_seconds: float) -> None:
        """Register an upload before its first byte is written; its lease starts now, by the server's clock."""
        fields: Row = {name: {"$literal": value} for name, value in encode(upload).items() if name != "_id"}
        await self._collection.update_one(
            {"_id": object_id(upload.id)}, [{"$set": {**fields, **_lease(lease_seconds)}}], upsert=True
        )

    async def renew(self, upload: Upload, *, lease_seconds: float) -> bool:
        """Extend the lease; return False if the upload was abandoned."""
        result = await self._collection.update_one(_under_way(upload), [{"$set": _lease(lease_seconds)}])
        return result.matched_count == 1

    async def finish(self, session: Session, upload: Upload) -> bool:
        """Complete the upload within the caller's transaction; return False if it was abandoned."""
        result = await self._collection.delete_one(_under_way(upload), session=session)
        return result.deleted_count == 1

    async def give_up(self, upload: Upload) -> bool:
        """End its lease for good, so that it cannot be completed; return False if it has been completed."""
        given_up: Row = {**_lease(0.0), "is_given_up": True}
        result = await self._collection.update_one(_key(upload), [{"$set": given_up}])
        return result.matched_count == 1

    async def forget(self, upload: Upload) -> None:
        """Remove the row of an abandoned upload, once its bytes are gone."""
        await self._collection.delete_one({**_key(upload), "is_given_up": True})

    async def abandoned(self, *, limit: int, organization_id: str | None = None) -> list[Upload]:
        """Return uploads with an expired lease, by the server's clock, of any organization or of one."""
        query: Row = {"$expr": {"$lt": ["$lease_expires_at", "$$NOW"]}}
        if organization_id is not None:
            query["organization_id"] = organization_id
        return [decode(Upload, row) async for row in self._collection.find(query).limit(limit)]

    async def get(self, organization_id: str, upload_id: str) -> Upload | None:
        """Return the organization's upload with this id."""
        row: Row | None = await self._collection.find_one(
            {"_id": object_id(upload_id), "organization_id": organization_id}
        )
        return decode(Upload, row) if row else None

    async def file_ids_among(self, file_ids: Collection[str]) -> set[str]:
        """Return the files written by a current upload, of any organization."""
        cursor = self._collection.find({"file_id": {"$in": list(file_ids)}}, {"file_id": 1})
        return {str(row["file_id"]) async for row in cursor}


def _key(upload: Upload) -> Row:
    return {"_id": object_id(upload.id), "organization_id": upload.organization_id}


def _under_way(upload: Upload) -> Row:
    return {**_key(upload), "is_given_up": {"$ne": True}}


def _lease(seconds: float) -> Row:
    return {"lease_expires_at": {"$add": ["$$NOW", int(seconds * 1000)]}}
