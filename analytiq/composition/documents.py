"""Puts together the lives of documents, tags and KBs: how they come, change, and are deleted."""

from dataclasses import dataclass

from analytiq.composition.model_calls import ModelCalls
from analytiq.ingestion.documents.changing import DocumentChanging
from analytiq.ingestion.documents.cleaning import Cleaning
from analytiq.ingestion.documents.indexing_state import IndexingStates
from analytiq.ingestion.documents.lookup import DocumentLookups
from analytiq.ingestion.documents.metadata_fields import MetadataFields
from analytiq.ingestion.documents.retrying import DocumentRetrying
from analytiq.ingestion.documents.service import Documents
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.knowledge_bases.forecast import Forecasts
from analytiq.ingestion.knowledge_bases.service import KnowledgeBases
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseStandings
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.prompt_uses import PromptUses
from analytiq.ingestion.tags.service import Tags
from analytiq.ingestion.upload.store import Uploads
from analytiq.operations.erasure.retention import Retention
from analytiq.operations.erasure.service import Erasures, new_erasures
from analytiq.retrieval.backends.registry import Backends
from analytiq.retrieval.places.service import Locating
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.chunk_pages import ChunkPageRepository
from analytiq.storage.repositories.document_batches import DocumentBatchRepository
from analytiq.storage.repositories.document_counts import DocumentCountRepository
from analytiq.storage.repositories.document_lookups import DocumentLookupRepository
from analytiq.storage.repositories.forecasts import ForecastRepository
from analytiq.storage.repositories.kb_work import KnowledgeBaseWorkRepository
from analytiq.storage.repositories.retention import RetentionRepository
from analytiq.storage.repositories.storage_accounts import StorageAccountRepository


@dataclass(frozen=True, slots=True)
class DocumentLives:
    """What an organization has, and what may be done with it."""

    documents: Documents
    changing: DocumentChanging
    lookups: DocumentLookups
    cleaning: Cleaning
    metadata_fields: MetadataFields
    storage: Storage
    uploads: Uploads
    locating: Locating
    indexing_states: IndexingStates
    tags: Tags
    knowledge_bases: KnowledgeBases
    standings: KnowledgeBaseStandings
    document_counts: DocumentCountRepository
    retrying: DocumentRetrying
    forecasts: Forecasts
    retention: Retention
    erasures: Erasures


def new_document_lives(
    rows: Repositories, calls: ModelCalls, backends: Backends, reader: DocumentReader, settings: Settings
) -> DocumentLives:
    """The lives of an organization's documents, tags and KBs."""
    connection = rows.connection
    announced = rows.announced
    states = IndexingStates(announced.knowledge_bases, announced.entries, announced.jobs)
    prompt_uses = PromptUses(rows.prompts)
    metadata_fields = MetadataFields(connection, rows.organizations, rows.documents, rows.jobs)
    storage = Storage(StorageAccountRepository(connection), rows.documents)
    counts = DocumentCountRepository(connection.announcing)
    standings = KnowledgeBaseStandings(counts, KnowledgeBaseWorkRepository(connection.announcing))
    documents = Documents(connection, announced.documents, rows.texts, rows.files, rows.jobs, metadata_fields, storage)
    return DocumentLives(
        documents=documents,
        changing=DocumentChanging(
            connection, DocumentBatchRepository(connection), rows.documents, rows.jobs, metadata_fields
        ),
        cleaning=Cleaning(
            rows.documents,
            rows.texts,
            rows.files,
            rows.job_history,
            rows.jobs,
            rows.holds,
            rows.prompt_runs,
            rows.prompt_results,
            rows.chats,
        ),
        metadata_fields=metadata_fields,
        storage=storage,
        uploads=Uploads(
            connection,
            rows.uploads,
            rows.documents,
            rows.files,
            rows.jobs,
            metadata_fields,
            storage,
            max_bytes=settings.api.max_upload_bytes,
        ),
        locating=Locating(rows.organizations, rows.documents, rows.texts, rows.files, reader, settings.extraction),
        indexing_states=states,
        lookups=DocumentLookups(DocumentLookupRepository(connection), states),
        tags=Tags(connection, rows.tags, rows.documents, rows.knowledge_bases, prompt_uses),
        knowledge_bases=_new_knowledge_bases(announced, rows, calls, backends, prompt_uses, standings),
        standings=standings,
        document_counts=counts,
        retrying=DocumentRetrying(connection, DocumentBatchRepository(connection), rows.knowledge_bases, rows.jobs),
        forecasts=Forecasts(ForecastRepository(connection), rows.texts, rows.embedding_cache, calls.embedding_models),
        retention=Retention(RetentionRepository(connection), documents),
        erasures=new_erasures(connection, documents, settings.erasure),
    )


def _new_knowledge_bases(
    announced: Repositories,
    rows: Repositories,
    calls: ModelCalls,
    backends: Backends,
    prompt_uses: PromptUses,
    standings: KnowledgeBaseStandings,
) -> KnowledgeBases:
    return KnowledgeBases(
        rows.connection,
        announced.knowledge_bases,
        rows.epochs,
        announced.entries,
        announced.documents,
        rows.vectors,
        rows.jobs,
        calls.embedding,
        calls.embedding_models,
        backends,
        prompt_uses,
        ChunkPageRepository(rows.connection),
        standings,
    )
