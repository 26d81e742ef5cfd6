"""The port that every vector store implements."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.filters.selection import ChunkFilter

Query = NDArray[np.float32]
"""An embedded question, shape (dimensions,)."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A chunk near the question. `relevance` = (1 + cosine) / 2, the same on every store."""

    generation_id: str
    document_id: str
    chunk_index: int
    relevance: float


class VectorStore(Protocol):
    """Finds chunks by vector, at least as fresh as `epoch`, which the caller has read from the primary.

    A hit is a candidate: search checks each against `document_index` and `docs` before it shows it (design 2.4).
    `chunk_filter` None means all; a store of this process reads its `selection`, another its `tree`. Raises
    StoreLoadingError while a knowledge base is being loaded.
    """

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """Make what the store needs beside the collection, which exists; may be repeated."""
        ...

    async def lacks(self, knowledge_base: KnowledgeBase) -> list[str]:
        """Names of what `prepare` makes and is not there, or is another release's; for the reconciler.

        Raises:
            TransientError: nobody can tell now.
        """
        ...

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, chunk_count: int) -> None:
        """Return when a search could find the chunks of a staged generation, so that it may become the current one.

        Raises:
            TransientError: that takes too long.
        """
        ...

    async def discard(self, knowledge_base: KnowledgeBase) -> None:
        """Remove what `prepare` has made, before the collection of a deleted knowledge base is dropped."""
        ...

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[VectorHit]:
        """The nearest chunks, best first; ties in order of document and chunk."""
        ...

    async def count(self, knowledge_base: KnowledgeBase, epoch: Epoch, *, chunk_filter: ChunkFilter | None) -> int:
        """How many chunks a search could find."""
        ...

    async def relevance_of(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        query: Query,
        chunks: Collection[tuple[str, int]],
    ) -> dict[tuple[str, int], float]:
        """(generation id, chunk index) → relevance, of those that are there; for neighbours of a hit."""
        ...

    def forget(self, kb_id: str) -> None:
        """Free what is held for a knowledge base, which has been deleted."""
        ...

    async def close(self) -> None:
        """End what runs in the background; nothing is searched any more."""
        ...
