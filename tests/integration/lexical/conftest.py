"""A knowledge base of texts, written by bare commits; indexes of its words as processes have them."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from analytiq import clock
from analytiq.models.knowledge_base import Epoch
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.filters.selection import ChunkFilter
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.index_contents import IndexContentRepository
from tests.integration.vector_stores.conftest import DIMENSIONS, Mirrored

LARGE_BYTES = 2**30


class Texts(Mirrored):
    """`write` is the commit of a swap, as the index of words sees it."""

    def __init__(self, connection: MongoConnection) -> None:
        super().__init__(connection)
        self.texts: dict[str, tuple[str, ...]] = {}

    async def write(self, document_id: str, *texts: str) -> str:
        self.texts[document_id] = texts
        return await self.put(document_id, np.ones((len(texts), DIMENSIONS), dtype=np.float32))

    async def stage(self, document_id: str, vectors: NDArray[np.float32]) -> str:
        generation_id = new_id()
        owner = VectorOwner(
            organization_id=self.knowledge_base.organization_id,
            kb_id=self.kb_id,
            vectors_uuid=self.knowledge_base.vectors_uuid,
            document_id=document_id,
            generation_id=generation_id,
            metadata_snapshot={},
            indexed_at=clock.now(),
        )
        rows = [
            VectorRow(
                chunk_index=index,
                chunk_hash="",
                chunk_text=text,
                embedding=vectors[index],
                token_count=1,
                start=index,
                end=index + 1,
                first_page=index + 1,
                last_page=index + 1,
            )
            for index, text in enumerate(self.texts[document_id])
        ]
        await self.vectors.stage(owner, rows)
        return generation_id


class Process:
    """The index of one process; `end` closes it, `die` leaves everything as a killed process does."""

    def __init__(self, connection: MongoConnection, root: Path | None, *, disk_bytes: int, wait: float) -> None:
        self.root = root
        self.index = LocalLexicalIndex(
            IndexContentRepository(connection), root, disk_bytes=disk_bytes, build_wait_seconds=wait
        )

    async def end(self) -> None:
        await self.index.close()

    async def hits(
        self,
        kb: Texts,
        question: str,
        *,
        limit: int = 100,
        epoch: Epoch | None = None,
        chunk_filter: ChunkFilter | None = None,
    ) -> list[KeywordHit]:
        at = epoch or await kb.epoch()
        return await self.index.search(kb.knowledge_base, at, question, limit=limit, chunk_filter=chunk_filter)

    async def found(self, kb: Texts, question: str) -> list[str]:
        return sorted({hit.document_id for hit in await self.hits(kb, question)})


Start = Callable[..., Process]


@pytest.fixture
async def kb(migrated: MongoConnection) -> Texts:
    created = Texts(migrated)
    await created.create()
    return created


@pytest.fixture
async def start(migrated: MongoConnection, tmp_path: Path) -> AsyncIterator[Start]:
    """Start another process on this machine; they share the directory."""
    async with AsyncExitStack() as stack:

        def started(*, disk_bytes: int = LARGE_BYTES, wait: float = 30.0, in_memory: bool = False) -> Process:
            root = None if in_memory else tmp_path / "lexical"
            process = Process(migrated, root, disk_bytes=disk_bytes, wait=wait)
            stack.push_async_callback(process.end)
            return process

        yield started


def generations(hits: Collection[KeywordHit]) -> set[str]:
    return {hit.generation_id for hit in hits}
