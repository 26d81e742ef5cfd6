"""Puts the parts of the platform together, each from those before it."""

from analytiq.composition.accounts import new_accounts
from analytiq.composition.application import Application
from analytiq.composition.documents import new_document_lives
from analytiq.composition.handlers import new_handlers, new_on_dead, new_on_settled
from analytiq.composition.indexing import new_indexing
from analytiq.composition.model_calls import new_model_calls
from analytiq.composition.prompting import new_prompting
from analytiq.composition.searching import new_searching
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.ingestion.parsing.memory import MemoryBudget
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.jobs.queue.operations import Jobs
from analytiq.jobs.queue.workers import Workers
from analytiq.operations.live_events.hub import Watching
from analytiq.operations.live_events.reading import Reading
from analytiq.operations.reconcile.assembly import new_reconciler, new_runs
from analytiq.retrieval.backends.feeding import KeywordFeeder
from analytiq.retrieval.backends.registry import open_backends
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.backup_records import BackupRecordRepository
from analytiq.storage.repositories.change_stream import ChangeStreamRepository
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.repositories.organization_counts import OrganizationCountRepository
from analytiq.storage.repositories.workers import WorkerRepository
from analytiq.telemetry import metrics
from analytiq.tenancy.organizations.own_settings import OwnSettings, ServerSettings
from analytiq.tenancy.organizations.quotas import OrganizationQuotas
from analytiq.tenancy.rate_limits.requests import RequestRates


async def compose(settings: Settings, connection: MongoConnection, vault: Vault) -> Application:
    """Put everything together on a migrated database."""
    metrics.name_tenants(settings.telemetry.metrics_name_tenants)
    rows = Repositories(connection)
    announced = rows.announced
    accounts = new_accounts(rows, settings.accounts)
    calls = await new_model_calls(rows, vault, settings)
    backends = await open_backends(rows, settings)
    reader = DocumentReader(settings.extraction, MemoryBudget(settings.extraction.total_memory_bytes))
    indexing = new_indexing(rows, calls, backends, reader, settings)
    lives = new_document_lives(rows, calls, backends, reader, settings)
    searching = new_searching(rows, calls, backends, lives, settings)
    prompting = new_prompting(rows, calls.chat, searching.search, settings.prompts)
    reconciler = new_reconciler(connection, indexing.life_cycle, calls.embedding_models, backends, settings.reconciler)
    reconciliations = new_runs(connection, reconciler, settings.reconciler)
    on_dead = new_on_dead(indexing, prompting)
    worker_rows = WorkerRepository(connection)
    return Application(
        settings=settings,
        connection=connection,
        vault=vault,
        background=set(),
        organizations=accounts.organizations,
        quotas=OrganizationQuotas(OrganizationCountRepository(connection), settings.quotas),
        request_rates=RequestRates(per_minute=settings.quotas.requests_per_minute),
        sessions=accounts.sessions,
        invitations=accounts.invitations,
        people=accounts.people,
        recovery=accounts.recovery,
        oidc=accounts.oidc,
        mail=accounts.mail,
        audit_log=accounts.audit_log,
        own_settings=OwnSettings(
            rows.organizations,
            worker_rows,
            calls.own_limits,
            ServerSettings(settings.extraction.ocr_languages, settings.rate_limits, installed_languages),
        ),
        credentials=calls.credentials,
        embedding_models=calls.embedding_models,
        provider_accounts=calls.provider_accounts,
        provider_recovery=calls.provider_recovery,
        destinations=calls.destinations,
        cache_eviction=CacheEviction(connection, rows.embedding_cache, settings.embedding),
        metering=calls.metering,
        rate_limits=calls.rate_limits,
        chat=calls.chat,
        models=calls.catalogue,
        llm_usage=rows.llm_usage,
        backends=backends,
        keyword_feeder=(KeywordFeeder(backends, rows.knowledge_bases, rows.epochs) if backends.has_keywords else None),
        extraction=indexing.extraction,
        life_cycle=indexing.life_cycle,
        documents=lives.documents,
        changing=lives.changing,
        lookups=lives.lookups,
        metadata_fields=lives.metadata_fields,
        storage=lives.storage,
        uploads=lives.uploads,
        locating=lives.locating,
        indexing_states=lives.indexing_states,
        document_counts=lives.document_counts,
        retrying=lives.retrying,
        tags=lives.tags,
        knowledge_bases=lives.knowledge_bases,
        forecasts=lives.forecasts,
        retention=lives.retention,
        erasures=lives.erasures,
        search=searching.search,
        explain=searching.explain,
        chats=searching.chats,
        prompts=prompting.prompts,
        prompt_runs=prompting.runs,
        prompt_results=prompting.results,
        result_export=prompting.export,
        watching=Watching(
            ChangeStreamRepository(connection),
            Reading(
                announced.documents, announced.knowledge_bases, announced.jobs, lives.indexing_states, lives.standings
            ),
            settings.watching,
        ),
        reconciler=reconciler,
        reconciliations=reconciliations,
        jobs=rows.jobs,
        job_history=rows.job_history,
        job_operations=Jobs(
            connection,
            rows.jobs,
            rows.job_history,
            rows.documents,
            rows.knowledge_bases,
            on_dead=on_dead,
            on_settled=new_on_settled(indexing),
        ),
        workers=Workers(worker_rows),
        backups=BackupRecordRepository(connection),
        document_rows=rows.documents,
        kb_rows=rows.knowledge_bases,
        idempotency=IdempotencyRepository(connection),
        handlers=new_handlers(indexing, lives, prompting, backends, reconciliations),
        on_dead=on_dead,
    )
