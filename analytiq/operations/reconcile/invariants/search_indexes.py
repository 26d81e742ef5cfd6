"""Invariant: the retrieval backend has the indexes that each knowledge base needs.

The next indexing or search would create missing ones too.
"""

from collections.abc import AsyncGenerator, Sequence

import structlog

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import Batch, KnowledgeBaseInvariant, of_knowledge_base
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift

log = structlog.get_logger(__name__)


class SearchIndexes(KnowledgeBaseInvariant):
    """Checks this invariant; see the module."""

    name = "search_indexes"
    kinds = frozenset({DriftKind.UNSEARCHABLE})

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        try:
            missing = await self.system.backends.of(knowledge_base).missing(knowledge_base)
        except TransientError as error:
            log.warning("reconcile.store_away", kb_id=knowledge_base.id, detail=error.detail)
            return
        detail = ", ".join(missing)
        yield Batch([of_knowledge_base(DriftKind.UNSEARCHABLE, knowledge_base, detail)] if missing else [])

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Create the indexes; see Invariant."""
        return await writer.apply(drift, self._prepare)

    async def _prepare(self, item: Drift) -> None:
        knowledge_base = await self.rows.knowledge_bases.get(item.organization_id, item.kb_id or "")
        if knowledge_base is not None:
            await self.system.backends.of(knowledge_base).prepare(knowledge_base)
