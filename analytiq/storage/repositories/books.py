"""A consistent reading of the cache, the ledger and the accounts, to check that they balance."""

from collections.abc import Mapping
from dataclasses import dataclass

from pymongo.asynchronous.collection import AsyncCollection

from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.rows import Row
from analytiq.storage.session import Session

_PAYER_INDEX = [("payer_organization_id", 1), ("embedding_model", 1)]

PayerAndModel = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Books:
    """The sums of the books.

    `removed`: embeddings evicted from the cache. `unreleased`: charged by reservations that their account does not
    count as used yet.
    """

    cached: Mapping[PayerAndModel, int]
    removed: Mapping[PayerAndModel, int]
    charged: Mapping[PayerAndModel, int]
    used: Mapping[str, int]
    unreleased: Mapping[str, int]


class BooksRepository:
    """Reads everything at one point in time, so that concurrent commits unbalance nothing."""

    def __init__(self, connection: MongoConnection) -> None:
        self._client = connection.client
        self._cache = connection.database["embedding_cache"]
        self._removed = connection.database["embedding_cache_removed"]
        self._ledger = connection.database["spu_ledger"]
        self._accounts = connection.database["spu_accounts"]

    async def read(self) -> Books:
        """Return the sums over all organizations."""
        async with self._client.start_session(snapshot=True) as session:
            accounts: list[Row] = [row async for row in self._accounts.find({}, session=session)]
            return Books(
                cached=await self._cached(session),
                removed=await self._let_go(session),
                charged=await self._charged(session),
                used={str(row["_id"]): int(row["used"]) for row in accounts},
                unreleased={str(row["_id"]): await self._settled(session, list(row["open"])) for row in accounts},
            )

    async def lost(self, session: Session, organization_id: str, embedding_model: str) -> int:
        """Count the organization's charged embeddings that are neither cached nor recorded as removed."""
        cached = await self._cache.count_documents(
            {"payer_organization_id": organization_id, "embedding_model": embedding_model}, session=session
        )
        whose: Row = {"organization_id": organization_id, "embedding_model": embedding_model}
        removed = await self._sum(self._removed, "rows", whose, session)
        return max(0, await self._sum(self._ledger, "spus", whose, session) - removed - cached)

    async def _sum(self, collection: AsyncCollection[Row], field: str, match: Row, session: Session) -> int:
        group: Row = {"_id": None, "sum": {"$sum": f"${field}"}}
        cursor = await collection.aggregate([{"$match": match}, {"$group": group}], session=session)
        rows: list[Row] = [row async for row in cursor]
        return int(rows[0]["sum"]) if rows else 0

    async def _cached(self, session: Session) -> dict[PayerAndModel, int]:
        # From the index alone: the rows are kilobytes each. Rows with an erased payer belong to no organization.
        group: Row = {"payer": "$payer_organization_id", "model": "$embedding_model"}
        cursor = await self._cache.aggregate(
            [{"$match": {"payer_organization_id": {"$ne": None}}}, {"$group": {"_id": group, "count": {"$sum": 1}}}],
            hint=dict(_PAYER_INDEX),
            session=session,
        )
        return {(str(row["_id"]["payer"]), str(row["_id"]["model"])): int(row["count"]) async for row in cursor}

    async def _let_go(self, session: Session) -> dict[PayerAndModel, int]:
        group: Row = {"payer": "$organization_id", "model": "$embedding_model"}
        cursor = await self._removed.aggregate([{"$group": {"_id": group, "rows": {"$sum": "$rows"}}}], session=session)
        return {(str(row["_id"]["payer"]), str(row["_id"]["model"])): int(row["rows"]) async for row in cursor}

    async def _charged(self, session: Session) -> dict[PayerAndModel, int]:
        group: Row = {"payer": "$organization_id", "model": "$embedding_model"}
        cursor = await self._ledger.aggregate([{"$group": {"_id": group, "spus": {"$sum": "$spus"}}}], session=session)
        return {(str(row["_id"]["payer"]), str(row["_id"]["model"])): int(row["spus"]) async for row in cursor}

    async def _settled(self, session: Session, reservation_ids: list[str]) -> int:
        ids = [object_id(reservation_id) for reservation_id in reservation_ids]
        cursor = self._ledger.find({"_id": {"$in": ids}}, {"spus": 1}, session=session)
        return sum([int(row["spus"]) async for row in cursor])
