"""The indexing state of a document in each of its knowledge bases, with the reason."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from analytiq.errors import QuotaExceededError
from analytiq.models.document import Document, DocumentState, Failure
from analytiq.models.flaws import FlawKind
from analytiq.models.index_entry import IndexEntry
from analytiq.models.job import WAITING_FOR_PROVIDER_CODES, Job, JobKind, JobState, Progress
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.organizations import OrganizationRepository


class IndexingState(StrEnum):
    """The state of a document in one knowledge base."""

    INDEXED = "indexed"
    WAITING = "waiting"
    WAITING_FOR_QUOTA = "waiting_for_quota"
    WAITING_FOR_PROVIDER = "waiting_for_provider"
    INDEXING = "indexing"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class KnowledgeBaseState:
    """A document's state in one knowledge base. `is_searchable` may be true while a newer text is being indexed.

    `skipped_flaws`: kinds of flawed text that its chunks leave out; `skipped_word_count`: their words.
    """

    kb_id: str
    kb_name: str
    state: IndexingState
    is_searchable: bool
    reason: str | None
    error: Failure | None
    progress: Progress | None
    waiting_since: datetime | None
    chunk_count: int
    indexed_at: datetime | None
    skipped_flaws: tuple[FlawKind, ...] = ()
    skipped_word_count: int = 0


@dataclass(frozen=True, slots=True)
class StandingDocument:
    """A document with its state in each of its knowledge bases, and the progress of a running extraction."""

    document: Document
    knowledge_bases: list[KnowledgeBaseState]
    extraction: Progress | None


class IndexingStates:
    """Reads the input of `state_in`."""

    def __init__(
        self,
        knowledge_bases: KnowledgeBaseRepository,
        entries: IndexEntryRepository,
        jobs: JobRepository,
        organizations: OrganizationRepository,
    ) -> None:
        self._organizations = organizations
        self._knowledge_bases = knowledge_bases
        self._entries = entries
        self._jobs = jobs

    async def of_document(self, document: Document) -> list[KnowledgeBaseState]:
        """Return the document's state in every knowledge base that shares a tag with it, by name."""
        tagged = await self._knowledge_bases.with_tags(document.organization_id, document.tag_ids)
        entries = await self._entries.of_document(document.organization_id, document.id)
        jobs = await self._jobs.of_document(document.organization_id, document.id)
        skipped = await self._skipped_flaws(document.organization_id)
        return states(document, tagged, entries, jobs, skipped)

    async def _skipped_flaws(self, organization_id: str) -> tuple[FlawKind, ...]:
        organization = await self._organizations.get(organization_id)
        return () if organization is None else organization.skipped_flaws

    async def of_documents(self, organization_id: str, documents: Sequence[Document]) -> list[StandingDocument]:
        """Return the states of several documents of one organization, with four queries in all."""
        tag_ids = {tag_id for document in documents for tag_id in document.tag_ids}
        document_ids = [document.id for document in documents]
        tagged = await self._knowledge_bases.with_tags(organization_id, tag_ids)
        entries = await self._entries.in_all_knowledge_bases(organization_id, document_ids)
        jobs = await self._jobs.of_documents(organization_id, document_ids)
        skipped = await self._skipped_flaws(organization_id)
        entries_of: dict[str, list[IndexEntry]] = {}
        for entry in entries:
            entries_of.setdefault(entry.document_id, []).append(entry)
        jobs_of: dict[str | None, list[Job]] = {}
        for job in jobs:
            jobs_of.setdefault(job.subject.document_id, []).append(job)
        return [
            _standing(document, tagged, entries_of.get(document.id, []), jobs_of.get(document.id, []), skipped)
            for document in documents
        ]


def _standing(
    document: Document,
    tagged: Sequence[KnowledgeBase],
    entries: Sequence[IndexEntry],
    jobs: Sequence[Job],
    skipped: Collection[FlawKind],
) -> StandingDocument:
    extracting = (job.progress for job in jobs if job.kind is JobKind.EXTRACT and job.state is JobState.RUNNING)
    tag_ids = set(document.tag_ids)
    shared = [item for item in tagged if not tag_ids.isdisjoint(item.tag_ids)]
    return StandingDocument(document, states(document, shared, entries, jobs, skipped), next(extracting, None))


