"""Which store finds the chunks of which knowledge base.

A knowledge base keeps the store that it was made for. The rows are the same for both, so where no search server stands
behind MongoDB, or the setting says `local`, the local store serves all.
"""

from collections.abc import Collection
from dataclasses import dataclass

from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, VectorStoreKind
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.retrieval.vector_stores.base import Query, VectorHit, VectorStore
from analytiq.settings import SearchSettings
from analytiq.storage.search.indexes import SearchIndexes


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """Which store knowledge bases are made for from now on, and why, for people. `is_away`: it cannot answer now."""

    kind: VectorStoreKind
    reason: str
    is_away: bool = False


async def choose(indexes: SearchIndexes, settings: SearchSettings) -> StoreChoice:
    """As the setting says, else as the server answers.

    A search server that is there and does not answer is waited for: what is kept there does not fit into memory.

    Raises:
        InvalidInputError: the setting asks for MongoDB's own search, and the server has none.
        TransientError: MongoDB does not answer.
    """
    setting = f"ANALYTIQ_SEARCH__VECTOR_STORE is `{settings.vector_store}`"
    if settings.vector_store == "local":
        return StoreChoice(VectorStoreKind.LOCAL, setting)
    server = await indexes.server()
    if server.is_there:
        answer = (
            f"has a search server that does not answer: {server.answer}" if server.is_away else "lists search indexes"
        )
        return StoreChoice(VectorStoreKind.MONGODB, f"{setting}, and MongoDB {answer}", is_away=server.is_away)
    if settings.vector_store == "mongodb":
        raise InvalidInputError.of_field(
            "ANALYTIQ_SEARCH__VECTOR_STORE",
            f"it is `mongodb`, but the server does not list search indexes ({server.answer}): use Atlas, or MongoDB 8.2"
            " or newer with mongot, or set it to `auto` or `local`",
            code="search_server_missing",
        )
    return StoreChoice(VectorStoreKind.LOCAL, f"{setting}, and there is no search server: {server.answer}")


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

    async def lacks(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See VectorStore."""
        return await self._of(knowledge_base).lacks(knowledge_base)

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
