"""Invariant: a knowledge base being deleted has a job that completes the deletion."""

from collections.abc import AsyncGenerator, Sequence

from analytiq.ingestion.knowledge_bases.service import drop_request
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import Batch, SystemInvariant, of_knowledge_base
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift


class HalfDeleted(SystemInvariant):
    """Checks this invariant; see the module."""

    name = "half_deleted"
    kinds = frozenset({DriftKind.HALF_DELETED})

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        # Jobs after the rows: a job deletes the row last, so that one ending in between is seen by its row.
        deleting = await self.rows.knowledge_bases.all_deleting(organization_id)
        keys = {drop_request(item.organization_id, item.id).deduplication_key: item for item in deleting}
        known = await self.rows.jobs.existing(keys)
        left = {item.id: item for key, item in keys.items() if key not in known}
        again = await self.rows.knowledge_bases.all_deleting(organization_id) if left else []
        still = {item.id for item in again}
        yield Batch([of_knowledge_base(DriftKind.HALF_DELETED, left[kb_id]) for kb_id in left if kb_id in still])

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue the deletions; see Invariant."""
        return await writer.enqueue([(item, drop_request(item.organization_id, item.kb_id or "")) for item in drift])
