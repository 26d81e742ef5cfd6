"""Which index of words answers for which knowledge base: that of the store that it was made for."""

from dataclasses import dataclass

from analytiq.lexical.base import LexicalHit
from analytiq.lexical.local.store import LocalLexicalIndex
from analytiq.lexical.mongodb.store import MongoLexicalIndex
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, VectorStoreKind
from analytiq.models.selection import ChunkFilter


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
        index = self.local
        if self.mongodb is not None and knowledge_base.vector_store is VectorStoreKind.MONGODB:
            index = self.mongodb
        return await index.search(knowledge_base, epoch, question, limit=limit, chunk_filter=chunk_filter)

    def forget(self, kb_id: str) -> None:
        """See LexicalIndex."""
        self.local.forget(kb_id)

    async def close(self) -> None:
        """Let go of everything."""
        await self.local.close()
