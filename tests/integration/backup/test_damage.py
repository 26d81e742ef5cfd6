"""An archive that is not exactly what was written is refused before anything is touched."""

import asyncio
import hashlib
import io
import random
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import bson
import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError, TransientError
from analytiq.operations.backup.container import FORMAT_VERSION, MAGIC, FrameKind, FrameReader, FrameWriter
from analytiq.operations.backup.files import PART_SUFFIX, restore_file, verify_file, write_file
from analytiq.operations.backup.restoring import RestoreOptions
from analytiq.operations.backup.verification import verify
from analytiq.storage.ids import new_id
from analytiq.telemetry import checkpoints
from tests.integration.backup.archiving import archive_of, lose, restore_from
from tests.integration.tenant import Tenant, prose


async def made(services: Services, tenant: Tenant) -> bytes:
    await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 5))
    archive, _ = await archive_of(services.connection, [tenant.id])
    return archive


def refusal(archive: bytes) -> str:
    """The code with which an archive is refused."""
    with pytest.raises(InvalidInputError) as refused:
        verify(io.BytesIO(archive))
    return refused.value.code


async def test_every_single_changed_byte_is_told(services: Services, tenant: Tenant) -> None:
    archive = await made(services, tenant)
    verify(io.BytesIO(archive))
    places = [*range(200), *random.Random(7).sample(range(len(archive)), 400), len(archive) - 1]
    for place in places:
        spoilt = bytearray(archive)
        spoilt[place] ^= 1 << place % 8
        assert refusal(bytes(spoilt)).startswith("archive_"), place


async def test_every_shorter_archive_is_told_to_be_incomplete(services: Services, tenant: Tenant) -> None:
    archive = await made(services, tenant)
    for length in [*range(100), *random.Random(7).sample(range(len(archive)), 200)]:
        code = refusal(archive[:length])
        assert code == ("archive_foreign" if length < len(MAGIC) else "archive_truncated"), length


async def test_frames_that_were_dropped_doubled_or_moved_are_told(services: Services, tenant: Tenant) -> None:
    archive = await made(services, tenant)
    reader = FrameReader(io.BytesIO(archive))
    reader.begin()
    places = [reader.offset]
    while reader.read() is not None:
        places.append(reader.offset)
    frames = [archive[start:end] for start, end in pairwise(places)]
    head = archive[: places[0]]
    for index in range(1, len(frames) - 1):
        dropped = frames[:index] + frames[index + 1 :]
        doubled = frames[: index + 1] + frames[index:]
        moved = [*frames[: index - 1], frames[index], frames[index - 1], *frames[index + 1 :]]
        for wrong in (dropped, doubled, moved):
            assert refusal(head + b"".join(wrong)) == "archive_damaged"
    assert refusal(archive + b"x") == "archive_damaged"
    assert refusal(archive + archive) == "archive_damaged"


def test_other_files_are_told_to_be_no_archive() -> None:
    for content in (b"", b"PK\x03\x04 a zip", b"x" * 10_000, MAGIC[:-1], MAGIC.replace(b"\r\n", b"\n") + bytes(100)):
        assert refusal(content) == "archive_foreign"


def test_newer_format_is_told_to_need_a_newer_release() -> None:
    assert refusal(MAGIC + struct.pack("<H", FORMAT_VERSION + 1) + bytes(1000)) == "archive_too_new"


def test_frame_that_claims_to_be_huge_is_refused_without_reserving_memory() -> None:
    huge = struct.pack("<cII", b"H", 0xFFFFFFF0, 0xFFFFFFF0) + hashlib.sha256(b"").digest()
    assert refusal(MAGIC + struct.pack("<H", FORMAT_VERSION) + huge) == "archive_damaged"


def test_frame_that_expands_beyond_its_length_is_refused() -> None:
    stream = io.BytesIO()
    writer = FrameWriter(stream)
    start = stream.tell()
    writer.write(FrameKind.HEADER, b"x" * 1_000_000)
    content = stream.getvalue()
    stored = content[start + 41 :]
    lengths = struct.pack("<cII", b"H", len(stored), 10)
    digest = hashlib.sha256(hashlib.sha256(MAGIC).digest() + lengths + stored).digest()
    assert refusal(content[:start] + lengths + digest + stored) == "archive_damaged"


async def forged(services: Services, archive: bytes, change: Callable[[dict[str, object]], dict[str, object]]) -> bytes:
    """The archive with a change to its rows, and right digests: what no damage does, but people can."""
    reader, stream = FrameReader(io.BytesIO(archive)), io.BytesIO()
    reader.begin()
    writer = FrameWriter(stream)
    while (frame := reader.read()) is not None:
        payload = frame.payload
        if frame.kind is FrameKind.BATCH:
            payload = b"".join(bson.encode(change(row)) for row in bson.decode_all(payload))
        writer.write(frame.kind, payload)
    return stream.getvalue()


