"""Collections `document_index` and `generations`."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pymongo import IndexModel, ReturnDocument, UpdateOne
from pymongo.write_concern import WriteConcern

from analytiq import clock
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

BY_DOCUMENT = {"kb_id": 1, "document_id": 1}
"""The index of a knowledge base's entries in order of document id."""

INDEXES = {
    "document_index": [
        IndexModel(list(BY_DOCUMENT.items()), unique=True),
        IndexModel([("document_id", 1)]),
        IndexModel([("kb_id", 1), ("chunk_count", 1)]),
        IndexModel([("kb_id", 1), ("indexed_at", -1)]),
        IndexModel([("organization_id", 1)]),
    ],
    "generations": [
        IndexModel([("kb_id", 1), ("document_id", 1)]),
        IndexModel([("state", 1), ("updated_at", 1)]),
        IndexModel([("organization_id", 1)]),
    ],
}

HOLLOW = "hollow"
"""Configuration hash of an entry with incomplete vectors: it matches no configuration, so a sync rebuilds them."""

_HASHES: Row = {
    "_id": 0, "document_id": 1, "text_hash": 1, "configuration_hash": 1, "context_hash": 1, "skipped_flaws": 1,
    "projection_hash": 1,
}  # fmt: skip
_LEFT = (GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING)


class EntryRow(NamedTuple):
    """The hashes of an entry, not validated: a million are read in a pass.

    `is_special`: flawed text was left out, or a projection is stored in the chunks.
    """

    document_id: str
    text_hash: str
    configuration_hash: str
    context_hash: str | None
    is_special: bool


class NamedGeneration(NamedTuple):
    """The generation that an entry names, not validated; `chunk_count` is None if it has more than paragraphs."""

    document_id: str
    generation_id: str
    chunk_count: int | None


