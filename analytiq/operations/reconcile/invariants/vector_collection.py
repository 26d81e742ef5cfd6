"""Invariant: each knowledge base has its original collection of vectors, with the indexes."""

from collections.abc import AsyncGenerator, Sequence

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import Batch, KnowledgeBaseInvariant, of_knowledge_base
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.repositories.vector_survey import CollectionState


def judge_collection(knowledge_base: KnowledgeBase, state: CollectionState) -> list[Drift]:
    """Compare a knowledge base with its collection; pure.

    Writers name the collection's UUID; mongorestore gives it another one.
    """
    if state.vectors_uuid is None:
        return [of_knowledge_base(DriftKind.LOST_COLLECTION, knowledge_base, "it is missing")]
    if state.vectors_uuid != knowledge_base.vectors_uuid:
        return [of_knowledge_base(DriftKind.LOST_COLLECTION, knowledge_base, "another program has recreated it")]
    if not state.has_indexes:
        return [of_knowledge_base(DriftKind.LOST_INDEX, knowledge_base)]
    return []


class VectorCollection(KnowledgeBaseInvariant):
    """Checks this invariant; see the module."""

    name = "vector_collection"
    kinds = frozenset({DriftKind.LOST_COLLECTION, DriftKind.LOST_INDEX})

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        drift = await self._judge(knowledge_base)
        if drift:
            # A deletion drops the collection, and may have begun since.
            again = await self.rows.knowledge_bases.get(knowledge_base.organization_id, knowledge_base.id)
            drift = [] if again is None else await self._judge(again)
        yield Batch(drift)

    async def _judge(self, knowledge_base: KnowledgeBase) -> list[Drift]:
        return judge_collection(knowledge_base, await self.rows.vector_survey.describe_collection(knowledge_base.id))

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Create or accept the collections; see Invariant."""
        return await writer.apply(drift, self._make)

    async def _make(self, item: Drift) -> None:
        """Create missing collections and indexes, and record the present collection for writers.

        A deletion in between leaves an empty collection, which `half_created` finds.
        """
        knowledge_base = await self.rows.knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is None:
            return
        vectors_uuid = await self.rows.vectors.create_collection(knowledge_base.id)
        if vectors_uuid != knowledge_base.vectors_uuid:
            await self.rows.knowledge_bases.point_at_collection(
                item.organization_id,
                knowledge_base.id,
                vectors_uuid=vectors_uuid,
                instead_of=knowledge_base.vectors_uuid,
            )
