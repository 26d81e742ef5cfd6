"""Receives files: `stage` writes the bytes, `commit` creates the document, `discard` deletes the bytes."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import InvalidInputError, TransientError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.metadata_fields import MetadataFields
from analytiq.ingestion.documents.naming import (
    validated_external_identity,
    validated_origin,
    validated_path,
    validated_source_url,
)
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.upload.placement import Placement, Placing
from analytiq.models.document import Document, ExternalIdentity
from analytiq.models.upload import DuplicatePolicy, Upload, UploadOutcome
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.files import StoredBytes, describe
from analytiq.storage.ids import new_id
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import traces
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

WITH_DOCUMENT_BYTES = 64 * 1024
"""Files up to this length are written in the transaction that creates the document.

That needs no lease, leaves nothing behind, and writes nothing of a file that already exists: it saves 2 of the 7
commands for a new file, 7 of the 8 for a known one. A request of 1,000 such files holds 64 MB until it commits.
"""
LEASE_SECONDS = 600.0
RENEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Bytes that belong to no document yet."""

    upload: Upload
    stored: StoredBytes
    content: bytes | None
    """The bytes of a small file, to be written with its document; None if they are written already."""
    document_name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The document of an upload, and the outcome."""

    document: Document
    outcome: UploadOutcome


class Uploads:
    """Uploads of an organization."""

    def __init__(
        self, rows: Repositories, metadata_fields: MetadataFields, storage: Storage, *, max_bytes: int
    ) -> None:
        self._connection = rows.connection
        self._uploads = rows.uploads
        self._files = rows.files
        self._placing = Placing(rows, storage)
        self._storage = storage
        self._metadata_fields = metadata_fields
        self._max_bytes = max_bytes

    async def stage(
        self,
        organization_id: str,
        *,
        document_name: str,
        content_type: str,
        source: AsyncIterator[bytes],
        field: str = "files",
        external_identity: ExternalIdentity | None = None,
    ) -> StagedFile:
        """Write a file's bytes, in constant memory, under a lease; `field` names the file in errors.

        `external_identity` tells the storage quota which document the file may replace, where it is known by now.

        Raises:
            InvalidInputError: the name is invalid.
            LimitExceededError: the file is too large; nothing of it is kept.
            QuotaExceededError: the organization has no room for it; nothing of it is kept.
        """
        name = validated_path(document_name, field=field)
        source = self._storage.guarded(organization_id, name, source, external_identity=external_identity)
        now = clock.now()
        upload = Upload(
            id=new_id(),
            organization_id=organization_id,
            file_id=new_id(),
            document_name=name,
            lease_expires_at=now + timedelta(seconds=LEASE_SECONDS),
            created_at=now,
        )
        head, is_whole = await _read_head(source, min(WITH_DOCUMENT_BYTES, self._max_bytes))
        if is_whole:
            return StagedFile(upload, describe(head), head, name, content_type)
        await self._uploads.insert(upload, lease_seconds=LEASE_SECONDS)
        try:
            blocks = self._renewing(upload, _chained(head, source))
            with traces.span("upload.write"):
                stored = await self._files.write(upload.file_id, blocks, self._max_bytes)
        except BaseException:
            await asyncio.shield(self._undo(upload))
            raise
        await checkpoint("upload.bytes_written")
        return StagedFile(upload, stored, None, name, content_type)

    async def commit(
        self,
        staged: StagedFile,
        *,
        tag_ids: Sequence[str] | None,
        metadata: Mapping[str, JsonValue] | None,
        policy: DuplicatePolicy,
        merges: bool = False,
        path: str | None = None,
        origin: str | None = None,
        external_identity: ExternalIdentity | None = None,
        password: str | None = None,
        source_url: str | None = None,
        is_bulk: bool = False,
        request_id: str | None = None,
    ) -> UploadResult:
        """Create a document of the staged bytes, by the policy for duplicates; `tag_ids` are known to exist.

        None for tags or metadata means none for a new document, and unchanged for a replaced one. A file with an
        external identity makes the document of that item, or becomes its next version; the policy does not apply.

        Args:
            staged: the result of `stage`.
            tag_ids: the document's tags.
            metadata: the document's metadata.
            policy: for bytes or a name that already exist in the organization.
            merges: add tags and metadata to those of an existing document, instead of keeping or replacing them.
            path: the document's name with its folders; the staged name if left out.
            origin: see `Document.origin`.
            external_identity: see `Document.external_identity`.
            password: opens an encrypted file; encrypted for storage (`DocumentPasswords.sealed`).
            source_url: see `Document.source_url`; None keeps that of an existing document.
            is_bulk: True for one of many files: its jobs wait behind those of single uploads.
            request_id: the call's id, for the log.

        Raises:
            InvalidInputError: the path, the origin, the address or the external identity is invalid, `policy` asks
                for a copy of an item, the metadata is not storable, or a declared field has a value of another type.
            ConflictError: the document to replace is ambiguous.
            QuotaExceededError: the organization has no room for it.
        """
        if external_identity is not None:
            validated_external_identity(external_identity)
            if policy is DuplicatePolicy.CREATE:
                raise InvalidInputError.of_field(
                    "on_duplicate", "An external identity names one document. Use `return` or `replace`."
                )
        kept, declared = None if metadata is None else validated_metadata(metadata), None
        if kept:
            kept, declared = await self._metadata_fields.fitted(staged.upload.organization_id, kept)
        placement = Placement(
            upload=staged.upload,
            stored=staged.stored,
            content=staged.content,
            document_name=staged.document_name if path is None else validated_path(path),
            origin=None if origin is None else validated_origin(origin),
            external_identity=external_identity,
            source_url=None if source_url is None else validated_source_url(source_url),
            merges=merges,
            content_type=staged.content_type,
            tag_ids=None if tag_ids is None else tuple(tag_ids),
            metadata=kept,
            password=password,
            is_bulk=is_bulk,
            request_id=request_id,
        )
        existing = await self._placing.already_there(placement, policy)
        if existing is not None:
            document, outcome = existing, UploadOutcome.RETURNED
        else:
            place = await self._placing.choose(placement, policy)
            async with self._storage.in_turn(placement.upload.organization_id):
                document, outcome = await run_in_transaction(self._connection, place)
            await checkpoint("upload.committed")
            if declared is not None:
                document = await self._metadata_fields.settle(document, declared)
        if outcome is UploadOutcome.RETURNED:
            await self.discard(staged)
        log.info("upload.done", document_id=document.id, outcome=outcome.value, bytes=staged.stored.byte_size)
        return UploadResult(document, outcome)

    async def discard(self, staged: StagedFile) -> None:
        """Delete staged bytes without a document."""
        if staged.content is not None:
            return
        await self._undo(staged.upload)

    async def _undo(self, upload: Upload) -> None:
        """Delete the row last: after a crash, it shows the reconciler the leftover bytes."""
        if await self._uploads.give_up(upload):
            await self._files.delete_unfinished(upload.file_id)
            await self._uploads.forget(upload)

    async def _renewing(self, upload: Upload, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pass the bytes through and renew the lease, so that a slow upload does not count as abandoned."""
        loop = asyncio.get_running_loop()
        renewed_at = loop.time()
        async for block in source:
            if loop.time() - renewed_at > RENEW_SECONDS:
                renewed_at = loop.time()
                if not await self._uploads.renew(upload, lease_seconds=LEASE_SECONDS):
                    raise TransientError("The upload paused for too long and was abandoned. Send the file again.")
            yield block


async def _read_head(source: AsyncIterator[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """Return the first blocks of a file until they exceed `max_bytes`, and True if they are the whole file."""
    head = bytearray()
    async for block in source:
        head += block
        if len(head) > max_bytes:
            return bytes(head), False
    return bytes(head), True


async def _chained(head: bytes, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for block in source:
        yield block
