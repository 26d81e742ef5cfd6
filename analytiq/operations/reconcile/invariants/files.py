"""Invariant: a document refers to each file, and an upload is writing each incomplete one.

Other files only take room and have no reader, so only a full pass over everything looks for them.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence

from analytiq import clock
from analytiq.ingestion.documents.requests import clean_request
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import AS_CONFIGURED, BATCH, Batch, SystemInvariant
from analytiq.operations.reconcile.lost_rows import LostRows, without_cleaning
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.file_survey import FileOwner
from analytiq.storage.ids import is_made_before
from analytiq.storage.repositories.document_survey import DocumentPointers

SCANNED_CHUNKS = 20_000
"""Chunks of files whose ids are read at a time, from the index: 30 ms."""
_UNFINISHED = "c:"
"""Marks a position in the second half, which scans chunks instead of files."""


def unnamed_files(files: Sequence[FileOwner], documents: Mapping[str, DocumentPointers]) -> list[Drift]:
    """Return finished files that their document does not refer to; pure. Files without a document are other tools'."""
    return [
        Drift(DriftKind.ORPHANED_FILE, item.organization_id, document_id=item.document_id, target_id=item.file_id)
        for item in files
        if item.document_id
        and (item.document_id not in documents or documents[item.document_id].file_id != item.file_id)
    ]


class UnnamedFiles(SystemInvariant):
    """Checks this invariant. After mass loss of documents' rows, it reports them and keeps their files."""

    name = "files"
    kinds = frozenset({DriftKind.ORPHANED_FILE, DriftKind.LOST_DOCUMENT})
    depth = Depth.FULL
    most_grace_seconds = AS_CONFIGURED
    needs_everything = True

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        position, lost = after, LostRows(self.rows.document_survey)
        are_all_named, are_all_finished = (False, False) if after else await self._are_paired()
        if are_all_named:
            position = _UNFINISHED
        while not position.startswith(_UNFINISHED):
            files = await self.rows.file_survey.finished_after(after=position, limit=BATCH)
            position = files[-1].file_id if len(files) == BATCH else _UNFINISHED
            yield Batch(await self._unnamed(files, lost), after=position)
        if are_all_finished:
            return
        position = position.removeprefix(_UNFINISHED)
        while True:
            written = await self.rows.file_survey.written_after(after=position, limit=SCANNED_CHUNKS)
            if not written:
                return
            position = written[-1]
            yield Batch(await self._unfinished(written, lost), after=_UNFINISHED + position)

    async def _are_paired(self) -> tuple[bool, bool]:
        """Return whether all files, and all chunks, are those found with the documents of this pass."""
        rows = self.rows
        return await self.system.pairs.are_all(
            rows.document_survey, rows.file_survey.count, lambda whole: (whole.files, whole.chunks)
        )

    async def _unnamed(self, files: Sequence[FileOwner], lost: LostRows) -> list[Drift]:
        # Files first, documents after: a file added by a replacement in between is not on the list. The job that
        # cleans up after a replacement is enqueued in its transaction.
        known = await self.rows.document_survey.pointers({item.document_id for item in files})
        left = await without_cleaning(self.rows.jobs, unnamed_files(files, known))
        there = await self.rows.file_survey.finished_among([item.target_id for item in left if item.target_id])
        owners = [(item.organization_id, item.document_id) for item in files]
        return await lost.spare([item for item in left if item.target_id in there], owners, known)

    async def _unfinished(self, file_ids: Sequence[str], lost: LostRows) -> list[Drift]:
        latest = clock.now() - self.grace
        old = [each for each in file_ids if is_made_before(each, latest)]
        # Uploads first: the transaction that ends one makes its file finished.
        uploading = await self.rows.uploads.file_ids_among(old)
        finished = await self.rows.file_survey.finished_among(old)
        nameless = [each for each in old if each not in uploading and each not in finished]
        # Bytes of a file with a document are no leftovers: the file's own row was lost, and is reported as lost.
        named = await self.rows.document_survey.files_named_among(nameless) if nameless else set[str]()
        left = [
            Drift(DriftKind.ORPHANED_FILE, "", target_id=each, detail="never finished")
            for each in nameless
            if each not in named
        ]
        return await lost.spare(left, [("", each) for each in old], finished | named)

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Clean the documents; see Invariant."""
        orphaned = [item for item in drift if item.kind is DriftKind.ORPHANED_FILE]
        requested = [
            (item, clean_request(item.organization_id, item.document_id)) for item in orphaned if item.document_id
        ]
        repaired = await writer.enqueue(requested)
        return repaired + await writer.delete([item for item in orphaned if not item.document_id], self._delete)

    async def _delete(self, item: Drift) -> None:
        await self.rows.files.delete_unfinished(item.target_id or "")
