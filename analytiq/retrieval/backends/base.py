"""Port of every retrieval backend."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.filters.selection import ChunkFilter

Query = NDArray[np.float32]
"""An embedded question, shape (dimensions,)."""
ChunkKey = tuple[str, int]
"""Generation id and chunk index."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A chunk near the question. `relevance` = (1 + cosine) / 2, in every backend."""

    generation_id: str
    document_id: str
    chunk_index: int
    relevance: float


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A chunk that contains keywords of the question. `score`: BM25, above 0."""

    generation_id: str
    document_id: str
    chunk_index: int
    score: float


class IndexReader(Protocol):
    """One knowledge base at one index version, for one search.

    A hit is a candidate: search checks each against `document_index` and `docs` before showing the chunk.
    Without `chunk_filter`, all pass. A backend in this process reads the filter's `selection`, a server its `tree`.
    """

    async def vector_search(self, query: Query, *, limit: int, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        """Return the nearest chunks, best first; ties in order of document and chunk.

        Raises:
            StoreLoadingError: the vectors are being loaded.
        """
        ...

    async def keyword_search(self, question: str, *, limit: int, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        """Return the chunks with the highest scores, best first; ties in order of document and chunk.

        Raises:
            StoreLoadingError: the keyword index lacks the latest commits; `keyword_search_behind` answers without them.
        """
        ...

    async def keyword_search_behind(
        self, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[KeywordHit]:
        """Search the part of the keyword index built so far, without waiting for the latest commits."""
        ...

    async def count(self, *, chunk_filter: ChunkFilter | None) -> int:
        """Return the number of chunks a search could find."""
        ...

    async def scores(self, query: Query, chunks: Collection[ChunkKey]) -> dict[ChunkKey, float]:
        """Return the relevance of these chunks by vector, without those missing from the index."""
        ...


class RetrievalBackend(Protocol):
    """Finds the chunks of knowledge bases.

    MongoDB keeps the rows of every knowledge base (`kb_vectors_{id}`) and their change log (`kb_changes`). A backend
    derives its indexes from them: by following the log, or from `write` and `remove`, which repeat what has just been
    done to the rows.
    """

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """Create what the backend needs beside the rows, and bring it up to this release; may be repeated."""
        ...

    async def missing(self, knowledge_base: KnowledgeBase) -> list[str]:
        """Return the names of missing or outdated parts, which `prepare` makes; for the reconciler.

        Raises:
            TransientError: the backend does not answer.
        """
        ...

    async def write(self, knowledge_base: KnowledgeBase, owner: VectorOwner, rows: Sequence[VectorRow]) -> None:
        """Add chunks of a staged generation whose rows have been written; no search may find them yet."""
        ...

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, counts: ChunkCounts) -> None:
        """Wait until searches can find the chunks of a staged generation, so that a commit may follow.

        Raises:
            TransientError: the backend is too far behind.
        """
        ...

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """Bring the keyword index up to a commit, however long that takes, so that no search has to."""
        ...

    async def remove(self, knowledge_base: KnowledgeBase, generation_id: str) -> None:
        """Drop a generation that no search reads; its rows have been deleted."""
        ...

    async def drop(self, knowledge_base: KnowledgeBase) -> None:
        """Remove everything of a deleted knowledge base, before its rows are dropped."""
        ...

    def reader(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, *, with_vectors: bool = True, with_keywords: bool = True
    ) -> IndexReader:
        """Return a reader at least as fresh as `epoch`, which the caller has read from the primary.

        Vector and keyword search through one reader see the same documents: none that was first committed after
        `epoch` is found by one of them alone. A reader for one kind of search never waits for the other kind's index.
        """
        ...

    def is_building_keywords(self, kb_id: str) -> bool:
        """Return whether this process knows of commits that are missing from the keyword index."""
        ...

    def forget(self, kb_id: str) -> None:
        """Free memory and files held for a knowledge base that has been deleted."""
        ...

    async def close(self) -> None:
        """End background work. No search may follow."""
        ...
