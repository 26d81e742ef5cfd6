"""Uploads of parts: each file that a parser has unpacked from a document becomes a document of its own.

Repeating the whole, after a crash or a new extraction, changes nothing that is done: a part is found by its container
and its path, and replaced only if its bytes differ.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import BinaryIO

from analytiq import clock
from analytiq.errors import InvalidInputError, LimitExceededError, QuotaExceededError
from analytiq.ingestion.documents.metadata_fields import DeclaredFields, MetadataFields
from analytiq.ingestion.documents.naming import LONGEST_PATH, file_name_of, validated_path
from analytiq.ingestion.documents.part_removal import PartRemoval
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.upload.placement import Placement, Placing
from analytiq.ingestion.upload.store import LEASE_SECONDS, WITH_DOCUMENT_BYTES, StagedFile, Uploads
from analytiq.models.document import Document, PartOf
from analytiq.models.parts import FoundPart, RefusedPart
from analytiq.models.upload import Upload, UploadOutcome
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.files import describe
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

MOST_PARTS = 20_000
"""Most parts at any depth of one uploaded document."""
MOST_BYTES = 2 * 1024**3
"""Most bytes of these parts."""
FEW_PARTS = 20
"""Up to this number of parts, those of the outermost container are not counted: counting them for every message of a
mailbox would take quadratic time."""
FEW_BYTES = 16 * 1024**2
BATCH = 50
"""Most small parts that one transaction takes in."""
BLOCK_BYTES = 256 * 1024

NO_ROOM = "the storage quota is used up: extract the document again when there is room"


@dataclass(slots=True)
class _Run:
    """The parts of one container, on their way."""

    container: Document
    request_id: str | None
    known: dict[str, str]
    """The SHA-256 of known parts by path."""
    refused: list[RefusedPart] = field(default_factory=list[RefusedPart])
    batch: list[tuple[FoundPart, StagedFile]] = field(default_factory=list[tuple[FoundPart, StagedFile]])
    is_current: bool = True
    """False once the container was deleted, or has another file."""
    is_full: bool = False


class PartUploads:
    """Documents made of the parts of others."""

    def __init__(self, rows: Repositories, uploads: Uploads, storage: Storage, metadata_fields: MetadataFields) -> None:
        self._connection = rows.connection
        self._parts = rows.document_parts
        self._uploads = uploads
        self._storage = storage
        self._placing = Placing(rows, storage)
        self._removal = PartRemoval(rows, storage)
        self._metadata_fields = metadata_fields

    async def take(
        self, container: Document, file: BinaryIO, found: Sequence[FoundPart], *, request_id: str | None
    ) -> list[RefusedPart] | None:
        """Make the container's parts the documents found in its file; delete the parts that it no longer has.

        Args:
            container: as it was when its file was read.
            file: the bytes of all parts.
            found: the parts, from the sandbox, which a hostile document may control.
            request_id: the id of the call that caused it, for the log.

        Returns:
            The parts that were not taken in; None if the container was deleted or has another file by now.
        """
        organization_id = container.organization_id
        known = await self._parts.of_container(organization_id, container.id)
        run = _Run(container, request_id, {part.path: part.sha256 for part in known})
        if found and not await self._has_room_below(container, found):
            reason = f"more than {MOST_PARTS:,} parts, or {MOST_BYTES // 1024**2:,} MiB, of one uploaded file"
            run.refused += [RefusedPart(part.path, reason) for part in found]
            found = ()
        for part in found:
            await self._add(run, file, part)
            if not run.is_current:
                return None
        await self._commit(run)
        if not run.is_current:
            return None
        present = {part.path for part in (*found, *run.refused)}
        gone = [part.document_id for part in known if part.path not in present]
        await self._removal.remove(organization_id, container.id, gone, of_file=container.file_id)
        return run.refused

    async def _has_room_below(self, container: Document, found: Sequence[FoundPart]) -> bool:
        """Return False if the parts would exceed the limits of the outermost container."""
        added = sum(part.end - part.start for part in found)
        if container.part_of is None or (len(found) <= FEW_PARTS and added <= FEW_BYTES):
            return True
        # Parts of an earlier extraction count twice, which errs on the safe side.
        present = await self._parts.below(container.organization_id, container.part_of.container_ids[0])
        return present.documents + len(found) <= MOST_PARTS and present.stored_bytes + added <= MOST_BYTES

    async def _add(self, run: _Run, file: BinaryIO, part: FoundPart) -> None:
        known = run.known.get(part.path)
        if part.end - part.start <= WITH_DOCUMENT_BYTES:
            content = os.pread(file.fileno(), part.end - part.start, part.start)
            if describe(content).sha256 != known:
                await self._stage(run, part, lambda: _small(run.container, part, content))
        elif await asyncio.to_thread(_hash, file, part) != known:
            await self._commit(run)
            await self._stage(run, part, lambda: self._large(run.container, part, file))
            await self._commit(run)
        if len(run.batch) >= BATCH:
            await self._commit(run)

    async def _large(self, container: Document, part: FoundPart, file: BinaryIO) -> StagedFile:
        return await self._uploads.stage(
            container.organization_id,
            document_name=document_name_of(container, part.path),
            content_type=part.content_type,
            source=_blocks(file, part),
        )

    async def _stage(self, run: _Run, part: FoundPart, stage: Callable[[], Awaitable[StagedFile]]) -> None:
        if run.is_full:
            run.refused.append(RefusedPart(part.path, NO_ROOM))
            return
        try:
            run.batch.append((part, await stage()))
        except QuotaExceededError:
            run.refused.append(RefusedPart(part.path, NO_ROOM))
        except LimitExceededError:
            run.refused.append(RefusedPart(part.path, "larger than an upload may be"))
        except InvalidInputError:
            run.refused.append(RefusedPart(part.path, "its name is not allowed"))

    async def _commit(self, run: _Run) -> None:
        """Take in the batch; if the quota does not allow for all, one after the other until it is full."""
        batch, run.batch = run.batch, []
        if not batch or not run.is_current:
            return
        try:
            await self._commit_together(run, batch)
        except QuotaExceededError:
            for item in batch:
                await self._commit_last(run, item)

    async def _commit_last(self, run: _Run, item: tuple[FoundPart, StagedFile]) -> None:
        part, staged = item
        if not run.is_full:
            try:
                await self._commit_together(run, [item])
            except QuotaExceededError:
                run.is_full = True
            else:
                return
        await self._uploads.discard(staged)
        run.refused.append(RefusedPart(part.path, NO_ROOM))

    async def _commit_together(self, run: _Run, batch: Sequence[tuple[FoundPart, StagedFile]]) -> None:
        container = run.container

        async def commit(session: Session) -> list[tuple[Document, UploadOutcome]] | None:
            # The container as it is now: its tags may have changed while its parts were found.
            holder = await self._parts.hold_container(
                session, container.organization_id, container.id, file_id=container.file_id
            )
            if holder is None:
                return None
            placements = [_placement(holder, part, staged, run.request_id) for part, staged in batch]
            return [await self._placing.place_part(session, *placement) for placement in placements]

        async with self._storage.in_turn(container.organization_id):
            placed = await run_in_transaction(self._connection, commit)
        if placed is None:
            run.is_current = False
        for (_, staged), outcome in zip(batch, placed or [None] * len(batch), strict=True):
            if outcome is None or outcome[1] is UploadOutcome.RETURNED:
                await self._uploads.discard(staged)
            elif outcome[0].metadata:
                await self._metadata_fields.settle(outcome[0], DeclaredFields({}, -1))
        await checkpoint("parts.taken")


def document_name_of(container: Document, path: str) -> str:
    """Return the name of a part's document: its path below the container's name, as far as a name may be long."""
    own, name = file_name_of(container.document_name), file_name_of(path)
    for candidate in (f"{container.document_name}/{path}", f"{own}/{path}"):
        if len(candidate) <= LONGEST_PATH:
            return candidate
    return f"{own}/{name}"


async def _small(container: Document, part: FoundPart, content: bytes) -> StagedFile:
    now = clock.now()
    name = validated_path(document_name_of(container, part.path))
    upload = Upload(
        id=new_id(),
        organization_id=container.organization_id,
        file_id=new_id(),
        document_name=name,
        lease_expires_at=now + timedelta(seconds=LEASE_SECONDS),
        created_at=now,
    )
    return StagedFile(upload, describe(content), content, name, part.content_type)


def _placement(
    container: Document, part: FoundPart, staged: StagedFile, request_id: str | None
) -> tuple[Placement, PartOf]:
    above = () if container.part_of is None else container.part_of.container_ids
    part_of = PartOf(parent_id=container.id, path=part.path, container_ids=(*above, container.id))
    placement = Placement(
        upload=staged.upload,
        stored=staged.stored,
        content=staged.content,
        document_name=staged.document_name,
        origin=None,
        external_identity=None,
        source_url=container.source_url,
        merges=False,
        content_type=staged.content_type,
        tag_ids=container.tag_ids,
        metadata=dict(container.metadata),
        request_id=request_id,
        part_of=part_of,
        password=None,
    )
    return placement, part_of


def _hash(file: BinaryIO, part: FoundPart) -> str:
    digest, position = hashlib.sha256(), part.start
    while block := os.pread(file.fileno(), min(BLOCK_BYTES, part.end - position), position):
        digest.update(block)
        position += len(block)
    return digest.hexdigest()


async def _blocks(file: BinaryIO, part: FoundPart) -> AsyncIterator[bytes]:
    position = part.start
    while position < part.end:
        size = min(BLOCK_BYTES, part.end - position)
        block = await asyncio.to_thread(os.pread, file.fileno(), size, position)
        if not block:
            return
        position += len(block)
        yield block
