"""The repositories that several parts share; what one part alone uses, it makes itself."""

from dataclasses import dataclass
from typing import Self

from analytiq.mongo.client import MongoConnection
from analytiq.mongo.files import FileStore
from analytiq.mongo.repositories.backup_holds import BackupHoldRepository
from analytiq.mongo.repositories.chats import ChatRepository
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.mongo.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.mongo.repositories.job_history import JobHistoryRepository
from analytiq.mongo.repositories.jobs import JobRepository
from analytiq.mongo.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.mongo.repositories.llm_usage import LlmUsageRepository
from analytiq.mongo.repositories.organizations import OrganizationRepository
from analytiq.mongo.repositories.prompt_results import PromptResultRepository
from analytiq.mongo.repositories.prompt_runs import PromptRunRepository
from analytiq.mongo.repositories.prompts import PromptRepository
from analytiq.mongo.repositories.rate_limits import RateLimitRepository
from analytiq.mongo.repositories.sessions import InvitationRepository, OneTimeLinkRepository, SessionRepository
from analytiq.mongo.repositories.tags import TagRepository
from analytiq.mongo.repositories.texts import TextRepository
from analytiq.mongo.repositories.uploads import UploadRepository
from analytiq.mongo.repositories.users import MemberRepository, UserRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.mongo.search.rows import SearchRowRepository


@dataclass(frozen=True, slots=True)
class Rows:
    """The repositories of one database, and the connection that transactions begin on."""

    connection: MongoConnection
    organizations: OrganizationRepository
    users: UserRepository
    members: MemberRepository
    sessions: SessionRepository
    links: OneTimeLinkRepository
    invitations: InvitationRepository
    tags: TagRepository
    documents: DocumentRepository
    texts: TextRepository
    files: FileStore
    uploads: UploadRepository
    knowledge_bases: KnowledgeBaseRepository
    epochs: EpochRepository
    entries: IndexEntryRepository
    generations: GenerationRepository
    vectors: VectorRepository
    search: SearchRowRepository
    embedding_cache: EmbeddingCacheRepository
    llm_usage: LlmUsageRepository
    rate_limits: RateLimitRepository
    jobs: JobRepository
    job_history: JobHistoryRepository
    prompts: PromptRepository
    prompt_runs: PromptRunRepository
    prompt_results: PromptResultRepository
    chats: ChatRepository
    holds: BackupHoldRepository

    @classmethod
    def on(cls, connection: MongoConnection) -> Self:
        """The repositories of a connection's database."""
        return cls(
            connection=connection,
            organizations=OrganizationRepository(connection),
            users=UserRepository(connection),
            members=MemberRepository(connection),
            sessions=SessionRepository(connection),
            links=OneTimeLinkRepository(connection),
            invitations=InvitationRepository(connection),
            tags=TagRepository(connection),
            documents=DocumentRepository(connection),
            texts=TextRepository(connection),
            files=FileStore(connection),
            uploads=UploadRepository(connection),
            knowledge_bases=KnowledgeBaseRepository(connection),
            epochs=EpochRepository(connection),
            entries=IndexEntryRepository(connection),
            generations=GenerationRepository(connection),
            vectors=VectorRepository(connection),
            search=SearchRowRepository(connection),
            embedding_cache=EmbeddingCacheRepository(connection),
            llm_usage=LlmUsageRepository(connection),
            rate_limits=RateLimitRepository(connection),
            jobs=JobRepository(connection),
            job_history=JobHistoryRepository(connection),
            prompts=PromptRepository(connection),
            prompt_runs=PromptRunRepository(connection),
            prompt_results=PromptResultRepository(connection),
            chats=ChatRepository(connection),
            holds=BackupHoldRepository(connection),
        )
