"""Upload of a ZIP: each of its files becomes a document, named by its path."""

import asyncio
import mimetypes
import tempfile
from collections.abc import AsyncIterator
from typing import BinaryIO

from pydantic import JsonValue

from analytiq.errors import InvalidInputError, LimitExceededError
from analytiq.ingestion.upload.group_commit import MOST_BYTES, MOST_FILES
from analytiq.ingestion.upload.zip_members import BLOCK_BYTES, UploadedZip, ZipMember
from analytiq.models.upload import BULK_FILES
from api.schemas.documents import UploadAnswer, UploadedDocument
from api.upload_form import Manner
from api.uploading import OCTET_STREAM, ReceivedFile, UploadSession, answer_of


async def receive_zip(
    session: UploadSession,
    body: AsyncIterator[bytes],
    manner: Manner,
    *,
    tag_ids: list[str] | None,
    metadata: dict[str, JsonValue] | None,
) -> UploadAnswer:
    """Write the ZIP to a temporary file, then take its files in by batches; at most one batch is in memory.

    Raises:
        CorruptFileError: the ZIP is damaged.
        LimitExceededError: it is too large, or has too many files.
        AnalytiqError: the first file's error, if none was taken.
    """
    limits = session.services.settings.api
    if tag_ids is not None:
        tag_ids = await session.services.ingestion.tags.require(session.organization.id, tag_ids)
    with tempfile.TemporaryFile(prefix="analytiq-zip-") as file:
        await _write(file, body, limits.max_upload_bytes)
        archive = await asyncio.to_thread(
            UploadedZip, file, max_members=limits.max_files_per_upload, max_member_bytes=limits.max_upload_bytes
        )
        try:
            members = await asyncio.to_thread(archive.members)
            if not members:
                raise InvalidInputError.of_field("body", "The ZIP has no files.")
            is_bulk = manner.is_bulk or len(members) > BULK_FILES
            manner = Manner(manner.policy, manner.merges, manner.origin, is_bulk)
            return await _take(session, archive, members, manner, tag_ids=tag_ids, metadata=metadata)
        finally:
            await asyncio.to_thread(archive.close)


async def _take(
    session: UploadSession,
    archive: UploadedZip,
    members: list[ZipMember],
    manner: Manner,
    *,
    tag_ids: list[str] | None,
    metadata: dict[str, JsonValue] | None,
) -> UploadAnswer:
    answers: list[UploadedDocument] = []
    first_error = members[0].error
    waiting_bytes = 0
    for member in members:
        item = ReceivedFile(member.path, error=member.error, tag_ids=tag_ids, metadata=metadata)
        if item.error is None:
            content_type = mimetypes.guess_type(member.path)[0] or OCTET_STREAM
            await session.stage(item, content_type, _content(archive, member))
        else:
            session.received.append(item)
        waiting_bytes += member.byte_size
        if len(session.received) >= MOST_FILES or waiting_bytes >= MOST_BYTES:
            first_error = first_error or session.received[0].error
            answers += await session.commit_received(manner)
            waiting_bytes = 0
    received = list(session.received)
    answers += await session.commit_received(manner)
    first_error = first_error or (received[0].error if received else None)
    if first_error is not None and all(answer.outcome == "failed" for answer in answers):
        raise first_error
    return answer_of(answers)


async def _content(archive: UploadedZip, member: ZipMember) -> AsyncIterator[bytes]:
    """Unpack a member outside of the event loop."""
    blocks = archive.blocks(member)
    while block := await asyncio.to_thread(next, blocks, b""):
        yield block


async def _write(file: BinaryIO, body: AsyncIterator[bytes], most_bytes: int) -> None:
    waiting, received_bytes = bytearray(), 0
    async for block in body:
        received_bytes += len(block)
        if received_bytes > most_bytes:
            raise LimitExceededError(f"The ZIP has more than {most_bytes:,} bytes, the limit. Send several ZIPs.")
        waiting += block
        if len(waiting) >= 4 * BLOCK_BYTES:
            await asyncio.to_thread(file.write, bytes(waiting))
            waiting.clear()
    await asyncio.to_thread(file.write, bytes(waiting))
