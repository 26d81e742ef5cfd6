import asyncio
import hashlib
import random
import tracemalloc
from collections.abc import AsyncIterator

import gridfs
import pytest
from bson import ObjectId
from pydantic import SecretStr

from analytiq.errors import (
    ConflictError,
    CorruptFileError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
)
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.files import CHUNK_BYTES, CHUNKS_PER_FLUSH, INDEXES, FileStore, StoredBytes
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

ORGANIZATION_ID = "507f191e810c19729de860e1"
DOCUMENT_ID = "507f191e810c19729de860e2"
PLENTY = 1 << 40
FLUSH_BYTES = CHUNK_BYTES * CHUNKS_PER_FLUSH


@pytest.fixture
async def files(database: MongoConnection) -> FileStore:
    for collection, indexes in INDEXES.items():
        await database.database[collection].create_indexes(indexes)
    return FileStore(database)


def some_bytes(count: int) -> bytes:
    return random.Random(count).randbytes(count)


async def in_blocks(content: bytes, block_bytes: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), block_bytes):
        yield content[start : start + block_bytes]


async def finish(database: MongoConnection, files: FileStore, file_id: str, stored: StoredBytes) -> None:
    async def insert(session: Session) -> None:
        await files.insert_files_row(
            session,
            file_id=file_id,
            filename="report.pdf",
            stored=stored,
            organization_id=ORGANIZATION_ID,
            document_id=DOCUMENT_ID,
            content_type="application/pdf",
        )

    await run_in_transaction(database, insert)


async def upload(database: MongoConnection, files: FileStore, content: bytes) -> str:
    file_id = new_id()
    stored = await files.write(file_id, in_blocks(content, 64 * 1024), PLENTY)
    await finish(database, files, file_id, stored)
    return file_id


async def read_all(files: FileStore, file_id: str, *, start: int = 0, length: int | None = None) -> bytes:
    return b"".join([block async for block in files.read(ORGANIZATION_ID, file_id, start=start, length=length)])


async def chunk_count(database: MongoConnection, file_id: str) -> int:
    return await database.database["fs.chunks"].count_documents({"files_id": ObjectId(file_id)})


@pytest.mark.parametrize(
    "byte_size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, FLUSH_BYTES, FLUSH_BYTES + 7]
)
@pytest.mark.parametrize("block_bytes", [64 * 1024, CHUNK_BYTES, 3 * FLUSH_BYTES])
async def test_bytes_come_back_as_they_were_written(
    database: MongoConnection, files: FileStore, byte_size: int, block_bytes: int
) -> None:
    content = some_bytes(byte_size)
    file_id = new_id()
    stored = await files.write(file_id, in_blocks(content, block_bytes), PLENTY)
    await finish(database, files, file_id, stored)
    assert stored == StoredBytes(hashlib.sha256(content).hexdigest(), byte_size)
    assert await read_all(files, file_id) == content


async def test_empty_blocks_of_the_source_change_nothing(files: FileStore) -> None:
    async def source() -> AsyncIterator[bytes]:
        for block in (b"", b"ab", b"", b"c", b""):
            yield block

    stored = await files.write(new_id(), source(), PLENTY)
    assert stored == StoredBytes(hashlib.sha256(b"abc").hexdigest(), 3)


async def test_the_drivers_own_gridfs_reads_the_file(database: MongoConnection, files: FileStore) -> None:
    content = some_bytes(FLUSH_BYTES + 7)
    file_id = await upload(database, files, content)
    bucket = gridfs.AsyncGridFSBucket(database.database)
    async with await bucket.open_download_stream(ObjectId(file_id)) as stream:
        assert await stream.read() == content
        assert stream.filename == "report.pdf"
        assert stream.length == len(content)
        assert stream.metadata == {
            "organization_id": ORGANIZATION_ID,
            "document_id": DOCUMENT_ID,
            "content_type": "application/pdf",
            "sha256": hashlib.sha256(content).hexdigest(),
        }


async def test_the_store_reads_what_the_drivers_own_gridfs_wrote_with_other_chunks(
    database: MongoConnection, files: FileStore
) -> None:
    content = some_bytes(10_000)
    bucket = gridfs.AsyncGridFSBucket(database.database, chunk_size_bytes=999)
    file_id = await bucket.upload_from_stream("x", content, metadata={"organization_id": ORGANIZATION_ID})
    assert await read_all(files, str(file_id)) == content
    assert await read_all(files, str(file_id), start=998, length=1001) == content[998:1999]


