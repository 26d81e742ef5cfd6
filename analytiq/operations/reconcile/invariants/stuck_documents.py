"""Invariant: a document waiting for extraction has a job; if the job has failed, the document shows it."""

from collections.abc import AsyncGenerator, Sequence

from analytiq import clock
from analytiq.ingestion.documents.requests import extract_request
from analytiq.models.document import DocumentState
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import LEFT_AT_ONCE, Batch, SystemInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import extract_of


class StuckDocuments(SystemInvariant):
    """Checks this invariant. A document whose extraction is not enqueued after a minute has lost its job."""

    name = "stuck_documents"
    kinds = frozenset({DriftKind.STUCK_DOCUMENT})
    most_grace_seconds = 60.0

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        waiting = await self.rows.document_survey.stuck_before(
            clock.now() - self.grace, limit=LEFT_AT_ONCE, organization_id=organization_id
        )
        keys = {extract_request(item.organization_id, item.id).deduplication_key: item for item in waiting}
        unfinished = await self.rows.jobs.unfinished_among(keys)
        left = {item.id: item for key, item in keys.items() if key not in unfinished}
        # A document whose job has ended between the reads shows that itself by now.
        still = await self.rows.document_survey.pointers(left)
        yield Batch(
            [
                Drift(DriftKind.STUCK_DOCUMENT, item.organization_id, document_id=item.id, byte_size=item.byte_size)
                for item in left.values()
                if item.id in still and still[item.id].state in (DocumentState.UPLOADED, DocumentState.EXTRACTING)
            ]
        )

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue the extractions; see Invariant."""
        failed = await self._fail_given_up(drift, writer)
        return len(failed) + await writer.enqueue([(item, extract_of(item)) for item in drift if item not in failed])

    async def _fail_given_up(self, drift: Sequence[Drift], writer: RepairWriter) -> set[Drift]:
        """Mark documents with a failed job as failed, since a dead worker cannot; return their drift."""
        stuck = {extract_of(item).deduplication_key: item for item in drift}
        failed: set[Drift] = set()
        for job in await self.rows.jobs.dead_among(stuck):
            item = stuck[job.id]
            document = await self.rows.documents.get(item.organization_id, item.document_id or "")
            failed.add(item)
            if document is not None and job.error is not None:
                await writer.fence.hold()
                await self.rows.documents.mark_failed(item.organization_id, document.id, document.file_id, job.error)
        return failed
