"""Collection `generations`."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from pymongo import IndexModel
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "generations": [
        IndexModel([("kb_id", 1), ("document_id", 1)]),
        IndexModel([("state", 1), ("updated_at", 1)]),
        IndexModel([("organization_id", 1)]),
    ],
}

_LEFT = (GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING)


class GenerationRepository:
    """Complete sets of a document's vectors, with the state of each."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["generations"]
        self._majority = connection.majority["generations"]
        self._by_primary = self._collection.with_options(write_concern=WriteConcern(w=1))

    async def insert(self, generation: Generation) -> None:
        """Register a generation before its first vector is staged.

        The write does not wait for a majority, because the vectors follow it in the oplog and do wait. A generation
        that a failover loses in between cannot be committed.
        """
        await self._by_primary.insert_one(encode(generation))

    async def get(self, organization_id: str, generation_id: str) -> Generation | None:
        """Return the generation with this id."""
        row: Row | None = await self._collection.find_one(
            {"_id": object_id(generation_id), "organization_id": organization_id}
        )
        return decode(Generation, row) if row else None

    async def move(
        self,
        organization_id: str,
        generation_id: str,
        *,
        from_states: Collection[GenerationState],
        to_state: GenerationState,
        chunk_count: int | None = None,
        session: Session | None = None,
    ) -> bool:
        """Change its state; return False if it is gone or in none of `from_states`."""
        changes: Row = {"state": to_state.value, "updated_at": clock.now()}
        if chunk_count is not None:
            changes["chunk_count"] = chunk_count
        result = await self._collection.update_one(
            {
                "_id": object_id(generation_id),
                "organization_id": organization_id,
                "state": {"$in": [state.value for state in from_states]},
            },
            {"$set": changes},
            session=session,
        )
        return result.matched_count == 1

    async def insert_many(self, generations: Sequence[Generation]) -> None:
        """Register generations as `insert` does, in one command."""
        if generations:
            await self._by_primary.insert_many([encode(generation) for generation in generations], ordered=False)

    async def move_many(
        self,
        session: Session,
        organization_id: str,
        generation_ids: Collection[str],
        *,
        from_state: GenerationState,
        to_state: GenerationState,
    ) -> int:
        """Change the state of those that are in `from_state`; return their number."""
        if not generation_ids:
            return 0
        query: Row = {
            "_id": {"$in": object_ids(set(generation_ids))},
            "organization_id": organization_id,
            "state": from_state.value,
        }
        changes: Row = {"state": to_state.value, "updated_at": clock.now()}
        return (await self._collection.update_many(query, {"$set": changes}, session=session)).matched_count

    async def in_state(
        self, session: Session, organization_id: str, generation_ids: Collection[str], state: GenerationState
    ) -> set[str]:
        """Return those of the generations that are in this state, as the transaction has them."""
        query: Row = {
            "_id": {"$in": object_ids(set(generation_ids))},
            "organization_id": organization_id,
            "state": state.value,
        }
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1}, session=session)}

    async def of_pairs(
        self,
        organization_id: str,
        kb_id: str,
        document_ids: Collection[str],
        states: Collection[GenerationState],
    ) -> list[Generation]:
        """Return the generations in these states of the knowledge base's pairs with these documents."""
        query: Row = {
            "kb_id": kb_id,
            "document_id": {"$in": list(document_ids)},
            "organization_id": organization_id,
            "state": {"$in": [state.value for state in states]},
        }
        return [decode(Generation, row) async for row in self._collection.find(query)]

    async def begin_purge(self, organization_id: str, generation_ids: Collection[str]) -> set[str]:
        """Mark those of the generations that no search reads as being deleted; return the others, which must stay."""
        query: Row = {"_id": {"$in": object_ids(set(generation_ids))}, "organization_id": organization_id}
        unread = [GenerationState.STAGING.value, GenerationState.SUPERSEDED.value, GenerationState.PURGING.value]
        changes: Row = {"state": GenerationState.PURGING.value, "updated_at": clock.now()}
        await self._collection.update_many({**query, "state": {"$in": unread}}, {"$set": changes})
        kept = self._collection.find({**query, "state": {"$ne": GenerationState.PURGING.value}}, {"_id": 1})
        return {str(row["_id"]) async for row in kept}

    async def delete(self, organization_id: str, generation_id: str) -> None:
        """Remove the row, once its vectors are gone."""
        await self._collection.delete_one({"_id": object_id(generation_id), "organization_id": organization_id})

    async def delete_many(self, organization_id: str, generation_ids: Collection[str]) -> None:
        """Remove the rows, once their vectors are gone."""
        query: Row = {"_id": {"$in": object_ids(set(generation_ids))}, "organization_id": organization_id}
        await self._collection.delete_many(query)

    async def of_pair(
        self, organization_id: str, kb_id: str, document_id: str, states: Collection[GenerationState]
    ) -> list[Generation]:
        """Return the pair's generations in these states."""
        cursor = self._collection.find(
            {
                "kb_id": kb_id,
                "document_id": document_id,
                "organization_id": organization_id,
                "state": {"$in": [state.value for state in states]},
            }
        )
        return [decode(Generation, row) async for row in cursor]

    async def left_since(
        self,
        states: Collection[GenerationState],
        moment: datetime,
        *,
        limit: int,
        organization_id: str | None = None,
        kb_id: str | None = None,
    ) -> list[Generation]:
        """Return generations in one of the states since before `moment`, of all organizations or as narrowed."""
        query: Row = {"state": {"$in": [state.value for state in states]}, "updated_at": {"$lt": moment}}
        if organization_id is not None:
            query["organization_id"] = organization_id
        if kb_id is not None:
            query["kb_id"] = kb_id
        return [decode(Generation, row) async for row in self._collection.find(query).limit(limit)]

    async def chunks_not_current(self, kb_id: str) -> int:
        """Count the vectors of the knowledge base's generations that are not current, up to a limit.

        All knowledge bases together have few such generations, so their index by state finds them.
        """
        cursor = await self._collection.aggregate(
            [
                {"$match": {"state": {"$in": [state.value for state in _LEFT]}, "kb_id": kb_id}},
                {"$group": {"_id": None, "chunks": {"$sum": "$chunk_count"}}},
            ]
        )
        rows: list[Row] = [row async for row in cursor]
        return int(rows[0]["chunks"]) if rows else 0

    async def current_after(self, organization_id: str, kb_id: str, *, after: str, limit: int) -> list[tuple[str, str]]:
        """Return the next current generations behind a document id, as (document id, id), in order of document id."""
        query: Row = {
            "kb_id": kb_id,
            "document_id": {"$gt": after},
            "organization_id": organization_id,
            "state": GenerationState.CURRENT.value,
        }
        cursor = self._majority.find(query, {"document_id": 1}, batch_size=limit + 1).sort("document_id", 1)
        return [(row["document_id"], str(row["_id"])) for row in await cursor.limit(limit).to_list()]

    async def current_of_documents(
        self, organization_id: str, kb_id: str, document_ids: Collection[str]
    ) -> list[Generation]:
        """Return all current generations of these documents."""
        query: Row = {
            "kb_id": kb_id,
            "document_id": {"$in": list(document_ids)},
            "organization_id": organization_id,
            "state": GenerationState.CURRENT.value,
        }
        return [decode(Generation, row) async for row in self._majority.find(query)]

    async def of_ids(self, organization_id: str, generation_ids: Collection[str]) -> dict[str, Generation]:
        """Return the existing rows by generation id."""
        query: Row = {"_id": {"$in": object_ids(set(generation_ids))}, "organization_id": organization_id}
        return {str(row["_id"]): decode(Generation, row) async for row in self._majority.find(query)}

    async def register(self, session: Session, entry: IndexEntry) -> None:
        """Restore the missing row of a generation that an entry names."""
        row: Row = {
            "organization_id": entry.organization_id,
            "kb_id": entry.kb_id,
            "document_id": entry.document_id,
            "state": GenerationState.CURRENT.value,
            "chunk_count": entry.chunk_count,
            "chunk_counts": entry.chunk_counts,
            "lease_token": "",
            "created_at": entry.indexed_at,
            "updated_at": clock.now(),
        }
        await self._collection.update_one(
            {"_id": object_id(entry.generation_id)}, {"$setOnInsert": row}, upsert=True, session=session
        )

    async def known(self, kb_id: str, generation_ids: Collection[str]) -> set[str]:
        """Return the ids among these that have a row."""
        query: Row = {"_id": {"$in": object_ids(set(generation_ids))}, "kb_id": kb_id}
        return {str(row["_id"]) async for row in self._collection.find(query, {"_id": 1})}

    async def delete_of_kb(self, kb_id: str) -> None:
        """Remove all rows of a deleted knowledge base."""
        query: dict[str, Any] = {"kb_id": kb_id}
        await self._collection.delete_many(query)
