"""What a process uses of the platform, all of it in one object."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass

import structlog

from analytiq.assistants.chat.service import Chats
from analytiq.assistants.prompts.export import ResultExport
from analytiq.assistants.prompts.results import PromptResults
from analytiq.assistants.prompts.runs import PromptRuns
from analytiq.assistants.prompts.service import Prompts
from analytiq.errors import AnalytiqError, NotFoundError
from analytiq.inference.credentials.destinations import Destinations
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.provider_accounts import ProviderAccounts
from analytiq.inference.embedding.provider_recovery import ProviderRecovery
from analytiq.inference.llm.catalogue import ModelCatalogue
from analytiq.inference.llm.service import ChatService
from analytiq.inference.providers.guarded_http import close_idle_connections
from analytiq.ingestion.documents.changing import DocumentChanging
from analytiq.ingestion.documents.indexing_state import IndexingStates
from analytiq.ingestion.documents.lookup import DocumentLookups
from analytiq.ingestion.documents.metadata_fields import MetadataFields
from analytiq.ingestion.documents.retrying import DocumentRetrying
from analytiq.ingestion.documents.service import Documents
from analytiq.ingestion.documents.storage import Storage
from analytiq.ingestion.extraction.extract import Extraction
from analytiq.ingestion.knowledge_bases.forecast import Forecasts
from analytiq.ingestion.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.ingestion.knowledge_bases.service import KnowledgeBases
from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.ingestion.tags.service import Tags
from analytiq.ingestion.upload.store import Uploads
from analytiq.jobs.queue.history import History
from analytiq.jobs.queue.operations import Jobs
from analytiq.jobs.queue.registry import WorkerRegistry
from analytiq.jobs.queue.runner import Handler, OnDead, QueueRunner
from analytiq.jobs.queue.stops import Stops
from analytiq.jobs.queue.workers import Workers
from analytiq.jobs.scheduling.leadership import Leader
from analytiq.jobs.scheduling.tasks import PeriodicTask, TenantTask
from analytiq.jobs.scheduling.tenants import TenantTasks
from analytiq.models.job import JobKind
from analytiq.operations.erasure.retention import Retention
from analytiq.operations.erasure.service import Erasures
from analytiq.operations.live_events.hub import Watching
from analytiq.operations.reconcile.assembly import passes
from analytiq.operations.reconcile.reconciler import Reconciler
from analytiq.operations.reconcile.runs import Runs
from analytiq.retrieval.backends.feeding import KeywordFeeder
from analytiq.retrieval.backends.registry import Backends
from analytiq.retrieval.places.service import Locating
from analytiq.retrieval.search.explain import Explain
from analytiq.retrieval.search.service import Search
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.backup_records import BackupRecordRepository
from analytiq.storage.repositories.document_counts import DocumentCountRepository
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from analytiq.storage.repositories.workers import RuntimeSettingRepository, WorkerRepository
from analytiq.tenancy.accounts.audit import AuditLog
from analytiq.tenancy.accounts.invitations import Invitations
from analytiq.tenancy.accounts.mail import Mail
from analytiq.tenancy.accounts.oidc import Oidc
from analytiq.tenancy.accounts.people import People
from analytiq.tenancy.accounts.recovery import Recovery
from analytiq.tenancy.accounts.sessions import Sessions
from analytiq.tenancy.metering.charges import Metering
from analytiq.tenancy.organizations.own_settings import OwnSettings
from analytiq.tenancy.organizations.quotas import OrganizationQuotas
from analytiq.tenancy.organizations.service import Organizations
from analytiq.tenancy.rate_limits.limits import RateLimits
from analytiq.tenancy.rate_limits.requests import RequestRates

log = structlog.get_logger(__name__)

AUDIT_LOG_SECONDS = 86_400.0
"""Time between two deletions of old entries of the audit log."""


@dataclass(frozen=True, slots=True)
class Application:
    """What processes use; one for each process."""

    settings: Settings
    connection: MongoConnection
    organizations: Organizations
    quotas: OrganizationQuotas
    request_rates: RequestRates
    own_settings: OwnSettings
    storage: Storage
    sessions: Sessions
    invitations: Invitations
    people: People
    recovery: Recovery
    oidc: Oidc
    mail: Mail
    audit_log: AuditLog
    background: set[asyncio.Task[None]]
    tags: Tags
    documents: Documents
    changing: DocumentChanging
    lookups: DocumentLookups
    metadata_fields: MetadataFields
    indexing_states: IndexingStates
    document_counts: DocumentCountRepository
    retrying: DocumentRetrying
    uploads: Uploads
    knowledge_bases: KnowledgeBases
    search: Search
    backends: Backends
    keyword_feeder: KeywordFeeder | None
    explain: Explain
    cache_eviction: CacheEviction
    forecasts: Forecasts
    metering: Metering
    chat: ChatService
    llm_usage: LlmUsageRepository
    models: ModelCatalogue
    prompts: Prompts
    prompt_runs: PromptRuns
    prompt_results: PromptResults
    result_export: ResultExport
    chats: Chats
    watching: Watching
    rate_limits: RateLimits
    embedding_models: EmbeddingModels
    provider_accounts: ProviderAccounts
    provider_recovery: ProviderRecovery
    destinations: Destinations
    reconciler: Reconciler
    reconciliations: Runs
    life_cycle: KnowledgeBaseLifeCycle
    erasures: Erasures
    retention: Retention
    extraction: Extraction
    locating: Locating
    jobs: JobRepository
    job_history: JobHistoryRepository
    job_operations: Jobs
    workers: Workers
    backups: BackupRecordRepository
    document_rows: DocumentRepository
    kb_rows: KnowledgeBaseRepository
    idempotency: IdempotencyRepository
    vault: Vault
    credentials: Credentials
    handlers: Mapping[JobKind, Handler]
    on_dead: OnDead

    def new_history(self) -> History:
        """What a runner keeps of the attempts at its jobs."""
        return History(self.job_history, self.document_rows, self.kb_rows)

    def queue_runner(self, *, reads_documents: bool = True) -> QueueRunner:
        """A runner of all kinds of jobs, for a worker process.

        Args:
            reads_documents: False: leave extractions to workers that can isolate parsers.
        """
        left_out = frozenset[JobKind]() if reads_documents else frozenset({JobKind.EXTRACT})
        return QueueRunner(
            self.jobs,
            {kind: handler for kind, handler in self.handlers.items() if kind not in left_out},
            settings=self.settings.queue,
            concurrency=self.settings.worker.concurrency,
            on_settled=self.life_cycle.after_job,
            on_dead=self.on_dead,
            history=self.new_history(),
            find_stopped=Stops(self.jobs, self.document_rows).among,
        )

    def worker_registry(self, runner: QueueRunner, *, problems: Sequence[str] = ()) -> WorkerRegistry:
        """The entry of a worker process that runs `runner`; `problems` keep it from doing all of its work well."""
        return WorkerRegistry(
            WorkerRepository(self.connection),
            RuntimeSettingRepository(self.connection),
            runner,
            installed_languages=installed_languages,
            problems=problems,
        )

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the tasks that one process runs for all: the reconciler's passes first."""
        settings = self.settings.reconciler

        def task(name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> PeriodicTask:
            return PeriodicTask(name=name, interval_seconds=seconds, run=lambda _: work())

        retention = TenantTask(
            name="retention",
            interval_of=lambda organization: (
                settings.interval_seconds if organization.document_retention_days else None
            ),
            run=lambda organization, _: self.retention.apply(organization),
        )
        return [
            *passes(self.reconciliations, settings),
            TenantTasks(Repositories(self.connection)).schedule(retention),
            task("erasures", settings.interval_seconds, self.erasures.keep_up),
            task("stopped providers", settings.interval_seconds, self.resume_stopped),
            task("cache eviction", settings.interval_seconds, self.cache_eviction.run),
            task("storage", settings.full_interval_seconds, self.storage.recount_all),
            task("audit log", AUDIT_LOG_SECONDS, self.audit_log.forget_old),
        ]

    async def resume_stopped(self) -> None:
        """Try, with one free call each, the models that work waits for or was given up for; what works goes on."""
        for organization_id, model in await self.provider_recovery.stopped():
            with contextlib.suppress(NotFoundError):  # erased meanwhile
                organization = await self.organizations.get(organization_id)
                await self.provider_accounts.try_stopped(organization, model)

    def leader(self) -> Leader:
        """Return the candidate for leadership that runs the periodic tasks in this process."""
        lease_seconds = self.settings.reconciler.lease_seconds
        return Leader(LeaseRepository(self.connection), self.periodic_tasks(), lease_seconds=lease_seconds)

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Do something that its caller must not wait for, since the time would tell; it is awaited at the end."""

        async def logged() -> None:
            try:
                await work
            except AnalytiqError as error:
                log.warning("background.failed", code=error.code, detail=error.detail)

        task = asyncio.create_task(logged())
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    @contextlib.asynccontextmanager
    async def feeding_keyword_index(self) -> AsyncGenerator[None]:
        """Keep the keyword indexes of this process fed by commits within the block: for processes that search."""
        feeding = None if self.keyword_feeder is None else asyncio.create_task(self.keyword_feeder.run())
        try:
            yield
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])

    def begin_closing(self) -> None:
        """End what streams to callers: a server that is to stop waits for it otherwise."""
        self.chats.begin_closing()
        self.watching.begin_closing()

    async def close(self) -> None:
        """End what runs in the background, and give the connections back."""
        await asyncio.gather(*self.background, return_exceptions=True)
        await self.chats.close()
        await self.watching.close()
        await self.backends.close()
        await self.embedding_models.close()
        await self.chat.close()
        await close_idle_connections()
        await self.connection.close()
