"""The indexes of MongoDB's own search server, for the knowledge bases created on it."""

import asyncio
from collections.abc import Sequence

from analytiq.errors import TransientError
from analytiq.models.index_types import ChunkCounts
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.mongodb.reader import MongoReader
from analytiq.retrieval.backends.registry import BackendType
from analytiq.settings import SearchSettings, Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.search.indexes import SearchIndex, serves, vector_index, word_index

SAMPLE = 16
"""Chunks of a generation checked for visibility. The server applies writes in order, so the last one tells most."""
FIRST_POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 1.0


class MongoBackend:
    """The backend for Atlas, or MongoDB with mongot: for knowledge bases that outgrow the memory of one process.

    The server follows the rows by itself. Answers are as fresh as the index version because indexing waits until the
    server knows the chunks of the next commit. `with_keywords`: keep the keyword index too.
    """

    def __init__(self, rows: Repositories, settings: SearchSettings, *, with_keywords: bool) -> None:
        self._repositories = rows
        self._indexes = rows.search_indexes
        self._rows = rows.search_rows
        self._settings = settings
        self._with_keywords = with_keywords

    async def prepare(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend: create both indexes, or bring them up to this release's definition.

        Raises:
            InvalidInputError: the model's vectors cannot be indexed.
            ConflictError: the search server refuses.
        """
        await self._indexes.ensure(knowledge_base.id, self._wanted(knowledge_base))

    async def missing(self, knowledge_base: KnowledgeBase) -> list[str]:
        """See RetrievalBackend."""
        states = await self._indexes.states(knowledge_base.id)
        wanted = self._wanted(knowledge_base)
        return [index.name for index in wanted if index.name not in states or not serves(states[index.name], index)]

    async def write(self, knowledge_base: KnowledgeBase, owner: VectorOwner, rows: Sequence[VectorRow]) -> None:
        """See RetrievalBackend: the server follows the rows."""

    async def await_searchable(self, knowledge_base: KnowledgeBase, generation_id: str, *, counts: ChunkCounts) -> None:
        """See RetrievalBackend.

        Raises:
            TransientError: the search server is further behind than ANALYTIQ_SEARCH__VISIBILITY_SECONDS.
        """
        if not counts.total:
            return
        loop = asyncio.get_running_loop()
        seconds = self._settings.visibility_seconds
        deadline = loop.time() + seconds
        await self._indexes.await_queryable(knowledge_base.id, self._wanted(knowledge_base), seconds=seconds)
        sample = sample_of(counts)
        pause = FIRST_POLL_SECONDS
        while (seen := await self._count_visible(knowledge_base, generation_id, sample)) < len(sample):
            if pause == FIRST_POLL_SECONDS:
                sample = await self._indexable(knowledge_base, generation_id, sample)
            if loop.time() >= deadline:
                raise TransientError(
                    f"After {seconds:g} s the search server shows {seen} of {len(sample)} new chunks of the"
                    f" knowledge base {knowledge_base.name!r}. It is behind: the document keeps its present chunks,"
                    " and the job is retried.",
                    code="search_index_behind",
                )
            await asyncio.sleep(pause)
            pause = min(LONGEST_POLL_SECONDS, pause * 2)

    async def follow(self, knowledge_base: KnowledgeBase, epoch: Epoch) -> None:
        """See RetrievalBackend: a commit waits for the search server."""

    async def remove(self, knowledge_base: KnowledgeBase, generation_id: str) -> None:
        """See RetrievalBackend: the server follows the rows."""

    async def drop(self, knowledge_base: KnowledgeBase) -> None:
        """See RetrievalBackend."""
        await self._indexes.drop(knowledge_base.id)

    def reader(
        self, knowledge_base: KnowledgeBase, epoch: Epoch, *, with_vectors: bool = True, with_keywords: bool = True
    ) -> MongoReader:
        """See RetrievalBackend."""
        reader = MongoReader(self._repositories, knowledge_base, epoch, self.prepare)
        reader.searches_both = with_vectors and with_keywords and self._with_keywords
        return reader

    def is_building_keywords(self, kb_id: str) -> bool:
        """See RetrievalBackend: a commit waits for the search server."""
        return False

    def forget(self, kb_id: str) -> None:
        """See RetrievalBackend: nothing is held."""

    async def close(self) -> None:
        """See RetrievalBackend: nothing runs in the background."""

    def _wanted(self, knowledge_base: KnowledgeBase) -> list[SearchIndex]:
        wanted = [vector_index(knowledge_base.embedding_dimensions, self._settings.quantization)]
        return [*wanted, word_index(has_context=knowledge_base.context)] if self._with_keywords else wanted

    async def _indexable(self, knowledge_base: KnowledgeBase, generation_id: str, sample: list[int]) -> list[int]:
        """Return the chunks the server can index: it silently skips a vector of zeros, which has no direction."""
        chunks = [(generation_id, chunk_index) for chunk_index in sample]
        embeddings = await self._rows.embeddings(knowledge_base.organization_id, knowledge_base.id, chunks)
        directionless = {chunk_index for (_, chunk_index), vector in embeddings.items() if not vector.any()}
        return [chunk_index for chunk_index in sample if chunk_index not in directionless]

    async def _count_visible(self, knowledge_base: KnowledgeBase, generation_id: str, sample: list[int]) -> int:
        return await self._rows.count_visible(
            knowledge_base.organization_id,
            knowledge_base.id,
            generation_id,
            sample,
            dimensions=knowledge_base.embedding_dimensions,
            with_words=self._with_keywords,
        )


def sample_of(counts: ChunkCounts) -> list[int]:
    """Return the indexes of a sample of the chunks: the first, the last, and some in between."""
    if counts.total <= SAMPLE:
        return [index for indexes in counts.ranges for index in indexes]
    numbers = sorted({round(place * (counts.total - 1) / (SAMPLE - 1)) for place in range(SAMPLE)})
    return [counts.at(number) for number in numbers]


def _create(rows: Repositories, settings: Settings) -> MongoBackend:
    return MongoBackend(rows, settings.search, with_keywords=settings.lexical.is_enabled)


BACKEND_TYPE = BackendType(_create, filters_stored_chunks=True)
