"""The texts of collections `kb_vectors_{kb_id}`, as the keyword index reads them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import bson
from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode
from analytiq.storage.repositories.vectors import collection_name

BATCH_ROWS = 1000
_FIELDS = ("generation_id", "chunk_index", "first_page", "last_page", "chunk_text")


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk of an indexed generation, without its embedding."""

    generation_id: str
    document_id: str
    chunk_index: int
    first_page: int
    last_page: int
    text: str


class TextsAt:
    """A consistent reading at one epoch, for the snapshot's lifetime: `minSnapshotHistoryWindowInSeconds`, 5 min."""

    def __init__(self, epoch: Epoch, read: "_Reading") -> None:
        self.epoch = epoch
        self._read = read

    async def changes(self, *, after: int) -> list[IndexChange]:
        """Return the changes of the commits after epoch `after`, in order; the reader must detect gaps."""
        return await self._read.changes(after)

    def texts(self, generation_ids: Collection[str] | None) -> AsyncIterator[list[ChunkText]]:
        """Yield the chunks of these currently indexed generations, None: of all, in batches."""
        return self._read.texts(generation_ids)


class _Reading:
    def __init__(
        self, connection: MongoConnection, session: AsyncClientSession, organization_id: str, kb_id: str
    ) -> None:
        self._database = connection.database
        self._session = session
        self._organization_id = organization_id
        self._kb_id = kb_id

    async def epoch(self) -> Epoch | None:
        key = {"_id": object_id(self._kb_id)}
        row: Row | None = await self._database["kb_epochs"].find_one(key, session=self._session)
        return None if row is None else Epoch(kb_id=self._kb_id, epoch=row["epoch"], commit_id=row["commit_id"])

    async def changes(self, after: int) -> list[IndexChange]:
        query: Row = {"kb_id": self._kb_id, "epoch": {"$gt": after}}
        cursor = self._database["kb_changes"].find(query, session=self._session)
        return [decode(IndexChange, {**row, "_id": str(row["_id"])}) async for row in cursor.sort("epoch", 1)]

    async def texts(self, generation_ids: Collection[str] | None) -> AsyncIterator[list[ChunkText]]:
        document_of = await self._documents_of(generation_ids)
        if not document_of:
            return
        query: Row = {"organization_id": self._organization_id}
        if generation_ids is not None:
            query["generation_id"] = {"$in": list(document_of)}
        cursor = self._database[collection_name(self._kb_id)].find_raw_batches(
            query, {"_id": 0, **dict.fromkeys(_FIELDS, 1)}, session=self._session, batch_size=BATCH_ROWS
        )
        async for batch in cursor:
            # Decoding a megabyte takes some milliseconds, which would block the event loop.
            chunks = await asyncio.to_thread(_chunks_in, cast("bytes", batch), document_of)
            if chunks:
                yield chunks

    async def _documents_of(self, generation_ids: Collection[str] | None) -> dict[str, str]:
        query: Row = {"kb_id": self._kb_id, "organization_id": self._organization_id}
        if generation_ids is not None:
            query["generation_id"] = {"$in": list(generation_ids)}
        cursor = self._database["document_index"].find(
            query, {"generation_id": 1, "document_id": 1}, session=self._session
        )
        return {str(row["generation_id"]): str(row["document_id"]) async for row in cursor}


class ChunkTextRepository:
    """Reads texts of chunks in snapshots."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def reading(self, organization_id: str, kb_id: str) -> AsyncGenerator[TextsAt | None]:
        """Return a consistent reading of the current index; None if the knowledge base is gone."""
        async with self._connection.client.start_session(snapshot=True) as session:
            reading = _Reading(self._connection, session, organization_id, kb_id)
            epoch = await reading.epoch()
            yield None if epoch is None else TextsAt(epoch, reading)

    async def existing(self, kb_ids: Sequence[str]) -> set[str]:
        """Return the ids of knowledge bases not being deleted, of any organization."""
        query: Row = {"_id": {"$in": object_ids(set(kb_ids))}}
        return {str(row["_id"]) async for row in self._connection.majority["kb_epochs"].find(query, {"_id": 1})}


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
    )
