"""Puts together the way of a document into a KB: extraction, membership, sync, sweep, and the KB's life."""

from dataclasses import dataclass

from analytiq.composition.model_calls import ModelCalls
from analytiq.ingestion.extraction.extract import Extraction
from analytiq.ingestion.indexing.commit import Commit
from analytiq.ingestion.indexing.projecting import Projecting
from analytiq.ingestion.indexing.staging import Staging
from analytiq.ingestion.indexing.sweep import Sweep
from analytiq.ingestion.indexing.sync import Sync
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.ingestion.membership import Membership
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.retrieval.backends.registry import Backends
from analytiq.settings import IndexingSettings, Settings
from analytiq.storage.all_repositories import Repositories


@dataclass(frozen=True, slots=True)
class Indexing:
    """The stages, each the handler of a kind of job."""

    extraction: Extraction
    life_cycle: KnowledgeBaseLifeCycle
    sync: Sync
    sweep: Sweep


def new_indexing(
    rows: Repositories, calls: ModelCalls, backends: Backends, reader: DocumentReader, settings: Settings
) -> Indexing:
    """The stages between an upload and a KB that can be searched."""
    life_cycle = KnowledgeBaseLifeCycle(
        Membership(rows.documents, rows.knowledge_bases, rows.entries, rows.jobs),
        rows.knowledge_bases,
        rows.epochs,
        rows.entries,
        rows.generations,
        rows.vectors,
        rows.jobs,
        rows.job_history,
        calls.rate_limits,
        rows.holds,
        backends,
    )
    return Indexing(
        extraction=Extraction(
            rows.connection, rows.documents, rows.texts, rows.files, rows.jobs, reader, settings.extraction
        ),
        life_cycle=life_cycle,
        sync=_new_sync(rows, calls, backends, settings.indexing),
        sweep=Sweep(rows, backends),
    )


def _new_sync(rows: Repositories, calls: ModelCalls, backends: Backends, settings: IndexingSettings) -> Sync:
    staging = Staging(
        rows.texts, rows.generations, rows.vectors, calls.embedding, calls.embedding_models, backends, settings
    )
    commit = Commit(
        rows.connection,
        rows.documents,
        rows.knowledge_bases,
        rows.entries,
        rows.generations,
        rows.epochs,
        rows.vectors,
        rows.jobs,
        settings,
    )
    return Sync(
        rows.organizations,
        rows.documents,
        rows.knowledge_bases,
        rows.entries,
        rows.generations,
        rows.jobs,
        staging,
        commit,
        Projecting(rows.search_rows, rows.entries),
        calls.rate_limits,
    )
