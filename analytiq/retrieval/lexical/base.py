"""The port that every index of words implements."""

from dataclasses import dataclass
from typing import Protocol

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.filters.selection import ChunkFilter


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A chunk that holds words of the question. `score`: BM25, above 0."""

    generation_id: str
    document_id: str
    chunk_index: int
    score: float


class LexicalIndex(Protocol):
    """Finds chunks by words, at least as fresh as `epoch`, which the caller has read from the primary."""

    async def search(
        self,
        knowledge_base: KnowledgeBase,
        epoch: Epoch,
        question: str,
        *,
        limit: int,
        chunk_filter: ChunkFilter | None,
    ) -> list[LexicalHit]:
        """The chunks with the highest scores, best first; ties in order of document and chunk."""
        ...

    async def available(
        self, knowledge_base: KnowledgeBase, question: str, *, limit: int, chunk_filter: ChunkFilter | None
    ) -> list[LexicalHit]:
        """Return the best chunks of what is indexed by now, while `search` would have to wait."""
        ...

    def is_building(self, kb_id: str) -> bool:
        """Whether chunks that were committed are still to be indexed, as far as this process knows."""
        ...

    def forget(self, kb_id: str) -> None:
        """Free what is held for a knowledge base."""
        ...
