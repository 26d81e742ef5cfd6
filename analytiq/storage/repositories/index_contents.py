"""The indexed contents of a knowledge base at one version: the change log and the rows of `kb_vectors_{kb_id}`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, cast

import bson
from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch
from analytiq.models.vector import GenerationVectors
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.repositories.vector_batches import REPLICATED, generations_in
from analytiq.storage.repositories.vectors import collection_name

BATCH_ROWS = 1000
"""Of vectors 1.6 MB at 384 dimensions, 6 MB at 1536: the event loop takes a batch in within some milliseconds."""
ENTRIES_AT_ONCE = 500
"""A batch is decoded in one go, about 2 ms, in which the event loop does nothing else."""
_TEXT_FIELDS = ("generation_id", "chunk_index", "first_page", "last_page", "chunk_text", "context")


@dataclass(frozen=True, slots=True)
class IndexedGeneration:
    """The index entry of a document at one moment."""

    generation_id: str
    document_id: str
    chunk_count: int


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk of an indexed generation, without its embedding."""

    generation_id: str
    document_id: str
    chunk_index: int
    first_page: int
    last_page: int
    text: str
    context: str = ""


class VectorSink(Protocol):
    """A receiver of vectors in parts, so that memory never holds all vectors twice."""

    def expect(self, rows: int) -> None:
        """Prepare for a number of rows, as far as the index entries tell."""
        ...

    async def receive(self, parts: Sequence[GenerationVectors]) -> None:
        """Take some rows; a generation may come in several parts."""
        ...


class IndexReading:
    """A consistent reading, good while the snapshot is: `minSnapshotHistoryWindowInSeconds`, 5 min.

    `generation_ids` restricts a method to those that are indexed now; None stands for all.
    """

    def __init__(
        self, connection: MongoConnection, session: AsyncClientSession, organization_id: str, epoch: Epoch
    ) -> None:
        self.epoch = epoch
        self._database = connection.database
        self._session = session
        self._organization_id = organization_id
        self._kb_id = epoch.kb_id

    async def changes(self, *, after: int) -> list[IndexChange]:
        """Return the changes of the commits after epoch `after`, in order; the reader must detect gaps."""
        query: Row = {"kb_id": self._kb_id, "epoch": {"$gt": after}}
        cursor = self._database["kb_changes"].find(query, session=self._session, batch_size=ENTRIES_AT_ONCE)
        return [decode(IndexChange, {**row, "_id": str(row["_id"])}) async for row in cursor.sort("epoch", 1)]

    async def texts(self, generation_ids: Collection[str] | None) -> AsyncIterator[list[ChunkText]]:
        """Yield the chunks of the generations, in batches."""
        document_of = _documents_of(await self._indexed(generation_ids))
        async for batch in self._batches(document_of, generation_ids, _TEXT_FIELDS):
            # Decoding a megabyte takes some milliseconds, in which nobody else should wait.
            chunks = await asyncio.to_thread(_chunks_in, batch, document_of)
            if chunks:
                yield chunks

    async def vectors(self, generation_ids: Collection[str] | None, sink: VectorSink) -> list[IndexedGeneration]:
        """Hand the vectors of the generations to the sink, and return their entries."""
        indexed = await self._indexed(generation_ids)
        if indexed:
            sink.expect(sum(entry.chunk_count for entry in indexed))
        document_of = await asyncio.to_thread(_documents_of, indexed)
        async for batch in self._batches(document_of, generation_ids, REPLICATED):
            # Even a quick look at a megabyte is more than the event loop should wait for.
            parts = await asyncio.to_thread(generations_in, batch, document_of)
            if parts:
                await sink.receive(parts)
        return indexed

    async def _batches(
        self, document_of: Mapping[str, str], generation_ids: Collection[str] | None, fields: Sequence[str]
    ) -> AsyncIterator[bytes]:
        """Read rows by the ids of their generations, or (None) by going through all that there are."""
        if not document_of:
            return
        query: Row = {"organization_id": self._organization_id}
        if generation_ids is not None:
            query["generation_id"] = {"$in": list(document_of)}
        cursor = self._database[collection_name(self._kb_id)].find_raw_batches(
            query, {"_id": 0, **dict.fromkeys(fields, 1)}, session=self._session, batch_size=BATCH_ROWS
        )
        async for batch in cursor:
            yield cast("bytes", batch)

    async def _indexed(self, generation_ids: Collection[str] | None) -> list[IndexedGeneration]:
        query: Row = {"kb_id": self._kb_id, "organization_id": self._organization_id}
        if generation_ids is not None:
            if not generation_ids:
                return []
            query["generation_id"] = {"$in": list(generation_ids)}
        cursor = self._database["document_index"].find(
            query, {"generation_id": 1, "document_id": 1, "chunk_count": 1}, session=self._session
        )
        return [
            IndexedGeneration(str(row["generation_id"]), str(row["document_id"]), int(row["chunk_count"]))
            async for row in cursor.batch_size(ENTRIES_AT_ONCE)
        ]


class IndexContentRepository:
    """Reads indexed contents in snapshots."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def reading(self, organization_id: str, kb_id: str) -> AsyncGenerator[IndexReading | None]:
        """Return a consistent reading of what is indexed now; None where the knowledge base is gone."""
        async with self._connection.client.start_session(snapshot=True) as session:
            epochs = self._connection.database["kb_epochs"]
            row: Row | None = await epochs.find_one({"_id": object_id(kb_id)}, session=session)
            if row is None:
                yield None
            else:
                epoch = Epoch(kb_id=kb_id, epoch=row["epoch"], commit_id=row["commit_id"])
                yield IndexReading(self._connection, session, organization_id, epoch)

    async def existing(self, kb_ids: Collection[str]) -> set[str]:
        """Return the ids of knowledge bases not being deleted, of any organization."""
        query: Row = {"_id": {"$in": object_ids(set(kb_ids))}}
        return {str(row["_id"]) async for row in self._connection.majority["kb_epochs"].find(query, {"_id": 1})}


def _documents_of(indexed: Sequence[IndexedGeneration]) -> dict[str, str]:
    return {entry.generation_id: entry.document_id for entry in indexed}


def _chunks_in(batch: bytes, document_of: Mapping[str, str]) -> list[ChunkText]:
    rows: list[Row] = bson.decode_all(batch)  # pyright: ignore[reportUnknownMemberType] pymongo's overloads
    return [_chunk(row, document_of) for row in rows if row["generation_id"] in document_of]


def _chunk(row: Row, document_of: Mapping[str, str]) -> ChunkText:
    generation_id = str(row["generation_id"])
    return ChunkText(
        generation_id=generation_id,
        document_id=document_of[generation_id],
        chunk_index=int(row["chunk_index"]),
        first_page=int(row["first_page"]),
        last_page=int(row["last_page"]),
        text=str(row["chunk_text"]),
        context=str(row.get("context", "")),
    )
