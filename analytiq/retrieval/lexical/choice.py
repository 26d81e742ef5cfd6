"""Which index of words answers for which knowledge base: that of the store that it was made for."""

from dataclasses import dataclass

from analytiq.models.knowledge_base import Epoch, KnowledgeBase, VectorStoreKind
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.retrieval.lexical.base import LexicalHit
from analytiq.retrieval.lexical.local.store import LocalLexicalIndex
from analytiq.retrieval.lexical.mongodb.store import MongoLexicalIndex


@dataclass(frozen=True, slots=True)
class ChosenLexicalIndex:
    """Each knowledge base's own index; `mongodb` None: the local one serves all."""

    local: LocalLexicalIndex
    mongodb: MongoLexicalIndex | None

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        question: str,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[LexicalHit]:
        """See LexicalIndex."""
        index = self._index_of(knowledge_base)
        return await index.search(knowledge_base, epoch, question, limit=limit, chunk_filter=chunk_filter)

    async def available(
        self, knowledge_base: KnowledgeBase, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[LexicalHit]:
        """See LexicalIndex."""
        index = self._index_of(knowledge_base)
        return await index.available(knowledge_base, question, limit=limit, chunk_filter=chunk_filter)

    def is_building(self, kb_id: str) -> bool:
        """See LexicalIndex."""
        return self.local.is_building(kb_id)

    def expect(self, kb_id: str) -> None:
        """Note that a commit is about to be followed."""
        self.local.expect(kb_id)

    def expect_no_longer(self, kb_id: str) -> None:
        """Note that every commit that was expected has been followed."""
        self.local.expect_no_longer(kb_id)

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """Bring the local index up to an epoch; a search server does so by itself."""
        if self._index_of(knowledge_base) is self.local:
            await self.local.follow(knowledge_base, epoch)

    def _index_of(self, knowledge_base: KnowledgeBase) -> LocalLexicalIndex | MongoLexicalIndex:
        if self.mongodb is not None and knowledge_base.vector_store is VectorStoreKind.MONGODB:
            return self.mongodb
        return self.local

    def forget(self, kb_id: str) -> None:
        """See LexicalIndex."""
        self.local.forget(kb_id)

    async def close(self) -> None:
        """Let go of everything."""
        await self.local.close()
