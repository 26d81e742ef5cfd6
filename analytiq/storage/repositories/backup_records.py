"""Collection `backup_records`: an organization's backups and restores, in progress, finished or failed."""

from pymongo import IndexModel

from analytiq.models.backup_record import BackupOutcome, BackupRecord, RecordedRows
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode

SIGN_OF_LIFE_SECONDS = 20.0
LOST_SECONDS = 120.0
"""Seconds without a heartbeat after which the process of a running record counts as killed, as for holds of backups."""

INDEXES = {"backup_records": [IndexModel([("organization_id", 1), ("started_at", -1), ("_id", -1)])]}


class BackupRecordRepository:
    """Records by organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["backup_records"]

    async def insert(self, record: BackupRecord) -> None:
        """Store a record in progress or finished."""
        row = {name: {"$literal": value} for name, value in encode(record).items() if name != "_id"}
        await self._collection.update_one(
            {"_id": object_id(record.id)}, [{"$set": {**row, "seen_at": "$$NOW"}}], upsert=True
        )

    async def keep_alive(self, record: BackupRecord) -> None:
        """Renew the record's heartbeat."""
        await self._collection.update_one(_key(record), [{"$set": {"seen_at": "$$NOW"}}])

    async def end(self, record: BackupRecord) -> None:
        """Record the outcome; do nothing if the organization was erased meanwhile."""
        row: Row = {name: value for name, value in encode(record).items() if name != "_id"}
        await self._collection.update_one(_key(record), {"$set": row})

    async def forget(self, record: BackupRecord) -> None:
        """Delete the record."""
        await self._collection.delete_one(_key(record))

    async def page(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[BackupRecord], int]:
        """Return a page of the organization's records, latest first, and the total count."""
        query: Row = {"organization_id": organization_id}
        is_lost: Row = {
            "$and": [
                {"$eq": ["$outcome", BackupOutcome.RUNNING.value]},
                {"$lt": ["$seen_at", {"$subtract": ["$$NOW", int(LOST_SECONDS * 1000)]}]},
            ]
        }
        cursor = await self._collection.aggregate(
            [
                {"$match": query},
                {"$sort": {"started_at": -1, "_id": -1}},
                {"$skip": skip},
                {"$limit": limit},
                {"$set": {"outcome": {"$cond": [is_lost, BackupOutcome.INTERRUPTED.value, "$outcome"]}}},
                {"$unset": "seen_at"},
            ]
        )
        found = [decode(BackupRecord, row) async for row in cursor]
        return found, await self._collection.count_documents(query)


def _key(record: BackupRecord) -> Row:
    return {"_id": object_id(record.id), "organization_id": record.organization_id}


def recorded(rows: dict[str, int]) -> tuple[RecordedRows, ...]:
    """Return the rows by collection, in order of names."""
    return tuple(RecordedRows(collection=name, rows=count) for name, count in sorted(rows.items()))