async def test_a_description_tells_what_was_stored(database: MongoConnection, files: FileStore) -> None:
    file_id = await upload(database, files, b"abc")
    described = await files.describe(ORGANIZATION_ID, file_id)
    assert (described.file_id, described.filename, described.byte_size) == (file_id, "report.pdf", 3)
    assert (described.content_type, described.document_id) == ("application/pdf", DOCUMENT_ID)
    assert described.sha256 == hashlib.sha256(b"abc").hexdigest()
    assert described.uploaded_at.tzinfo is not None


async def test_chunks_are_no_file_before_the_callers_transaction(database: MongoConnection, files: FileStore) -> None:
    file_id = new_id()
    stored = await files.write(file_id, in_blocks(b"abc", 1), PLENTY)
    with pytest.raises(NotFoundError):
        await files.describe(ORGANIZATION_ID, file_id)

    async def insert_then_fail(session: Session) -> None:
        await files.insert_files_row(
            session,
            file_id=file_id,
            filename="report.pdf",
            stored=stored,
            organization_id=ORGANIZATION_ID,
            document_id=DOCUMENT_ID,
            content_type="application/pdf",
        )
        raise ConflictError("backed out")

    with pytest.raises(ConflictError, match="backed out"):
        await run_in_transaction(database, insert_then_fail)
    with pytest.raises(NotFoundError):
        await read_all(files, file_id)


async def test_the_row_is_inserted_once_even_if_the_transaction_is_run_twice(
    database: MongoConnection, files: FileStore
) -> None:
    file_id = new_id()
    stored = await files.write(file_id, in_blocks(b"abc", 1), PLENTY)
    await finish(database, files, file_id, stored)
    await finish(database, files, file_id, stored)
    assert await database.database["fs.files"].count_documents({}) == 1


async def test_a_file_may_have_its_limit_and_no_byte_more(database: MongoConnection, files: FileStore) -> None:
    content = some_bytes(FLUSH_BYTES + 1)
    assert (await files.write(new_id(), in_blocks(content, 1000), len(content))).byte_size == len(content)
    file_id = new_id()
    with pytest.raises(LimitExceededError, match=str(len(content) - 1)):
        await files.write(file_id, in_blocks(content, 1000), len(content) - 1)
    assert await chunk_count(database, file_id) == 0


async def test_a_source_that_fails_leaves_no_chunks(database: MongoConnection, files: FileStore) -> None:
    async def source() -> AsyncIterator[bytes]:
        yield some_bytes(2 * FLUSH_BYTES)
        raise ConnectionResetError("the client went away")

    file_id = new_id()
    with pytest.raises(ConnectionResetError):
        await files.write(file_id, source(), PLENTY)
    assert await chunk_count(database, file_id) == 0


async def test_a_cancelled_write_leaves_no_chunks_while_the_source_is_awaited(
    database: MongoConnection, files: FileStore
) -> None:
    has_flushed = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield some_bytes(2 * FLUSH_BYTES)
        has_flushed.set()
        await asyncio.Event().wait()

    file_id = new_id()
    writing = asyncio.create_task(files.write(file_id, source(), PLENTY))
    await has_flushed.wait()
    assert await chunk_count(database, file_id) == 2 * CHUNKS_PER_FLUSH
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await chunk_count(database, file_id) == 0


async def running_inserts(database: MongoConnection) -> int:
    running = {"ns": f"{database.database.name}.fs.chunks", "op": "insert", "active": True}
    cursor = await database.client.admin.aggregate([{"$currentOp": {}}, {"$match": running}])
    return len(await cursor.to_list())


async def test_chunks_that_are_on_their_way_to_the_server_when_the_write_is_cancelled_are_removed(
    database: MongoConnection, files: FileStore
) -> None:
    """The server does not stop an insert whose client is gone, so a removal must not run ahead of it."""
    file_id = new_id()
    async with database.client.start_session() as session:
        await session.start_transaction()
        # The write meets this uncommitted chunk, and waits in the server until the transaction ends.
        obstacle = {"files_id": ObjectId(file_id), "n": 0, "data": b""}
        await database.database["fs.chunks"].insert_one(obstacle, session=session)
        writing = asyncio.create_task(files.write(file_id, in_blocks(b"abc", 3), PLENTY))
        while not await running_inserts(database):
            pass
        writing.cancel()
        await asyncio.wait([writing], timeout=0.1)
        await session.abort_transaction()
    with pytest.raises(asyncio.CancelledError):
        await writing
    while await running_inserts(database):
        pass
    assert await chunk_count(database, file_id) == 0


