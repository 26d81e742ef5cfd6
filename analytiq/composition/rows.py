"""The repositories that several parts share; what one part alone uses, it makes itself."""

from dataclasses import dataclass
from typing import Self

from analytiq.storage.client import MongoConnection
from analytiq.storage.files import FileStore
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.chats import ChatRepository
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.storage.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.storage.repositories.job_history import JobHistoryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import EpochRepository, KnowledgeBaseRepository
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.prompt_results import PromptResultRepository
from analytiq.storage.repositories.prompt_runs import PromptRunRepository
from analytiq.storage.repositories.prompts import PromptRepository
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.storage.repositories.sessions import InvitationRepository, OneTimeLinkRepository, SessionRepository
from analytiq.storage.repositories.tags import TagRepository
from analytiq.storage.repositories.texts import TextRepository
from analytiq.storage.repositories.uploads import UploadRepository
from analytiq.storage.repositories.users import MemberRepository, UserRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.search.rows import SearchRowRepository


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
