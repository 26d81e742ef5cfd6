"""Invariant: a knowledge base's counts match its index entries, and its status matches its work.

Workers update both half a second after their jobs.
"""

from collections.abc import AsyncGenerator, Sequence

from analytiq.ingestion.membership import kb_changed
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import Batch, KnowledgeBaseInvariant, of_knowledge_base
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift


def judge_counts(knowledge_base: KnowledgeBase, documents: int, chunks: int) -> list[Drift]:
    """Compare a knowledge base's counts with those of its entries; pure."""
    if (knowledge_base.document_count, knowledge_base.chunk_count) == (documents, chunks):
        return []
    detail = f"{knowledge_base.document_count} documents and {knowledge_base.chunk_count} chunks are shown,"
    return [of_knowledge_base(DriftKind.UNCOUNTED, knowledge_base, f"{detail} {documents} and {chunks} are indexed")]


class Statistics(KnowledgeBaseInvariant):
    """Checks this invariant; see the module."""

    name = "statistics"
    kinds = frozenset({DriftKind.UNCOUNTED, DriftKind.UNSETTLED})

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        drift = await self._judge_counts(knowledge_base)
        if drift or await self._is_unsettled(knowledge_base):
            organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
            if await self.rows.jobs.documents_being_synced(organization_id, kb_id):
                # The end of that job updates them.
                return
            again = await self.rows.knowledge_bases.get(organization_id, kb_id)
            drift = await self._judge_counts(again) if again is not None else []
            if again is not None and await self._is_unsettled(again):
                drift.append(of_knowledge_base(DriftKind.UNSETTLED, again))
        yield Batch(drift)

    async def _judge_counts(self, knowledge_base: KnowledgeBase) -> list[Drift]:
        return judge_counts(knowledge_base, *await self.rows.entries.statistics(knowledge_base.id))

    async def _is_unsettled(self, knowledge_base: KnowledgeBase) -> bool:
        """Return True if its status is outdated, or the job that begins its indexing was lost."""
        if knowledge_base.status is KnowledgeBaseStatus.ACTIVE:
            return False
        if knowledge_base.first_membership_at is None:
            key = kb_changed(knowledge_base.organization_id, knowledge_base.id).deduplication_key
            if not await self.rows.jobs.existing([key]):
                return True
        return await self.system.life_cycle.status_of(knowledge_base) is not knowledge_base.status

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Update counts and status; see Invariant."""
        return await writer.apply(drift, self._settle)

    async def _settle(self, item: Drift) -> None:
        knowledge_base = await self.rows.knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is None:
            return
        if item.kind is DriftKind.UNSETTLED and knowledge_base.first_membership_at is None:
            gathering = kb_changed(item.organization_id, knowledge_base.id)
            if not await self.rows.jobs.existing([gathering.deduplication_key]):
                await self.rows.jobs.enqueue([gathering])
                return
        await self.system.life_cycle.settle(item.organization_id, knowledge_base.id)
