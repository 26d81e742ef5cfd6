"""Which store finds the chunks of which knowledge base.

A knowledge base keeps the store that it was made for. The rows are the same for both, so where no search server stands
behind MongoDB, or the setting says `local`, the local store serves all.
"""

from collections.abc import Collection
from dataclasses import dataclass

import structlog

from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, VectorStoreKind
from analytiq.models.selection import ChunkFilter
from analytiq.mongo.search.indexes import SearchIndexes
from analytiq.settings import SearchSettings
from analytiq.vector_stores.base import Query, VectorHit, VectorStore

log = structlog.get_logger(__name__)


async def is_search_server_used(indexes: SearchIndexes, settings: SearchSettings) -> bool:
    """Whether MongoDB's own search is to be used: as the setting says, else as the server answers.

    Raises:
        InvalidInputError: the setting asks for it, and the server has none.
        TransientError: the server does not answer.
    """
    if settings.vector_store == "local":
        return False
    is_supported = await indexes.is_supported()
    if settings.vector_store == "mongodb" and not is_supported:
        raise InvalidInputError.of_field(
            "ANALYTIQ_SEARCH__VECTOR_STORE",
            "it is `mongodb`, but the server does not list search indexes: use Atlas, or MongoDB 8.2 or newer with"
            " mongot, or set it to `auto` or `local`",
            code="search_server_missing",
        )
    return is_supported


@dataclass(frozen=True, slots=True)
class ChosenVectorStore:
    """Each knowledge base's own store; `mongodb` None: the local one serves all."""

    local: VectorStore
    mongodb: VectorStore | None

    @property
    def kind_of_new(self) -> VectorStoreKind:
        """What a knowledge base that is made now is made for."""
        return VectorStoreKind.LOCAL if self.mongodb is None else VectorStoreKind.MONGODB

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore."""
        await self._of(knowledge_base).prepare(knowledge_base)

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, chunk_count: int) -> None:
        """See VectorStore."""
        await self._of(knowledge_base).await_searchable(knowledge_base, generation_id, chunk_count=chunk_count)

    async def discard(self, knowledge_base: KnowledgeBase) -> None:
        """See VectorStore."""
        self.local.forget(knowledge_base.id)
        await self._of(knowledge_base).discard(knowledge_base)

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """See VectorStore."""
        store = self._of(knowledge_base)
        return await store.search(knowledge_base, epoch, query, limit=limit, chunk_filter=chunk_filter)

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """See VectorStore."""
        return await self._of(knowledge_base).count(knowledge_base, epoch, chunk_filter=chunk_filter)

    async def relevance_of(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        chunks: Collection[tuple[str, int]],
    ) -> dict[tuple[str, int], float]:
        """See VectorStore."""
        return await self._of(knowledge_base).relevance_of(knowledge_base, epoch, query, chunks)

    def forget(self, kb_id: str) -> None:
        """See VectorStore."""
        self.local.forget(kb_id)
        if self.mongodb is not None:
            self.mongodb.forget(kb_id)

    async def close(self) -> None:
        """See VectorStore."""
        await self.local.close()
        if self.mongodb is not None:
            await self.mongodb.close()

    def _of(self, knowledge_base: KnowledgeBase) -> VectorStore:
        if self.mongodb is not None and knowledge_base.vector_store is VectorStoreKind.MONGODB:
            return self.mongodb
        return self.local
