"""Knowledge bases whose collection, freshness counter, status or counts are not as they should be."""

from collections.abc import AsyncGenerator
from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.errors import TransientError
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.ingestion.knowledge_bases.service import drop_request
from analytiq.ingestion.membership import kb_changed
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.stages import Batch
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.ids import is_made_before
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.storage.repositories.vector_survey import CollectionState, VectorSurvey
from analytiq.storage.repositories.vectors import VectorRepository

log = structlog.get_logger(__name__)


def of_collection(knowledge_base: KnowledgeBase, state: CollectionState) -> list[Drift]:
    """What is wrong with a knowledge base's collection: pure.

    Writers name the collection's UUID (design 2.2); mongorestore gives another one.
    """
    if state.vectors_uuid is None:
        return [_drift(DriftKind.LOST_COLLECTION, knowledge_base, "it is missing")]
    if state.vectors_uuid != knowledge_base.vectors_uuid:
        return [_drift(DriftKind.LOST_COLLECTION, knowledge_base, "it was made anew by something else")]
    if not state.has_indexes:
        return [_drift(DriftKind.LOST_INDEX, knowledge_base)]
    return []


def of_epoch(knowledge_base: KnowledgeBase, epoch: Epoch | None, latest_change: int) -> list[Drift]:
    """What is wrong with a knowledge base's epoch, which was read after its log: pure."""
    if epoch is None:
        return [_drift(DriftKind.LOST_EPOCH, knowledge_base, "it is missing")]
    if epoch.epoch < latest_change:
        # The next commit would take a number that the log has already, and fail.
        return [_drift(DriftKind.LOST_EPOCH, knowledge_base, f"{epoch.epoch}, and the log has {latest_change}")]
    return []


def of_statistics(knowledge_base: KnowledgeBase, documents: int, chunks: int) -> list[Drift]:
    """Whether a knowledge base's counts are those of its entries: pure."""
    if (knowledge_base.document_count, knowledge_base.chunk_count) == (documents, chunks):
        return []
    detail = f"{knowledge_base.document_count} documents and {knowledge_base.chunk_count} chunks are shown,"
    return [_drift(DriftKind.UNCOUNTED, knowledge_base, f"{detail} {documents} and {chunks} are indexed")]


def _drift(kind: DriftKind, knowledge_base: KnowledgeBase, detail: str | None = None) -> Drift:
    return Drift(kind, knowledge_base.organization_id, knowledge_base.id, detail=detail)


class FoundationStage:
    """What commits and searches of a knowledge base stand on: its collection and its epoch."""

    name = "foundations"
    depth = Depth.QUICK

    def __init__(self, survey: VectorSurvey, epochs: EpochRepository, knowledge_bases: KnowledgeBaseRepository) -> None:
        self._survey = survey
        self._epochs = epochs
        self._knowledge_bases = knowledge_bases

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
        drift = await self._drift(knowledge_base)
        if drift:
            # A deletion takes collection and epoch along, and may have begun since.
            again = await self._knowledge_bases.get(knowledge_base.organization_id, knowledge_base.id)
            drift = [] if again is None else await self._drift(again)
        yield Batch(drift)

    async def _drift(self, knowledge_base: KnowledgeBase) -> list[Drift]:
        state = await self._survey.describe_collection(knowledge_base.id)
        latest = await self._epochs.latest_change(knowledge_base.id)
        epoch = await self._epochs.read(knowledge_base.id)
        return [*of_collection(knowledge_base, state), *of_epoch(knowledge_base, epoch, latest)]


class SearchIndexStage:
    """What a store needs beside the collection. An indexing or a search that misses it makes it too, if one comes."""

    name = "search_indexes"
    depth = Depth.QUICK

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
        try:
            missing = await self._backends.of(knowledge_base).missing(knowledge_base)
        except TransientError as error:
            log.warning("reconcile.store_away", kb_id=knowledge_base.id, detail=error.detail)
            return
        yield Batch([_drift(DriftKind.UNSEARCHABLE, knowledge_base, ", ".join(missing))] if missing else [])


