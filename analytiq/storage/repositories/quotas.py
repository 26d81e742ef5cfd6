"""Collection `spu_accounts`: one row for each organization, with its open reservations.

As all of it is one row, a reservation is one update of one row, and a repeated release counts once: the update
that finds the reservation in the row removes it and adds the charge.
"""

from typing import Any

from pymongo import IndexModel, ReturnDocument, UpdateOne

from analytiq.models.quota import OpenReservation, SpuAccount, SpuPurpose
from analytiq.models.webhook import quota_event
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

INDEXES = {"spu_accounts": [IndexModel([("organization_id", 1)], unique=True)]}

_OPEN: Row = {"$ifNull": ["$open", {}]}
_USED: Row = {"$ifNull": ["$used", 0]}
_QUOTA: Row = {"$ifNull": ["$quota", None]}
_RESERVED: Row = {"$sum": {"$map": {"input": {"$objectToArray": _OPEN}, "in": "$$this.v.spus"}}}


class QuotaRepository:
    """SPU accounts; a caller without an account opens one with the ledger's total."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._collection = connection.database["spu_accounts"]
        self._outbox = WebhookOutbox(connection)

    async def reserve(self, reservation_id: str, purpose: SpuPurpose, *, wanted: int, seconds: float) -> int | None:
        """Reserve the available SPUs, at most `wanted`; return their number, 0 if none is left.

        Return None without an account.
        """
        room: Row = {"$subtract": [_QUOTA, {"$add": [_USED, _RESERVED]}]}
        granted: Row = {"$cond": [{"$eq": [_QUOTA, None]}, wanted, {"$max": [0, {"$min": [wanted, room]}]}]}
        reservation: Row = {
            "spus": "$granted",
            "kb_id": {"$literal": purpose.kb_id},
            "operation": {"$literal": purpose.operation.value},
            "embedding_model": {"$literal": purpose.embedding_model},
            "expires_at": {"$add": ["$$NOW", int(seconds * 1000)]},
        }
        added: Row = {"$mergeObjects": [_OPEN, {reservation_id: reservation}]}
        row = await self._update(
            purpose.organization_id,
            [
                {"$set": {"granted": granted}},
                {"$set": {"open": {"$cond": [{"$gt": ["$granted", 0]}, added, _OPEN]}}},
            ],
        )
        return None if row is None else int(row["granted"])

    async def release(self, organization_id: str, reservation_id: str, *, spus: int) -> None:
        """End a reservation of which `spus` were charged; do nothing if it has ended."""
        query: Row = {"_id": organization_id, f"open.{reservation_id}": {"$exists": True}}
        change: Row = {"$unset": {f"open.{reservation_id}": ""}, "$inc": {"used": spus}}
        if not spus or not await self._outbox.listening(organization_id):
            await self._collection.update_one(query, change)
            return

        async def commit(session: Session) -> None:
            row: Row | None = await self._collection.find_one_and_update(
                query, change, {"quota": 1, "used": 1}, return_document=ReturnDocument.AFTER, session=session
            )
            if row is not None:
                await self._record(session, organization_id, row, before=row["used"] - spus)

        await run_in_transaction(self._connection, commit)

    async def expired(self, organization_id: str) -> list[OpenReservation]:
        """Return the organization's expired reservations, by the server's clock."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"_id": organization_id}},
                {"$project": {"open": {"$objectToArray": _OPEN}}},
                {"$unwind": "$open"},
                {"$match": {"$expr": {"$lt": ["$open.v.expires_at", "$$NOW"]}}},
            ]
        )
        return [_reservation(organization_id, row["open"]) async for row in cursor]

    async def get(self, organization_id: str) -> SpuAccount | None:
        """Return the organization's account, if any."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"_id": organization_id}},
                {"$project": {"quota": 1, "used": _USED, "reserved": _RESERVED}},
            ]
        )
        rows: list[Row] = [row async for row in cursor]
        if not rows:
            return None
        row = rows[0]
        return SpuAccount(
            organization_id=organization_id,
            quota=row.get("quota"),
            used=row.get("used", 0),
            reserved=row.get("reserved", 0),
        )

    async def set_quota(self, organization_id: str, quota: int | None) -> None:
        """Set the quota of an existing account, in SPUs; None removes the limit."""
        await self._update(organization_id, [{"$set": {"quota": quota}}])

    async def add_to_quota(self, organization_id: str, spus: int) -> bool:
        """Raise the quota; return False without a quota."""
        result = await self._collection.update_one(
            {"_id": organization_id, "quota": {"$type": "number"}}, {"$inc": {"quota": spus}}
        )
        return result.modified_count == 1

    async def open_accounts(self, used_of: dict[str, int]) -> None:
        """Create the missing accounts, from SPUs used by organization id."""
        writes = [
            UpdateOne(
                {"_id": organization_id},
                {"$setOnInsert": {"organization_id": organization_id, "quota": None, "used": used, "open": {}}},
                upsert=True,
            )
            for organization_id, used in used_of.items()
        ]
        if writes:
            await self._collection.bulk_write(writes, ordered=False)

    async def _record(self, session: Session, organization_id: str, row: Row, *, before: int) -> None:
        event = quota_event(organization_id, "spus", row.get("quota"), before, row["used"])
        await self._outbox.record(session, organization_id, [] if event is None else [event])

    async def _update(self, organization_id: str, stages: list[dict[str, Any]]) -> Row | None:
        return await self._collection.find_one_and_update(
            {"_id": organization_id}, stages, {"granted": 1}, return_document=ReturnDocument.AFTER
        )


def _reservation(organization_id: str, pair: Row) -> OpenReservation:
    value: Row = pair["v"]
    purpose = SpuPurpose(
        organization_id=organization_id,
        kb_id=value["kb_id"],
        operation=value["operation"],
        embedding_model=value["embedding_model"],
    )
    return OpenReservation(id=str(pair["k"]), purpose=purpose, spus=value["spus"], expires_at=value["expires_at"])
