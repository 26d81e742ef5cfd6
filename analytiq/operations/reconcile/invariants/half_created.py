"""Invariant: each empty collection of vectors belongs to a knowledge base.

A collection with vectors stays: after a partial restore its row may still arrive. A creation ends within
its transaction's deadline of half a minute, far below the default grace period of an hour.
"""

from collections.abc import AsyncGenerator, Sequence

from analytiq import clock
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import AS_CONFIGURED, Batch, SystemInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.ids import is_made_before


class HalfCreated(SystemInvariant):
    """Checks this invariant; see the module."""

    name = "half_created"
    kinds = frozenset({DriftKind.HALF_CREATED})
    most_grace_seconds = AS_CONFIGURED
    needs_everything = True

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        latest = clock.now() - self.grace
        # Collections first, rows after: one created in between is on neither list.
        present = [kb_id for kb_id in await self.rows.vectors.kb_ids() if is_made_before(kb_id, latest)]
        known = await self.rows.knowledge_bases.existing(present)
        nameless = [kb_id for kb_id in present if kb_id not in known]
        found = [kb_id for kb_id in nameless if await self.rows.vectors.is_empty(kb_id)]
        yield Batch([Drift(DriftKind.HALF_CREATED, "", kb_id) for kb_id in found])

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Drop the collections; see Invariant."""
        return await writer.delete(drift, self._drop)

    async def _drop(self, item: Drift) -> None:
        kb_id = item.kb_id or ""
        if not await self.rows.knowledge_bases.existing([kb_id]) and await self.rows.vectors.is_empty(kb_id):
            await self.rows.vectors.drop_collection(kb_id)
