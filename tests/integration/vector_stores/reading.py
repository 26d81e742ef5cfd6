"""A repository that tells what was read, and the searches that the tests of the local store make."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytiq.models.knowledge_base import Epoch
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.base import VectorHit
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.vectors import VectorRepository, VectorsAt, VectorSink
from tests.integration.vector_stores.conftest import DIMENSIONS, Mirrored

random = np.random.default_rng(7)


def vectors(count: int) -> NDArray[np.float32]:
    return random.standard_normal((count, DIMENSIONS)).astype(np.float32)


QUERY = vectors(1)[0]


class CountsReads(VectorRepository):
    """The real repository, which tells what was read."""

    def __init__(self, connection: MongoConnection) -> None:
        super().__init__(connection)
        self.loads = 0
        self.refreshes = 0
        self.rows = 0
        self.gate: asyncio.Event | None = None

    async def read_all(self, organization_id: str, kb_id: str, sink: VectorSink) -> VectorsAt | None:
        self.loads += 1
        if self.gate is not None:
            await self.gate.wait()
        return await super().read_all(organization_id, kb_id, Counting(self, sink))

    async def read_changes(
        self, organization_id: str, kb_id: str, sink: VectorSink, *, after: int, known: Collection[str]
    ) -> VectorsAt | None:
        self.refreshes += 1
        return await super().read_changes(organization_id, kb_id, Counting(self, sink), after=after, known=known)


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
