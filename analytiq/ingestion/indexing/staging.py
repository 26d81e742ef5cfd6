"""Staging: text → chunks → embeddings → vectors of a generation that no index entry names yet."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analytiq import clock
from analytiq.inference.embedding.base import Vectors
from analytiq.inference.embedding.cache_key import chunk_hash
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.ingestion.chunking.context import ChunkContext, ChunkContexts
from analytiq.ingestion.chunking.index_types import chunks_of_types, counts_of
from analytiq.ingestion.chunking.skipping import outline_without
from analytiq.ingestion.indexing.plan import Index, projection_in
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.chunk import Chunk
from analytiq.models.document import Document
from analytiq.models.index_entry import Generation, GenerationState
from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.text import PageLocator
from analytiq.models.vector import VectorOwner, VectorRow, in_context
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.telemetry.checkpoints import checkpoint

STAGE_BATCH_SIZE = 500
"""Chunks embedded and staged at a time."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The rows of a pair as a sync has read them."""

    organization: Organization
    knowledge_base: KnowledgeBase
    document: Document


class Staging:
    """Writes a generation's vectors in windows, so that memory does not grow with the document."""

    def __init__(
        self,
        rows: Repositories,
        embedding: EmbeddingService,
        models: EmbeddingModels,
        backends: Backends,
    ) -> None:
        self._texts = rows.texts
        self._generations = rows.generations
        self._vectors = rows.vectors
        self._embedding = embedding
        self._models = models
        self._backends = backends

    async def stage(self, running: RunningJob, pair: Pair, wanted: Index) -> Generation:
        """Stage the text's vectors; return the complete generation, which has no readers yet.

        Raises:
            TransientError: the text was replaced meanwhile, or the provider is unreachable.
            PermanentError: the provider refuses.
            ConflictError: the knowledge base was deleted meanwhile.
            LeaseLostError: another worker has the job.
        """
        text = await self._texts.read(pair.document.organization_id, wanted.text_id)
        skipped = pair.organization.skipped_flaws
        chunks = await asyncio.to_thread(
            chunks_of_types, text, pair.knowledge_base.chunking, skipped, embed_texts=self._embed_sentences
        )
        counts = counts_of(chunks)
        generation = await self._announce(running, pair, counts)
        await checkpoint("indexing.announced")
        values = pair.knowledge_base.searched_values(pair.document.metadata)
        outline = outline_without(text, skipped)
        contexts = await asyncio.to_thread(ChunkContexts, outline, pair.document.document_name, values)
        pieces = Pieces(PageLocator(text.pages), contexts, has_context=pair.knowledge_base.context)
        owner = owner_of(pair, generation)
        backend = self._backends.of(pair.knowledge_base)
        size = STAGE_BATCH_SIZE
        for start in range(0, len(chunks), size):
            window = await asyncio.to_thread(pieces.of, chunks[start : start + size])
            vectors = await self._embedding.embed_chunks(
                pair.organization, pair.knowledge_base, [piece.embedded for piece in window]
            )
            await checkpoint("indexing.window_embedded")
            rows = [row_of(piece, vectors[index]) for index, piece in enumerate(window)]
            await self._vectors.stage(owner, rows)
            await backend.write(pair.knowledge_base, owner, rows)
            await checkpoint("indexing.window_staged")
            if start + size < len(chunks):  # the commit follows at once, and ends the job's progress
                await running.report(start + len(window), len(chunks), "chunks")
        # A backend may lag behind: the present chunks are shown until it knows the new ones.
        await backend.await_searchable(pair.knowledge_base, generation.id, counts=counts)
        return generation

    def _embed_sentences(self, texts: Sequence[str]) -> Vectors:
        """Embed sentences for semantic chunkers with the local model, which costs no SPU."""
        return self._models.local.embed_texts(texts)

    async def _announce(self, running: RunningJob, pair: Pair, counts: ChunkCounts) -> Generation:
        generation = new_generation(running, pair, counts)
        await self._generations.insert(generation)
        return generation


def new_generation(running: RunningJob, pair: Pair, counts: ChunkCounts) -> Generation:
    """Return a generation in staging; not stored."""
    now = clock.now()
    return Generation(
        id=new_id(),
        organization_id=pair.document.organization_id,
        kb_id=pair.knowledge_base.id,
        document_id=pair.document.id,
        state=GenerationState.STAGING,
        chunk_count=counts.total,
        chunk_counts=counts.stored(),
        lease_token=running.job.lease_token or "",
        created_at=now,
        updated_at=now,
    )


def owner_of(pair: Pair, generation: Generation) -> VectorOwner:
    """Return what all vectors of the generation share."""
    document = pair.document
    return VectorOwner(
        organization_id=document.organization_id,
        kb_id=pair.knowledge_base.id,
        vectors_uuid=pair.knowledge_base.vectors_uuid,
        document_id=document.id,
        generation_id=generation.id,
        metadata_snapshot={
            "document_name": document.document_name,
            "tag_ids": list(document.tag_ids),
            "metadata": document.metadata,
        },
        indexed_at=generation.created_at,
        projection=projection_in(pair.knowledge_base, document),
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk with its context and its first and last page."""

    chunk: Chunk
    context: ChunkContext
    pages: tuple[int, int]

    @property
    def embedded(self) -> str:
        """Return the text that is embedded."""
        return in_context(self.context.embedded, self.chunk.text)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Finds what is known of a text's chunks; without `has_context`, headings are shown and not embedded."""

    locator: PageLocator
    contexts: ChunkContexts
    has_context: bool

    def of(self, chunks: Sequence[Chunk]) -> list[Piece]:
        """Return the chunks with their contexts; pure CPU work."""
        return [self._of(chunk) for chunk in chunks]

    def _of(self, chunk: Chunk) -> Piece:
        context = self.contexts.of(chunk.start, chunk.end, chunk.token_count)
        kept = context if self.has_context else replace(context, text="", embedded="")
        return Piece(chunk, kept, self.locator.between(chunk.start, chunk.end))


def row_of(piece: Piece, embedding: NDArray[np.float32]) -> VectorRow:
    """Return the stored row of a chunk."""
    chunk, context = piece.chunk, piece.context
    return VectorRow(
        chunk_index=chunk.chunk_index,
        chunk_hash=chunk_hash(piece.embedded),
        chunk_text=chunk.text,
        embedding=embedding,
        token_count=chunk.token_count,
        start=chunk.start,
        end=chunk.end,
        first_page=piece.pages[0],
        last_page=piece.pages[1],
        context=context.text,
        heading_path=context.heading_path,
        page_name=context.page_name,
    )
