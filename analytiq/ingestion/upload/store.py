"""Receives files: `stage` writes the bytes, `commit` creates the document, `discard` deletes the bytes.

`commit_all` does it for many files.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import AnalytiqError, TransientError
from analytiq.ingestion.documents.metadata_fields import DeclaredFields, MetadataFields
from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.documents.storage import Storage, StorageEstimate
from analytiq.ingestion.upload.batch import BatchPlacing, WantedPlacement
from analytiq.ingestion.upload.group_commit import GroupCommit
from analytiq.ingestion.upload.placement import Placement, Placing
from analytiq.ingestion.upload.request import StagedFile, UploadRequest
from analytiq.models.document import Document, ExternalIdentity
from analytiq.models.upload import DuplicatePolicy, Upload, UploadOutcome
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.files import describe
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
        self._groups = GroupCommit(BatchPlacing(rows, storage).place)
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
        estimate: StorageEstimate | None = None,
    ) -> StagedFile:
        """Write a file's bytes, in constant memory, under a lease; `field` names the file in errors.

        `external_identity` tells the storage quota which document the file may replace, where it is known by now.
        The files of a call share an `estimate` (`Storage.estimate`).

        Raises:
            InvalidInputError: the name is invalid.
            LimitExceededError: the file is too large; nothing of it is kept.
            QuotaExceededError: the organization has no room for it; nothing of it is kept.
        """
        name = validated_path(document_name, field=field)
        source = self._storage.guarded(
            organization_id, name, source, external_identity=external_identity, estimate=estimate
        )
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
        """Create a document of the staged bytes, by the policy for duplicates; see `UploadRequest`.

        Raises:
            InvalidInputError: the request is invalid (`UploadRequest.placement`).
            ConflictError: the document to replace is ambiguous.
            QuotaExceededError: the organization has no room for it.
        """
        request = UploadRequest(
            staged=staged,
            tag_ids=tag_ids,
            metadata=metadata,
            policy=policy,
            merges=merges,
            path=path,
            origin=origin,
            external_identity=external_identity,
            password=password,
            source_url=source_url,
            is_bulk=is_bulk,
            request_id=request_id,
        )
        (result,) = await self.commit_all([request])
        if isinstance(result, AnalytiqError):
            raise result
        return result

    async def commit_all(self, requests: Sequence[UploadRequest]) -> list[UploadResult | AnalytiqError]:
        """Create documents of staged files of one organization: small ones in batches, shared with other calls.

        Return for each file its document, or its own error, as `commit` would; the caller discards refused files.
        """
        if not requests:
            return []
        organization_id = requests[0].staged.upload.organization_id
        declared = None
        if any(request.metadata for request in requests):
            declared = await self._metadata_fields.of(organization_id)
        results: dict[int, UploadResult | AnalytiqError] = {}
        wanted: dict[int, WantedPlacement] = {}
        for index, request in enumerate(requests):
            try:
                wanted[index] = WantedPlacement(request.placement(declared), request.policy)
            except AnalytiqError as error:
                results[index] = error
        results |= await self._commit_in_groups(organization_id, wanted, declared)
        for index, item in wanted.items():
            if index not in results:
                results[index] = await self._commit_alone(requests[index].staged, item, declared)
        return [results[index] for index in range(len(requests))]

    async def _commit_in_groups(
        self, organization_id: str, wanted: Mapping[int, WantedPlacement], declared: DeclaredFields | None
    ) -> dict[int, UploadResult | AnalytiqError]:
        """Commit what can be committed together."""
        small = {index: item for index, item in wanted.items() if item.placement.content is not None}
        if not small:
            return {}
        placed = dict(zip(small, await self._groups.place(organization_id, list(small.values())), strict=True))
        results: dict[int, UploadResult | AnalytiqError] = {
            index: result for index, result in placed.items() if isinstance(result, AnalytiqError)
        }
        done = {index: result for index, result in placed.items() if isinstance(result, tuple)}
        settled: Mapping[str, Document] = {}
        if declared is not None:
            created = [document for document, outcome in done.values() if outcome is not UploadOutcome.RETURNED]
            settled = await self._metadata_fields.settle_all(created, declared)
        for index, (document, outcome) in done.items():
            results[index] = UploadResult(settled.get(document.id, document), outcome)
        return results

    async def _commit_alone(
        self, staged: StagedFile, wanted: WantedPlacement, declared: DeclaredFields | None
    ) -> UploadResult | AnalytiqError:
        """Commit a large file, or a file that changes a document."""
        try:
            document, outcome = await self._place(wanted.placement, wanted.policy)
            if outcome is not UploadOutcome.RETURNED and declared is not None:
                document = await self._metadata_fields.settle(document, declared)
            if outcome is UploadOutcome.RETURNED:
                await self.discard(staged)
        except AnalytiqError as error:
            return error
        log.info("upload.done", document_id=document.id, outcome=outcome.value, bytes=staged.stored.byte_size)
        return UploadResult(document, outcome)

    async def _place(self, placement: Placement, policy: DuplicatePolicy) -> tuple[Document, UploadOutcome]:
        existing = await self._placing.already_there(placement, policy)
        if existing is not None:
            return existing, UploadOutcome.RETURNED
        place = await self._placing.choose(placement, policy)
        async with self._storage.in_turn(placement.upload.organization_id):
            placed = await run_in_transaction(self._connection, place)
        await checkpoint("upload.committed")
        return placed

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
