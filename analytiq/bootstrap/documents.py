"""Puts together the lives of documents, tags and KBs: how they come, change, and are deleted."""

from dataclasses import dataclass

from analytiq.bootstrap.model_calls import ModelCalls
from analytiq.bootstrap.rows import Rows
from analytiq.documents.changing import DocumentChanging
from analytiq.documents.cleaning import Cleaning
from analytiq.documents.indexing_state import IndexingStates
from analytiq.documents.lookup import DocumentLookups
from analytiq.documents.metadata_fields import MetadataFields
from analytiq.documents.retrying import DocumentRetrying
from analytiq.documents.service import Documents
from analytiq.documents.storage import Storage
from analytiq.erasure.retention import Retention
from analytiq.erasure.service import Erasures, new_erasures
from analytiq.knowledge_bases.forecast import Forecasts
from analytiq.knowledge_bases.service import KnowledgeBases
from analytiq.knowledge_bases.standing import KnowledgeBaseStandings
from analytiq.locating.service import Locating
from analytiq.mongo.repositories.chunk_pages import ChunkPageRepository
from analytiq.mongo.repositories.document_batches import DocumentBatchRepository
from analytiq.mongo.repositories.document_counts import DocumentCountRepository
from analytiq.mongo.repositories.document_lookups import DocumentLookupRepository
from analytiq.mongo.repositories.forecasts import ForecastRepository
from analytiq.mongo.repositories.kb_work import KnowledgeBaseWorkRepository
from analytiq.mongo.repositories.retention import RetentionRepository
from analytiq.mongo.repositories.storage_accounts import StorageAccountRepository
from analytiq.parsing.reading import DocumentReader
from analytiq.prompt_uses import PromptUses
from analytiq.settings import Settings
from analytiq.tags.service import Tags
from analytiq.upload.store import Uploads
from analytiq.vector_stores.choice import ChosenVectorStore


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
    rows: Rows, calls: ModelCalls, store: ChosenVectorStore, reader: DocumentReader, settings: Settings
) -> DocumentLives:
    """The lives of an organization's documents, tags and KBs."""
    connection = rows.connection
    announced = Rows.on(connection.announcing)
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
        knowledge_bases=_new_knowledge_bases(announced, rows, calls, store, prompt_uses, standings),
        standings=standings,
        document_counts=counts,
        retrying=DocumentRetrying(connection, DocumentBatchRepository(connection), rows.knowledge_bases, rows.jobs),
        forecasts=Forecasts(ForecastRepository(connection), rows.texts, rows.embedding_cache, calls.embedding_models),
        retention=Retention(RetentionRepository(connection), documents),
        erasures=new_erasures(connection, documents, settings.erasure),
    )


def _new_knowledge_bases(
    announced: Rows,
    rows: Rows,
    calls: ModelCalls,
    store: ChosenVectorStore,
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
        store,
        store.kind_of_new,
        prompt_uses,
        ChunkPageRepository(rows.connection),
        standings,
    )
