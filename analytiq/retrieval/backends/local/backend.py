"""Backend for any MongoDB replica set: searches knowledge bases in this process."""

from collections.abc import Sequence
from pathlib import Path

from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.backends.local.reader import Indexes, LocalReader
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.backends.registry import BackendType
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories


class LocalBackend:
    """Follower of the change log of each searched knowledge base; it needs nothing but the rows in MongoDB."""

    def __init__(self, vectors: LocalVectorStore, keywords: LocalLexicalIndex, *, has_keywords: bool) -> None:
        self._vectors = vectors
        self._keywords = keywords
        self._has_keywords = has_keywords

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend: nothing to create."""

    async def missing(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See RetrievalBackend."""
        return []

    async def write(self, knowledge_base: KnowledgeBase, owner: VectorOwner, rows: Sequence[VectorRow]) -> None:
        """See RetrievalBackend: the change log names the rows to read."""

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, counts: ChunkCounts) -> None:
        """See RetrievalBackend: a search reads missing changes itself."""

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """See RetrievalBackend."""
        await self._keywords.follow(knowledge_base, epoch)

    async def remove(self, knowledge_base: KnowledgeBase, generation_id: str) -> None:
        """See RetrievalBackend: the change log names the rows to drop."""

    async def drop(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend."""
        self.forget(knowledge_base.id)

    def reader(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, *, with_vectors: bool = True, with_keywords: bool = True
    ) -> LocalReader:
        """See RetrievalBackend."""
        searches_both = with_vectors and with_keywords and self._has_keywords
        return LocalReader(Indexes(self._vectors, self._keywords), knowledge_base, epoch, searches_both=searches_both)

    def is_building_keywords(self, kb_id: str) -> bool:
        """See RetrievalBackend."""
        return self._keywords.is_building(kb_id)

    def forget(self, kb_id: str) -> None:
        """See RetrievalBackend."""
        self._vectors.forget(kb_id)
        self._keywords.forget(kb_id)

    async def close(self) -> None:
        """See RetrievalBackend."""
        await self._vectors.close()
        await self._keywords.close()


def _create(rows: Repositories, settings: Settings) -> LocalBackend:
    search, keywords, directory = settings.search, settings.lexical, Path(settings.data_dir)
    size, mapped_from = search.snapshot_bytes, search.mapped_from_bytes or search.local_store_bytes
    return LocalBackend(
        LocalVectorStore(
            rows.index_contents,
            memory_bytes=search.local_store_bytes,
            load_wait_seconds=search.load_wait_seconds,
            snapshots=Snapshots(directory / "snapshots", max_bytes=size, mapped_from_bytes=mapped_from)
            if size
            else None,
        ),
        LocalLexicalIndex(
            rows.index_contents,
            directory / "lexical",
            disk_bytes=keywords.disk_bytes,
            build_wait_seconds=keywords.build_wait_seconds,
        ),
        has_keywords=keywords.is_enabled,
    )


BACKEND_TYPE = BackendType(_create)
