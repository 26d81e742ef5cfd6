"""A knowledge base as a store sees it: written by the commits of the swap, and what must be found in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from analytiq import clock
from analytiq.models.document import Document
from analytiq.models.index_entry import IndexEntry
from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.base import IndexReader, RetrievalBackend
from analytiq.retrieval.backends.registry import MONGODB
from analytiq.retrieval.filters.projection import projection_of
from analytiq.retrieval.filters.selection import ChunkFilter, selection_of
from analytiq.retrieval.filters.tree import Filter, evaluate
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

DIMENSIONS = 8
PAGES_OF = {0: (1, 1), 1: (1, 2), 2: (3, 5)}
"""Chunk → the pages that it is on."""

Found = list[tuple[str, int, float]]
"""(document, chunk, relevance or score), best first."""
Vectors = NDArray[np.float32]
random = np.random.default_rng(11)


def vectors(count: int) -> Vectors:
    return random.standard_normal((count, DIMENSIONS)).astype(np.float32)


@dataclass(slots=True)
class Shelf:
    """A knowledge base in a backend. `name`: of what serves it."""

    name: str
    connection: MongoConnection
    backend: RetrievalBackend
    knowledge_base: KnowledgeBase
    documents: dict[str, Document] = field(default_factory=dict)
    truth: dict[str, Vectors] = field(default_factory=dict)

    async def create(self) -> None:
        uuid = await VectorRepository(self.connection).create_collection(self.knowledge_base.id)
        self.knowledge_base = self.knowledge_base.model_copy(update={"vectors_uuid": uuid})
        await self.backend.prepare(self.knowledge_base)

        async def commit(session: Session) -> None:
            await EpochRepository(self.connection).create(session, self.knowledge_base.id, new_id())

        await run_in_transaction(self.connection, commit)

    async def drop(self) -> None:
        await self.backend.drop(self.knowledge_base)
        await VectorRepository(self.connection).drop_collection(self.knowledge_base.id)

    async def epoch(self) -> Epoch:
        epoch = await EpochRepository(self.connection).read(self.knowledge_base.id)
        assert epoch is not None
        return epoch

    async def reader(self) -> IndexReader:
        return self.backend.reader(self.knowledge_base, await self.epoch())

    async def stage(
        self,
        document: Document,
        rows: Vectors,
        texts: Sequence[str] = (),
        contexts: Sequence[str] = (),
        *,
        by_type: dict[str, int] | None = None,
    ) -> str:
        kb, generation_id = self.knowledge_base, new_id()
        counts = ChunkCounts.of(len(rows), by_type)
        owner = VectorOwner(
            organization_id=kb.organization_id, kb_id=kb.id, vectors_uuid=kb.vectors_uuid, document_id=document.id,
            generation_id=generation_id, metadata_snapshot={}, indexed_at=clock.now(),
            projection=projection_of(document),
        )  # fmt: skip
        chunks = [replace(row, chunk_index=counts.at(row.chunk_index)) for row in _rows(rows, texts)]
        if contexts:
            chunks = [replace(row, context=context) for row, context in zip(chunks, contexts, strict=True)]
        await VectorRepository(self.connection).stage(owner, chunks)
        await self.backend.write(kb, owner, chunks)
        await self.backend.await_searchable(kb, generation_id, counts=counts)
        return generation_id

    async def put(
        self,
        document: Document,
        rows: Vectors,
        texts: Sequence[str] = (),
        contexts: Sequence[str] = (),
        *,
        by_type: dict[str, int] | None = None,
    ) -> None:
        """Index a document, anew where it is there already; `by_type`: how many of the rows have each index type."""
        kb = self.knowledge_base
        generation_id = await self.stage(document, rows, texts, contexts, by_type=by_type)
        entry = IndexEntry(
            organization_id=kb.organization_id, kb_id=kb.id, document_id=document.id, generation_id=generation_id,
            text_hash="", configuration_hash="", chunk_count=len(rows), chunk_counts=by_type, indexed_at=clock.now(),
        )  # fmt: skip

        async def commit(session: Session) -> None:
            before = await IndexEntryRepository(self.connection).put(session, entry)
            removed = before.generation_id if before else None
            await EpochRepository(self.connection).advance(
                session, kb.id, commit_id=new_id(), added=generation_id, removed=removed
            )

        await run_in_transaction(self.connection, commit)
        self.documents[document.id], self.truth[document.id] = document, rows

    async def write(self, document: Document, *texts: str) -> None:
        """Index a document of these chunks, by whatever vectors."""
        await self.put(document, vectors(len(texts)), texts)

    async def write_in_context(self, document: Document, *pieces: tuple[str, str]) -> None:
        """Index a document of these chunks, (context, text) each, by whatever vectors."""
        contexts, texts = [context for context, _ in pieces], [text for _, text in pieces]
        await self.put(document, vectors(len(pieces)), texts, contexts)

    async def take_out(self, document_id: str) -> None:
        kb = self.knowledge_base
        entry = await IndexEntryRepository(self.connection).get(kb.organization_id, kb.id, document_id)
        assert entry is not None

        async def commit(session: Session) -> None:
            entries = IndexEntryRepository(self.connection)
            await entries.remove(session, kb.organization_id, kb.id, document_id, entry.generation_id)
            await EpochRepository(self.connection).advance(
                session, kb.id, commit_id=new_id(), added=None, removed=entry.generation_id
            )

        await run_in_transaction(self.connection, commit)
        del self.documents[document_id], self.truth[document_id]

    async def filter(self, tree: Filter | None) -> ChunkFilter | None:
        async def matching(part: Filter) -> frozenset[str]:
            return frozenset(document.id for document in self.documents.values() if evaluate(part, document))

        return None if tree is None else ChunkFilter(tree, await selection_of(tree, matching))

    async def found(self, query: Vectors, *, limit: int = 100, tree: Filter | None = None) -> Found:
        """(document, chunk, relevance), best first."""
        chunk_filter = await self.filter(tree)
        answer = await (await self.reader()).vector_search(query, limit=limit, chunk_filter=chunk_filter)
        return [(hit.document_id, hit.chunk_index, hit.relevance) for hit in answer]

    async def found_by_words(self, question: str, *, limit: int = 100, tree: Filter | None = None) -> Found:
        """(document, chunk, score), best first."""
        chunk_filter = await self.filter(tree)
        answer = await (await self.reader()).keyword_search(question, limit=limit, chunk_filter=chunk_filter)
        return [(hit.document_id, hit.chunk_index, hit.score) for hit in answer]

    async def counted(self, tree: Filter | None = None) -> int:
        return await (await self.reader()).count(chunk_filter=await self.filter(tree))

    def passing(self, tree: Filter | None = None) -> list[tuple[str, int]]:
        """(document, chunk) of what a plain reading of the filter lets through, in order."""
        return sorted(
            (document_id, place)
            for document_id, rows in self.truth.items()
            for place in range(len(rows))
            if tree is None or evaluate(tree, self.documents[document_id], pages_of(place))
        )

    def expected(self, query: Vectors, *, limit: int = 100, tree: Filter | None = None) -> Found:
        """The same as `found`, by a plain scan."""
        scored = [
            (document_id, place, round((1 + _cosine(self.truth[document_id][place], query)) / 2, 5))
            for document_id, place in self.passing(tree)
        ]
        return sorted(scored, key=lambda row: (-row[2], row[0], row[1]))[:limit]


def a_knowledge_base() -> KnowledgeBase:
    now = clock.now()
    return KnowledgeBase(
        id=new_id(), organization_id="o1", name="KB", description="", tag_ids=(), chunker_type="token", chunk_size=16,
        chunk_overlap=0, embedding_model="m", embedding_dimensions=DIMENSIONS, coalesce_neighbors=0, context=True,
        status=KnowledgeBaseStatus.ACTIVE, vectors_uuid="", vector_store=MONGODB, created_at=now,
        updated_at=now,
    )  # fmt: skip


def pages_of(place: int) -> range:
    first, last = PAGES_OF[place % len(PAGES_OF)]
    return range(first, last + 1)


def _cosine(left: Vectors, right: Vectors) -> float:
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def _rows(rows: Vectors, texts: Sequence[str]) -> list[VectorRow]:
    return [
        VectorRow(
            chunk_index=place,
            chunk_hash="",
            chunk_text=texts[place] if texts else f"chunk {place}",
            embedding=vector,
            token_count=1,
            start=place,
            end=place + 1,
            first_page=pages_of(place)[0],
            last_page=pages_of(place)[-1],
        )
        for place, vector in enumerate(rows)
    ]
