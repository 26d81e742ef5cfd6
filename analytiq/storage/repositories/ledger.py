"""Collections `spu_ledger`, the charges, and `spu_savings`, the SPUs saved by the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pymongo import IndexModel, UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import SpuCharge, UsageDay, UsageGroup, UsageGrouping, UsageTotal
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "spu_ledger": [
        IndexModel([("organization_id", 1), ("charged_at", -1)]),
        IndexModel([("organization_id", 1), ("kb_id", 1), ("operation", 1)]),
    ],
    "spu_savings": [IndexModel([("organization_id", 1), ("day", 1)])],
}

_REST = -1
"""Group of the values that are not in a list."""
_SAVED_FOR = ("organization_id", "day", "kb_id", "operation", "embedding_model")


@dataclass(frozen=True, slots=True)
class Saved:
    """Embeddings that came from the cache, and the moment of their use."""

    spus: int
    at: datetime


class LedgerRepository:
    """SPU charges; rows are added, never changed."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["spu_ledger"]

    async def has(self, session: Session, reservation_id: str) -> bool:
        """Return True if the reservation is settled, by a charge or without one."""
        return (
            await self._collection.find_one({"_id": object_id(reservation_id)}, {"_id": 1}, session=session) is not None
        )

    async def add(self, session: Session, charge: SpuCharge) -> None:
        """Store a charge."""
        await self._collection.insert_one(encode(charge), session=session)

    async def give_up(self, charge: SpuCharge) -> SpuCharge:
        """Settle an expired reservation with `charge`, unless it is settled; return its settlement.

        A concurrent transaction that charges the reservation meets this row, and fails.
        """
        try:
            await self._collection.insert_one(encode(charge))
        except DuplicateKeyError:
            row: Row | None = await self._collection.find_one({"_id": object_id(charge.id)})
            if row is None:
                raise
            return decode(SpuCharge, row)
        return charge

    async def used(self, organization_id: str | None = None) -> dict[str, int]:
        """Return all SPUs ever charged, by organization; of every charged organization, or of one."""
        match: Row = {} if organization_id is None else {"organization_id": organization_id}
        cursor = await self._collection.aggregate(
            [{"$match": match}, {"$group": {"_id": "$organization_id", "spus": {"$sum": "$spus"}}}]
        )
        return {str(row["_id"]): int(row["spus"]) async for row in cursor}

    async def totals(
        self,
        organization_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by_day: bool = False,
    ) -> list[UsageTotal]:
        """Return SPUs by knowledge base, operation and model, and by day if requested, within [since, until)."""
        match: Row = {"organization_id": organization_id, **_within("charged_at", since, until)}
        summed = ("spus", "unconfirmed_spus")
        return await _totals(self._collection, match, summed, day=_day_of("$charged_at") if by_day else None)

    async def largest(
        self,
        organization_id: str,
        grouping: UsageGrouping,
        *,
        since: datetime | None,
        until: datetime | None,
        most: int,
    ) -> list[UsageGroup]:
        """Return the groups with the most SPUs within [since, until), largest first, at most `most`."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id, **_within("charged_at", since, until)}},
                {"$group": {"_id": _group(grouping), "spus": {"$sum": "$spus"}}},
                {"$match": {"spus": {"$gt": 0}}},
                {"$sort": {"spus": -1, "_id": 1}},
                {"$limit": most},
            ]
        )
        return [UsageGroup(id=row["_id"], spus=int(row["spus"])) async for row in cursor]

    async def by_day(
        self,
        organization_id: str,
        grouping: UsageGrouping,
        group_ids: Sequence[str | None],
        *,
        since: datetime | None,
        until: datetime | None,
    ) -> tuple[list[UsageDay], int]:
        """Return SPUs by day within [since, until), of these groups and of the rest, and the unconfirmed SPUs.

        The server sums: each row of the answer is a day and a shown group, or the rest.
        """
        place: Row = {"$indexOfArray": [{"$literal": list(group_ids)}, _group(grouping)]}
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id, **_within("charged_at", since, until)}},
                {
                    "$group": {
                        "_id": {"day": _day_of("$charged_at"), "place": place},
                        "spus": {"$sum": "$spus"},
                        "unconfirmed": {"$sum": "$unconfirmed_spus"},
                    }
                },
                {"$sort": {"_id": 1}},
            ]
        )
        found: dict[str, dict[int, int]] = {}
        unconfirmed = 0
        async for row in cursor:
            unconfirmed += int(row["unconfirmed"])
            if row["spus"]:
                found.setdefault(str(row["_id"]["day"]), {})[int(row["_id"]["place"])] = int(row["spus"])
        places = range(len(group_ids))
        days = [
            UsageDay(day=day, spus=tuple(spus.get(at, 0) for at in places), other_spus=spus.get(_REST, 0))
            for day, spus in found.items()
        ]
        return days, unconfirmed


class SavingsRepository:
    """The savings of the cache, summed by organization, day, knowledge base, operation and model."""

    def __init__(self, connection: MongoConnection) -> None:
        # A failover that loses the last milliseconds' savings loses a figure that is never charged.
        self._collection = connection.database["spu_savings"].with_options(write_concern=WriteConcern(w=1))

    async def add_all(self, savings: Sequence[tuple[SpuPurpose, Saved]]) -> None:
        """Add embeddings that came from the cache, in one command."""
        await self._collection.bulk_write([_saving(purpose, saved) for purpose, saved in savings], ordered=False)

    async def totals(
        self,
        organization_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by_day: bool = False,
    ) -> list[UsageTotal]:
        """Return the savings of each day that overlaps [since, until)."""
        first = None if since is None else _midnight(since)
        match: Row = {"organization_id": organization_id, **_within("day", first, until)}
        return await _totals(self._collection, match, ("saved_spus",), day=_day_of("$day") if by_day else None)

    async def total(self, organization_id: str, *, since: datetime | None, until: datetime | None) -> int:
        """Return the sum of savings on days that overlap [since, until)."""
        first = None if since is None else _midnight(since)
        match: Row = {"organization_id": organization_id, **_within("day", first, until)}
        cursor = await self._collection.aggregate(
            [{"$match": match}, {"$group": {"_id": None, "saved": {"$sum": "$saved_spus"}}}]
        )
        rows: list[Row] = [row async for row in cursor]
        return int(rows[0]["saved"]) if rows else 0


def _saving(purpose: SpuPurpose, saved: Saved) -> UpdateOne:
    fields: Row = {**purpose.model_dump(), "operation": purpose.operation.value, "day": _midnight(saved.at)}
    name = ":".join(str(fields[field]) for field in _SAVED_FOR)
    return UpdateOne({"_id": name}, {"$setOnInsert": fields, "$inc": {"saved_spus": saved.spus}}, upsert=True)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _within(field: str, since: datetime | None, until: datetime | None) -> Row:
    period = {name: moment for name, moment in (("$gte", since), ("$lt", until)) if moment is not None}
    return {field: period} if period else {}


def _group(grouping: UsageGrouping) -> Row:
    # A field that is missing is no member of the list of groups; null is.
    return {"$ifNull": [f"${grouping.value}", None]}


def _day_of(field: str) -> Row:
    return {"$dateToString": {"date": field, "format": "%Y-%m-%d"}}


async def _totals(
    collection: AsyncCollection[Row], match: Row, summed: Sequence[str], *, day: Row | None
) -> list[UsageTotal]:
    group: Row = {
        "day": day,
        "kb_id": "$kb_id",
        "operation": "$operation",
        "embedding_model": "$embedding_model",
    }
    sums: Row = {name: {"$sum": f"${name}"} for name in summed}
    cursor = await collection.aggregate([{"$match": match}, {"$group": {"_id": group, **sums}}, {"$sort": {"_id": 1}}])
    return [UsageTotal.model_validate({**row["_id"], **{name: row[name] for name in summed}}) async for row in cursor]
