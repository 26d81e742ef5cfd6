"""Search of one knowledge base by `$vectorSearch` and `$search`."""

from collections.abc import Awaitable, Callable, Collection
from functools import partial

import numpy as np
import structlog

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import ChunkKey, KeywordHit, Query, VectorHit
from analytiq.retrieval.backends.mongodb.hits import CurrentHits, Narrowing, narrowing
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet, contains
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.search.indexes import VECTOR_INDEX, WORD_INDEX, not_queryable
from analytiq.storage.search.questions import clauses_of
from analytiq.storage.search.rows import MOST_FOUND, REFUSED, SCORE_DECIMALS, FoundChunk

log = structlog.get_logger(__name__)

EXACT_CHUNKS = 10_000
"""Up to this many chunks are scanned exactly, as MongoDB's documentation advises: a graph gains nothing there."""
CANDIDATES_PER_RESULT = 20
"""`numCandidates` for each requested result, as MongoDB's documentation of `$vectorSearch` advises."""
FEWEST_CANDIDATES = 100


class MongoReader:
    """A reader of the search server's present state, checked against the index entries; `prepare` remakes a lost index.

    Keywords are found by Lucene's BM25 over English stems, pairs of characters (Chinese, Japanese, Korean) and whole
    codes.
    """

    def __init__(
        self,
        rows: Repositories,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        prepare: Callable[[KnowledgeBase], Awaitable[None]],
    ) -> None:
        self._indexes = rows.search_indexes
        self._rows = rows.search_rows
        self._hits = CurrentHits(rows.entries, rows.epochs)
        self._knowledge_base = knowledge_base
        self._epoch = epoch
        self.searches_both = False
        """True if no search may show a commit later than the epoch, which the other one may have missed."""
        self._prepare = prepare

    async def vector_search(self, query: Query, *, limit: int, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        """See IndexReader.

        Raises:
            InvalidInputError: the answer needs more than the 10,000 nearest chunks.
            StoreLoadingError: the index is not ready.
            TransientError: the search server does not answer.
        """
        narrowed = narrowing(chunk_filter)
        if self._epoch.epoch == 0 or narrowed.verdict is False:
            return []
        is_exact = await self._chunks_at_most(narrowed) <= EXACT_CHUNKS
        ask = partial(self._nearest, query, narrowed, is_exact=is_exact)

        async def is_exhausted(_: int, counted: int) -> bool:
            return counted >= await self.count(chunk_filter=chunk_filter)

        chunks = await self._hits.gather(
            self._knowledge_base,
            chunk_filter,
            since=self._epoch if self.searches_both else None,
            limit=limit,
            ask=ask,
            is_exhausted=is_exhausted,
        )
        if not chunks:
            # The server answers nothing, and no error, where its index is missing.
            await self._require_index(VECTOR_INDEX)
        return [
            VectorHit(chunk.generation_id, chunk.document_id, chunk.chunk_index, _relevance(chunk.score))
            for chunk in chunks
        ]

    async def keyword_search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        """See IndexReader.

        Raises:
            InvalidInputError: the answer needs more than the 10,000 best chunks.
            StoreLoadingError: the index is not ready.
            TransientError: the search server does not answer.
        """
        narrowed = narrowing(chunk_filter)
        if self._epoch.epoch == 0 or narrowed.verdict is False or not question.strip():
            return []
        asked_of = (self._knowledge_base.organization_id, self._knowledge_base.id)
        clauses = clauses_of(question, has_context=self._knowledge_base.context)

        async def ask(asked: int) -> list[FoundChunk]:
            try:
                return await self._rows.by_words(*asked_of, clauses, verdict=narrowed.verdict, limit=asked)
            except TransientError as error:
                if error.code == REFUSED:
                    await self._require_index(WORD_INDEX)
                raise

        async def is_exhausted(asked: int, _: int) -> bool:
            return asked >= await self._rows.count_by_words(*asked_of, clauses, verdict=narrowed.verdict)

        chunks = await self._hits.gather(
            self._knowledge_base,
            chunk_filter,
            since=self._epoch if self.searches_both else None,
            limit=limit,
            ask=ask,
            is_exhausted=is_exhausted,
        )
        if not chunks:
            # The server answers nothing, and no error, where its index is missing.
            await self._require_index(WORD_INDEX)
        return [KeywordHit(chunk.generation_id, chunk.document_id, chunk.chunk_index, chunk.score) for chunk in chunks]

    async def keyword_search_behind(
        self, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """See IndexReader: a search server that is not ready returns no hits."""
        return []

    async def count(self, *, chunk_filter: ChunkFilter | None) -> int:
        """See IndexReader; count by the index entries, or by the rows if the filter has pages or index types."""
        knowledge_base = self._knowledge_base
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
            if contains(
                chunk_filter.selection,
                group.document_id,
                group.first_page,
                group.last_page,
                chunk_index=group.chunk_index,
            )
        ]
        current = await self._hits.generations(knowledge_base, {group.document_id for group in selected})
        return sum(group.chunks for group in selected if group.generation_id in current)

    async def scores(self, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        """See IndexReader; read the vectors of the chunks, and compare them in this process."""
        embeddings = await self._rows.embeddings(self._knowledge_base.organization_id, self._knowledge_base.id, chunks)
        if not embeddings:
            return {}
        matrix = np.stack(list(embeddings.values()))
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
        cosines = (matrix @ query) / np.where(lengths == 0, 1.0, lengths)
        return {key: _relevance((1.0 + float(cosine)) / 2) for key, cosine in zip(embeddings, cosines, strict=True)}

    async def _nearest(self, query: Query, narrowed: Narrowing, asked: int, *, is_exact: bool) -> list[FoundChunk]:
        wanted = max(asked * CANDIDATES_PER_RESULT, FEWEST_CANDIDATES)
        try:
            return await self._rows.nearest(
                self._knowledge_base.organization_id,
                self._knowledge_base.id,
                query,
                verdict=narrowed.verdict,
                limit=asked,
                candidates=None if is_exact else min(wanted, MOST_FOUND),
            )
        except TransientError as error:
            if error.code == REFUSED:
                await self._require_index(VECTOR_INDEX)
            raise

    async def _chunks_at_most(self, narrowed: Narrowing) -> int:
        if narrowed.document_ids is None:
            return self._knowledge_base.chunk_count
        return await self._hits.count(self._knowledge_base, narrowed.document_ids)

    async def _require_index(self, name: str) -> None:
        """Distinguish an index without hits from a missing index, as after a restore; have a missing one rebuilt."""
        kb_id = self._knowledge_base.id
        state = (await self._indexes.states(kb_id)).get(name)
        if state is not None and state.is_queryable:
            return
        if state is None:
            log.warning("mongo_store.index_missing", kb_id=kb_id, index=name)
            await self._prepare(self._knowledge_base)
        raise not_queryable(kb_id, name, state)


def _relevance(score: float) -> float:
    return min(1.0, max(0.0, round(score, SCORE_DECIMALS)))
