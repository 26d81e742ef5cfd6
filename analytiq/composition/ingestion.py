"""Services of ingestion: upload, extraction, indexing, and the lives of documents, tags and KBs."""

from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.ingestion.documents.changing import DocumentChanging
from analytiq.ingestion.documents.chunk_preview import ChunkPreviews
from analytiq.ingestion.documents.cleaning import Cleaning
from analytiq.ingestion.documents.flaw_skipping import FlawSkipping
from analytiq.ingestion.documents.indexing_state import IndexingStates
from analytiq.ingestion.documents.lookup import DocumentLookups
from analytiq.ingestion.documents.metadata_fields import MetadataFields
from analytiq.ingestion.documents.part_removal import PartRemoval
from analytiq.ingestion.documents.passwords import DocumentPasswords
from analytiq.ingestion.documents.retrying import DocumentRetrying
from analytiq.ingestion.documents.service import Documents
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.documents.tables import Tables
from analytiq.ingestion.extraction.extract import Extraction, Readers
from analytiq.ingestion.extraction.picture_reader import PictureReader
from analytiq.ingestion.indexing.batch_commit import BatchCommit
from analytiq.ingestion.indexing.batch_staging import BatchStaging
from analytiq.ingestion.indexing.commit import Commit
from analytiq.ingestion.indexing.staging import Staging
from analytiq.ingestion.indexing.sweep import Sweep
from analytiq.ingestion.indexing.sync import Sync
from analytiq.ingestion.indexing.sync_batches import SyncBatches
from analytiq.ingestion.knowledge_bases.forecast import Forecasts
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.ingestion.knowledge_bases.service import KnowledgeBases
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseStandings
from analytiq.ingestion.membership import Membership
from analytiq.ingestion.parsing.memory import MemoryBudget
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.sources.configuration.cleaning import SourceCleaning
from analytiq.ingestion.sources.configuration.opening import Connectors
from analytiq.ingestion.sources.configuration.service import Sources
from analytiq.ingestion.sources.configuration.signing_in import SourceSignIns
from analytiq.ingestion.sources.configuration.workbooks import Workbooks
from analytiq.ingestion.sources.export import SourceExport
from analytiq.ingestion.sources.pushes.addresses import InboundAddresses
from analytiq.ingestion.sources.pushes.messages import InboundMessages
from analytiq.ingestion.sources.pushes.taking import PushTaking
from analytiq.ingestion.sources.runs.run_requests import SourceRuns
from analytiq.ingestion.sources.runs.running import SourceRunning
from analytiq.ingestion.sources.runs.taking import ItemTaking
from analytiq.ingestion.sources.runs.vanishing import Vanishing
from analytiq.ingestion.tags.service import Tags
from analytiq.ingestion.upload.parts import PartUploads
from analytiq.ingestion.upload.store import Uploads

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class Ingestion:
    """The documents of organizations, and their way into KBs."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings

    @cached_property
    def documents(self) -> Documents:
        """Documents: read, changed, deleted."""
        rows = self._rows
        return Documents(rows, self.metadata_fields, self.storage)

    @cached_property
    def changing(self) -> DocumentChanging:
        """Changes of many documents at once."""
        rows = self._rows
        return DocumentChanging(rows, self.metadata_fields)

    @cached_property
    def retrying(self) -> DocumentRetrying:
        """Retries of documents' failed work."""
        rows = self._rows
        return DocumentRetrying(rows.connection, rows.document_batches, rows.knowledge_bases, rows.jobs)

    @cached_property
    def lookups(self) -> DocumentLookups:
        """Many documents by id, hash or path."""
        return DocumentLookups(self._rows.document_lookups, self.indexing_states)

    @cached_property
    def metadata_fields(self) -> MetadataFields:
        """Declared metadata of an organization's documents."""
        rows = self._rows
        return MetadataFields(rows.connection, rows.organizations, rows.documents, rows.jobs)

    @cached_property
    def flaw_skipping(self) -> FlawSkipping:
        """The choice of flawed text that an organization leaves out."""
        return FlawSkipping(self._rows)

    @cached_property
    def indexing_states(self) -> IndexingStates:
        """The KBs of a document, present and future."""
        announced = self._rows.announced
        return IndexingStates(announced.knowledge_bases, announced.entries, announced.jobs, announced.organizations)

    @cached_property
    def storage(self) -> Storage:
        """The stored bytes of an organization, and their quota."""
        return Storage(self._rows.storage_accounts, self._rows.documents)

    @cached_property
    def part_removal(self) -> PartRemoval:
        """Deletion of parts of documents."""
        return PartRemoval(self._rows, self.storage)

    @cached_property
    def part_uploads(self) -> PartUploads:
        """Documents made of the parts of others."""
        return PartUploads(self._rows, self.uploads, self.storage, self.metadata_fields)

    @cached_property
    def uploads(self) -> Uploads:
        """Uploads."""
        rows = self._rows
        return Uploads(rows, self.metadata_fields, self.storage, max_bytes=self._settings.api.max_upload_bytes)

    @cached_property
    def passwords(self) -> DocumentPasswords:
        """Passwords of encrypted files."""
        return DocumentPasswords(self._rows, self._services.inference.vault)

    @cached_property
    def tags(self) -> Tags:
        """Tags."""
        rows = self._rows
        return Tags(rows)

    @cached_property
    def knowledge_bases(self) -> KnowledgeBases:
        """Knowledge bases."""
        rows, inference = self._rows, self._services.inference
        return KnowledgeBases(
            rows,
            inference.embedding,
            inference.embedding_models,
            self._services.retrieval.backends,
        )

    @cached_property
    def standings(self) -> KnowledgeBaseStandings:
        """The indexing progress of a KB."""
        return KnowledgeBaseStandings(self._rows.announced)

    @cached_property
    def forecasts(self) -> Forecasts:
        """The forecast cost of a KB."""
        rows = self._rows
        return Forecasts(rows.forecasts, rows.texts, rows.embedding_cache, self._services.inference.embedding_models)

    @cached_property
    def chunk_previews(self) -> ChunkPreviews:
        """The chunks that settings would make."""
        return ChunkPreviews(self.documents, self._rows.texts, self._services.inference.embedding_models)

    @cached_property
    def reader(self) -> DocumentReader:
        """Parsers in child processes, within the process's budget of memory."""
        extraction = self._settings.extraction
        return DocumentReader(extraction, MemoryBudget(extraction.total_memory_bytes), self._services.inference.vault)

    @cached_property
    def tables(self) -> Tables:
        """Tables of documents, and queries about them."""
        tables = Tables(self._rows, self.reader, self._settings.extraction)
        self._services.closing.callback(tables.close)
        return tables

    @cached_property
    def extraction(self) -> Extraction:
        """The stage from a file to its text."""
        rows = self._rows
        pictures = PictureReader(self._services.inference.chat_models, rows.picture_readings)
        return Extraction(rows, Readers(self.reader, pictures), self._settings.extraction, self.part_uploads)

    @cached_property
    def life_cycle(self) -> KnowledgeBaseLifeCycle:
        """The states of a KB, and the pairs (KB, document) affected by a change."""
        rows = self._rows
        return KnowledgeBaseLifeCycle(
            rows,
            Membership(rows.documents, rows.knowledge_bases, rows.entries, rows.jobs),
            self._services.tenancy.rate_limits,
            self._services.retrieval.backends,
        )

    @cached_property
    def sync(self) -> Sync:
        """The stage that brings a pair (KB, document) up to date."""
        rows, inference = self._rows, self._services.inference
        staging = Staging(rows, inference.embedding, inference.embedding_models, self._services.retrieval.backends)
        return Sync(rows, staging, self._commit, self._services.tenancy.rate_limits)

    @cached_property
    def sync_batches(self) -> SyncBatches:
        """The same for many documents of one KB at once."""
        rows, services = self._rows, self._services
        staging = BatchStaging(rows, services.inference.embedding, services.retrieval.backends)
        commit = BatchCommit(rows, self._commit, self._settings.indexing)
        return SyncBatches(rows, staging, commit, services.tenancy.rate_limits)

    @cached_property
    def _commit(self) -> Commit:
        return Commit(self._rows, self._settings.indexing)

    @cached_property
    def sweep(self) -> Sweep:
        """The stage that deletes a generation's rows."""
        return Sweep(self._rows, self._services.retrieval.backends)

    @cached_property
    def cleaning(self) -> Cleaning:
        """The stage that deletes the files and texts of a deleted document."""
        rows = self._rows
        return Cleaning(rows, self.part_removal)

    @cached_property
    def connectors(self) -> Connectors:
        """Connections to sources."""
        workbooks = Workbooks(self.reader, self._settings.extraction)
        return Connectors(self._rows, self._services.inference.vault, self._settings, workbooks)

    @cached_property
    def sources(self) -> Sources:
        """Sources, whose items become documents."""
        return Sources(self._rows, self.connectors)

    @cached_property
    def source_sign_ins(self) -> SourceSignIns:
        """Sign-ins of people for sources."""
        return SourceSignIns(self._rows, self.connectors, self.sources)

    @cached_property
    def source_runs(self) -> SourceRuns:
        """Runs of sources for people, and their schedule."""
        return SourceRuns(self._rows)

    @cached_property
    def source_running(self) -> SourceRunning:
        """The stage that runs a source."""
        rows = self._rows
        vanishing = Vanishing(rows, self.documents, self.changing)
        return SourceRunning(rows, self.connectors, ItemTaking(rows, self.uploads), vanishing)

    @cached_property
    def source_export(self) -> SourceExport:
        """Exports of sources' documents."""
        return SourceExport(self._rows.documents, self._rows.texts)

    @cached_property
    def inbound_addresses(self) -> InboundAddresses:
        """Inbound addresses of sources."""
        return InboundAddresses(self._rows, self._services.inference.vault)

    @cached_property
    def inbound_messages(self) -> InboundMessages:
        """Messages that reach inbound addresses."""
        return InboundMessages(self._rows, self.push_taking, self.source_runs)

    @cached_property
    def push_taking(self) -> PushTaking:
        """Pushed items that become documents."""
        rows = self._rows
        vanishing = Vanishing(rows, self.documents, self.changing)
        return PushTaking(rows, self.connectors, ItemTaking(rows, self.uploads), vanishing)

    @cached_property
    def source_cleaning(self) -> SourceCleaning:
        """The stage that removes the data of a deleted source."""
        return SourceCleaning(self._rows, self.documents, self.tags)
