"""Collection `document_index`."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from pymongo import IndexModel, ReturnDocument, UpdateOne

from analytiq.models.index_entry import IndexEntry
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, decode
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
}

HOLLOW = "hollow"
"""Configuration hash of an entry with incomplete vectors: it matches no configuration, so a sync rebuilds them."""

_HASHES: Row = {
    "_id": 0, "document_id": 1, "text_hash": 1, "configuration_hash": 1, "context_hash": 1, "skipped_flaws": 1,
    "projection_hash": 1,
}  # fmt: skip


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