async def test_a_write_cancelled_again_and_again_while_it_flushes_leaves_no_chunks(
    database: MongoConnection, files: FileStore
) -> None:
    has_begun = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        while True:
            yield some_bytes(CHUNK_BYTES)
            has_begun.set()

    file_id = new_id()
    writing = asyncio.create_task(files.write(file_id, source(), PLENTY))
    await has_begun.wait()
    while not writing.done():
        writing.cancel()
        await asyncio.wait([writing], timeout=0.001)
    assert writing.cancelled()
    assert await chunk_count(database, file_id) == 0


async def test_the_reason_of_a_failure_goes_on_even_if_the_chunks_cannot_be_removed(
    mongo_uri: SecretStr, database: MongoConnection, files: FileStore
) -> None:
    lost = await connect(mongo_uri, database.database.name)

    async def source() -> AsyncIterator[bytes]:
        yield some_bytes(FLUSH_BYTES)
        await lost.close()
        raise ConnectionResetError("the client went away")

    file_id = new_id()
    with pytest.raises(ConnectionResetError) as caught:
        await FileStore(lost).write(file_id, source(), PLENTY)
    assert "could not be removed" in caught.value.__notes__[0]
    assert await files.delete_unfinished(file_id) == CHUNKS_PER_FLUSH