class StatisticsStage:
    """Status and counts. Workers bring them up to date half a second after their jobs."""

    name = "statistics"
    depth = Depth.QUICK

    def __init__(
        self,
        knowledge_bases: KnowledgeBaseRepository,
        entries: IndexEntryRepository,
        jobs: JobRepository,
        life_cycle: KnowledgeBaseLifeCycle,
    ) -> None:
        self._knowledge_bases = knowledge_bases
        self._entries = entries
        self._jobs = jobs
        self._life_cycle = life_cycle

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
        drift = of_statistics(knowledge_base, *await self._entries.statistics(knowledge_base.id))
        is_unsettled = await self._is_unsettled(knowledge_base)
        if drift or is_unsettled:
            organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
            if await self._jobs.documents_being_synced(organization_id, kb_id):
                # Whoever ends that job brings them up to date.
                return
            again = await self._knowledge_bases.get(organization_id, kb_id)
            drift = of_statistics(again, *await self._entries.statistics(kb_id)) if again is not None else []
            if again is not None and await self._is_unsettled(again):
                drift.append(_drift(DriftKind.UNSETTLED, again))
        yield Batch(drift)

    async def _is_unsettled(self, knowledge_base: KnowledgeBase) -> bool:
        """Whether it is shown in another status than it has come to, or the job that begins its indexing was lost."""
        if knowledge_base.status is KnowledgeBaseStatus.ACTIVE:
            return False
        if knowledge_base.first_membership_at is None:
            key = kb_changed(knowledge_base.organization_id, knowledge_base.id).deduplication_key
            if not await self._jobs.existing([key]):
                return True
        return await self._life_cycle.status_of(knowledge_base) is not knowledge_base.status


class HalfDeletedStage:
    """Knowledge bases whose deletion has begun, and which no job goes on with."""

    name = "half_deleted"
    depth = Depth.QUICK
    needs_everything = False

    def __init__(self, knowledge_bases: KnowledgeBaseRepository, jobs: JobRepository) -> None:
        self._knowledge_bases = knowledge_bases
        self._jobs = jobs

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        # Jobs after the rows: one that was finished in between is told by its row, which its job deletes last.
        deleting = await self._knowledge_bases.all_deleting(organization_id)
        keys = {drop_request(item.organization_id, item.id).deduplication_key: item for item in deleting}
        known = await self._jobs.existing(keys)
        left = {item.id: item for key, item in keys.items() if key not in known}
        still = {item.id for item in await self._knowledge_bases.all_deleting(organization_id)} if left else set[str]()
        yield Batch([_drift(DriftKind.HALF_DELETED, item) for kb_id, item in left.items() if kb_id in still])


class HalfCreatedStage:
    """Empty collections without a knowledge base, older than the grace: a younger one may be about to get its row.

    One with vectors is left alone: after a partial restore its row may still be on the way. A creation ends within its
    transaction's deadline of half a minute, an hour before the default grace does.
    """

    name = "half_created"
    depth = Depth.QUICK
    needs_everything = True

    def __init__(
        self, knowledge_bases: KnowledgeBaseRepository, vectors: VectorRepository, *, grace_seconds: float
    ) -> None:
        self._knowledge_bases = knowledge_bases
        self._vectors = vectors
        self._grace = timedelta(seconds=grace_seconds)

    async def look(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemStage."""
        latest = clock.now() - self._grace
        # Collections first, rows after: one that is created in between is on neither list.
        present = [kb_id for kb_id in await self._vectors.kb_ids() if is_made_before(kb_id, latest)]
        known = await self._knowledge_bases.existing(present)
        nameless = [kb_id for kb_id in present if kb_id not in known]
        found = [kb_id for kb_id in nameless if await self._vectors.is_empty(kb_id)]
        yield Batch([Drift(DriftKind.HALF_CREATED, "", kb_id) for kb_id in found])
