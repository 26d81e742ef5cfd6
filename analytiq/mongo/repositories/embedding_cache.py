"""Collection `embedding_cache`; the ledger is written in the same transactions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pymongo import IndexModel, UpdateOne

from analytiq import clock
from analytiq.models.usage import Operation
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.vectors import from_bindata, to_bindata
from analytiq.mongo.session import Session

INDEXES = {
    "embedding_cache": [
        IndexModel([("last_used_at", 1)]),
        IndexModel([("payer_organization_id", 1), ("embedding_model", 1)]),
        # Scopes of organizations, whose ids are hex digits; not "global", which most rows have.
        IndexModel([("scope", 1)], partialFilterExpression={"scope": {"$lt": "g"}}),
    ],
}


@dataclass(frozen=True, slots=True)
class CacheRow:
    """An embedding to keep. `key`: SHA-256 of everything that it depends on (`analytiq.embedding.cache_key`)."""

    key: str
    chunk_hash: str
    embedding_model: str
    embedding: NDArray[np.float32]
    scope: str
    payer_organization_id: str
    operation: Operation


class EmbeddingCacheRepository:
    """Embeddings by the hash of what was embedded."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["embedding_cache"]

    async def find(self, keys: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Key → embedding, of those that are cached. At most about 1,000 keys a call."""
        cursor = self._collection.find({"_id": {"$in": list(keys)}}, {"embedding": 1})
        return {str(row["_id"]): from_bindata(row["embedding"]) async for row in cursor}

    async def keep(self, session: Session, rows: Sequence[CacheRow]) -> int:
        """Store those that are not there yet; returns how many these were: what is to be charged."""
        now = clock.now()
        writes = [
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
        result = await self._collection.bulk_write(writes, ordered=False, session=session)
        return result.upserted_count
