"""Staging of many small documents of one knowledge base: one call for their embeddings, one insert."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytiq.errors import AnalytiqError, ProviderRefusedError
from analytiq.inference.embedding.base import Vectors
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.ingestion.chunking.context import ChunkContexts
from analytiq.ingestion.chunking.index_types import chunks_of_types, counts_of
from analytiq.ingestion.chunking.skipping import outline_without
from analytiq.ingestion.indexing.staging import STAGE_BATCH_SIZE, Pair, Piece, Pieces, new_generation, owner_of, row_of
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.index_entry import Generation
from analytiq.models.index_types import ChunkCounts
from analytiq.models.text import DocumentText, PageLocator
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.registry import Backends
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry.checkpoints import checkpoint

MOST_BYTES_TOGETHER = 8 * 1024 * 1024
"""Most bytes of texts and vectors that are embedded and staged together."""
MALFORMED_CODE = "malformed_answer"
"""Code of an answer that is refused whole: one text of the call may be the reason."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pair to index, and the generations that are current before."""

    running: RunningJob
    pair: Pair
    text_id: str
    current: tuple[Generation, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A pair with the chunks of its text."""

    wanted: Wanted
    pieces: list[Piece]
    counts: ChunkCounts


@dataclass(frozen=True, slots=True)
class Portion:
    """The documents that are embedded and committed together."""

    cuts: Sequence[Cut]
    alone: Sequence[Wanted]
    """Documents that are too long for any portion, or have nothing to embed."""
    rest: Sequence[Wanted]
    """Documents for the next portions."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A pair whose vectors are staged."""

    wanted: Wanted
    generation: Generation


@dataclass(frozen=True, slots=True)
class StagedPortion:
    """The outcome of a portion: its whole documents are staged."""

    staged: Sequence[Staged]
    waiting: Sequence[Wanted]
    """Documents whose texts other workers embed; with an error, those that it keeps from their embeddings."""
    alone: Sequence[Wanted]
    """Documents that fare better by themselves: the provider refuses one of their texts, or all of the portion's."""
    error: AnalytiqError | None


class BatchStaging:
    """Writes the vectors of several generations."""

    def __init__(self, rows: Repositories, embedding: EmbeddingService, backends: Backends) -> None:
        self._texts = rows.texts
        self._generations = rows.generations
        self._vectors = rows.vectors
        self._embedding = embedding
        self._backends = backends

    async def texts_of(self, items: Sequence[Wanted]) -> dict[str, DocumentText]:
        """Return the short texts among those of the documents, by id."""
        return await self._texts.read_short(items[0].pair.organization.id, [item.text_id for item in items])

    async def cut(self, items: Sequence[Wanted], texts: Mapping[str, DocumentText]) -> Portion:
        """Cut the first of the texts into chunks, up to the bounds of a portion."""
        return await asyncio.to_thread(_portion, items, texts)

    async def stage(self, cuts: Sequence[Cut]) -> StagedPortion:
        """Stage the documents that can be embedded now."""
        pair = cuts[0].wanted.pair
        embedded = await self._embedding.embed_documents(
            pair.organization, pair.knowledge_base, [[piece.embedded for piece in cut.pieces] for cut in cuts]
        )
        await checkpoint("indexing.window_embedded")
        whole = [(cut, vectors) for cut, vectors in zip(cuts, embedded.vectors, strict=True) if vectors is not None]
        staged = await self._write(whole) if whole else []
        waiting = [cut.wanted for place, cut in enumerate(cuts) if place in embedded.waiting]
        alone = [
            cut.wanted
            for place, cut in enumerate(cuts)
            if embedded.vectors[place] is None and place not in embedded.waiting
        ]
        error = embedded.error
        if isinstance(error, ProviderRefusedError) or (error is not None and error.code == MALFORMED_CODE):
            # The fault may be a text's own: each document asks by itself, and reports its own failure.
            return StagedPortion(staged, [], [*alone, *waiting], None)
        return StagedPortion(staged, waiting, alone, error)

    async def _write(self, whole: Sequence[tuple[Cut, Vectors]]) -> list[Staged]:
        knowledge_base = whole[0][0].wanted.pair.knowledge_base
        staged: list[Staged] = []
        rows: list[tuple[VectorOwner, list[VectorRow]]] = []
        for cut, vectors in whole:
            generation = new_generation(cut.wanted.running, cut.wanted.pair, cut.counts)
            staged.append(Staged(cut.wanted, generation))
            owner = owner_of(cut.wanted.pair, generation)
            rows.append((owner, [row_of(piece, vectors[number]) for number, piece in enumerate(cut.pieces)]))
        await self._generations.insert_many([item.generation for item in staged])
        await checkpoint("indexing.announced")
        await self._vectors.stage_many(rows)
        backend = self._backends.of(knowledge_base)
        for owner, written in rows:
            await backend.write(knowledge_base, owner, written)
        for (cut, _), item in zip(whole, staged, strict=True):
            await backend.await_searchable(knowledge_base, item.generation.id, counts=cut.counts)
        await checkpoint("indexing.window_staged")
        return staged


def _portion(items: Sequence[Wanted], texts: Mapping[str, DocumentText]) -> Portion:
    """Cut texts until a portion is full; pure CPU work."""
    cuts: list[Cut] = []
    alone: list[Wanted] = []
    chunk_count = byte_size = 0
    for place, item in enumerate(items):
        text = texts.get(item.text_id)
        cut = None if text is None else _cut(item, text)
        if cut is None or not cut.pieces or _is_long(len(cut.pieces), own_bytes := _bytes_of(cut)):
            alone.append(item)
            continue
        chunk_count += len(cut.pieces)
        byte_size += own_bytes
        if cuts and _is_long(chunk_count, byte_size):
            return Portion(cuts, alone, items[place:])
        cuts.append(cut)
    return Portion(cuts, alone, [])


def _is_long(chunk_count: int, byte_size: int) -> bool:
    return chunk_count > STAGE_BATCH_SIZE or byte_size > MOST_BYTES_TOGETHER


def _bytes_of(cut: Cut) -> int:
    dimensions = cut.wanted.pair.knowledge_base.embedding_dimensions
    return sum(4 * dimensions + len(piece.embedded.encode(errors="replace")) for piece in cut.pieces)


def _cut(item: Wanted, text: DocumentText) -> Cut:
    knowledge_base, document = item.pair.knowledge_base, item.pair.document
    skipped = item.pair.organization.skipped_flaws
    chunks = chunks_of_types(text, knowledge_base.chunking, skipped, embed_texts=None)
    values = knowledge_base.searched_values(document.metadata)
    contexts = ChunkContexts(outline_without(text, skipped), document.document_name, values)
    pieces = Pieces(PageLocator(text.pages), contexts, has_context=knowledge_base.context)
    return Cut(item, pieces.of(chunks), counts_of(chunks))
