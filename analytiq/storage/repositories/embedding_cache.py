"""Collections `embedding_cache` and `embedding_cache_removed`: embeddings, and counts of removed ones by payer.

The same transactions write the ledger and the first collection.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray
from pymongo import IndexModel, UpdateOne
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.models.usage import Operation
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import from_bindata, to_bindata
from analytiq.storage.session import Session

LOOKUP_SIZE = 1000
"""Keys of one look-up."""
USE_NOTED_AFTER = timedelta(minutes=10)
"""Resolution of a row's last use, ten minutes, so that look-ups seldom write."""

INDEXES = {
    "embedding_cache": [
        IndexModel([("last_used_at", 1)]),
        IndexModel([("payer_organization_id", 1), ("embedding_model", 1)]),
        # Scopes of organizations, whose ids are hex digits; not "global", which most rows have.
        IndexModel([("scope", 1)], partialFilterExpression={"scope": {"$lt": "g"}}),
    ],
    "embedding_cache_removed": [IndexModel([("organization_id", 1)])],
}


@dataclass(frozen=True, slots=True)
class CacheRow:
    """An embedding to cache. `key`: SHA-256 of all of its inputs (`analytiq.inference.embedding.cache_key`).

    `payer_organization_id`: None if no organization is known to have paid.
    """

    key: str
    chunk_hash: str
    embedding_model: str
    embedding: NDArray[np.float32]
    scope: str
    payer_organization_id: str | None
    operation: Operation


@dataclass(frozen=True, slots=True)
class Cached:
    """The result of a look-up: embeddings by key, and the keys whose last use is due to be recorded (`note_use`)."""

    embeddings: dict[str, NDArray[np.float32]]
    stale_keys: list[str]


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The server's own counters, immediate for any size; `bytes` of all rows as BSON.

    After a server crash both may be wrong until the collection is validated.
    """

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Removed:
    """Rows that were removed, and their size in bytes as BSON."""

    rows: int
    bytes: int


class EmbeddingCacheRepository:
    """Embeddings by the hash of their inputs."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["embedding_cache"]
        self._removed = connection.database["embedding_cache_removed"]
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

    async def find(self, keys: Collection[str]) -> Cached:
        """Return the cached embeddings of the keys. At most about LOOKUP_SIZE keys a call."""
        used_before = clock.now() - USE_NOTED_AFTER
        found = Cached({}, [])
        async for row in self._collection.find({"_id": {"$in": list(keys)}}, {"embedding": 1, "last_used_at": 1}):
            key = str(row["_id"])
            found.embeddings[key] = from_bindata(row["embedding"])
            if row["last_used_at"] < used_before:
                found.stale_keys.append(key)
        return found

    async def present_among(self, keys: Collection[str]) -> set[str]:
        """Return the cached keys among these, without their embeddings; a covered query."""
        return {str(row["_id"]) async for row in self._collection.find({"_id": {"$in": list(keys)}}, {"_id": 1})}

    async def note_use(self, keys: Collection[str]) -> None:
        """Record the present use. If a failover loses the write, a row looks ten minutes older."""
        if keys:
            used: Row = {"$set": {"last_used_at": clock.now()}}
            await self._by_primary.update_many({"_id": {"$in": list(keys)}}, used)

    async def keep(self, session: Session, rows: Sequence[CacheRow]) -> int:
        """Store the missing embeddings; return their number, which is to be charged unless it was."""
        result = await self._collection.bulk_write(_upserts(rows), ordered=False, session=session)
        return result.upserted_count

    async def size(self) -> CacheSize:
        """Return the number and size of cached embeddings."""
        cursor = await self._collection.aggregate([{"$collStats": {"storageStats": {}}}])
        stats: list[Row] = [row["storageStats"] async for row in cursor]
        if not stats:
            return CacheSize(0, 0)
        return CacheSize(rows=int(stats[0].get("count", 0)), bytes=int(stats[0].get("size", 0)))

    async def least_recently_used(self, *, limit: int, before: datetime) -> list[str]:
        """Return the least recently used keys among those not used since `before`."""
        cursor = self._collection.find({"last_used_at": {"$lt": before}}, {"_id": 1}).sort("last_used_at", 1)
        return [str(row["_id"]) async for row in cursor.limit(limit)]

    async def remove(self, session: Session, keys: Collection[str], *, unused_since: datetime) -> Removed:
        """Delete rows, and record their payers in the same transaction: charges stay explained.

        A row used after `unused_since` stays.
        """
        query: Row = {"_id": {"$in": list(keys)}, "last_used_at": {"$lt": unused_since}}
        shown: Row = {
            "payer_organization_id": 1,
            "embedding_model": 1,
            "operation": 1,
            "bytes": {"$bsonSize": "$$ROOT"},
        }
        # By the keys: the planner takes the index of `last_used_at`, which nearly all rows match. At 100,000 rows a
        # batch took 0.48 s instead of 0.02; at a million it outlived its transaction.
        cursor = await self._collection.aggregate(
            [{"$match": query}, {"$project": shown}], hint={"_id": 1}, session=session
        )
        rows: list[Row] = [row async for row in cursor]
        if rows:
            await self._collection.delete_many({"_id": {"$in": [row["_id"] for row in rows]}}, session=session)
            await self._note_removed(session, rows)
        return Removed(len(rows), sum(int(row["bytes"]) for row in rows))

    async def _note_removed(self, session: Session, rows: Sequence[Row]) -> None:
        counts: Counter[tuple[str, str, str]] = Counter(
            (row["payer_organization_id"], row["embedding_model"], row["operation"])
            for row in rows
            # Rows with an erased payer belong to no organization.
            if row["payer_organization_id"] is not None
        )
        if counts:
            writes = [_removal(*whose, count) for whose, count in counts.items()]
            await self._removed.bulk_write(writes, session=session)


def _removal(organization_id: str, model: str, operation: str, rows: int) -> UpdateOne:
    whose: Row = {"organization_id": organization_id, "embedding_model": model, "operation": operation}
    return UpdateOne(
        {"_id": f"{organization_id}:{operation}:{model}"}, {"$inc": {"rows": rows}, "$setOnInsert": whose}, upsert=True
    )


def _upserts(rows: Sequence[CacheRow]) -> list[UpdateOne]:
    now = clock.now()
    return [
        UpdateOne(
            {"_id": row.key},
            {
                "$setOnInsert": {
                    "chunk_hash": row.chunk_hash,
                    "embedding_model": row.embedding_model,
                    "embedding": to_bindata(row.embedding),
                    "scope": row.scope,
                    "payer_organization_id": row.payer_organization_id,
                    "operation": row.operation.value,
                    "created_at": now,
                    "last_used_at": now,
                }
            },
            upsert=True,
        )
        for row in rows
    ]
