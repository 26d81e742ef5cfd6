"""Finds chunks by `$search`: nothing is held in this process."""

from analytiq.errors import TransientError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.mongodb.hits import CurrentHits, narrowing
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.retrieval.lexical.base import LexicalHit
from analytiq.storage.search.indexes import WORD_INDEX, SearchIndexes, not_queryable, word_index
from analytiq.storage.search.rows import REFUSED, FoundChunk, SearchRowRepository


class MongoLexicalIndex:
    """Lucene's BM25 over English stems, pairs of characters (Chinese, Japanese, Korean) and whole codes.

    The vector store (`analytiq.retrieval.vector_stores.mongodb`) makes, awaits and drops the index with its own; here
    it is only made again where it is missing.
    """

    def __init__(self, indexes: SearchIndexes, rows: SearchRowRepository, hits: CurrentHits) -> None:
        self._indexes = indexes
        self._rows = rows
        self._hits = hits

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        question: str,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[LexicalHit]:
        """See LexicalIndex.

        Raises:
            InvalidInputError: it would take more than the 10,000 best chunks to answer.
            StoreLoadingError: the index cannot be asked yet.
            TransientError: the search server does not answer.
        """
        narrowed = narrowing(chunk_filter)
        if epoch.epoch == 0 or narrowed.verdict is False or not question.strip():
            return []

        asked_of = (knowledge_base.organization_id, knowledge_base.id, question)

        async def ask(asked: int) -> list[FoundChunk]:
            try:
                return await self._rows.by_words(*asked_of, verdict=narrowed.verdict, limit=asked)
            except TransientError as error:
                if error.code == REFUSED:
                    await self._require_index(knowledge_base)
                raise

        async def is_exhausted(asked: int, _: int) -> bool:
            return asked >= await self._rows.count_by_words(*asked_of, verdict=narrowed.verdict)

        chunks = await self._hits.gather(knowledge_base, chunk_filter, limit=limit, ask=ask, is_exhausted=is_exhausted)
        if not chunks:
            # The server answers nothing, and no error, where its index is missing.
            await self._require_index(knowledge_base)
        return [LexicalHit(chunk.generation_id, chunk.document_id, chunk.chunk_index, chunk.score) for chunk in chunks]

    async def available(
        self, knowledge_base: KnowledgeBase, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[LexicalHit]:
        """See LexicalIndex: a search server that cannot be asked has nothing."""
        return []

    def is_building(self, kb_id: str) -> bool:
        """See LexicalIndex: a commit waits for the search server."""
        return False

    def forget(self, kb_id: str) -> None:
        """See LexicalIndex: nothing is held."""

    async def _require_index(self, knowledge_base: KnowledgeBase) -> None:
        """Tell an index that finds nothing from one that is not there, as after a restore; that one is made again."""
        state = (await self._indexes.states(knowledge_base.id)).get(WORD_INDEX)
        if state is not None and state.is_queryable:
            return
        if state is None:
            await self._indexes.ensure(knowledge_base.id, [word_index()])
        raise not_queryable(knowledge_base.id, WORD_INDEX, state)
