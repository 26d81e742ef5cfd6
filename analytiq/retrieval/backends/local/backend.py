"""Backend for any MongoDB replica set: searches knowledge bases in this process."""

from collections.abc import Collection, Sequence
from pathlib import Path

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.base import ChunkKey, KeywordHit, Query, VectorHit
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.backends.registry import BackendType
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories


class LocalBackend:
    """Follower of the change log of each searched knowledge base; it needs nothing but the rows in MongoDB."""

    def __init__(self, vectors: LocalVectorStore, keywords: LocalLexicalIndex) -> None:
        self.vectors = vectors
        self.keywords = keywords

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend: nothing to create."""

    async def missing(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See RetrievalBackend."""
        return []

    async def write(self, knowledge_base: KnowledgeBase, owner: VectorOwner, rows: Sequence[VectorRow]) -> None:
        """See RetrievalBackend: the change log names the rows to read."""

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, chunk_count: int) -> None:
        """See RetrievalBackend: a search reads missing changes itself."""

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """See RetrievalBackend."""
        await self.keywords.follow(knowledge_base, epoch)

    async def remove(self, knowledge_base: KnowledgeBase, generation_id: str) -> None:
        """See RetrievalBackend: the change log names the rows to drop."""

    async def drop(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend."""
        self.forget(knowledge_base.id)

    def reader(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, with_keywords: bool = True) -> "LocalReader":
        """See RetrievalBackend."""
        return LocalReader(self, knowledge_base, epoch)

    def is_building_keywords(self, kb_id: str) -> bool:
        """See RetrievalBackend."""
        return self.keywords.is_building(kb_id)

    def forget(self, kb_id: str) -> None:
        """See RetrievalBackend."""
        self.vectors.forget(kb_id)
        self.keywords.forget(kb_id)

    async def close(self) -> None:
        """See RetrievalBackend."""
        await self.vectors.close()
        await self.keywords.close()


class LocalReader:
    """See IndexReader."""

    def __init__(self, backend: LocalBackend, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        self._backend = backend
        self._knowledge_base = knowledge_base
        self._epoch = epoch

    async def vector_search(self, query: Query, *, limit: int, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        """See IndexReader."""
        return await self._backend.vectors.search(
            self._knowledge_base, self._epoch, query, limit=limit, chunk_filter=chunk_filter
        )

    async def keyword_search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        """See IndexReader."""
        return await self._backend.keywords.search(
            self._knowledge_base, self._epoch, question, limit=limit, chunk_filter=chunk_filter
        )

    async def keyword_search_behind(
        self, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """See IndexReader."""
        return await self._backend.keywords.available(
            self._knowledge_base, question, limit=limit, chunk_filter=chunk_filter
        )

    async def count(self, *, chunk_filter: ChunkFilter | None) -> int:
        """See IndexReader."""
        return await self._backend.vectors.count(self._knowledge_base, self._epoch, chunk_filter=chunk_filter)

    async def scores(self, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        """See IndexReader."""
        return await self._backend.vectors.relevance_of(self._knowledge_base, self._epoch, query, chunks)


def _create(rows: Repositories, settings: Settings) -> LocalBackend:
    search, keywords, directory = settings.search, settings.lexical, Path(settings.data_dir)
    size = search.snapshot_bytes
    return LocalBackend(
        LocalVectorStore(
            rows.vectors,
            memory_bytes=search.local_store_bytes,
            load_wait_seconds=search.load_wait_seconds,
            snapshots=Snapshots(directory / "snapshots", max_bytes=size) if size else None,
        ),
        LocalLexicalIndex(
            rows.chunk_texts,
            directory / "lexical",
            disk_bytes=keywords.disk_bytes,
            build_wait_seconds=keywords.build_wait_seconds,
        ),
    )


BACKEND_TYPE = BackendType(_create)
