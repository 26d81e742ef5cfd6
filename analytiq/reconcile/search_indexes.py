"""Knowledge bases that MongoDB's search server finds, and whose indexes there are not as they should be."""

from collections.abc import AsyncGenerator

import structlog

from analytiq.errors import TransientError
from analytiq.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.mongo.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.reconcile.report import Drift
from analytiq.reconcile.stages import Batch

log = structlog.get_logger(__name__)


class SearchIndexStage:
    """Asks each store whether all is there; of full runs only, since a search server takes its time to list indexes."""

    name = "search_indexes"
    depth = Depth.FULL

    def __init__(self, knowledge_bases: KnowledgeBaseRepository, life_cycle: KnowledgeBaseLifeCycle) -> None:
        self._knowledge_bases = knowledge_bases
        self._life_cycle = life_cycle

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        try:
            faults = await self._life_cycle.store_faults(knowledge_base)
        except TransientError as error:
            # What the server holds is not known to be wrong, and the other stages need no search server.
            log.warning("reconcile.search_indexes_unknown", kb_id=kb_id, error=error.detail)
            faults = []
        # A deletion drops the indexes first, and may have begun since.
        if faults and await self._knowledge_bases.get(organization_id, kb_id) is None:
            faults = []
        yield Batch([Drift(DriftKind.LOST_SEARCH_INDEX, organization_id, kb_id, detail=fault) for fault in faults])
