"""Every repository of one database, in one object that services receive whole."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from analytiq.storage.client import MongoConnection
from analytiq.storage.file_survey import FileSurvey
from analytiq.storage.files import FileStore
from analytiq.storage.repositories.audit_log import AuditLogRepository
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.backup_records import BackupRecordRepository
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.change_stream import ChangeStreamRepository
from analytiq.storage.repositories.chats import ChatRepository
from analytiq.storage.repositories.chunk_pages import ChunkPageRepository
from analytiq.storage.repositories.document_batches import DocumentBatchRepository
from analytiq.storage.repositories.document_counts import DocumentCountRepository
from analytiq.storage.repositories.document_lookups import DocumentLookupRepository
from analytiq.storage.repositories.document_parts import DocumentPartRepository
from analytiq.storage.repositories.document_survey import DocumentSurvey
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.storage.repositories.embedding_claims import EmbeddingClaimRepository
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.erasures import ErasureRepository
from analytiq.storage.repositories.forecasts import ForecastRepository
from analytiq.storage.repositories.generations import GenerationRepository
from analytiq.storage.repositories.hit_checks import HitCheckRepository
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.repositories.inbound import InboundRepository
from analytiq.storage.repositories.index_contents import IndexContentRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.kb_work import KnowledgeBaseWorkRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.repositories.ledger import LedgerRepository, SavingsRepository
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from analytiq.storage.repositories.organization_counts import OrganizationCountRepository
from analytiq.storage.repositories.organizations import AccessTokenRepository, OrganizationRepository
from analytiq.storage.repositories.picture_readings import PictureReadingRepository
from analytiq.storage.repositories.prompt_results import PromptResultRepository
from analytiq.storage.repositories.prompt_runs import PromptRunRepository
from analytiq.storage.repositories.prompts import PromptRepository
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.quotas import QuotaRepository
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.storage.repositories.reconcile_reports import ReconcileReportRepository
from analytiq.storage.repositories.restores import RestoreRepository
from analytiq.storage.repositories.retention import RetentionRepository
from analytiq.storage.repositories.search_openings import SearchOpeningRepository
from analytiq.storage.repositories.sessions import InvitationRepository, OneTimeLinkRepository, SessionRepository
from analytiq.storage.repositories.source_items import SourceItemRepository
from analytiq.storage.repositories.source_runs import SourceRunRepository
from analytiq.storage.repositories.sources import SourceRepository
from analytiq.storage.repositories.storage_accounts import StorageAccountRepository
from analytiq.storage.repositories.tags import TagRepository
from analytiq.storage.repositories.tenant_rows import TenantRows
from analytiq.storage.repositories.tenant_tasks import TenantTaskRepository
from analytiq.storage.repositories.texts import TextRepository
from analytiq.storage.repositories.uploads import UploadRepository
from analytiq.storage.repositories.users import MemberRepository, UserRepository
from analytiq.storage.repositories.vector_survey import VectorSurvey
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.repositories.webhook_deliveries import WebhookDeliveryRepository
from analytiq.storage.repositories.webhook_endpoints import WebhookEndpointRepository
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.repositories.workers import RuntimeSettingRepository, WorkerRepository
from analytiq.storage.search.indexes import SearchIndexes
from analytiq.storage.search.rows import SearchRowRepository

RepositoryT = TypeVar("RepositoryT")


def _lazily(make: Callable[[MongoConnection], RepositoryT]) -> cached_property[RepositoryT]:
    """Declare a repository that is built when it is first used."""

    def build(repositories: "Repositories") -> RepositoryT:
        return make(repositories.connection)

    return cached_property(build)


class Repositories:
    """The repositories of a connection's database, each built on first use.

    A repository that only one room uses is here too: services take this object whole, and their tests need no list of
    the repositories they read.
    """

    def __init__(self, connection: MongoConnection) -> None:
        self.connection = connection
        """Begins transactions."""

    @cached_property
    def announced(self) -> "Repositories":
        """The same repositories on the connection whose reads see every write announced by live events."""
        return Repositories(self.connection.announcing)

    access_tokens = _lazily(AccessTokenRepository)
    search_openings = _lazily(SearchOpeningRepository)
    members = _lazily(MemberRepository)
    organizations = _lazily(OrganizationRepository)
    organization_counts = _lazily(OrganizationCountRepository)
    users = _lazily(UserRepository)
    sessions = _lazily(SessionRepository)
    invitations = _lazily(InvitationRepository)
    links = _lazily(OneTimeLinkRepository)
    audit_log = _lazily(AuditLogRepository)
    rate_limits = _lazily(RateLimitRepository)
    ledger = _lazily(LedgerRepository)
    savings = _lazily(SavingsRepository)
    quotas = _lazily(QuotaRepository)
    storage_accounts = _lazily(StorageAccountRepository)

    tags = _lazily(TagRepository)
    documents = _lazily(DocumentRepository)
    document_batches = _lazily(DocumentBatchRepository)
    document_counts = _lazily(DocumentCountRepository)
    document_lookups = _lazily(DocumentLookupRepository)
    document_parts = _lazily(DocumentPartRepository)
    document_survey = _lazily(DocumentSurvey)
    texts = _lazily(TextRepository)
    files = _lazily(FileStore)
    file_survey = _lazily(FileSurvey)
    uploads = _lazily(UploadRepository)

    sources = _lazily(SourceRepository)
    source_items = _lazily(SourceItemRepository)
    source_runs = _lazily(SourceRunRepository)
    inbound = _lazily(InboundRepository)

    webhook_outbox = _lazily(WebhookOutbox)
    webhook_endpoints = _lazily(WebhookEndpointRepository)
    webhook_deliveries = _lazily(WebhookDeliveryRepository)

    knowledge_bases = _lazily(KnowledgeBaseRepository)
    epochs = _lazily(EpochRepository)
    kb_work = _lazily(KnowledgeBaseWorkRepository)
    entries = _lazily(IndexEntryRepository)
    generations = _lazily(GenerationRepository)
    hit_checks = _lazily(HitCheckRepository)
    vectors = _lazily(VectorRepository)
    vector_survey = _lazily(VectorSurvey)
    chunk_pages = _lazily(ChunkPageRepository)
    index_contents = _lazily(IndexContentRepository)
    search_indexes = _lazily(SearchIndexes)
    search_rows = _lazily(SearchRowRepository)
    forecasts = _lazily(ForecastRepository)

    embedding_cache = _lazily(EmbeddingCacheRepository)
    embedding_claims = _lazily(EmbeddingClaimRepository)
    llm_usage = _lazily(LlmUsageRepository)
    picture_readings = _lazily(PictureReadingRepository)
    providers = _lazily(ProviderRepository)

    jobs = _lazily(JobRepository)
    job_history = _lazily(JobHistoryRepository)
    workers = _lazily(WorkerRepository)
    runtime_settings = _lazily(RuntimeSettingRepository)

    prompts = _lazily(PromptRepository)
    prompt_runs = _lazily(PromptRunRepository)
    prompt_results = _lazily(PromptResultRepository)
    chats = _lazily(ChatRepository)

    holds = _lazily(BackupHoldRepository)
    backup_records = _lazily(BackupRecordRepository)
    restores = _lazily(RestoreRepository)
    erasures = _lazily(ErasureRepository)
    retention = _lazily(RetentionRepository)
    tenant_rows = _lazily(TenantRows)
    reconcile_reports = _lazily(ReconcileReportRepository)
    leases = _lazily(LeaseRepository)
    tenant_tasks = _lazily(TenantTaskRepository)
    books = _lazily(BooksRepository)
    change_stream = _lazily(ChangeStreamRepository)
    idempotency = _lazily(IdempotencyRepository)