@pytest.mark.parametrize("block_bytes", [64 * 1024, 8 * FLUSH_BYTES])
async def test_writing_and_reading_hold_a_few_flushes_in_memory_however_long_the_file_is(
    database: MongoConnection, files: FileStore, block_bytes: int
) -> None:
    block = some_bytes(block_bytes)
    byte_size = 16 * FLUSH_BYTES

    async def source() -> AsyncIterator[bytes]:
        for _ in range(byte_size // block_bytes):
            yield block

    file_id = new_id()
    tracemalloc.start()
    try:
        stored = await files.write(file_id, source(), PLENTY)
        await finish(database, files, file_id, stored)
        async for received in files.read(ORGANIZATION_ID, file_id):
            del received
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 6 * FLUSH_BYTES


async def test_a_second_writer_of_the_same_id_fails_and_leaves_the_first_ones_chunks(
    database: MongoConnection, files: FileStore
) -> None:
    content = some_bytes(2 * CHUNK_BYTES)
    file_id = new_id()
    stored = await files.write(file_id, in_blocks(content, CHUNK_BYTES), PLENTY)
    with pytest.raises(ConflictError, match=file_id):
        await files.write(file_id, in_blocks(some_bytes(5 * CHUNK_BYTES), CHUNK_BYTES), PLENTY)
    await finish(database, files, file_id, stored)
    assert await chunk_count(database, file_id) == 2
    assert await read_all(files, file_id) == content


RANGES = [
    (0, 0),
    (0, 1),
    (0, None),
    (CHUNK_BYTES - 1, 2),
    (CHUNK_BYTES, CHUNK_BYTES),
    (CHUNK_BYTES, None),
    (1, 2 * CHUNK_BYTES),
    (2 * CHUNK_BYTES + 99, 1),
    (2 * CHUNK_BYTES + 99, 1_000_000),
    (2 * CHUNK_BYTES + 100, None),
]


@pytest.mark.parametrize(("start", "length"), RANGES)
async def test_a_range_gives_those_bytes_and_no_others(
    database: MongoConnection, files: FileStore, start: int, length: int | None
) -> None:
    content = some_bytes(2 * CHUNK_BYTES + 100)
    file_id = await upload(database, files, content)
    end = None if length is None else start + length
    assert await read_all(files, file_id, start=start, length=length) == content[start:end]


@pytest.mark.parametrize(("start", "length"), [(-1, None), (4, None), (0, -1)])
async def test_a_range_outside_the_file_is_refused(
    database: MongoConnection, files: FileStore, start: int, length: int | None
) -> None:
    file_id = await upload(database, files, b"abc")
    with pytest.raises(InvalidInputError, match="range"):
        await read_all(files, file_id, start=start, length=length)


async def test_a_range_reads_only_the_chunks_that_it_touches(database: MongoConnection, files: FileStore) -> None:
    content = some_bytes(3 * CHUNK_BYTES)
    file_id = await upload(database, files, content)
    await database.database["fs.chunks"].delete_many({"n": {"$ne": 1}})
    assert await read_all(files, file_id, start=CHUNK_BYTES, length=10) == content[CHUNK_BYTES:][:10]


@pytest.mark.parametrize("missing", [0, 1, 2])
async def test_a_missing_chunk_is_an_error_and_nothing_after_it_is_given_out(
    database: MongoConnection, files: FileStore, missing: int
) -> None:
    content = some_bytes(2 * CHUNK_BYTES + 5)
    file_id = await upload(database, files, content)
    await database.database["fs.chunks"].delete_one({"n": missing})
    received: list[bytes] = []

    async def receive() -> None:
        async for block in files.read(ORGANIZATION_ID, file_id):
            received.append(block)  # noqa: PERF401  # what came before the error is looked at

    with pytest.raises(CorruptFileError, match=f"Chunk {missing} of the stored file {file_id} is missing"):
        await receive()
    assert b"".join(received) == content[: missing * CHUNK_BYTES]


async def test_a_chunk_of_the_wrong_length_is_an_error(database: MongoConnection, files: FileStore) -> None:
    file_id = await upload(database, files, some_bytes(2 * CHUNK_BYTES))
    await database.database["fs.chunks"].update_one({"n": 1}, {"$set": {"data": b"short"}})
    with pytest.raises(CorruptFileError, match="5 bytes instead of"):
        await read_all(files, file_id)


@pytest.mark.parametrize("file_id", ["507f191e810c19729de860ff", "no-id", ""])
async def test_an_unknown_file_is_not_found(files: FileStore, file_id: str) -> None:
    with pytest.raises(NotFoundError):
        await files.describe(ORGANIZATION_ID, file_id)
    with pytest.raises(NotFoundError):
        await read_all(files, file_id)


async def test_a_file_of_another_organization_is_not_found_and_not_deleted(
    database: MongoConnection, files: FileStore
) -> None:
    file_id = await upload(database, files, b"abc")
    stranger = "507f191e810c19729de860e9"
    with pytest.raises(NotFoundError):
        await anext(files.read(stranger, file_id))
    assert await files.delete(stranger, [file_id]) == 0
    assert await read_all(files, file_id) == b"abc"


async def test_deleting_files_removes_their_rows_and_chunks_and_no_others(
    database: MongoConnection, files: FileStore
) -> None:
    gone = [await upload(database, files, some_bytes(CHUNK_BYTES + n)) for n in range(2)]
    kept = await upload(database, files, b"kept")
    assert await files.delete(ORGANIZATION_ID, [*gone, new_id(), "no-id"]) == 2
    assert await files.delete(ORGANIZATION_ID, gone) == 0
    assert [await chunk_count(database, file_id) for file_id in gone] == [0, 0]
    with pytest.raises(NotFoundError):
        await files.describe(ORGANIZATION_ID, gone[0])
    assert await read_all(files, kept) == b"kept"


async def test_a_deletion_that_stopped_between_chunks_and_rows_is_finished_by_the_next(
    database: MongoConnection, files: FileStore
) -> None:
    file_id = await upload(database, files, b"abc")
    await database.database["fs.chunks"].delete_many({})
    assert await files.delete(ORGANIZATION_ID, [file_id]) == 1
    with pytest.raises(NotFoundError):
        await files.describe(ORGANIZATION_ID, file_id)


async def test_an_unfinished_upload_can_be_removed_and_a_finished_one_cannot(
    database: MongoConnection, files: FileStore
) -> None:
    finished = await upload(database, files, b"abc")
    unfinished = new_id()
    await files.write(unfinished, in_blocks(some_bytes(CHUNK_BYTES + 1), CHUNK_BYTES), PLENTY)
    assert await files.delete_unfinished(unfinished) == 2
    assert await files.delete_unfinished(finished) == 0
    assert await chunk_count(database, unfinished) == 0
    assert await read_all(files, finished) == b"abc"
