"""Currently indexed chunks, by document and number, one page at a time."""

from dataclasses import dataclass
from typing import Any

from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq.models.index_types import ChunkCounts
from analytiq.models.vector import Passage
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.index_entries import BY_DOCUMENT
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import collection_name, passage_of


@dataclass(frozen=True, slots=True)
class _Part:
    """The chunks with the indexes [first, stop) of a generation."""

    generation_id: str
    first: int
    stop: int


class ChunkPageRepository:
    """Reads index entries and chunks in one snapshot: a document swapped meanwhile appears in one version only."""

    def __init__(self, connection: MongoConnection) -> None:
        self._client = connection.client
        self._database = connection.database

    async def page(
        self, organization_id: str, kb_id: str, *, document_id: str | None, skip: int, limit: int
    ) -> tuple[list[Passage], int]:
        """Return a page of chunks in order of document id, index type and chunk number, and the total count."""
        match: Row = {"kb_id": kb_id, "organization_id": organization_id}
        if document_id is not None:
            match["document_id"] = document_id
        async with self._client.start_session(snapshot=True) as session:
            if document_id is None:
                total = await self._counted(organization_id, kb_id, session)
            else:
                total = await self._total(match, session)
            parts = await self._parts(match, skip, limit, session) if skip < total else []
            return await self._passages(organization_id, kb_id, parts, session), total

    async def _counted(self, organization_id: str, kb_id: str, session: AsyncClientSession) -> int:
        """Return the number of chunks of a knowledge base, from its row if up to date.

        While documents come and go, sum over its entries, from the index alone.
        """
        key = object_id(kb_id)
        row: Row | None = await self._database["knowledge_bases"].find_one(
            {"_id": key, "organization_id": organization_id}, {"chunk_count": 1, "counted_epoch": 1}, session=session
        )
        if row is None:
            return 0
        epoch: Row | None = await self._database["kb_epochs"].find_one({"_id": key}, {"epoch": 1}, session=session)
        if epoch is not None and row.get("counted_epoch") == epoch["epoch"]:
            return int(row["chunk_count"])
        # Its id alone, checked a moment ago to be the organization's: the index of counts has no more.
        return await self._total({"kb_id": kb_id}, session)

    async def _total(self, match: Row, session: AsyncClientSession) -> int:
        group: Row = {"$group": {"_id": None, "chunks": {"$sum": "$chunk_count"}}}
        cursor = await self._database["document_index"].aggregate([{"$match": match}, group], session=session)
        rows: list[Row] = [row async for row in cursor]
        return int(rows[0]["chunks"]) if rows else 0

    async def _parts(self, match: Row, skip: int, limit: int, session: AsyncClientSession) -> list[_Part]:
        """Return the parts of generations on the page; entries count the chunks before each."""
        running: Row = {"$sum": "$chunk_count", "window": {"documents": ["unbounded", "current"]}}
        pipeline: list[Row] = [
            {"$match": match},
            {"$setWindowFields": {"sortBy": {"document_id": 1}, "output": {"until": running}}},
            {"$match": {"chunk_count": {"$gt": 0}, "until": {"$gt": skip}}},
            # Each of these has a chunk on the page, or comes after it.
            {"$limit": limit},
            {"$project": {"generation_id": 1, "chunk_count": 1, "chunk_counts": 1, "until": 1}},
        ]
        # This index's order avoids a sort.
        cursor = await self._database["document_index"].aggregate(pipeline, session=session, hint=BY_DOCUMENT)
        parts: list[_Part] = []
        async for row in cursor:
            stop_of_document, count = int(row["until"]), int(row["chunk_count"])
            start_of_document = stop_of_document - count
            if start_of_document >= skip + limit:
                break
            counts = ChunkCounts.of(count, row.get("chunk_counts"))
            slices = counts.slices(skip - start_of_document, skip + limit - start_of_document)
            parts += [_Part(str(row["generation_id"]), indexes.start, indexes.stop) for indexes in slices]
        return parts

    async def _passages(
        self, organization_id: str, kb_id: str, parts: list[_Part], session: AsyncClientSession
    ) -> list[Passage]:
        if not parts:
            return []
        query: Row = {
            "$or": [
                {"generation_id": part.generation_id, "chunk_index": {"$gte": part.first, "$lt": part.stop}}
                for part in parts
            ],
            "organization_id": organization_id,
        }
        hidden = {"embedding": 0, "metadata_snapshot": 0, "chunk_hash": 0}
        cursor: Any = self._database[collection_name(kb_id)].find(query, hidden, session=session)
        place = {part.generation_id: at for at, part in enumerate(parts)}
        found = [passage_of(row) async for row in cursor]
        return sorted(found, key=lambda passage: (place[passage.generation_id], passage.chunk_index))
