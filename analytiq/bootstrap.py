"""The composition root: everything that a process needs, put together once."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from analytiq.accounts.audit import AuditLog
from analytiq.accounts.invitations import Invitations
from analytiq.accounts.mail import Mail
from analytiq.accounts.oidc import Oidc
from analytiq.accounts.passwords import Passwords
from analytiq.accounts.people import People
from analytiq.accounts.recovery import Recovery
from analytiq.accounts.sessions import Sessions
from analytiq.agent.loop import AgentLoop
from analytiq.agent.running import PromptRunning, RunRows
from analytiq.chat.answering import Answering
from analytiq.chat.service import Chats
from analytiq.credentials.encryption import Vault
from analytiq.credentials.key_check import REMEDY, check_secret_key
from analytiq.credentials.providers import Credentials
from analytiq.documents.changing import DocumentChanging
from analytiq.documents.cleaning import Cleaning
from analytiq.documents.indexing_state import IndexingStates
from analytiq.documents.metadata_fields import MetadataFields
from analytiq.documents.service import Documents
from analytiq.documents.storage import Storage
from analytiq.embedding.eviction import CacheEviction
from analytiq.embedding.models import EmbeddingModels
from analytiq.embedding.provider_accounts import ProviderAccounts
from analytiq.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL
from analytiq.embedding.service import EmbeddingService
from analytiq.erasure.retention import Retention
from analytiq.erasure.service import Erasures, new_erasures
from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.extraction.extract import Extraction
from analytiq.indexing.commit import Commit
from analytiq.indexing.projecting import Projecting
from analytiq.indexing.staging import Staging
from analytiq.indexing.sweep import Sweep
from analytiq.indexing.sync import Sync
from analytiq.knowledge_bases.forecast import Forecasts
from analytiq.knowledge_bases.life_cycle import KnowledgeBaseLifeCycle
from analytiq.knowledge_bases.service import KnowledgeBases
from analytiq.lexical.choice import ChosenLexicalIndex
from analytiq.lexical.local.store import LocalLexicalIndex
from analytiq.lexical.mongodb.store import MongoLexicalIndex
from analytiq.llm.catalogue import ListedModel, ModelCatalogue, ModelKind, ModelSource
from analytiq.llm.service import ChatService
from analytiq.locating.service import Locating
from analytiq.membership import Membership
from analytiq.metering.charges import Metering
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind
from analytiq.models.knowledge_base import VectorStoreKind
from analytiq.mongo.client import MongoConnection, connect
from analytiq.mongo.files import FileStore
from analytiq.mongo.migrations import migrate
from analytiq.mongo.repositories.audit_log import AuditLogRepository
from analytiq.mongo.repositories.backup_holds import BackupHoldRepository
from analytiq.mongo.repositories.backup_records import BackupRecordRepository
from analytiq.mongo.repositories.change_stream import ChangeStreamRepository
from analytiq.mongo.repositories.chats import ChatRepository
from analytiq.mongo.repositories.chunk_pages import ChunkPageRepository
from analytiq.mongo.repositories.chunk_texts import ChunkTextRepository
from analytiq.mongo.repositories.document_batches import DocumentBatchRepository
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.mongo.repositories.embedding_claims import EmbeddingClaimRepository
from analytiq.mongo.repositories.forecasts import ForecastRepository
from analytiq.mongo.repositories.idempotency import IdempotencyRepository
from analytiq.mongo.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.mongo.repositories.job_history import JobHistoryRepository
from analytiq.mongo.repositories.jobs import JobRepository
from analytiq.mongo.repositories.kb_work import KnowledgeBaseWorkRepository
from analytiq.mongo.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.mongo.repositories.llm_usage import LlmUsageRepository
from analytiq.mongo.repositories.organizations import AccessTokenRepository, OrganizationRepository
from analytiq.mongo.repositories.prompt_results import PromptResultRepository
from analytiq.mongo.repositories.prompt_runs import PromptRunRepository
from analytiq.mongo.repositories.prompts import PromptRepository
from analytiq.mongo.repositories.providers import ProviderRepository
from analytiq.mongo.repositories.rate_limits import RateLimitRepository
from analytiq.mongo.repositories.retention import RetentionRepository
from analytiq.mongo.repositories.sessions import InvitationRepository, OneTimeLinkRepository, SessionRepository
from analytiq.mongo.repositories.storage_accounts import StorageAccountRepository
from analytiq.mongo.repositories.tags import TagRepository
from analytiq.mongo.repositories.texts import TextRepository
from analytiq.mongo.repositories.uploads import UploadRepository
from analytiq.mongo.repositories.users import MemberRepository, UserRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.mongo.repositories.workers import RuntimeSettingRepository, WorkerRepository
from analytiq.mongo.search.hits import CurrentHits
from analytiq.mongo.search.indexes import SearchIndexes
from analytiq.mongo.search.rows import SearchRowRepository
from analytiq.organizations.own_settings import OwnSettings, ServerSettings
from analytiq.organizations.service import Organizations
from analytiq.prompt_uses import PromptUses
from analytiq.prompts.export import ResultExport
from analytiq.prompts.results import PromptResults
from analytiq.prompts.runs import PromptRuns
from analytiq.prompts.service import Prompts
from analytiq.prompts.triggers import PromptTriggers
from analytiq.providers.litellm_module import LOCAL_PROVIDER
from analytiq.queue.history import History
from analytiq.queue.operations import Jobs
from analytiq.queue.registry import WorkerRegistry
from analytiq.queue.runner import Handler, OnDead, QueueRunner, RunningJob
from analytiq.queue.workers import Workers
from analytiq.rate_limits.limits import RateLimits
from analytiq.rate_limits.own import OwnLimits
from analytiq.reconcile.assembly import new_leader, new_reconciler, new_runs
from analytiq.reconcile.leadership import Chore, Leader
from analytiq.reconcile.reconciler import Reconciler
from analytiq.reconcile.runs import Runs
from analytiq.reranking.service import Reranking
from analytiq.search.check import Check
from analytiq.search.compression import ChatCompressor
from analytiq.search.explain import Explain
from analytiq.search.finding import Finding
from analytiq.search.legs import Legs
from analytiq.search.presenting import Presenting
from analytiq.search.service import Search
from analytiq.search.steps import ModelSteps
from analytiq.search.understanding import ChatUnderstanding
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.tags.service import Tags
from analytiq.upload.store import Uploads
from analytiq.vector_stores.base import VectorStore
from analytiq.vector_stores.choice import ChosenVectorStore, choose
from analytiq.vector_stores.local.snapshot import Snapshots
from analytiq.vector_stores.local.store import LocalVectorStore
from analytiq.vector_stores.mongodb.store import MongoVectorStore
from analytiq.watching.hub import Watching
from analytiq.watching.reading import Reading

log = structlog.get_logger(__name__)

AUDIT_LOG_SECONDS = 86_400.0
"""Between the looks for entries of the audit log that are old enough to go."""


@dataclass(frozen=True, slots=True)
class Application:
    """What processes use; one for each process."""

    settings: Settings
    connection: MongoConnection
    organizations: Organizations
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
    metadata_fields: MetadataFields
    indexing_states: IndexingStates
    uploads: Uploads
    knowledge_bases: KnowledgeBases
    search: Search
    vector_store: VectorStore
    lexical: ChosenLexicalIndex | None
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

    def queue_runner(self) -> QueueRunner:
        """A runner of all kinds of jobs, for a worker process."""
        return QueueRunner(
            self.jobs,
            self.handlers,
            settings=self.settings.queue,
            concurrency=self.settings.worker.concurrency,
            on_settled=self.life_cycle.after_job,
            on_dead=self.on_dead,
            history=self.new_history(),
        )

    def worker_registry(self, runner: QueueRunner) -> WorkerRegistry:
        """The entry of a worker process that runs `runner`."""
        return WorkerRegistry(WorkerRepository(self.connection), RuntimeSettingRepository(self.connection), runner)

    def chores(self) -> list[Chore]:
        """What one process does for all from time to time, beside the reconciler's passes."""
        seconds = self.settings.reconciler.interval_seconds
        return [
            ("retention", seconds, lambda _: self.retention.apply()),
            ("erasures", seconds, lambda _: self.erasures.keep_up()),
            ("cache eviction", seconds, lambda _: self.cache_eviction.run()),
            ("storage", self.settings.reconciler.full_interval_seconds, lambda _: self.storage.recount_all()),
            ("audit log", AUDIT_LOG_SECONDS, lambda _: self.audit_log.forget_old()),
        ]

    def reconcile_leader(self) -> Leader:
        """What a reconciler process does: passes and chores."""
        settings = self.settings.reconciler
        return new_leader(self.connection, self.reconciliations, self.chores(), settings)

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

    def begin_closing(self) -> None:
        """End what streams to callers: a server that is to stop waits for it otherwise."""
        self.chats.begin_closing()
        self.watching.begin_closing()

    async def close(self) -> None:
        """End what runs in the background, and give the connections back."""
        await asyncio.gather(*self.background, return_exceptions=True)
        await self.chats.close()
        await self.watching.close()
        await self.vector_store.close()
        if self.lexical is not None:
            await self.lexical.close()
        await self.embedding_models.close()
        await self.chat.close()
        await self.connection.close()


