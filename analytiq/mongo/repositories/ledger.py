"""Collections `spu_ledger`, what was charged, and `spu_savings`, what the cache saved."""

from datetime import datetime

from pymongo import IndexModel
from pymongo.errors import DuplicateKeyError

from analytiq.models.usage import SpuCharge, UsageTotal
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.ids import object_id
from analytiq.mongo.repositories.rows import Row, decode, encode
from analytiq.mongo.session import Session

INDEXES = {
    "spu_ledger": [
        IndexModel([("organization_id", 1), ("charged_at", -1)]),
        IndexModel([("organization_id", 1), ("kb_id", 1), ("operation", 1)]),
    ],
}


class LedgerRepository:
    """SPU charges; rows are added, never changed."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["spu_ledger"]

    async def has(self, session: Session, reservation_id: str) -> bool:
        """Whether the reservation is settled, or was given up."""
        return (
            await self._collection.find_one({"_id": object_id(reservation_id)}, {"_id": 1}, session=session) is not None
        )

    async def add(self, session: Session, charge: SpuCharge) -> None:
        """Charge."""
        await self._collection.insert_one(encode(charge), session=session)

    async def give_up(self, charge: SpuCharge) -> SpuCharge:
        """Settle a reservation whose time is over with `charge`, unless it is settled; returns what it is settled with.

        A transaction that is about to charge it meets this row, and fails.
        """
        try:
            await self._collection.insert_one(encode(charge))
        except DuplicateKeyError:
            row: Row | None = await self._collection.find_one({"_id": object_id(charge.id)})
            if row is None:
                raise
            return decode(SpuCharge, row)
        return charge

    async def used(self) -> dict[str, int]:
        """Organization → all SPUs that it was ever charged."""
        cursor = await self._collection.aggregate([{"$group": {"_id": "$organization_id", "spus": {"$sum": "$spus"}}}])
        return {str(row["_id"]): int(row["spus"]) async for row in cursor}

    async def totals(
        self, organization_id: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[UsageTotal]:
        """SPUs by knowledge base, operation and model, within [since, until)."""
        match: Row = {"organization_id": organization_id}
        period: Row = {}
        if since is not None:
            period["$gte"] = since
        if until is not None:
            period["$lt"] = until
        if period:
            match["charged_at"] = period
        group: Row = {"kb_id": "$kb_id", "operation": "$operation", "embedding_model": "$embedding_model"}
        summed: Row = {"spus": {"$sum": "$spus"}, "unconfirmed_spus": {"$sum": "$unconfirmed_spus"}}
        cursor = await self._collection.aggregate(
            [{"$match": match}, {"$group": {"_id": group, **summed}}, {"$sort": {"_id": 1}}]
        )
        return [
            UsageTotal.model_validate({**row["_id"], **{name: row[name] for name in summed}}) async for row in cursor
        ]
