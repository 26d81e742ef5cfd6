"""Collections `embedding_cache` and `spu_ledger`, written together: a charge is made when an embedding is kept."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from pymongo import IndexModel, UpdateOne

from analytiq import clock
from analytiq.models.usage import Operation, SpuCharge, UsageTotal
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.rows import Row
from analytiq.mongo.repositories.vectors import from_bindata, to_bindata
from analytiq.mongo.session import Session

INDEXES = {
    "embedding_cache": [
        IndexModel([("last_used_at", 1)]),
        IndexModel([("payer_organization_id", 1), ("embedding_model", 1)]),
        # Scopes of organizations, whose ids are hex digits; not "global", which most rows have.
        IndexModel([("scope", 1)], partialFilterExpression={"scope": {"$lt": "g"}}),
    ],
    "spu_ledger": [
        IndexModel([("organization_id", 1), ("charged_at", -1)]),
        IndexModel([("organization_id", 1), ("kb_id", 1), ("operation", 1)]),
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


class LedgerRepository:
    """SPU charges; rows are added, never changed."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["spu_ledger"]

    async def add(self, session: Session, charge: SpuCharge) -> None:
        """Charge."""
        await self._collection.insert_one(charge.model_dump(), session=session)

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
        cursor = await self._collection.aggregate(
            [{"$match": match}, {"$group": {"_id": group, "spus": {"$sum": "$spus"}}}, {"$sort": {"_id": 1}}]
        )
        return [UsageTotal.model_validate({**row["_id"], "spus": row["spus"]}) async for row in cursor]
