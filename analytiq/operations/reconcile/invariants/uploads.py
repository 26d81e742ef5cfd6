"""Invariant: each unfinished upload has a live sender."""

from collections.abc import AsyncGenerator, Sequence

from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import LEFT_AT_ONCE, Batch, SystemInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift


class AbandonedUploads(SystemInvariant):
    """Checks this invariant; see the module. An upload's lease is its grace period."""

    name = "uploads"
    kinds = frozenset({DriftKind.ABANDONED_UPLOAD})

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        abandoned = await self.rows.uploads.abandoned(limit=LEFT_AT_ONCE, organization_id=organization_id)
        yield Batch([Drift(DriftKind.ABANDONED_UPLOAD, item.organization_id, target_id=item.id) for item in abandoned])

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Abandon the uploads; see Invariant."""
        return await writer.delete(drift, self._give_up)

    async def _give_up(self, item: Drift) -> None:
        """End the lease first: afterwards the upload cannot commit, and no row refers to its bytes."""
        upload = await self.rows.uploads.get(item.organization_id, item.target_id or "")
        if upload is not None and await self.rows.uploads.give_up(upload):
            await self.rows.files.delete_unfinished(upload.file_id)
            await self.rows.uploads.forget(upload)
