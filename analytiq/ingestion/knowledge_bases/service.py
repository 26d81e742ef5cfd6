"""Knowledge bases: create, read, change, delete."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from analytiq import clock
from analytiq.errors import NotFoundError
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.prices import known_model
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.ingestion.chunking.index_types import check
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseStandings, StandingKnowledgeBase
from analytiq.ingestion.knowledge_bases.window import fitted_to
from analytiq.ingestion.membership import kb_changed
from analytiq.ingestion.prompt_uses import OnUse, PromptUses
from analytiq.models.index_types import PARAGRAPHS, Chunking, IndexType
from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import DropKbPayload
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.organization import Organization
from analytiq.models.vector import Passage
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint


@dataclass(frozen=True, slots=True)
class NewKnowledgeBase:
    """Settings of a new knowledge base; its `tag_ids` exist. `embedding_model` None: the default model."""

    name: str
    description: str
    tag_ids: tuple[str, ...]
    chunker_type: str
    chunk_size: int
    chunk_overlap: int
    embedding_model: str | None
    coalesce_neighbors: int
    context: bool = True
    searched_metadata: tuple[str, ...] = ()
    section_level: int = 0
    index_types: tuple[IndexType, ...] = PARAGRAPHS


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Settings of an index to move to; None leaves a setting as it is."""

    context: bool = True
    searched_metadata: tuple[str, ...] | None = None
    chunker_type: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    section_level: int | None = None
    index_types: tuple[IndexType, ...] | None = None

    def changes_of(self, knowledge_base: KnowledgeBase) -> dict[str, Any]:
        """Return the settings that differ from those of the knowledge base; without context, none is searched."""
        wanted = {name: value for name, value in asdict(self).items() if value is not None}
        if not self.context:
            wanted["searched_metadata"] = ()
        return {name: value for name, value in wanted.items() if value != getattr(knowledge_base, name)}


