"""A repository that tells what was read, and the searches that the tests of the local store make."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.base import VectorHit
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.index_contents import (
    IndexContentRepository,
    IndexedGeneration,
    IndexReading,
    VectorSink,
)
from tests.integration.vector_stores.conftest import DIMENSIONS, Mirrored

random = np.random.default_rng(7)


def vectors(count: int) -> NDArray[np.float32]:
    return random.standard_normal((count, DIMENSIONS)).astype(np.float32)


QUERY = vectors(1)[0]


class CountsReads(IndexContentRepository):
    """The real repository, which tells what was read."""

    def __init__(self, connection: MongoConnection) -> None:
        super().__init__(connection)
        self.loads = 0
        self.refreshes = 0
        self.rows = 0
        self.gate: asyncio.Event | None = None

    @asynccontextmanager
    async def reading(self, organization_id: str, kb_id: str) -> AsyncGenerator[IndexReading | None]:
        async with super().reading(organization_id, kb_id) as at:
            if at is not None:
                self._count(at)
            yield at

    def _count(self, at: IndexReading) -> None:
        changes, vectors = at.changes, at.vectors

        async def counted_changes(*, after: int) -> list[IndexChange]:
            self.refreshes += 1
            return await changes(after=after)

        async def counted(generation_ids: Collection[str] | None, sink: VectorSink) -> list[IndexedGeneration]:
            if generation_ids is None:
                self.loads += 1
                if self.gate is not None:
                    await self.gate.wait()
            return await vectors(generation_ids, Counting(self, sink))

        at.changes, at.vectors = counted_changes, counted  # type: ignore[method-assign]


@dataclass
class Counting:
    """A sink that counts the rows on their way."""

    reads: CountsReads
    sink: VectorSink

    def expect(self, rows: int) -> None:
        self.sink.expect(rows)

    async def receive(self, parts: Sequence[GenerationVectors]) -> None:
        self.reads.rows += sum(len(part.matrix) for part in parts)
        await self.sink.receive(parts)


async def search(
    store: LocalVectorStore, mirrored: Mirrored, *, limit: int = 100, epoch: Epoch | None = None
) -> list[VectorHit]:
    at = epoch or await mirrored.epoch()
    return await store.search(mirrored.knowledge_base, at, QUERY, limit=limit, chunk_filter=None)


async def places(store: LocalVectorStore, mirrored: Mirrored, *, limit: int = 100) -> list[tuple[str, int]]:
    return [(hit.document_id, hit.chunk_index) for hit in await search(store, mirrored, limit=limit)]