async def test_rows_of_another_organization_are_refused_and_all_is_undone(services: Services, tenant: Tenant) -> None:
    archive = await made(services, tenant)
    victim = new_id()

    def change(row: dict[str, object]) -> dict[str, object]:
        return {**row, "organization_id": victim} if "file_id" in row else row

    forgery = await forged(services, archive, change)
    await lose(services.connection, tenant.id)
    with pytest.raises(InvalidInputError) as refused:
        await restore_from(services.connection, forgery)
    assert refused.value.code == "archive_foreign"
    for name in ("docs", "fs.files", "fs.chunks", "knowledge_bases", "restores", "document_index"):
        assert await services.connection.database[name].count_documents({}) == 0
    names = await services.connection.database.list_collection_names()
    assert not [name for name in names if name.startswith("kb_vectors_")]


async def test_chunks_of_files_that_are_not_in_the_archive_are_refused(services: Services, tenant: Tenant) -> None:
    archive = await made(services, tenant)
    target = bson.ObjectId()

    def change(row: dict[str, object]) -> dict[str, object]:
        return {**row, "files_id": target} if "files_id" in row else row

    forgery = await forged(services, archive, change)
    await lose(services.connection, tenant.id)
    with pytest.raises(InvalidInputError):
        await restore_from(services.connection, forgery)
    assert await services.connection.database["fs.chunks"].count_documents({}) == 0


async def test_file_bears_its_name_only_once_it_is_whole(services: Services, tenant: Tenant, tmp_path: Path) -> None:
    await made(services, tenant)
    path = tmp_path / "archive"
    seen: list[list[str]] = []

    async def look(name: str) -> None:
        if name == "backup.batch_written":
            seen.append([item.name for item in tmp_path.glob("archive*")])

    checkpoints.install(look)
    try:
        await write_file(services.connection, path, [tenant.id])
    finally:
        checkpoints.install(None)
    assert seen
    assert all(names == ["archive" + PART_SUFFIX] for names in seen)
    assert [item.name for item in tmp_path.glob("archive*")] == ["archive"]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConflictError):
        await write_file(services.connection, path, [tenant.id])
    await verify_file(path)


async def test_backup_that_fails_leaves_no_file(services: Services, tenant: Tenant, tmp_path: Path) -> None:
    await made(services, tenant)

    async def fail(name: str) -> None:
        if name == "backup.batch_written":
            raise OSError(28, "No space left on device")

    checkpoints.install(fail)
    try:
        with pytest.raises(InvalidInputError, match="No space left"):
            await write_file(services.connection, tmp_path / "archive", [tenant.id])
    finally:
        checkpoints.install(None)
    assert list(tmp_path.glob("archive*")) == []
    assert await services.connection.database["backup_holds"].count_documents({}) == 0
    with pytest.raises(NotFoundError):
        await write_file(services.connection, tmp_path / "archive", [new_id()])
    assert list(tmp_path.glob("archive*")) == []


async def test_backup_that_is_stopped_leaves_no_file_and_no_hold(
    services: Services, tenant: Tenant, tmp_path: Path
) -> None:
    await made(services, tenant)
    reached = asyncio.Event()

    async def wait(name: str) -> None:
        if name == "backup.batch_written":
            reached.set()
            await asyncio.Event().wait()

    checkpoints.install(wait)
    try:
        making = asyncio.create_task(write_file(services.connection, tmp_path / "archive", [tenant.id]))
        await reached.wait()
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
    finally:
        checkpoints.install(None)
    assert list(tmp_path.glob("archive*")) == []
    assert await services.connection.database["backup_holds"].count_documents({}) == 0


async def test_backup_that_lost_its_hold_fails(services: Services, tenant: Tenant, tmp_path: Path) -> None:
    await made(services, tenant)

    async def expire(name: str) -> None:
        if name == "backup.batch_written":
            past = {"expires_at": datetime(2000, 1, 1, tzinfo=UTC)}
            await services.connection.database["backup_holds"].update_many({}, {"$set": past})

    checkpoints.install(expire)
    try:
        with pytest.raises(TransientError) as lost:
            await write_file(services.connection, tmp_path / "archive", [tenant.id])
    finally:
        checkpoints.install(None)
    assert lost.value.code == "hold_lost"
    assert list(tmp_path.glob("archive*")) == []


async def test_archive_of_a_newer_schema_is_refused(services: Services, tenant: Tenant) -> None:
    versions = services.connection.database["schema_migrations"]
    await versions.update_one({}, {"$inc": {"version": 1}})
    try:
        archive = await made(services, tenant)
    finally:
        await versions.update_one({}, {"$inc": {"version": -1}})
    with pytest.raises(InvalidInputError) as refused:
        await restore_from(services.connection, archive, is_fresh=True)
    assert refused.value.code == "archive_too_new"


async def test_rows_that_are_left_of_an_organization_are_not_mixed_with_a_restore(
    services: Services, tenant: Tenant
) -> None:
    archive = await made(services, tenant)
    await lose(services.connection, tenant.id)
    left = {"organization_id": tenant.id, "name": "left over"}
    await services.connection.database["tags"].insert_one(left)
    with pytest.raises(ConflictError, match="1 in tags") as refused:
        await restore_from(services.connection, archive)
    assert refused.value.code == "rows_left"
    assert await services.connection.database["tags"].count_documents({}) == 1


async def test_missing_file_is_told(services: Services, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        await restore_file(services.connection, tmp_path / "none", RestoreOptions())
