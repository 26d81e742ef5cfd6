"""One SQLite file for each knowledge base: a copy of its chunks, and which of them the index version serves."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from analytiq.errors import NotFoundError
from analytiq.models.following import is_fresh, lead_on
from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.base import ChunkKey, KeywordHit, Query, VectorHit
from analytiq.retrieval.backends.registry import BackendType
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.index_contents import ChunkText
from tests.sqlite_backend.index import Chunk, SqliteIndex


class SqliteBackend:
    """Takes chunks as they are written, and reads the change log for those that count; what it missed it reads anew."""

    def __init__(self, rows: Repositories, directory: Path) -> None:
        self._rows = rows
        self._directory = directory
        self._indexes: dict[tuple[str, str], SqliteIndex] = {}
        self._following = asyncio.Lock()

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        self.index(knowledge_base)

    async def missing(self, knowledge_base: KnowledgeBase) -> list[str]:
        return [] if self._path(knowledge_base.organization_id, knowledge_base.id).exists() else ["file"]

    async def write(self, knowledge_base: KnowledgeBase, owner: VectorOwner, rows: Sequence[VectorRow]) -> None:
        self.index(knowledge_base).add(
            Chunk(
                owner.generation_id, owner.document_id, row.chunk_index, row.first_page, row.last_page,
                row.chunk_text, row.embedding, row.context,
            )
            for row in rows
        )  # fmt: skip

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, counts: ChunkCounts) -> None:
        """A search follows the change log itself."""

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        index = self.index(knowledge_base)
        async with self._following:
            if index.version == epoch:
                return
            async with self._rows.index_contents.reading(knowledge_base.organization_id, knowledge_base.id) as at:
                if at is None:
                    raise NotFoundError(f"The knowledge base {knowledge_base.name!r} has been deleted.")
                have = index.version
                changes = [] if have is None else await at.changes(after=have.epoch - 1)
                if have is None or not lead_on(changes, have=have, to=at.epoch):
                    index.clear()
                    served = added = None
                else:
                    later = [change for change in changes if change.epoch > have.epoch]
                    added = {change.added for change in later if change.added}
                    served = (index.served_generations() | added) - {change.removed for change in later}
                seen: set[str] = set()
                async for chunks in at.texts(added):
                    seen |= {chunk.generation_id for chunk in chunks}
                    await self._complete(knowledge_base, index, chunks)
                index.serve(seen if served is None else served, at.epoch)
            assert is_fresh(index.version, epoch)

    async def _complete(self, knowledge_base: KnowledgeBase, index: SqliteIndex, chunks: Sequence[ChunkText]) -> None:
        """Add the chunks that no `write` of this process has brought."""
        lacking = [chunk for chunk in chunks if not index.has(chunk.generation_id, chunk.chunk_index)]
        keys = [(chunk.generation_id, chunk.chunk_index) for chunk in lacking]
        vectors = await self._rows.search_rows.embeddings(knowledge_base.organization_id, knowledge_base.id, keys)
        index.add(
            Chunk(
                chunk.generation_id, chunk.document_id, chunk.chunk_index, chunk.first_page, chunk.last_page,
                chunk.text, vectors[key], chunk.context,
            )
            for key, chunk in zip(keys, lacking, strict=True)
        )  # fmt: skip

    async def remove(self, knowledge_base: KnowledgeBase, generation_id: str) -> None:
        self.index(knowledge_base).remove([generation_id])

    async def drop(self, knowledge_base: KnowledgeBase) -> None:
        self.forget(knowledge_base.id)

    def reader(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, *, with_vectors: bool = True, with_keywords: bool = True
    ) -> "SqliteReader":
        return SqliteReader(self, knowledge_base, epoch)

    def is_building_keywords(self, kb_id: str) -> bool:
        return False

    def forget(self, kb_id: str) -> None:
        for organization_id, other in list(self._indexes):
            if other == kb_id:
                self._indexes.pop((organization_id, kb_id)).close()
                self._path(organization_id, kb_id).unlink(missing_ok=True)

    async def close(self) -> None:
        for index in self._indexes.values():
            index.close()
        self._indexes.clear()

    def index(self, knowledge_base: KnowledgeBase) -> SqliteIndex:
        key = (knowledge_base.organization_id, knowledge_base.id)
        if key not in self._indexes:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._indexes[key] = SqliteIndex(self._path(*key), knowledge_base.id)
        return self._indexes[key]

    def _path(self, organization_id: str, kb_id: str) -> Path:
        return self._directory / f"{organization_id}-{kb_id}.sqlite"


class SqliteReader:
    """All searches of a reader see the generations that its first one has seen."""

    def __init__(self, backend: SqliteBackend, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        self._backend = backend
        self._knowledge_base = knowledge_base
        self._epoch = epoch
        self._served: set[str] | None = None

    async def vector_search(self, query: Query, *, limit: int, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        return self._index.nearest(query, await self._generations(), chunk_filter)[:limit]

    async def keyword_search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        return self._index.matching(question, await self._generations(), chunk_filter)[:limit]

    async def keyword_search_behind(
        self, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        return self._index.matching(question, self._index.served_generations(), chunk_filter)[:limit]

    async def count(self, *, chunk_filter: ChunkFilter | None) -> int:
        return len(self._index.chunks_of(await self._generations(), chunk_filter))

    async def scores(self, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        wanted = set(chunks)
        hits = self._index.nearest(query, await self._generations(), None)
        found = {(hit.generation_id, hit.chunk_index): hit.relevance for hit in hits}
        return {key: score for key, score in found.items() if key in wanted}

    @property
    def _index(self) -> SqliteIndex:
        return self._backend.index(self._knowledge_base)

    async def _generations(self) -> set[str]:
        if self._served is None:
            await self._backend.follow(self._knowledge_base, self._epoch)
            self._served = self._served or self._index.served_generations()
        return self._served


def _create(rows: Repositories, settings: Settings) -> SqliteBackend:
    return SqliteBackend(rows, Path(settings.data_dir) / "sqlite")


BACKEND_TYPE = BackendType(_create)
