"""File bytes in GridFS's own format, written by a writer of this module.

pymongo's GridFS cannot be used for uploads: it takes no part in a transaction, buffers 48 MB for each
upload, and leaves chunks behind when it is abandoned. This writer flushes every 4 MB, hashes
and counts on the way, and writes chunks only; the row in `fs.files`, which makes them a file, is inserted by
the caller's transaction together with the other rows of the upload. The content of the two collections
is plain GridFS, so mongofiles and every driver can read it.

Chunks without a row are invisible. The caller of `write` holds a lease on the file id until that transaction
has committed; if the lease expires, `delete_unfinished` removes the chunks.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from bson import ObjectId
from pymongo import IndexModel
from pymongo.errors import BulkWriteError, PyMongoError

from analytiq import clock
from analytiq.errors import (
    ConflictError,
    CorruptFileError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    TransientError,
)
from analytiq.storage.client import MongoConnection, Row, translated
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.session import Session

CHUNK_BYTES = 255 * 1024
"""GridFS's default."""
CHUNKS_PER_FLUSH = 16
"""Just under 4 MB: one round trip for the most that an upload may hold in memory."""
CHUNKS_PER_FETCH = 16
DUPLICATE_KEY = 11000

INDEXES = {
    "fs.files": [
        IndexModel([("filename", 1), ("uploadDate", 1)]),
        IndexModel([("metadata.document_id", 1)]),
        IndexModel([("metadata.organization_id", 1)]),
    ],
    "fs.chunks": [IndexModel([("files_id", 1), ("n", 1)], unique=True)],
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """The SHA-256 (64 hex digits) and the length in bytes of written content."""

    sha256: str
    byte_size: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A finished file, without its bytes."""

    file_id: str
    filename: str
    byte_size: int
    content_type: str
    sha256: str
    document_id: str
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file of at most `CHUNK_BYTES`, to be stored with its document."""

    file_id: str
    filename: str
    stored: StoredBytes
    organization_id: str
    document_id: str
    content_type: str
    content: bytes


class FileStore:
    """The bytes of uploaded files of all organizations."""

    def __init__(self, connection: MongoConnection) -> None:
        self._files = connection.database["fs.files"]
        self._chunks = connection.database["fs.chunks"]

    async def write(self, file_id: str, source: AsyncIterator[bytes], max_bytes: int) -> StoredBytes:
        """Write the chunks of a new file; at most about 4 MB are in memory at a time.

        Whatever the failure (the source raises, the file is too large, the task is cancelled), the written chunks
        are removed before the error propagates, unless the database no longer answers.

        Args:
            file_id: a fresh id, leased by the caller.
            source: the bytes, in blocks of any length.
            max_bytes: size limit of the file.

        Raises:
            LimitExceededError: the source exceeds `max_bytes`.
            ConflictError: another call writes, or wrote, under this id; its chunks stay.
            TransientError: the database does not answer.
        """
        writing = _Writing(object_id(file_id, what="file"), max_bytes)
        try:
            async for block in source:
                for batch in writing.add(block):
                    await self._insert(batch)
            if last := writing.finish():
                await self._insert(last)
        except BaseException as error:
            await self._take_back(writing.chunk_ids, error)
            raise
        return StoredBytes(writing.sha256, writing.byte_size)

    async def insert_content(self, session: Session, file_id: str, content: bytes) -> None:
        """Write the chunks of a small file within the caller's transaction, under a fresh id; at most about 4 MB."""
        writing = _Writing(object_id(file_id, what="file"), max_bytes=CHUNK_BYTES * CHUNKS_PER_FLUSH)
        batches = [*writing.add(content), writing.finish()]
        chunks = [chunk for batch in batches for chunk in batch]
        if chunks:
            await self._chunks.insert_many(chunks, session=session)

    async def insert_files(self, session: Session, files: Sequence[NewFile]) -> None:
        """Write small files under fresh ids within the caller's transaction, in two commands."""
        chunks: list[Row] = [
            {"_id": ObjectId(), "files_id": object_id(file.file_id, what="file"), "n": 0, "data": file.content}
            for file in files
            if file.content
        ]
        if chunks:
            await self._chunks.insert_many(chunks, session=session)
        rows: list[Row] = [
            {
                "_id": object_id(file.file_id, what="file"),
                **_files_row(file.filename, file.stored, file.organization_id, file.document_id, file.content_type),
            }
            for file in files
        ]
        await self._files.insert_many(rows, session=session)

    async def insert_files_row(
        self,
        session: Session,
        *,
        file_id: str,
        filename: str,
        stored: StoredBytes,
        organization_id: str,
        document_id: str,
        content_type: str,
    ) -> None:
        """Insert the row that makes written chunks a file, within the caller's transaction; idempotent."""
        row = _files_row(filename, stored, organization_id, document_id, content_type)
        # An insert that collides would end the transaction.
        key = {"_id": object_id(file_id, what="file")}
        await self._files.update_one(key, {"$setOnInsert": row}, upsert=True, session=session)

    async def describe(self, organization_id: str, file_id: str) -> StoredFile:
        """Return the metadata of a file.

        Raises:
            NotFoundError: the organization has no such file.
        """
        row = await self._row(organization_id, file_id)
        metadata = row["metadata"]
        return StoredFile(
            file_id=file_id,
            filename=row["filename"],
            byte_size=row["length"],
            content_type=metadata["content_type"],
            sha256=metadata["sha256"],
            document_id=metadata["document_id"],
            uploaded_at=row["uploadDate"],
        )

    async def read(
        self, organization_id: str, file_id: str, *, start: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a file in order, in blocks of at most 255 KiB; about 8 MB are in memory at a time.

        Args:
            organization_id: the owner.
            file_id: a finished file.
            start: offset of the first byte, counted from 0; at most the file's length.
            length: the number of bytes; fewer if the file ends before. None: all that follow.

        Raises:
            NotFoundError: the organization has no such file.
            InvalidInputError: the range does not begin within the file.
            CorruptFileError: a chunk is missing or has the wrong length; no byte after the gap is returned.
            TransientError: the database does not answer.
        """
        row = await self._row(organization_id, file_id)
        byte_size: int = row["length"]
        if not 0 <= start <= byte_size or (length is not None and length < 0):
            raise InvalidInputError.of_field(
                "range",
                f"The range begins at byte {start} of a file of {byte_size} bytes. Request a range within the file.",
            )
        end = byte_size if length is None else min(byte_size, start + length)
        if start < end:
            async with aclosing(self._read_range(row, start, end)) as blocks:
                async for block in blocks:
                    yield block

    async def read_small(self, organization_id: str, file_ids: Collection[str]) -> dict[str, bytes]:
        """Return the contents of the organization's files of one chunk each, by id, in two commands.

        Files of more chunks, unknown and damaged ones are missing: `read` says what is wrong.
        """
        query = {"_id": {"$in": object_ids(list(file_ids))}, "metadata.organization_id": organization_id}
        with translated():
            rows = {row["_id"]: row async for row in self._files.find(query)}
            chunks = self._chunks.find({"files_id": {"$in": list(rows)}, "n": 0}, {"files_id": 1, "data": 1})
            found = {chunk["files_id"]: bytes(chunk["data"]) async for chunk in chunks}
        return {str(key): data for key, data in found.items() if len(data) == rows[key]["length"]}

    async def ids_of_document(self, organization_id: str, document_id: str) -> list[str]:
        """Return the ids of all stored files of a document, past versions included."""
        query = {"metadata.document_id": document_id, "metadata.organization_id": organization_id}
        with translated():
            return [str(row["_id"]) async for row in self._files.find(query, {"_id": 1})]

    async def delete(self, organization_id: str, file_ids: Sequence[str]) -> int:
        """Delete the organization's files among these; return their number.

        Chunks are deleted before the rows, so that the same call finishes the work after a crash in between.
        """
        query = {"_id": {"$in": object_ids(list(file_ids))}, "metadata.organization_id": organization_id}
        with translated():
            owned = [row["_id"] async for row in self._files.find(query, {"_id": 1})]
            if not owned:
                return 0
            await self._chunks.delete_many({"files_id": {"$in": owned}})
            result = await self._files.delete_many({"_id": {"$in": owned}})
        return result.deleted_count

    async def delete_unfinished(self, file_id: str) -> int:
        """Delete the chunks of an abandoned upload; return their number. A finished file stays.

        First end the upload's lease, so that its transaction can no longer commit.
        """
        key = object_id(file_id, what="file")
        with translated():
            if await self._files.find_one({"_id": key}, {"_id": 1}) is not None:
                return 0
            result = await self._chunks.delete_many({"files_id": key})
        return result.deleted_count

    async def _insert(self, batch: list[Row]) -> None:
        # A cancelled driver call leaves the server at work: the chunks could arrive after their removal.
        await _to_the_end(self._insert_chunks(batch))

    async def _insert_chunks(self, batch: list[Row]) -> None:
        try:
            with translated():
                await self._chunks.insert_many(batch, ordered=False)
        except BulkWriteError as error:
            if not _are_duplicates(error):
                raise
            raise ConflictError(
                f"Chunks of the file {batch[0]['files_id']} already exist: another upload has its id."
                " Upload again under a fresh id."
            ) from error

    async def _take_back(self, chunk_ids: Sequence[ObjectId], reason: BaseException) -> None:
        """Remove chunks by their own ids, since another writer's chunks may have the same file id."""
        if not chunk_ids:
            return
        try:
            await _to_the_end(self._remove(chunk_ids))
        except (PyMongoError, TransientError) as error:
            # The original error must propagate, above all a cancellation; the chunks are left to delete_unfinished.
            reason.add_note(f"The chunks written so far could not be removed: {error}")

    async def _remove(self, chunk_ids: Sequence[ObjectId]) -> None:
        with translated():
            await self._chunks.delete_many({"_id": {"$in": list(chunk_ids)}})

    async def _row(self, organization_id: str, file_id: str) -> Row:
        query = {"_id": object_id(file_id, what="file"), "metadata.organization_id": organization_id}
        with translated():
            row: Row | None = await self._files.find_one(query)
        if row is None:
            raise NotFoundError(f"No file has the id {file_id!r}. Upload it again.")
        return row

    async def _read_range(self, row: Row, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield `file[start:end]`, which is not empty."""
        chunk_bytes: int = row["chunkSize"]
        first, last = start // chunk_bytes, (end - 1) // chunk_bytes
        query = {"files_id": row["_id"], "n": {"$gte": first, "$lte": last}}
        number = first
        # Without a batch size the server sends 16 MB at a time.
        with translated():
            async with (
                self._chunks.find(query, {"n": 1, "data": 1}).sort("n", 1).batch_size(CHUNKS_PER_FETCH) as chunks
            ):
                async for chunk in chunks:
                    _require_chunk(row, number, chunk)
                    offset = number * chunk_bytes
                    yield chunk["data"][max(start - offset, 0) : end - offset]
                    number += 1
        if number <= last:
            raise _gap(row, number)


def describe(content: bytes) -> StoredBytes:
    """Return what `FileStore.write` would return for these bytes."""
    return StoredBytes(hashlib.sha256(content).hexdigest(), len(content))


def _files_row(filename: str, stored: StoredBytes, organization_id: str, document_id: str, content_type: str) -> Row:
    """Return the row that makes chunks a file, without its id."""
    return {
        "length": stored.byte_size,
        "chunkSize": CHUNK_BYTES,
        "uploadDate": clock.now(),
        "filename": filename,
        "metadata": {
            "organization_id": organization_id,
            "document_id": document_id,
            "content_type": content_type,
            "sha256": stored.sha256,
        },
    }


class _Writing:
    """Cuts a stream of blocks into chunks, hashing and counting them."""

    def __init__(self, files_id: ObjectId, max_bytes: int) -> None:
        self.chunk_ids: list[ObjectId] = []
        self.byte_size = 0
        self._files_id = files_id
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self._batch: list[Row] = []

    @property
    def sha256(self) -> str:
        """SHA-256 of all chunks cut so far."""
        return self._hash.hexdigest()

    def add(self, block: bytes) -> Iterator[list[Row]]:
        """Add a block of any length; yield the batches that it fills.

        Raises:
            LimitExceededError: the file exceeds its limit.
        """
        self.byte_size += len(block)
        if self.byte_size > self._max_bytes:
            raise LimitExceededError(
                f"The file has more than {self._max_bytes} bytes, the limit. Upload a smaller one."
            )
        rest = memoryview(block)
        while rest:
            taken = rest[: CHUNK_BYTES - len(self._pending)]
            self._pending += taken
            rest = rest[len(taken) :]
            if len(self._pending) == CHUNK_BYTES:
                self._cut()
            if len(self._batch) == CHUNKS_PER_FLUSH:
                yield self._handed_over()

    def finish(self) -> list[Row]:
        """Return the last batch; empty if every chunk has been yielded."""
        if self._pending:
            self._cut()
        return self._handed_over()

    def _cut(self) -> None:
        content = bytes(self._pending)
        self._pending.clear()
        self._hash.update(content)
        number = len(self.chunk_ids) + len(self._batch)
        self._batch.append({"_id": ObjectId(), "files_id": self._files_id, "n": number, "data": content})

    def _handed_over(self) -> list[Row]:
        batch, self._batch = self._batch, []
        self.chunk_ids += [chunk["_id"] for chunk in batch]
        return batch


def _are_duplicates(error: BulkWriteError) -> bool:
    failures: list[Row] = error.details.get("writeErrors", [])
    return bool(failures) and all(failure.get("code") == DUPLICATE_KEY for failure in failures)


def _require_chunk(row: Row, number: int, chunk: Row) -> None:
    """Refuse a chunk with another number than `number`, or another length than expected."""
    if chunk["n"] != number:
        raise _gap(row, number)
    due = min(row["chunkSize"], row["length"] - number * row["chunkSize"])
    if len(chunk["data"]) != due:
        raise CorruptFileError(
            f"Chunk {number} of the stored file {row['_id']} has {len(chunk['data'])} bytes instead of {due}."
            " Upload the file again, or restore it from a backup."
        )


def _gap(row: Row, number: int) -> CorruptFileError:
    return CorruptFileError(
        f"Chunk {number} of the stored file {row['_id']} is missing."
        " Upload the file again, or restore it from a backup."
    )


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work to its end: a cancellation, even a repeated one, is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not report it as unhandled
    raise cancellation
