"""Searches by `$vectorSearch`: nothing is held in this process."""

import asyncio
from collections.abc import Collection
from functools import partial

import numpy as np
import structlog

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.mongodb.hits import CurrentHits, Narrowing, narrowing
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet, contains
from analytiq.retrieval.vector_stores.base import Query, VectorHit
from analytiq.settings import SearchSettings
from analytiq.storage.search.indexes import (
    VECTOR_INDEX,
    SearchIndex,
    SearchIndexes,
    not_queryable,
    serves,
    vector_index,
    word_index,
)
from analytiq.storage.search.rows import MOST_FOUND, REFUSED, SCORE_DECIMALS, FoundChunk, SearchRowRepository

log = structlog.get_logger(__name__)

EXACT_CHUNKS = 10_000
"""Up to so many are scanned exactly, as MongoDB's documentation advises: the graph has nothing to gain there."""
FEWEST_CANDIDATES = 100
SAMPLE = 16
"""Chunks of a generation that are looked for: the server takes writes in their order, so the last one tells most."""
FIRST_POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 1.0


class MongoVectorStore:
    """Atlas, or MongoDB with mongot: where a knowledge base outgrows the memory of one process.

    It keeps the index of the words too (`with_words`), so that both legs find what is committed.

    An answer is as fresh as the epoch because indexing waits until the search server knows what it is about to commit.
    """

    def __init__(
        self,
        indexes: SearchIndexes,
        rows: SearchRowRepository,
        hits: CurrentHits,
        settings: SearchSettings,
        *,
        with_words: bool,
    ) -> None:
        self._indexes = indexes
        self._rows = rows
        self._hits = hits
        self._settings = settings
        self._with_words = with_words

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore: makes both indexes, or brings them up to this release's definition.

        Raises:
            InvalidInputError: the model's vectors cannot be indexed.
            ConflictError: the search server refuses.
        """
        await self._indexes.ensure(knowledge_base.id, self._wanted(knowledge_base))

    async def lacks(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See VectorStore."""
        states = await self._indexes.states(knowledge_base.id)
        wanted = self._wanted(knowledge_base)
        return [index.name for index in wanted if index.name not in states or not serves(states[index.name], index)]

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, chunk_count: int) -> None:
        """See VectorStore.

        Raises:
            TransientError: the search server is further behind than ANALYTIQ_SEARCH__VISIBILITY_SECONDS.
        """
        if not chunk_count:
            return
        loop = asyncio.get_running_loop()
        seconds = self._settings.visibility_seconds
        deadline = loop.time() + seconds
        await self._indexes.await_queryable(knowledge_base.id, self._wanted(knowledge_base), seconds=seconds)
        sample = sample_of(chunk_count)
        pause = FIRST_POLL_SECONDS
        while (seen := await self._count_visible(knowledge_base, generation_id, sample)) < len(sample):
            if pause == FIRST_POLL_SECONDS:
                sample = await self._indexable(knowledge_base, generation_id, sample)
            if loop.time() >= deadline:
                raise TransientError(
                    f"after {seconds:g} s the search server shows {seen} of {len(sample)} new chunks of the knowledge"
                    f" base {knowledge_base.name!r}; it is behind: the document keeps its present chunks, and is tried"
                    " again",
                    code="search_index_behind",
                )
            await asyncio.sleep(pause)
            pause = min(LONGEST_POLL_SECONDS, pause * 2)

    async def discard(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore: drops the indexes."""
        await self._indexes.drop(knowledge_base.id)

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """See VectorStore.

        Raises:
            InvalidInputError: it would take more than the 10,000 nearest chunks to answer.
            StoreLoadingError: the index cannot be asked yet.
            TransientError: the search server does not answer.
        """
        narrowed = narrowing(chunk_filter)
        if epoch.epoch == 0 or narrowed.verdict is False:
            return []
        is_exact = await self._chunks_at_most(knowledge_base, narrowed) <= EXACT_CHUNKS
        ask = partial(self._nearest, knowledge_base, query, narrowed, is_exact=is_exact)

        async def is_exhausted(_: int, counted: int) -> bool:
            return counted >= await self.count(knowledge_base, epoch, chunk_filter=chunk_filter)

        chunks = await self._hits.gather(knowledge_base, chunk_filter, limit=limit, ask=ask, is_exhausted=is_exhausted)
        if not chunks:
            # The server answers nothing, and no error, where its index is missing.
            await self._require_index(knowledge_base)
        return [
            VectorHit(chunk.generation_id, chunk.document_id, chunk.chunk_index, _relevance(chunk.score))
            for chunk in chunks
        ]

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """See VectorStore; by the index entries, and by the rows where the filter speaks of pages."""
        if chunk_filter is None:
            return await self._hits.count(knowledge_base, None)
        if isinstance(chunk_filter.selection, DocumentSet):
            return await self._hits.count(knowledge_base, chunk_filter.selection.document_ids)
        groups = await self._rows.page_groups(
            knowledge_base.organization_id, knowledge_base.id, narrowing(chunk_filter).document_ids
        )
        selected = [
            group
            for group in groups
            if contains(chunk_filter.selection, group.document_id, group.first_page, group.last_page)
        ]
        current = await self._hits.generations(knowledge_base, {group.document_id for group in selected})
        return sum(group.chunks for group in selected if group.generation_id in current)

    async def relevance_of(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        chunks: Collection[tuple[str, int]],
    ) -> dict[tuple[str, int], float]:
        """See VectorStore; reads the vectors of the chunks, and compares them here."""
        embeddings = await self._rows.embeddings(knowledge_base.organization_id, knowledge_base.id, chunks)
        if not embeddings:
            return {}
        matrix = np.stack(list(embeddings.values()))
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
        cosines = (matrix @ query) / np.where(lengths == 0, 1.0, lengths)
        return {key: _relevance((1.0 + float(cosine)) / 2) for key, cosine in zip(embeddings, cosines, strict=True)}

    def forget(self, kb_id: str) -> None:
        """See VectorStore: nothing is held."""

    async def close(self) -> None:
        """See VectorStore: nothing runs in the background."""

    def _wanted(self, knowledge_base: KnowledgeBase) -> list[SearchIndex]:
        wanted = [vector_index(knowledge_base.embedding_dimensions, self._settings.quantization)]
        return [*wanted, word_index()] if self._with_words else wanted

    async def _nearest(
        self, knowledge_base: KnowledgeBase, query: Query, narrowed: Narrowing, asked: int, *, is_exact: bool
    ) -> list[FoundChunk]:
        wanted = max(asked * self._settings.candidates_per_result, FEWEST_CANDIDATES)
        try:
            return await self._rows.nearest(
                knowledge_base.organization_id,
                knowledge_base.id,
                query,
                verdict=narrowed.verdict,
                limit=asked,
                candidates=None if is_exact else min(wanted, MOST_FOUND),
            )
        except TransientError as error:
            if error.code == REFUSED:
                await self._require_index(knowledge_base)
            raise

    async def _chunks_at_most(self, knowledge_base: KnowledgeBase, narrowed: Narrowing) -> int:
        if narrowed.document_ids is None:
            return knowledge_base.chunk_count
        return await self._hits.count(knowledge_base, narrowed.document_ids)

    async def _require_index(self, knowledge_base: KnowledgeBase) -> None:
        """Tell an index that finds nothing from one that is not there; one that was dropped is made again."""
        state = (await self._indexes.states(knowledge_base.id)).get(VECTOR_INDEX)
        if state is not None and state.is_queryable:
            return
        if state is None:
            log.warning("mongo_store.index_missing", kb_id=knowledge_base.id)
            await self.prepare(knowledge_base)
        raise not_queryable(knowledge_base.id, VECTOR_INDEX, state)

    async def _indexable(self, knowledge_base: KnowledgeBase, generation_id: str, sample: list[int]) -> list[int]:
        """Those that the server will ever know: a vector of zeros has no direction, and it leaves it out silently."""
        chunks = [(generation_id, chunk_index) for chunk_index in sample]
        embeddings = await self._rows.embeddings(knowledge_base.organization_id, knowledge_base.id, chunks)
        directionless = {chunk_index for (_, chunk_index), vector in embeddings.items() if not vector.any()}
        return [chunk_index for chunk_index in sample if chunk_index not in directionless]

    async def _count_visible(self, knowledge_base: KnowledgeBase, generation_id: str, sample: list[int]) -> int:
        return await self._rows.count_visible(
            knowledge_base.organization_id,
            knowledge_base.id,
            generation_id,
            sample,
            dimensions=knowledge_base.embedding_dimensions,
            with_words=self._with_words,
        )


def sample_of(chunk_count: int) -> list[int]:
    """Chunks that stand for all: the first, the last, and some in between."""
    if chunk_count <= SAMPLE:
        return list(range(chunk_count))
    return sorted({round(place * (chunk_count - 1) / (SAMPLE - 1)) for place in range(SAMPLE)})


def _relevance(score: float) -> float:
    return min(1.0, max(0.0, round(score, SCORE_DECIMALS)))
