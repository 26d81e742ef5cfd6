"""Knowledge bases written by bare commits, as a store mirrors them; and the library over a search server's emulator."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr

from analytiq import clock
from analytiq.composition import Services, compose
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.settings import IndexingSettings, Settings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from tests.fakes.search_server import SearchServer
from tests.integration.tenant import Tenant, new_tenant

DIMENSIONS = 8

ComposeOnServer = Callable[..., Awaitable[Services]]


class Mirrored:
    """One knowledge base; `put` and `take_out` are the commits of the swap, reduced to what a mirror sees."""

    def __init__(self, connection: MongoConnection) -> None:
        self.connection = connection
        self.vectors = VectorRepository(connection)
        self.epochs = EpochRepository(connection)
        self.entries = IndexEntryRepository(connection)
        self.knowledge_base: KnowledgeBase = _knowledge_base()
        self.truth: dict[str, NDArray[np.float32]] = {}

    @property
    def kb_id(self) -> str:
        return self.knowledge_base.id

    async def create(self) -> None:
        vectors_uuid = await self.vectors.create_collection(self.kb_id)
        self.knowledge_base = self.knowledge_base.model_copy(update={"vectors_uuid": vectors_uuid})

        async def commit(session: Session) -> None:
            await self.epochs.create(session, self.kb_id, new_id())

        await run_in_transaction(self.connection, commit)

    async def epoch(self) -> Epoch:
        epoch = await self.epochs.read(self.kb_id)
        assert epoch is not None
        return epoch

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
        await self.vectors.stage(owner, rows_of(document_id, vectors))
        return generation_id

    async def put(self, document_id: str, vectors: NDArray[np.float32], *, claimed: int | None = None) -> str:
        """Index a document anew; `claimed`: how many chunks its entry says that it has."""
        generation_id = await self.stage(document_id, vectors)
        entry = IndexEntry(
            organization_id=self.knowledge_base.organization_id,
            kb_id=self.kb_id,
            document_id=document_id,
            generation_id=generation_id,
            text_hash="",
            configuration_hash="",
            chunk_count=len(vectors) if claimed is None else claimed,
            indexed_at=clock.now(),
        )

        async def commit(session: Session) -> None:
            before = await self.entries.put(session, entry)
            removed = before.generation_id if before else None
            await self.epochs.advance(session, self.kb_id, commit_id=new_id(), added=generation_id, removed=removed)

        await run_in_transaction(self.connection, commit)
        self.truth[document_id] = vectors
        return generation_id

    async def take_out(self, document_id: str) -> None:
        entry = await self.entries.get(self.knowledge_base.organization_id, self.kb_id, document_id)
        assert entry is not None

        async def commit(session: Session) -> None:
            await self.entries.remove(session, entry.organization_id, self.kb_id, document_id, entry.generation_id)
            await self.epochs.advance(session, self.kb_id, commit_id=new_id(), added=None, removed=entry.generation_id)

        await run_in_transaction(self.connection, commit)
        del self.truth[document_id]

    def expected(self, query: NDArray[np.float32], limit: int) -> list[tuple[str, int]]:
        """(document, chunk) by a plain scan of everything."""
        scored = [
            (float(vector @ query / np.linalg.norm(vector) / np.linalg.norm(query)), document_id, index)
            for document_id, vectors in self.truth.items()
            for index, vector in enumerate(vectors)
        ]
        scored.sort(key=lambda row: (-round(row[0], 5), row[1], row[2]))
        return [(document_id, index) for _, document_id, index in scored[:limit]]


def rows_of(document_id: str, vectors: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> list[VectorRow]:
    return [
        VectorRow(
            chunk_index=index,
            chunk_hash="",
            chunk_text=f"{document_id}, chunk {index}",
            embedding=vector,
            token_count=1,
            start=index,
            end=index + 1,
            first_page=1 + index // 2,
            last_page=1 + (index + 1) // 2,
        )
        for index, vector in enumerate(vectors)
    ]


def _knowledge_base() -> KnowledgeBase:
    now = clock.now()
    return KnowledgeBase(
        id=new_id(),
        organization_id=new_id(),
        name="KB",
        description="",
        tag_ids=(),
        chunker_type="token",
        chunk_size=16,
        chunk_overlap=0,
        embedding_model="m",
        embedding_dimensions=DIMENSIONS,
        coalesce_neighbors=0,
        status=KnowledgeBaseStatus.ACTIVE,
        vectors_uuid="",
        created_at=now,
        updated_at=now,
    )


@pytest.fixture(autouse=True)
def _same_vectors_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin the random vectors anew: in another order of tests two of them may lie too close together for an order."""
    monkeypatch.setattr("tests.integration.vector_stores.reading.random", np.random.default_rng(7))


@pytest.fixture
async def mirrored(migrated: MongoConnection) -> Mirrored:
    created = Mirrored(migrated)
    await created.create()
    return created


@pytest.fixture
async def server(mongo_uri: SecretStr) -> AsyncIterator[SearchServer]:
    async with SearchServer.running(mongo_uri.get_secret_value()) as running:
        yield running


@pytest.fixture
async def compose_on_server(
    server: SearchServer, migrated: MongoConnection, secret_key: SecretStr, tmp_path: Path, services: Services
) -> AsyncIterator[ComposeOnServer]:
    """Another process of the same installation, whose MongoDB has a search server. (`services` stored the keys.)"""
    made: list[Services] = []

    async def composed(**sections: Any) -> Services:
        connection = await connect(SecretStr(server.uri), migrated.database.name)
        sections.setdefault("indexing", IndexingSettings(sweep_delay_seconds=0.0))
        settings = Settings(
            data_dir=tmp_path,
            secret_key=secret_key,
            queue=services.settings.queue,
            embedding=services.settings.embedding,
            **sections,
        )
        made.append(await compose(settings, connection))
        return made[-1]

    yield composed
    for one in made:
        await one.close()


@pytest.fixture
async def tenant_on_server(compose_on_server: ComposeOnServer) -> Tenant:
    return await new_tenant(await compose_on_server())
