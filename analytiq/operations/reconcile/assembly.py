"""Puts the reconciler together: its stages in their order, its repairs, its runs, its passes."""

from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.jobs.scheduling.fences import Fence
from analytiq.jobs.scheduling.tasks import PeriodicTask
from analytiq.models.reconciliation import Depth
from analytiq.operations.reconcile.cache import CacheStage
from analytiq.operations.reconcile.documents import LostPartStage, StuckDocumentStage
from analytiq.operations.reconcile.knowledge_bases import (
    FoundationStage,
    HalfCreatedStage,
    HalfDeletedStage,
    SearchIndexStage,
    StatisticsStage,
)
from analytiq.operations.reconcile.leftovers import FileStage, GenerationStage, StagedTextStage, TextStage, UploadStage
from analytiq.operations.reconcile.pairs import PairStage
from analytiq.operations.reconcile.reconciler import Reconciler
from analytiq.operations.reconcile.repairs import Repairs
from analytiq.operations.reconcile.runs import Runs
from analytiq.operations.reconcile.stages import KnowledgeBaseStage, SystemStage
from analytiq.operations.reconcile.vectors import VectorStage
from analytiq.retrieval.backends.registry import Backends
from analytiq.settings import ReconcilerSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.file_survey import FileSurvey
from analytiq.storage.files import FileStore
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.document_survey import DocumentSurvey
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.storage.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.texts import TextRepository
from analytiq.storage.repositories.uploads import UploadRepository
from analytiq.storage.repositories.vector_survey import VectorSurvey
from analytiq.storage.repositories.vectors import VectorRepository

MOST_REPAIRS = 25_000
"""Repairs of one kind in a pass: about what the workers of one machine do until the next."""


def new_reconciler(
    connection: MongoConnection,
    life_cycle: KnowledgeBaseLifeCycle,
    models: EmbeddingModels,
    backends: Backends,
    settings: ReconcilerSettings,
) -> Reconciler:
    """A reconciler of a database."""
    documents, texts = DocumentSurvey(connection), TextRepository(connection)
    knowledge_bases, epochs = KnowledgeBaseRepository(connection), EpochRepository(connection)
    entries, generations = IndexEntryRepository(connection), GenerationRepository(connection)
    vectors, survey = VectorRepository(connection), VectorSurvey(connection)
    jobs, uploads = JobRepository(connection), UploadRepository(connection)
    organizations = OrganizationRepository(connection)
    cache = CacheStage(connection, survey, EmbeddingCacheRepository(connection), organizations, models)
    files, grace_seconds = FileSurvey(connection), settings.orphan_grace_seconds
    # Foundations first: what a sync needs must be there before one is asked for. Counts before pairs: the syncs that
    # are asked for count anew.
    kb_stages: list[KnowledgeBaseStage] = [
        FoundationStage(survey, epochs, knowledge_bases),
        SearchIndexStage(backends),
        StatisticsStage(knowledge_bases, entries, jobs, life_cycle),
        PairStage(documents, knowledge_bases, entries, jobs),
        VectorStage(entries, generations, survey, jobs),
    ]
    system_stages: list[SystemStage] = [
        GenerationStage(generations, jobs, grace_seconds=grace_seconds),
        HalfDeletedStage(knowledge_bases, jobs),
        HalfCreatedStage(knowledge_bases, vectors, grace_seconds=grace_seconds),
        StuckDocumentStage(documents, jobs, grace_seconds=grace_seconds),
        UploadStage(uploads),
        StagedTextStage(texts, jobs, grace_seconds=grace_seconds),
        LostPartStage(documents, files, texts, jobs),
        FileStage(files, documents, uploads, jobs, grace_seconds=grace_seconds),
        TextStage(texts, documents, jobs, grace_seconds=grace_seconds),
    ]
    repairs = Repairs(
        connection, DocumentRepository(connection), texts, FileStore(connection), uploads, knowledge_bases, epochs,
        entries, generations, vectors, jobs, BackupHoldRepository(connection), life_cycle, cache, backends,
    )  # fmt: skip
    return Reconciler(
        organizations,
        knowledge_bases,
        repairs,
        kb_stages=kb_stages,
        system_stages=system_stages,
        cache_stage=cache,
        most_repairs=MOST_REPAIRS,
    )


def new_runs(connection: MongoConnection, reconciler: Reconciler, settings: ReconcilerSettings) -> Runs:
    """Its remembered runs."""
    return Runs(connection, reconciler, kept_days=settings.report_days)


def passes(runs: Runs, settings: ReconcilerSettings) -> list[PeriodicTask]:
    """Return the periodic passes of both depths; none where they are disabled."""
    if not settings.is_enabled:
        return []

    def a_pass(name: str, depth: Depth, interval_seconds: float) -> PeriodicTask:
        async def run(fence: Fence) -> None:
            await runs.run_over_everything(depth, fence)

        return PeriodicTask(name=name, interval_seconds=interval_seconds, run=run)

    return [
        a_pass("pass", Depth.QUICK, settings.interval_seconds),
        a_pass("full_pass", Depth.FULL, settings.full_interval_seconds),
    ]
