"""Collection `backup_records`: the backups and restores of an organization that were made, run, or failed."""

from pymongo import IndexModel

from analytiq.models.backup_record import BackupOutcome, BackupRecord, RecordedRows
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode

SIGN_OF_LIFE_SECONDS = 20.0
LOST_SECONDS = 120.0
"""After its last sign of life, a record that still runs is of a process that was killed: as the holds of backups."""

INDEXES = {"backup_records": [IndexModel([("organization_id", 1), ("started_at", -1), ("_id", -1)])]}


class BackupRecordRepository:
    """Records by organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["backup_records"]

    async def insert(self, record: BackupRecord) -> None:
        """Remember one that runs, or has ended."""
        row = {name: {"$literal": value} for name, value in encode(record).items() if name != "_id"}
        await self._collection.update_one(
            {"_id": object_id(record.id)}, [{"$set": {**row, "seen_at": "$$NOW"}}], upsert=True
        )

    async def keep_alive(self, record: BackupRecord) -> None:
        """Say that its process lives."""
        await self._collection.update_one(_key(record), [{"$set": {"seen_at": "$$NOW"}}])

    async def end(self, record: BackupRecord) -> None:
        """Remember how it ended; nothing where the organization was erased meanwhile."""
        row: Row = {name: value for name, value in encode(record).items() if name != "_id"}
        await self._collection.update_one(_key(record), {"$set": row})

    async def forget(self, record: BackupRecord) -> None:
        """Delete it."""
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
    """Rows by collection, in order of names."""
    return tuple(RecordedRows(collection=name, rows=count) for name, count in sorted(rows.items()))
