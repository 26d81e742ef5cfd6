"""Invariant: each staged text has a job that will make it current.

The next extraction would remove others, but may never come.
"""

from collections.abc import AsyncGenerator, Sequence

from analytiq import clock
from analytiq.ingestion.documents.requests import extract_request
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import AS_CONFIGURED, LEFT_AT_ONCE, Batch, SystemInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift


class StagedTexts(SystemInvariant):
    """Checks this invariant; see the module."""

    name = "staged_texts"
    kinds = frozenset({DriftKind.ABANDONED_TEXT})
    most_grace_seconds = AS_CONFIGURED

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        # Texts first, jobs after: the transaction that makes a text current ends its job. A listed text whose document
        # has no job was therefore made current, or never will be; the deletion spares current ones.
        staged = await self.rows.texts.staged_before(
            clock.now() - self.grace, limit=LEFT_AT_ONCE, organization_id=organization_id
        )
        keys = {item.text_id: extract_request(item.organization_id, item.document_id) for item in staged}
        known = await self.rows.jobs.existing({request.deduplication_key for request in keys.values()})
        left = [item for item in staged if keys[item.text_id].deduplication_key not in known]
        yield Batch(
            [
                Drift(DriftKind.ABANDONED_TEXT, item.organization_id, document_id=item.document_id,
                      target_id=item.text_id)
                for item in left
            ]
        )  # fmt: skip

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Delete the texts; see Invariant."""
        return await writer.delete(drift, self._delete)

    async def _delete(self, item: Drift) -> None:
        await self.rows.texts.delete_unless_served(item.organization_id, item.document_id or "", item.target_id or "")