async def bootstrap(settings: Settings) -> Application:
    """Connect, migrate, and put everything together.

    Raises:
        InvalidInputError: a setting is missing or wrong; says which, and how to make one.
        TransientError: MongoDB cannot be reached.
    """
    if settings.mongo.uri is None:
        raise InvalidInputError(
            "MONGODB_URI is not set; set it to a replica set's address, or run `analytiq up`, which brings a"
            " database of its own",
            code="mongo_uri_missing",
        )
    if settings.secret_key is None:
        raise InvalidInputError(
            "ANALYTIQ_SECRET_KEY is not set; it encrypts the keys of embedding providers. Make one with"
            " `analytiq secret-key`, keep it safe, and give the same one to every process",
            code="secret_key_missing",
        )
    vault = Vault(settings.secret_key, settings.old_secret_keys)
    connection = await connect(settings.mongo.uri, settings.mongo.database)
    applied = await migrate(connection)
    if applied:
        log.info("mongo.migrated", steps=applied)
    problem = (await check_secret_key(ProviderRepository(connection), vault)).problem
    if problem is not None:
        log.warning("credentials.secret_key_differs", detail=problem, remedy=REMEDY)
    return await compose(settings, connection, vault)


async def compose(settings: Settings, connection: MongoConnection, vault: Vault) -> Application:
    """Put everything together on a migrated database."""
    organization_rows = OrganizationRepository(connection)
    user_rows = UserRepository(connection)
    member_rows = MemberRepository(connection)
    session_rows = SessionRepository(connection)
    link_rows = OneTimeLinkRepository(connection)
    passwords = Passwords()
    invitation_rows = InvitationRepository(connection)
    invitations = Invitations(
        user_rows, member_rows, invitation_rows, organization_rows, days=settings.accounts.invitation_days
    )
    tag_rows = TagRepository(connection)
    document_rows = DocumentRepository(connection)
    text_rows = TextRepository(connection)
    upload_rows = UploadRepository(connection)
    kb_rows = KnowledgeBaseRepository(connection)
    epochs = EpochRepository(connection)
    entries = IndexEntryRepository(connection)
    generations = GenerationRepository(connection)
    vectors = VectorRepository(connection)
    cache = EmbeddingCacheRepository(connection)
    llm_usage = LlmUsageRepository(connection)
    jobs = JobRepository(connection)
    history = JobHistoryRepository(connection)
    prompt_rows = PromptRepository(connection)
    prompt_runs = PromptRunRepository(connection)
    prompt_results = PromptResultRepository(connection)
    files = FileStore(connection)
    holds = BackupHoldRepository(connection)

    credentials = Credentials(ProviderRepository(connection), vault, settings.providers)
    stored = await credentials.store_platform_defaults(provider_keys_from_environment())
    if stored:
        log.info("credentials.stored_from_environment", providers=stored)
    models = EmbeddingModels(credentials, settings.embedding, Path(settings.data_dir) / "models")
    metering = Metering.on(connection)
    limit_rows = RateLimitRepository(connection)
    own_limits = OwnLimits(organization_rows)
    rate_limits = RateLimits(limit_rows, settings.rate_limits, own_limits)
    sessions = Sessions(
        user_rows, member_rows, organization_rows, session_rows, limit_rows, passwords, settings.accounts
    )
    embedding = EmbeddingService(
        models, cache, EmbeddingClaimRepository(connection), metering, rate_limits, settings.embedding
    )

    search_indexes = SearchIndexes(connection)
    search_rows = SearchRowRepository(connection)
    current_hits = CurrentHits(entries)
    choice = await choose(search_indexes, settings.search)
    log.info("vector_store.chosen", store=choice.kind.value, why=choice.reason)
    has_search_server = choice.kind is VectorStoreKind.MONGODB
    store = ChosenVectorStore(
        LocalVectorStore(
            vectors,
            memory_bytes=settings.search.local_store_bytes,
            load_wait_seconds=settings.search.load_wait_seconds,
            snapshots=_snapshots(settings),
        ),
        MongoVectorStore(
            search_indexes, search_rows, current_hits, settings.search, with_words=settings.lexical.is_enabled
        )
        if has_search_server
        else None,
    )

    membership = Membership(document_rows, kb_rows, entries, jobs)
    life_cycle = KnowledgeBaseLifeCycle(
        membership, kb_rows, epochs, entries, generations, vectors, jobs, history, rate_limits, holds, store
    )
    extraction = Extraction(connection, document_rows, text_rows, files, jobs, settings.extraction)
    staging = Staging(text_rows, generations, vectors, embedding, models, store, settings.indexing)
    commit = Commit(connection, document_rows, kb_rows, entries, generations, epochs, vectors, jobs, settings.indexing)
    sync = Sync(
        organization_rows,
        document_rows,
        kb_rows,
        entries,
        generations,
        jobs,
        staging,
        commit,
        Projecting(search_rows, entries),
        rate_limits,
    )

    async def drop_knowledge_base(running: RunningJob) -> None:
        await life_cycle.handle_drop(running)
        if running.job.subject.kb_id is not None and lexical is not None:
            lexical.forget(running.job.subject.kb_id)

    async def erase(running: RunningJob) -> None:
        await erasures.handle(running)
        if running.job.subject.erasure_id is not None:
            for kb_id in (await erasures.get(running.job.subject.erasure_id)).kb_ids:
                store.forget(kb_id)
                if lexical is not None:
                    lexical.forget(kb_id)

    metadata_fields = MetadataFields(connection, organization_rows, document_rows, jobs)
    storage = Storage(StorageAccountRepository(connection), document_rows)
    documents = Documents(connection, document_rows, text_rows, files, jobs, metadata_fields, storage)
    changing = DocumentChanging(connection, DocumentBatchRepository(connection), document_rows, jobs, metadata_fields)
    erasures = new_erasures(connection, documents, settings.erasure)
    reconciler = new_reconciler(connection, life_cycle, models, store, settings.reconciler)
    reconciliations = new_runs(connection, reconciler, settings.reconciler)
    indexing_states = IndexingStates(kb_rows, entries, jobs)
    lexical = (
        ChosenLexicalIndex(
            LocalLexicalIndex(
                ChunkTextRepository(connection),
                Path(settings.data_dir) / "lexical",
                disk_bytes=settings.lexical.disk_bytes,
                build_wait_seconds=settings.lexical.build_wait_seconds,
            ),
            MongoLexicalIndex(search_indexes, search_rows, current_hits) if has_search_server else None,
        )
        if settings.lexical.is_enabled
        else None
    )
    legs = Legs(store, lexical, timeout_seconds=settings.search.leg_timeout_seconds)
    chat = ChatService(credentials, rate_limits, llm_usage, settings.llm)
    steps = ModelSteps(
        understanding=ChatUnderstanding(chat),
        reranker=Reranking(credentials, rate_limits, llm_usage, models.local, settings.llm),
        compressor=ChatCompressor(chat),
    )
    finding = Finding(kb_rows, epochs, document_rows, tag_rows, legs, Check(document_rows, entries))
    presenting = Presenting(vectors, legs, steps, step_timeout_seconds=settings.search.step_timeout_seconds)
    search = Search(finding, presenting, legs, store, embedding, entries, steps, settings.search)

    prompt_uses = PromptUses(prompt_rows)
    runs = PromptRuns(connection, prompt_runs, document_rows, jobs, chat)
    triggers = PromptTriggers(connection, prompt_rows, prompt_runs, prompt_results, document_rows, jobs, holds)
    running_prompts = PromptRunning(
        connection,
        RunRows(organization_rows, prompt_rows, prompt_runs, prompt_results, document_rows, text_rows, llm_usage, jobs),
        chat,
        AgentLoop(chat, search, prompt_runs),
        settings.prompts,
    )

    async def handle_document_membership(running: RunningJob) -> None:
        await life_cycle.handle_document_membership(running)
        job = running.job
        if job.subject.document_id is not None:
            await triggers.run_on_document(job.organization_id, job.subject.document_id, request_id=job.request_id)

    async def on_dead(job: Job, failure: Failure) -> None:
        await extraction.fail_document_of(job, failure)
        await runs.fail_run_of(job, failure)

    knowledge_bases = KnowledgeBases(
        connection,
        kb_rows,
        epochs,
        entries,
        document_rows,
        vectors,
        jobs,
        embedding,
        models,
        store,
        store.kind_of_new,
        prompt_uses,
        ChunkPageRepository(connection),
        KnowledgeBaseWorkRepository(connection),
    )
    chat_rows = ChatRepository(connection)
    answering = Answering(search, chat, documents, settings.chat)
    chats = Chats(connection, chat_rows, document_rows, knowledge_bases, chat, answering, settings.chat)

    async def settle_after(job: Job) -> None:
        # Outside of a worker nothing settles continuously.
        await life_cycle.after_job(job)
        await life_cycle.settle_noted()

    return Application(
        settings=settings,
        connection=connection,
        organizations=Organizations(organization_rows, AccessTokenRepository(connection)),
        own_settings=OwnSettings(
            organization_rows,
            WorkerRepository(connection),
            own_limits,
            ServerSettings(settings.extraction.ocr_languages, settings.rate_limits),
        ),
        storage=storage,
        sessions=sessions,
        invitations=invitations,
        people=People(
            connection,
            user_rows,
            member_rows,
            invitations,
            invitation_rows,
            passwords,
        ),
        recovery=Recovery(connection, user_rows, session_rows, link_rows, sessions, passwords, settings.accounts),
        oidc=Oidc(settings.accounts.oidc, user_rows, link_rows, session_rows),
        mail=Mail(settings.accounts.smtp),
        audit_log=AuditLog(AuditLogRepository(connection), settings.accounts),
        background=set(),
        tags=Tags(connection, tag_rows, document_rows, kb_rows, prompt_uses),
        documents=documents,
        changing=changing,
        metadata_fields=metadata_fields,
        indexing_states=indexing_states,
        uploads=Uploads(
            connection,
            upload_rows,
            document_rows,
            files,
            jobs,
            metadata_fields,
            storage,
            max_bytes=settings.api.max_upload_bytes,
        ),
        knowledge_bases=knowledge_bases,
        vector_store=store,
        lexical=lexical,
        search=search,
        explain=Explain(search, finding, presenting, documents, indexing_states, settings.search),
        cache_eviction=CacheEviction(connection, cache, settings.embedding),
        forecasts=Forecasts(ForecastRepository(connection), text_rows, cache, models),
        metering=metering,
        chat=chat,
        llm_usage=llm_usage,
        models=ModelCatalogue(credentials, chat, [_local_model()]),
        prompts=Prompts(connection, prompt_rows, tag_rows, kb_rows, jobs, chat),
        prompt_runs=runs,
        prompt_results=PromptResults(prompt_results),
        result_export=ResultExport(prompt_results, document_rows),
        chats=chats,
        watching=Watching(
            ChangeStreamRepository(connection),
            Reading(document_rows, kb_rows, jobs, indexing_states),
            settings.watching,
        ),
        rate_limits=rate_limits,
        embedding_models=models,
        provider_accounts=ProviderAccounts(credentials, models, rate_limits),
        reconciler=reconciler,
        reconciliations=reconciliations,
        life_cycle=life_cycle,
        erasures=erasures,
        retention=Retention(RetentionRepository(connection), documents),
        extraction=extraction,
        locating=Locating(organization_rows, document_rows, text_rows, files, settings.extraction),
        jobs=jobs,
        job_history=history,
        job_operations=Jobs(
            connection, jobs, history, document_rows, kb_rows, on_dead=on_dead, on_settled=settle_after
        ),
        workers=Workers(WorkerRepository(connection)),
        backups=BackupRecordRepository(connection),
        document_rows=document_rows,
        kb_rows=kb_rows,
        idempotency=IdempotencyRepository(connection),
        vault=vault,
        credentials=credentials,
        on_dead=on_dead,
        handlers={
            JobKind.EXTRACT: extraction.handle,
            JobKind.MEMBERSHIP_DOCUMENT: handle_document_membership,
            JobKind.MEMBERSHIP_KB: life_cycle.handle_kb_membership,
            JobKind.SYNC: sync.handle,
            JobKind.SWEEP: Sweep(generations, vectors, holds).handle,
            JobKind.CLEAN_DOCUMENT: Cleaning(
                document_rows, text_rows, files, history, jobs, holds, prompt_runs, prompt_results, chat_rows
            ).handle,
            JobKind.DROP_KB: drop_knowledge_base,
            JobKind.ERASE: erase,
            JobKind.RECONCILE: reconciliations.handle,
            JobKind.RUN_PROMPT: running_prompts.handle,
            JobKind.MEMBERSHIP_PROMPT: triggers.handle_prompt_membership,
            JobKind.CLEAN_PROMPT: triggers.handle_clean,
        },
    )


def _snapshots(settings: Settings) -> Snapshots | None:
    size = settings.search.snapshot_bytes
    return Snapshots(Path(settings.data_dir) / "snapshots", max_bytes=size) if size else None


def _local_model() -> ListedModel:
    return ListedModel(LOCAL_MODEL, LOCAL_PROVIDER, ModelKind.EMBEDDING, ModelSource.LOCAL, dimensions=LOCAL_DIMENSIONS)