class IndexEntryRepository:
    """Index entries: the authority on searchable generations."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["document_index"]
        self._majority = connection.majority["document_index"]

    async def get(
        self, organization_id: str, kb_id: str, document_id: str, *, session: Session | None = None
    ) -> IndexEntry | None:
        """Return the entry of a pair of document and knowledge base."""
        row: Row | None = await self._collection.find_one(
            {"kb_id": kb_id, "document_id": document_id, "organization_id": organization_id}, session=session
        )
        return decode(IndexEntry, row) if row else None

    async def put(self, session: Session, entry: IndexEntry) -> IndexEntry | None:
        """Point the pair at a generation; return its previous entry, if any."""
        row = entry.model_dump()
        key = {"kb_id": row.pop("kb_id"), "document_id": row.pop("document_id")}
        before: Row | None = await self._collection.find_one_and_update(
            key, {"$set": row}, upsert=True, return_document=ReturnDocument.BEFORE, session=session
        )
        return decode(IndexEntry, before) if before else None

    async def latest_of(
        self, organization_id: str, kb_id: str, document_ids: Collection[str], *, session: Session | None = None
    ) -> dict[str, IndexEntry]:
        """Return the entries as `get` does, by document id: not at majority, and in a transaction as that has them."""
        query: Row = {
            "kb_id": kb_id,
            "document_id": {"$in": list(document_ids)},
            "organization_id": organization_id,
        }
        cursor = self._collection.find(query, session=session)
        return {str(row["document_id"]): decode(IndexEntry, row) async for row in cursor}

    async def put_many(self, session: Session, entries: Sequence[IndexEntry]) -> dict[str, IndexEntry]:
        """Point pairs of one knowledge base at generations; return their previous entries, by document id."""
        if not entries:
            return {}
        first = entries[0]
        ids = [entry.document_id for entry in entries]
        before = await self.latest_of(first.organization_id, first.kb_id, ids, session=session)
        writes: list[UpdateOne] = []
        for entry in entries:
            row = entry.model_dump()
            key = {"kb_id": row.pop("kb_id"), "document_id": row.pop("document_id")}
            writes.append(UpdateOne(key, {"$set": row}, upsert=True))
        await self._collection.bulk_write(writes, ordered=False, session=session)
        return before

    async def remove(
        self, session: Session, organization_id: str, kb_id: str, document_id: str, generation_id: str
    ) -> bool:
        """Remove the pair's entry, if it still names this generation."""
        result = await self._collection.delete_one(
            {
                "kb_id": kb_id,
                "document_id": document_id,
                "organization_id": organization_id,
                "generation_id": generation_id,
            },
            session=session,
        )
        return result.deleted_count == 1

    async def note_projection(self, entry: IndexEntry, projection_hash: str) -> None:
        """Record the projection stored in the chunks of the entry's generation, if that is still current."""
        await self._collection.update_one(
            {
                "kb_id": entry.kb_id,
                "document_id": entry.document_id,
                "organization_id": entry.organization_id,
                "generation_id": entry.generation_id,
            },
            {"$set": {"projection_hash": projection_hash}},
        )

    async def of_document(self, organization_id: str, document_id: str) -> list[IndexEntry]:
        """Return the entries of a document in all knowledge bases."""
        cursor = self._collection.find({"document_id": document_id, "organization_id": organization_id})
        return [decode(IndexEntry, row) async for row in cursor]

    async def of_documents(
        self, organization_id: str, kb_id: str, document_ids: Collection[str]
    ) -> dict[str, IndexEntry]:
        """Return the entries of one knowledge base by document id; a part of the check of every hit.

        Read at majority, like the epoch: otherwise an entry would name a generation some milliseconds before its
        epoch becomes visible, and searches would miss the document under both.
        """
        cursor = self._majority.find(
            {"kb_id": kb_id, "document_id": {"$in": list(document_ids)}, "organization_id": organization_id}
        )
        entries = [decode(IndexEntry, row) async for row in cursor]
        return {entry.document_id: entry for entry in entries}

    async def in_all_knowledge_bases(self, organization_id: str, document_ids: Collection[str]) -> list[IndexEntry]:
        """Return the entries of several documents in all knowledge bases."""
        query: Row = {"document_id": {"$in": list(document_ids)}, "organization_id": organization_id}
        return [decode(IndexEntry, row) async for row in self._collection.find(query)]

    async def page(self, organization_id: str, kb_id: str, *, skip: int, limit: int) -> tuple[list[IndexEntry], int]:
        """Return a page of a knowledge base's entries, latest first, and the total count."""
        query = {"kb_id": kb_id, "organization_id": organization_id}
        cursor = self._collection.find(query).sort([("indexed_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        entries = [decode(IndexEntry, row) async for row in cursor]
        return entries, await self._collection.count_documents(query)

    async def document_ids(
        self, organization_id: str, kb_id: str, *, batch_size: int = 1000
    ) -> AsyncIterator[list[IndexEntry]]:
        """Yield all entries of a knowledge base in batches, in order of document id; resumes by key range."""
        after = ""
        while True:
            query = {"kb_id": kb_id, "document_id": {"$gt": after}, "organization_id": organization_id}
            cursor = self._collection.find(query).sort("document_id", 1).limit(batch_size)
            entries = [decode(IndexEntry, row) async for row in cursor]
            if not entries:
                return
            yield entries
            after = entries[-1].document_id

    async def statistics(self, kb_id: str, *, document_ids: Collection[str] | None = None) -> tuple[int, int]:
        """Return (documents, chunks) of a knowledge base, or of these documents in it."""
        match: Row = {"kb_id": kb_id}
        if document_ids is not None:
            match["document_id"] = {"$in": list(document_ids)}
        cursor = await self._collection.aggregate(
            [
                {"$match": match},
                {"$group": {"_id": None, "documents": {"$sum": 1}, "chunks": {"$sum": "$chunk_count"}}},
            ]
        )
        rows: list[Row] = [row async for row in cursor]
        return (int(rows[0]["documents"]), int(rows[0]["chunks"])) if rows else (0, 0)

    async def hashes_after(self, organization_id: str, kb_id: str, *, after: str, limit: int) -> list[EntryRow]:
        """Return the hashes of the next entries behind a document id, in order of id."""
        query: Row = {"kb_id": kb_id, "document_id": {"$gt": after}, "organization_id": organization_id}
        cursor = self._majority.find(query, _HASHES, batch_size=limit + 1).sort("document_id", 1).limit(limit)
        return [
            EntryRow(
                row["document_id"],
                row["text_hash"],
                row["configuration_hash"],
                row.get("context_hash"),
                bool(row.get("skipped_flaws")) or row.get("projection_hash") is not None,
            )
            for row in await cursor.to_list()
        ]

    async def generations_after(
        self, organization_id: str, kb_id: str, *, after: str, limit: int
    ) -> list[NamedGeneration]:
        """Return the generations that the next entries behind a document id name, in order of document id."""
        query: Row = {"kb_id": kb_id, "document_id": {"$gt": after}, "organization_id": organization_id}
        fields = {"_id": 0, "document_id": 1, "generation_id": 1, "chunk_count": 1, "chunk_counts": 1}
        cursor = self._majority.find(query, fields, batch_size=limit + 1).sort("document_id", 1).limit(limit)
        return [
            NamedGeneration(
                row["document_id"],
                row["generation_id"],
                None if row.get("chunk_counts") is not None else row["chunk_count"],
            )
            for row in await cursor.to_list()
        ]

    async def indexed_since(self, organization_id: str, kb_id: str, moment: datetime, *, limit: int) -> list[str]:
        """Return the documents of a knowledge base's entries written at `moment` or later."""
        query: Row = {"kb_id": kb_id, "indexed_at": {"$gte": moment}, "organization_id": organization_id}
        cursor = self._majority.find(query, {"_id": 0, "document_id": 1}, batch_size=limit + 1).limit(limit)
        return [row["document_id"] for row in await cursor.to_list()]

    async def mark_hollow(
        self, session: Session, organization_id: str, kb_id: str, document_id: str, generation_id: str
    ) -> bool:
        """Mark the pair's vectors as incomplete, so that the next sync rebuilds them; the rest is found until then.

        Return False if the entry now names another generation.
        """
        result = await self._collection.update_one(
            {
                "kb_id": kb_id,
                "document_id": document_id,
                "organization_id": organization_id,
                "generation_id": generation_id,
            },
            {"$set": {"configuration_hash": HOLLOW}},
            session=session,
        )
        return result.matched_count == 1

    async def delete_of_kb(self, kb_id: str) -> None:
        """Remove all entries of a deleted knowledge base."""
        await self._collection.delete_many({"kb_id": kb_id})


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
