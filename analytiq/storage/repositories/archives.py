"""Reader of the rows of an organization's archive, as BSON, batch by batch.

Rows that refer to others are read in one snapshot; the referenced files, texts and vectors are read afterwards: they
never change once referenced, and a retention hold (`backup_holds`) keeps them from deletion. A snapshot alone
would not suffice: the server keeps its history for five minutes only.
"""

import math
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import bson
from bson import CodecOptions, ObjectId
from bson.binary import UuidRepresentation
from pymongo.errors import OperationFailure

from analytiq.errors import NotFoundError, TransientError
from analytiq.storage import catalog
from analytiq.storage.client import MongoConnection, Row
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.session import Session

IDS_PER_QUERY = 500
"""Rows looked up by id in one query."""
CHATS = ("chat_threads", "chat_messages")
PASSAGES_PER_BATCH = 50
"""Rows of answers, which contain every passage shown to their models: about 100 KB each."""
SECRETS = ("access_tokens", "llm_providers", "source_addresses", "webhook_endpoints")
"""Collections that only archives of everything contain."""
SECRETS_OF_SOURCES = ("credentials",)
"""Fields of sources that only archives of everything contain."""
PROMPTS = ("prompts", "prompt_versions", "prompt_results")
RUNS_PER_BATCH = 20
"""A run contains every passage shown to its model: up to 2 MB."""
GENERATIONS_PER_QUERY = 100
FILES_PER_QUERY = 50
ROWS_PER_BATCH = 1000
CHUNKS_PER_BATCH = 16
"""Chunks of a file: just under 4 MB."""
_CODEC: CodecOptions[Row] = CodecOptions(tz_aware=True, uuid_representation=UuidRepresentation.STANDARD)
SNAPSHOT_GONE = (239, 246)
"""SnapshotTooOld and SnapshotUnavailable."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a collection, as concatenated BSON documents. `kb_id` for vectors only."""

    collection: str
    kb_id: str | None
    rows: bytes
    count: int


@dataclass(frozen=True, slots=True)
class KbOfSnapshot:
    """The inputs of the cache keys of a knowledge base in a snapshot."""

    kb_id: str
    embedding_model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class OrganizationName:
    """An organization that can be archived."""

    organization_id: str
    name: str


KeysOf = Callable[[KbOfSnapshot, Sequence[str]], list[str]]
"""(knowledge base, hashes of chunks) → the keys that their embeddings may have in the shared cache."""