def states(
    document: Document,
    knowledge_bases: Sequence[KnowledgeBase],
    entries: Sequence[IndexEntry],
    jobs: Sequence[Job],
    skipped: Collection[FlawKind] = (),
) -> list[KnowledgeBaseState]:
    """Judge each knowledge base from the rows read; `skipped`: the organization's choice of flaws to leave out."""
    entry_of = {entry.kb_id: entry for entry in entries}
    job_of = {job.subject.kb_id: job for job in jobs if job.kind is JobKind.SYNC and job.subject.kb_id}
    ordered = sorted(knowledge_bases, key=lambda item: (item.name, item.id))
    flaws = document.flaw_kinds_among(skipped)
    return [_state_in(item, document, entry_of.get(item.id), job_of.get(item.id), flaws) for item in ordered]


def _state_in(
    knowledge_base: KnowledgeBase,
    document: Document,
    entry: IndexEntry | None,
    job: Job | None,
    flaws: tuple[FlawKind, ...],
) -> KnowledgeBaseState:
    state, reason = _judge(knowledge_base, document, entry, job, flaws)
    left_out = entry.skipped_flaws if entry else ()
    return KnowledgeBaseState(
        kb_id=knowledge_base.id,
        kb_name=knowledge_base.name,
        state=state,
        is_searchable=entry is not None,
        reason=reason,
        error=job.error if job and state is not IndexingState.INDEXED else None,
        progress=job.progress if job and job.state is JobState.RUNNING else None,
        waiting_since=job.waiting_since if job and job.state is JobState.AVAILABLE else None,
        chunk_count=entry.chunk_count if entry else 0,
        indexed_at=entry.indexed_at if entry else None,
        skipped_flaws=left_out,
        skipped_word_count=sum(count.word_count for count in document.flaws if count.kind in left_out),
    )


def _judge(
    knowledge_base: KnowledgeBase,
    document: Document,
    entry: IndexEntry | None,
    job: Job | None,
    flaws: tuple[FlawKind, ...],
) -> tuple[IndexingState, str | None]:
    is_current = (
        entry is not None
        and entry.text_hash == document.text_hash
        and entry.configuration_hash == knowledge_base.configuration_hash
        and entry.context_hash == knowledge_base.context_hash_of(document.document_name, document.metadata)
        and entry.skipped_flaws == flaws
    )
    if is_current and document.state is DocumentState.EXTRACTED:
        return IndexingState.INDEXED, None
    if document.state is DocumentState.FAILED:
        detail = document.error.detail if document.error else "for an unknown reason"
        return IndexingState.FAILED, f"its text could not be extracted: {detail}"
    if document.state is not DocumentState.EXTRACTED:
        return IndexingState.WAITING, f"its text is not extracted yet ({document.state.value})"
    if not document.character_count:
        return IndexingState.EMPTY, "it has no extractable text"
    if job is None:
        return IndexingState.WAITING, "its indexing is about to be enqueued"
    if job.state is JobState.DEAD:
        detail = job.error.detail if job.error else "for an unknown reason"
        return IndexingState.FAILED, f"it could not be indexed: {detail}"
    if job.state is JobState.RUNNING:
        return IndexingState.INDEXING, None
    if job.error is not None and job.error.code == QuotaExceededError.code:
        return IndexingState.WAITING_FOR_QUOTA, f"it waits for SPUs: {job.error.detail}"
    if job.error is not None and job.error.code in WAITING_FOR_PROVIDER_CODES:
        return IndexingState.WAITING_FOR_PROVIDER, f"It waits for the provider of its model. {job.error.detail}"
    if job.error is not None:
        return IndexingState.WAITING, f"the last attempt failed and is repeated: {job.error.detail}"
    return IndexingState.WAITING, "it waits in the queue"
