"""Invariant: vectors staged by an ended attempt, or superseded by a commit, are swept."""

from collections.abc import AsyncGenerator, Collection, Sequence

from analytiq import clock
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import AS_CONFIGURED, LEFT_AT_ONCE, Batch, SystemInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import sweep_of


class LeftGenerations(SystemInvariant):
    """Checks this invariant; see the module."""

    name = "generations"
    kinds = frozenset({DriftKind.ORPHAN})
    most_grace_seconds = AS_CONFIGURED

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        states = [GenerationState.STAGING, GenerationState.SUPERSEDED, GenerationState.PURGING]
        left = await self.rows.generations.left_since(
            states, clock.now() - self.grace, limit=LEFT_AT_ONCE, organization_id=organization_id
        )
        held = await self.rows.jobs.held_tokens({generation.lease_token for generation in left})
        sweeps = {
            sweep_request(item, delay_seconds=0.0).deduplication_key: item for item in left if not _is_held(item, held)
        }
        known = await self.rows.jobs.existing(list(sweeps))
        found = [item for key, item in sweeps.items() if key not in known]
        yield Batch(
            [Drift(DriftKind.ORPHAN, item.organization_id, item.kb_id, item.document_id, item.id) for item in found]
        )

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue the sweeps; see Invariant."""
        return await writer.enqueue([(item, sweep_of(item)) for item in drift])


def _is_held(generation: Generation, held_tokens: Collection[str]) -> bool:
    return generation.state is GenerationState.STAGING and generation.lease_token in held_tokens
