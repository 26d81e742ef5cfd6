"""Collection `embedding_claims`: leased claims on texts, so that only one worker pays for each text.

A separate collection, so that each row of `embedding_cache` is a paid embedding: claims would have to be excluded
from every count, look-up, bound and archive.
"""

from collections.abc import Collection, Sequence

from pymongo import IndexModel, UpdateOne
from pymongo.errors import BulkWriteError
from pymongo.write_concern import WriteConcern

from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row

FORGOTTEN_SECONDS = 600
"""Seconds after which the server deletes a claim abandoned by its worker."""
DUPLICATE_KEY = 11000

INDEXES = {"embedding_claims": [IndexModel([("lease_expires_at", 1)], expireAfterSeconds=FORGOTTEN_SECONDS)]}


class EmbeddingClaimRepository:
    """Leased claims on cache keys, by the server's clock. They save double payments; correctness needs none of them."""

    def __init__(self, connection: MongoConnection) -> None:
        # A claim lost in a failover costs at most a second call; the cache row decides the charge.
        self._collection = connection.database["embedding_claims"].with_options(write_concern=WriteConcern(w=1))

    async def take(self, keys: Sequence[str], token: str, *, lease_seconds: float) -> set[str]:
        """Claim the keys that are free or expired; return the keys that the token holds now."""
        # A new row has no lease yet: a missing lease sorts before every date.
        is_free: Row = {"$lt": ["$lease_expires_at", "$$NOW"]}
        claim: Row = {
            "token": {"$cond": [is_free, {"$literal": token}, "$token"]},
            "lease_expires_at": {"$cond": [is_free, _in_seconds(lease_seconds), "$lease_expires_at"]},
        }
        writes = [UpdateOne({"_id": key}, [{"$set": claim}], upsert=True) for key in keys]
        try:
            result = await self._collection.bulk_write(writes, ordered=False)
        except BulkWriteError as error:
            details: Row = dict(error.details or {})
            if any(failure.get("code") != DUPLICATE_KEY for failure in details.get("writeErrors", ())):
                raise
            # Another worker created the row between the server's read and its write.
        else:
            if result.upserted_count == len(keys):
                return set(keys)
        cursor = self._collection.find({"_id": {"$in": list(keys)}, "token": token}, {"_id": 1})
        return {str(row["_id"]) async for row in cursor}

    async def held(self, keys: Collection[str]) -> set[str]:
        """Return the keys with an unexpired claim, for waiting workers."""
        alive: Row = {"_id": {"$in": list(keys)}, "$expr": {"$gte": ["$lease_expires_at", "$$NOW"]}}
        return {str(row["_id"]) async for row in self._collection.find(alive, {"_id": 1})}

    async def renew(self, keys: Collection[str], token: str, *, lease_seconds: float) -> None:
        """Renew the claims of a live worker."""
        await self._collection.update_many(
            {"_id": {"$in": list(keys)}, "token": token}, [{"$set": {"lease_expires_at": _in_seconds(lease_seconds)}}]
        )

    async def release(self, keys: Collection[str], token: str) -> None:
        """Release the claims: the texts are embedded, or this worker will not embed them."""
        await self._collection.delete_many({"_id": {"$in": list(keys)}, "token": token})


def _in_seconds(seconds: float) -> Row:
    return {"$add": ["$$NOW", int(seconds * 1000)]}