REINDEXING = frozenset({
    "tag_ids", "context", "searched_metadata", "chunker_type", "chunk_size", "chunk_overlap", "section_level",
    "index_types",
})  # fmt: skip
"""Settings whose change concerns the documents of a knowledge base."""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document as a knowledge base lists it."""

    document_id: str
    document_name: str
    chunk_count: int
    indexed_at: datetime


@dataclass(frozen=True, slots=True)
class ListedChunk:
    """A currently indexed chunk, with the name of its document."""

    passage: Passage
    document_name: str

    @property
    def chunk_id(self) -> str:
        """Return the id of the chunk, valid until its document is indexed again."""
        return f"{self.passage.generation_id}-{self.passage.chunk_index}"


class KnowledgeBases:
    """Knowledge bases of an organization."""

    def __init__(
        self,
        rows: Repositories,
        embedding: EmbeddingService,
        models: EmbeddingModels,
        backends: Backends,
    ) -> None:
        self._standings = KnowledgeBaseStandings(rows.announced)
        self._chunk_pages = rows.chunk_pages
        self._prompt_uses = PromptUses(rows)
        self._connection = rows.connection
        self._knowledge_bases = rows.announced.knowledge_bases
        self._epochs = rows.epochs
        self._entries = rows.announced.entries
        self._documents = rows.announced.documents
        self._vectors = rows.vectors
        self._jobs = rows.jobs
        self._embedding = embedding
        self._models = models
        self._backends = backends

    async def create(
        self, organization: Organization, wanted: NewKnowledgeBase, *, request_id: str | None = None
    ) -> KnowledgeBase:
        """Create a knowledge base; jobs index its documents.

        Raises:
            InvalidInputError: chunker, sizes or model are invalid, or the model's provider has no key.
            TransientError: the model's provider cannot be reached to detect the dimensions.
            ConflictError: another knowledge base has the name, or MongoDB's search server refuses another index.
        """
        # An early check: calling the model's provider takes seconds and may cost money. The commit decides.
        await self._knowledge_bases.require_free_name(organization.id, wanted.name)
        chunking = Chunking(
            wanted.chunker_type, wanted.chunk_size, wanted.chunk_overlap, wanted.section_level, wanted.index_types
        )
        check(chunking)
        model = wanted.embedding_model or await self._models.default_model()
        dimensions = await self._embedding.dimensions_of(organization, model)
        chunking = await _fitted_to_model(chunking, model)
        kb_id = new_id()
        vectors_uuid = await self._vectors.create_collection(kb_id)
        await checkpoint("knowledge_base.collection_created")
        now = clock.now()
        knowledge_base = KnowledgeBase(
            id=kb_id,
            organization_id=organization.id,
            name=wanted.name,
            description=wanted.description,
            tag_ids=wanted.tag_ids,
            **asdict(chunking),
            embedding_model=model,
            embedding_dimensions=dimensions,
            coalesce_neighbors=wanted.coalesce_neighbors,
            context=wanted.context,
            searched_metadata=wanted.searched_metadata if wanted.context else (),
            status=KnowledgeBaseStatus.INDEXING,
            vectors_uuid=vectors_uuid,
            vector_store=self._backends.name_of_new,
            created_at=now,
            updated_at=now,
        )

        async def commit(session: Session) -> None:
            await self._knowledge_bases.insert(session, knowledge_base)
            await self._epochs.create(session, kb_id, new_id())
            await self._jobs.enqueue([kb_changed(organization.id, kb_id)], request_id=request_id, session=session)

        try:
            await self._backends.of(knowledge_base).prepare(knowledge_base)
            await run_in_transaction(self._connection, commit)
        except BaseException:
            if await self._knowledge_bases.get(organization.id, kb_id) is None:
                await self._vectors.drop_collection(kb_id)
            raise
        await checkpoint("knowledge_base.created")
        return knowledge_base

    async def get(self, organization_id: str, kb_id: str) -> KnowledgeBase:
        """Return the knowledge base with its present counts."""
        knowledge_base = await self._knowledge_bases.get(organization_id, kb_id)
        if knowledge_base is None:
            raise unknown_knowledge_base(kb_id)
        documents, chunks = await self._entries.statistics(kb_id)
        return knowledge_base.model_copy(update={"document_count": documents, "chunk_count": chunks})

    async def page(
        self, organization_id: str, *, skip: int, limit: int, name_search: str | None
    ) -> tuple[list[KnowledgeBase], int]:
        """Return a page of knowledge bases with the counts last stored, and the total count."""
        return await self._knowledge_bases.page(organization_id, skip=skip, limit=limit, name_search=name_search)

    async def with_names(self, organization_id: str, names: Collection[str]) -> list[KnowledgeBase]:
        """Return the knowledge bases with these names, with the counts last stored."""
        return await self._knowledge_bases.with_names(organization_id, names)

    async def standings_of(
        self, organization_id: str, knowledge_bases: Sequence[KnowledgeBase]
    ) -> list[StandingKnowledgeBase]:
        """Return the searchable, waiting and failed counts of each knowledge base, in order."""
        return await self._standings.of(organization_id, knowledge_bases)

    async def change(
        self,
        organization_id: str,
        kb_id: str,
        changes: Mapping[str, Any],
        *,
        request_id: str | None = None,
    ) -> KnowledgeBase:
        """Change name, description, tag_ids (known to exist) or coalesce_neighbors.

        Documents that lose their last shared tag are no longer found; jobs index new ones.

        Raises:
            ConflictError: another knowledge base has the new name.
        """

        async def commit(session: Session) -> KnowledgeBase:
            changed = await self._knowledge_bases.change(session, organization_id, kb_id, changes)
            if changed is None:
                raise unknown_knowledge_base(kb_id)
            if changes.keys() & REINDEXING:
                # A removal by the old tags would remove documents that are members by the new ones.
                await self._epochs.make_commits_conflict(session, kb_id)
                await self._jobs.enqueue([kb_changed(organization_id, kb_id)], request_id=request_id, session=session)
            return changed

        await run_in_transaction(self._connection, commit)
        return await self.get(organization_id, kb_id)

    async def move(
        self, organization_id: str, kb_id: str, wanted: IndexSettings, *, request_id: str | None = None
    ) -> KnowledgeBase:
        """Change the settings of the index; jobs index each document again, and replace its former chunks at once.

        Until its own turn, a document is found by its former chunks. A second move to the former settings cancels: it
        leaves documents alone that were not reached, and brings the others back from the cache.

        Raises:
            NotFoundError: no such knowledge base.
            InvalidInputError: the chunker or the sizes are invalid.
        """
        present = await self.get(organization_id, kb_id)
        changes = wanted.changes_of(present)
        if not changes:
            return present
        moved = present.model_copy(update=changes)
        check(moved.chunking)
        if "index_types" in changes:
            fitted = await _fitted_to_model(moved.chunking, moved.embedding_model)
            changes["longest_chunk"] = fitted.longest_chunk
        return await self.change(organization_id, kb_id, changes, request_id=request_id)

    async def delete(
        self, organization_id: str, kb_id: str, *, on_use: OnUse = OnUse.REFUSE, request_id: str | None = None
    ) -> None:
        """Delete it: searches fail from now on; its collection and rows are removed within seconds.

        Raises:
            ConflictError: prompts search in it, and `on_use` is to refuse; names them.
        """

        async def commit(session: Session) -> None:
            await self._prompt_uses.release_knowledge_base(session, organization_id, kb_id, on_use)
            if not await self._knowledge_bases.mark_deleting(session, organization_id, kb_id):
                raise unknown_knowledge_base(kb_id)
            await self._epochs.delete(session, kb_id)
            await self._jobs.enqueue([drop_request(organization_id, kb_id)], request_id=request_id, session=session)

        await run_in_transaction(self._connection, commit)

    async def documents(
        self, organization_id: str, kb_id: str, *, skip: int, limit: int
    ) -> tuple[list[IndexedDocument], int]:
        """Return a page of the indexed documents, latest first, and the total count.

        A document deleted a moment ago, whose entry still exists, is left out of the page.
        """
        if await self._knowledge_bases.get(organization_id, kb_id) is None:
            raise unknown_knowledge_base(kb_id)
        entries, total = await self._entries.page(organization_id, kb_id, skip=skip, limit=limit)
        names = await self._documents.names(organization_id, [entry.document_id for entry in entries])
        return [
            IndexedDocument(
                document_id=entry.document_id,
                document_name=names[entry.document_id],
                chunk_count=entry.chunk_count,
                indexed_at=entry.indexed_at,
            )
            for entry in entries
            if entry.document_id in names
        ], total

    async def names(self, organization_id: str, kb_ids: Collection[str]) -> dict[str, str]:
        """Return the names by id of existing knowledge bases."""
        return await self._knowledge_bases.names(organization_id, kb_ids) if kb_ids else {}

    async def chunks(
        self, organization_id: str, kb_id: str, *, document_id: str | None, skip: int, limit: int
    ) -> tuple[list[ListedChunk], int]:
        """Return a page of currently indexed chunks, by document and number, and the total count.

        A document outside of the knowledge base has none.
        """
        if await self._knowledge_bases.get(organization_id, kb_id) is None:
            raise unknown_knowledge_base(kb_id)
        passages, total = await self._chunk_pages.page(
            organization_id, kb_id, document_id=document_id, skip=skip, limit=limit
        )
        names = await self._documents.names(organization_id, list({passage.document_id for passage in passages}))
        return [
            ListedChunk(passage, names[passage.document_id]) for passage in passages if passage.document_id in names
        ], total


async def _fitted_to_model(chunking: Chunking, model: str) -> Chunking:
    """Bound sections and websites by the model's window; paragraphs have a size of their own."""
    if chunking.index_types == PARAGRAPHS:
        return chunking
    return fitted_to(chunking, await asyncio.to_thread(known_model, model))


def drop_request(organization_id: str, kb_id: str) -> JobRequest:
    """Return the job that removes the data of a deleted knowledge base."""
    return JobRequest(
        payload=DropKbPayload(kb_id=kb_id),
        organization_id=organization_id,
        priority=Priority.CLEANING,
    )


def unknown_knowledge_base(kb_id: str) -> NotFoundError:
    """Return the error for an unknown knowledge base."""
    return NotFoundError(f"No knowledge base has the id {kb_id!r}. List the knowledge bases to find it.")
