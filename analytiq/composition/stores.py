"""Chooses where knowledge bases are searched: in this process, or by MongoDB's search server."""

from dataclasses import dataclass
from pathlib import Path

import structlog

from analytiq.models.knowledge_base import VectorStoreKind
from analytiq.retrieval.backends.mongodb.hits import CurrentHits
from analytiq.retrieval.lexical.choice import ChosenLexicalIndex
from analytiq.retrieval.lexical.local.store import LocalLexicalIndex
from analytiq.retrieval.lexical.mongodb.store import MongoLexicalIndex
from analytiq.retrieval.vector_stores.choice import ChosenVectorStore, choose
from analytiq.retrieval.vector_stores.local.snapshot import Snapshots
from analytiq.retrieval.vector_stores.local.store import LocalVectorStore
from analytiq.retrieval.vector_stores.mongodb.store import MongoVectorStore
from analytiq.settings import Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.chunk_texts import ChunkTextRepository
from analytiq.storage.search.indexes import SearchIndexes

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stores:
    """What is searched: by vectors and, unless it is switched off, by words."""

    vectors: ChosenVectorStore
    words: ChosenLexicalIndex | None

    def forget(self, kb_id: str) -> None:
        """Let go of what this process holds of a KB that is no more."""
        self.vectors.forget(kb_id)
        self.forget_words(kb_id)

    def forget_words(self, kb_id: str) -> None:
        """As `forget`, where the vectors are forgotten already."""
        if self.words is not None:
            self.words.forget(kb_id)


async def choose_stores(rows: Repositories, settings: Settings) -> Stores:
    """The stores that the settings and the server allow; the search server's is made only where there is one."""
    indexes = SearchIndexes(rows.connection)
    choice = await choose(indexes, settings.search)
    log.info("vector_store.chosen", store=choice.kind.value, why=choice.reason)
    server = indexes if choice.kind is VectorStoreKind.MONGODB else None
    return Stores(_vectors(rows, server, settings), _words(rows, server, settings))


def _vectors(rows: Repositories, server: SearchIndexes | None, settings: Settings) -> ChosenVectorStore:
    search = settings.search
    local = LocalVectorStore(
        rows.vectors,
        memory_bytes=search.local_store_bytes,
        load_wait_seconds=search.load_wait_seconds,
        snapshots=_snapshots(settings),
    )
    if server is None:
        return ChosenVectorStore(local, None)
    current = CurrentHits(rows.entries)
    with_words = settings.lexical.is_enabled
    return ChosenVectorStore(local, MongoVectorStore(server, rows.search_rows, current, search, with_words=with_words))


def _words(rows: Repositories, server: SearchIndexes | None, settings: Settings) -> ChosenLexicalIndex | None:
    if not settings.lexical.is_enabled:
        return None
    local = LocalLexicalIndex(
        ChunkTextRepository(rows.connection),
        Path(settings.data_dir) / "lexical",
        disk_bytes=settings.lexical.disk_bytes,
        build_wait_seconds=settings.lexical.build_wait_seconds,
    )
    if server is None:
        return ChosenLexicalIndex(local, None)
    return ChosenLexicalIndex(local, MongoLexicalIndex(server, rows.search_rows, CurrentHits(rows.entries)))


def _snapshots(settings: Settings) -> Snapshots | None:
    size = settings.search.snapshot_bytes
    return Snapshots(Path(settings.data_dir) / "snapshots", max_bytes=size) if size else None
