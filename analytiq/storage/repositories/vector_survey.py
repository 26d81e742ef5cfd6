"""A survey of knowledge bases' vectors, from indexes and counters where possible, for the reconciler."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import VECTOR_INDEXES, collection_name, from_bindata


@dataclass(frozen=True, slots=True)
class CollectionState:
    """The state of a knowledge base's collection; without `vectors_uuid` it does not exist."""

    vectors_uuid: str | None
    has_indexes: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of vectors of a generation, with the first and last chunk index."""

    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StoredEmbedding:
    """The hash of a vector's chunk, and its embedding: float32, shape (dimensions,)."""

    chunk_hash: str
    embedding: NDArray[np.float32]


class VectorSurvey:
    """Reads of `kb_vectors_{kb_id}`."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def estimated_count(self, kb_id: str) -> int:
        """Return the server's estimate of the number of vectors, wrong only after a crash of the server."""
        return await self._database[collection_name(kb_id)].estimated_document_count()

    async def exact_count(self, kb_id: str) -> int:
        """Count the vectors by an index, whatever the server's estimate says."""
        return await self._database[collection_name(kb_id)].count_documents({}, hint="_id_")

    async def describe_collection(self, kb_id: str) -> CollectionState:
        """Describe the collection and its indexes."""
        listed = await self._database.list_collections(filter={"name": collection_name(kb_id)})
        rows: list[Row] = [dict(row) async for row in listed]
        if not rows:
            return CollectionState(None, has_indexes=False)
        identifier: Any = rows[0]["info"]["uuid"]
        as_uuid = identifier if isinstance(identifier, uuid.UUID) else uuid.UUID(bytes=bytes(identifier))
        present = await self._database[collection_name(kb_id)].index_information()
        wanted = {str(index.document["name"]) for index in VECTOR_INDEXES}
        return CollectionState(as_uuid.hex, has_indexes=wanted <= set(present))

    async def extents(self, kb_id: str, generation_ids: Collection[str]) -> dict[str, Extent]:
        """Map generation ids to their extents, for those with a vector; covered by an index."""
        cursor = await self._database[collection_name(kb_id)].aggregate(
            [
                {"$match": {"generation_id": {"$in": list(generation_ids)}}},
                {
                    "$group": {
                        "_id": "$generation_id",
                        "count": {"$sum": 1},
                        "first": {"$min": "$chunk_index"},
                        "last": {"$max": "$chunk_index"},
                    }
                },
            ],
            batchSize=len(generation_ids) + 1,
        )
        return {row["_id"]: Extent(row["count"], row["first"], row["last"]) for row in await cursor.to_list()}

    async def generation_ids_after(self, kb_id: str, *, after: str, limit: int) -> list[str]:
        """Return the generations of the next `limit` vectors behind a generation id, in order of id; covered query."""
        query: Row = {"generation_id": {"$gt": after}}
        cursor = self._database[collection_name(kb_id)].find(query, {"_id": 0, "generation_id": 1}, allow_disk_use=True)
        cursor = cursor.sort([("generation_id", 1), ("chunk_index", 1)]).limit(limit)
        return list(dict.fromkeys([str(row["generation_id"]) async for row in cursor]))

    async def documents_of(self, kb_id: str, generation_ids: Collection[str]) -> dict[str, str]:
        """Return the document ids by generation id, from one vector of each; one query for each."""
        found: dict[str, str] = {}
        for generation_id in generation_ids:
            row: Row | None = await self._database[collection_name(kb_id)].find_one(
                {"generation_id": generation_id}, {"document_id": 1}
            )
            if row is not None:
                found[generation_id] = str(row["document_id"])
        return found

    async def chunk_hashes_after(
        self, organization_id: str, kb_id: str, *, after: str, limit: int
    ) -> list[tuple[str, str]]:
        """Return the next vectors behind a key, as (key, chunk hash)."""
        query: Row = {"organization_id": organization_id}
        if after:
            query["_id"] = {"$gt": object_id(after)}
        cursor = self._database[collection_name(kb_id)].find(query, {"chunk_hash": 1}).sort("_id", 1).limit(limit)
        return [(str(row["_id"]), str(row["chunk_hash"])) async for row in cursor]

    async def embeddings(self, organization_id: str, kb_id: str, keys: Collection[str]) -> list[StoredEmbedding]:
        """Return the existing vectors with these keys."""
        query: Row = {"_id": {"$in": object_ids(set(keys))}, "organization_id": organization_id}
        cursor = self._database[collection_name(kb_id)].find(query, {"chunk_hash": 1, "embedding": 1})
        return [StoredEmbedding(str(row["chunk_hash"]), from_bindata(row["embedding"])) async for row in cursor]