class _Ids:
    """Ids with the number of rows that refer to each: 16 bytes apiece, since there may be millions."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._counts = array("I")

    def add(self, value: str, count: int = 1) -> None:
        self._ids += ObjectId(value).binary
        self._counts.append(count)

    def batches(self, size: int) -> Iterator[tuple[list[ObjectId], int]]:
        """Yield batches of ids, each with the number of dependent rows."""
        for start in range(0, len(self._counts), size):
            raw = self._ids[start * 12 : (start + size) * 12]
            ids = [ObjectId(bytes(raw[at : at + 12])) for at in range(0, len(raw), 12)]
            yield ids, sum(self._counts[start : start + size])


@dataclass(slots=True)
class _Named:
    """The ids that the rows of a snapshot refer to."""

    kbs: list[KbOfSnapshot] = field(default_factory=list[KbOfSnapshot])
    files: _Ids = field(default_factory=_Ids)
    chunks: _Ids = field(default_factory=_Ids)
    texts: _Ids = field(default_factory=_Ids)
    generations: dict[str, _Ids] = field(default_factory=dict[str, _Ids])
    vectors: dict[str, _Ids] = field(default_factory=dict[str, _Ids])


class ArchiveSource:
    """The rows of organizations, for archives."""

    def __init__(self, connection: MongoConnection) -> None:
        self._client = connection.client
        self._database = connection.majority
        self.warnings: list[str] = []
        """Warnings about rows that the archive lacks, or may wrongly contain."""

    async def organizations(self) -> list[OrganizationName]:
        """Return every organization, oldest first."""
        cursor = self._database["organizations"].find({}, {"name": 1}).sort("_id", 1)
        return [OrganizationName(str(row["_id"]), str(row["name"])) async for row in cursor]

    async def schema_version(self) -> int:
        """Return the version that the database was migrated to."""
        row: Row | None = await self._database["schema_migrations"].find_one({"_id": "migrations"})
        return int(row["version"]) if row else 0

    async def own_addresses(self) -> list[str]:
        """Return the addresses of providers at custom addresses, of any organization."""
        found: list[Any] = await self._database["llm_providers"].distinct("api_base")
        return sorted({str(address) for address in found if address})

    async def unknown_collections(self) -> list[str]:
        """Return collections that no archive contains, because their rows' owner is undeclared."""
        names = await self._database.list_collection_names()
        return sorted(name for name in names if catalog.find(name) is None and not name.startswith("system."))

    async def of_organization(
        self, organization_id: str, *, is_whole: bool, keys_of: KeysOf
    ) -> AsyncGenerator[Piece, None]:
        """Yield all rows of an organization, section by section; the caller holds a retention hold on it.

        Raises:
            NotFoundError: there is no such organization.
            TransientError: the server no longer keeps the snapshot.
        """
        named = _Named()
        try:
            async with self._client.start_session(snapshot=True) as session:
                async for piece in self._small(organization_id, named, session, is_whole=is_whole):
                    yield piece
        except OperationFailure as error:
            if error.code not in SNAPSHOT_GONE:
                raise
            raise TransientError(
                "Reading the snapshot took longer than MongoDB keeps one; run the backup again when the database is"
                " less busy, or raise minSnapshotHistoryWindowInSeconds.",
                code="snapshot_too_old",
            ) from error
        async for piece in self._files(named):
            yield piece
        async for piece in self._texts(organization_id, named):
            yield piece
        async for piece in self._vectors(organization_id, named):
            yield piece
        async for piece in self._embeddings(organization_id, named, keys_of, is_whole=is_whole):
            yield piece

    async def of_installation(self, organization_ids: Sequence[str]) -> AsyncGenerator[Piece, None]:
        """Yield the rows without an organization: platform providers and embeddings without a known payer."""
        async for piece in self._read("llm_providers", {"organization_id": None}):
            yield piece
        query: Row = {"payer_organization_id": {"$nin": list(organization_ids)}, "scope": "global"}
        async for piece in self._read("embedding_cache", query):
            yield piece

    async def _small(
        self, organization_id: str, named: _Named, session: Session, *, is_whole: bool
    ) -> AsyncGenerator[Piece, None]:
        own: Row = {"organization_id": organization_id}
        is_known = False
        key = object_ids([organization_id])
        async for piece in self._read("organizations", {"_id": {"$in": key}}, session):
            is_known = True
            yield piece
        if not is_known:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        async for piece in self._read("tags", own, session):
            yield piece
        async for piece in self._read("docs", own, session):
            for row in decode_rows(piece.rows):
                named.files.add(row["file_id"])
                if row.get("text_id") is not None:
                    named.texts.add(row["text_id"])
            yield piece
        async for piece in self._files_rows(organization_id, named, session):
            yield piece
        async for piece in self._knowledge_bases(organization_id, named, session):
            yield piece
        async for piece in self._read("sources", own, session, without=() if is_whole else SECRETS_OF_SOURCES):
            yield piece
        secrets = SECRETS if is_whole else ()
        for name in ("spu_ledger", "llm_usage", *PROMPTS, "source_items", *secrets):
            async for piece in self._read(name, own, session):
                yield piece
        for name in CHATS:
            async for piece in self._read(name, own, session, rows_per_batch=PASSAGES_PER_BATCH):
                yield piece
        async for piece in self._read("prompt_runs", own, session, rows_per_batch=RUNS_PER_BATCH):
            yield piece

    async def _files_rows(self, organization_id: str, named: _Named, session: Session) -> AsyncGenerator[Piece, None]:
        for ids, _ in named.files.batches(IDS_PER_QUERY):
            query: Row = {"_id": {"$in": ids}, "metadata.organization_id": organization_id}
            async for piece in self._read("fs.files", query, session):
                for row in decode_rows(piece.rows):
                    named.chunks.add(str(row["_id"]), math.ceil(row["length"] / row["chunkSize"]))
                yield piece

    async def _knowledge_bases(
        self, organization_id: str, named: _Named, session: Session
    ) -> AsyncGenerator[Piece, None]:
        shown: Row = {"organization_id": organization_id, "status": {"$nin": ["deleting", "restoring"]}}
        async for piece in self._read("knowledge_bases", shown, session):
            named.kbs += [_kb(row) for row in decode_rows(piece.rows)]
            yield piece
        keys = [object_id(kb.kb_id) for kb in named.kbs]
        async for piece in self._read("kb_epochs", {"_id": {"$in": keys}}, session):
            yield piece
        for kb in named.kbs:
            named.generations[kb.kb_id] = generations = _Ids()
            query: Row = {"kb_id": kb.kb_id, "organization_id": organization_id}
            async for piece in self._read("document_index", query, session):
                for row in decode_rows(piece.rows):
                    generations.add(row["generation_id"])
                yield piece
        for kb in named.kbs:
            named.vectors[kb.kb_id] = vectors = _Ids()
            for ids, _ in named.generations[kb.kb_id].batches(IDS_PER_QUERY):
                query = {"_id": {"$in": ids}, "organization_id": organization_id}
                async for piece in self._read("generations", query, session):
                    for row in decode_rows(piece.rows):
                        vectors.add(str(row["_id"]), row["chunk_count"])
                    yield piece

    async def _files(self, named: _Named) -> AsyncGenerator[Piece, None]:
        for ids, expected in named.chunks.batches(FILES_PER_QUERY):
            found = 0
            query: Row = {"files_id": {"$in": ids}}
            async for piece in self._read("fs.chunks", query, rows_per_batch=CHUNKS_PER_BATCH):
                found += piece.count
                yield piece
            self._expect("chunks of files", ids, expected, found)

    async def _texts(self, organization_id: str, named: _Named) -> AsyncGenerator[Piece, None]:
        segmented = _Ids()
        for ids, expected in named.texts.batches(IDS_PER_QUERY):
            found = 0
            query: Row = {"_id": {"$in": ids}, "organization_id": organization_id}
            async for piece in self._read("document_texts", query, rows_per_batch=100):
                found += piece.count
                for row in decode_rows(piece.rows):
                    if row["segment_count"]:
                        segmented.add(str(row["_id"]), row["segment_count"])
                yield piece
            self._expect("texts", ids, expected, found)
        for ids, expected in segmented.batches(CHUNKS_PER_BATCH):
            found = 0
            query = {"text_id": {"$in": [str(text_id) for text_id in ids]}, "organization_id": organization_id}
            async for piece in self._read("document_text_segments", query, rows_per_batch=4):
                found += piece.count
                yield piece
            self._expect("segments of texts", ids, expected, found)

    async def _vectors(self, organization_id: str, named: _Named) -> AsyncGenerator[Piece, None]:
        for kb_id, vectors in named.vectors.items():
            for ids, expected in vectors.batches(GENERATIONS_PER_QUERY):
                found = 0
                query: Row = {"generation_id": {"$in": [str(item) for item in ids]}, "organization_id": organization_id}
                async for piece in self._read(collection_name(kb_id), query):
                    found += piece.count
                    yield Piece(piece.collection, kb_id, piece.rows, piece.count)
                self._expect(f"vectors of the knowledge base {kb_id}, of generations", ids, expected, found)

    async def _embeddings(
        self, organization_id: str, named: _Named, keys_of: KeysOf, *, is_whole: bool
    ) -> AsyncGenerator[Piece, None]:
        async for piece in self._read("embedding_cache", {"payer_organization_id": organization_id}):
            yield piece
        elsewhere: Row = {"scope": organization_id, "payer_organization_id": {"$ne": organization_id}}
        async for piece in self._read("embedding_cache", elsewhere):
            yield piece
        for kb in () if is_whole else named.kbs:
            for ids, _ in named.vectors[kb.kb_id].batches(GENERATIONS_PER_QUERY):
                async for piece in self._shared_embeddings(organization_id, kb, ids, keys_of):
                    yield piece

    async def _shared_embeddings(
        self, organization_id: str, kb: KbOfSnapshot, generations: Sequence[ObjectId], keys_of: KeysOf
    ) -> AsyncGenerator[Piece, None]:
        """Yield embeddings of these vectors that others have paid for; the archive does not name the payers."""
        query: Row = {
            "generation_id": {"$in": [str(item) for item in generations]},
            "organization_id": organization_id,
        }
        cursor = self._database[collection_name(kb.kb_id)].find(query, {"_id": 0, "chunk_hash": 1})
        hashes = sorted({str(row["chunk_hash"]) async for row in cursor})
        for start in range(0, len(hashes), ROWS_PER_BATCH):
            keys = keys_of(kb, hashes[start : start + ROWS_PER_BATCH])
            wanted: Row = {
                "_id": {"$in": keys},
                "scope": "global",
                "payer_organization_id": {"$ne": organization_id},
            }
            found = [row async for row in self._database["embedding_cache"].find(wanted)]
            if found:
                rows = b"".join(bson.encode({**row, "payer_organization_id": None}) for row in found)
                yield Piece("embedding_cache", None, rows, len(found))

    async def _read(
        self,
        name: str,
        query: Row,
        session: Session | None = None,
        *,
        rows_per_batch: int = ROWS_PER_BATCH,
        without: Sequence[str] = (),
    ) -> AsyncGenerator[Piece, None]:
        collection = self._database[name]
        if session is not None:
            # A snapshot has a read concern of its own.
            collection = self._client[self._database.name][name]
        fields = dict.fromkeys(without, 0) or None
        cursor = collection.find_raw_batches(query, fields, batch_size=rows_per_batch, session=session)
        async with cursor:
            async for batch in cursor:
                rows = cast("bytes", batch)
                if rows:
                    yield Piece(name, None, rows, count_rows(rows))

    def _expect(self, what: str, ids: Sequence[ObjectId], expected: int, found: int) -> None:
        if found != expected:
            self.warnings.append(f"{found} of {expected} {what} {ids[0]} to {ids[-1]} are there")


def decode_rows(rows: bytes) -> list[Row]:
    """Decode concatenated BSON documents."""
    return bson.decode_all(rows, _CODEC)  # pyright: ignore[reportUnknownMemberType]  # its memoryview has no item type


def count_rows(rows: bytes) -> int:
    """Count the concatenated BSON documents.

    Raises:
        ValueError: their lengths do not add up.
    """
    count = at = 0
    while at < len(rows):
        length = int.from_bytes(rows[at : at + 4], "little")
        if length < 5 or at + length > len(rows):
            raise ValueError("the rows' lengths do not add up")
        at += length
        count += 1
    return count


def _kb(row: Row) -> KbOfSnapshot:
    return KbOfSnapshot(str(row["_id"]), str(row["embedding_model"]), int(row["embedding_dimensions"]))
