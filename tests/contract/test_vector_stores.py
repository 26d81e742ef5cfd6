"""What every vector store owes: over the local one, MongoDB's behind the emulator, and a real server where one is.

`ANALYTIQ_TEST_SEARCH_URI` names a real server with a search server: Atlas, or MongoDB 8.2 with mongot.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import InvalidInputError
from analytiq.models.document import Document
from analytiq.models.filter import And, BuiltInField, Comparator, Comparison, Filter, In, MetadataField, Or, evaluate
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus, VectorStoreKind
from analytiq.models.projection import projection_of
from analytiq.models.selection import ChunkFilter
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.mongo.client import MongoConnection, connect
from analytiq.mongo.ids import new_id
from analytiq.mongo.migrations import migrate
from analytiq.mongo.repositories.index_entries import IndexEntryRepository
from analytiq.mongo.repositories.knowledge_bases import EpochRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.mongo.search import hits
from analytiq.mongo.search.hits import CurrentHits
from analytiq.mongo.search.indexes import SearchIndexes
from analytiq.mongo.search.rows import SearchRowRepository
from analytiq.mongo.session import Session
from analytiq.mongo.transactions import run_in_transaction
from analytiq.search.selecting import selection_of
from analytiq.settings import SearchSettings
from analytiq.vector_stores.base import VectorStore
from analytiq.vector_stores.local.store import LocalVectorStore
from analytiq.vector_stores.mongodb.store import MongoVectorStore
from tests.fakes.search_server import SearchServer
from tests.made_filters import IDS, a_document, chunk_filters

REAL_SERVER = os.environ.get("ANALYTIQ_TEST_SEARCH_URI")
STORES = ["local", "emulator", pytest.param("server", marks=pytest.mark.skipif(not REAL_SERVER, reason="no URI given"))]
DIMENSIONS = 8
PAGES_OF = {0: (1, 1), 1: (1, 2), 2: (3, 5)}
"""Chunk → the pages that it is on."""

Found = list[tuple[str, int, float]]
"""(document, chunk, relevance), best first."""
Vectors = NDArray[np.float32]
random = np.random.default_rng(11)


def vectors(count: int) -> Vectors:
    return random.standard_normal((count, DIMENSIONS)).astype(np.float32)


QUERY = vectors(1)[0]


@dataclass(slots=True)
class Shelf:
    """A knowledge base in a store, written by the commits of the swap, and what must be found in it."""

    connection: MongoConnection
    store: VectorStore
    knowledge_base: KnowledgeBase
    documents: dict[str, Document] = field(default_factory=dict)
    truth: dict[str, Vectors] = field(default_factory=dict)

    async def create(self) -> None:
        uuid = await VectorRepository(self.connection).create_collection(self.knowledge_base.id)
        self.knowledge_base = self.knowledge_base.model_copy(update={"vectors_uuid": uuid})
        await self.store.prepare(self.knowledge_base)

        async def commit(session: Session) -> None:
            await EpochRepository(self.connection).create(session, self.knowledge_base.id, new_id())

        await run_in_transaction(self.connection, commit)

    async def epoch(self) -> Epoch:
        epoch = await EpochRepository(self.connection).read(self.knowledge_base.id)
        assert epoch is not None
        return epoch

    async def stage(self, document: Document, rows: Vectors) -> str:
        kb, generation_id = self.knowledge_base, new_id()
        owner = VectorOwner(
            organization_id=kb.organization_id, kb_id=kb.id, vectors_uuid=kb.vectors_uuid, document_id=document.id,
            generation_id=generation_id, metadata_snapshot={}, indexed_at=clock.now(),
            projection=projection_of(document),
        )  # fmt: skip
        await VectorRepository(self.connection).stage(owner, _rows(rows))
        await self.store.await_searchable(kb, generation_id, chunk_count=len(rows))
        return generation_id

    async def put(self, document: Document, rows: Vectors) -> None:
        """Index a document, anew where it is there already."""
        kb = self.knowledge_base
        generation_id = await self.stage(document, rows)
        entry = IndexEntry(
            organization_id=kb.organization_id, kb_id=kb.id, document_id=document.id, generation_id=generation_id,
            text_hash="", configuration_hash="", chunk_count=len(rows), indexed_at=clock.now(),
        )  # fmt: skip

        async def commit(session: Session) -> None:
            before = await IndexEntryRepository(self.connection).put(session, entry)
            removed = before.generation_id if before else None
            await EpochRepository(self.connection).advance(
                session, kb.id, commit_id=new_id(), added=generation_id, removed=removed
            )

        await run_in_transaction(self.connection, commit)
        self.documents[document.id], self.truth[document.id] = document, rows

    async def take_out(self, document_id: str) -> None:
        kb = self.knowledge_base
        entry = await IndexEntryRepository(self.connection).get(kb.organization_id, kb.id, document_id)
        assert entry is not None

        async def commit(session: Session) -> None:
            entries = IndexEntryRepository(self.connection)
            await entries.remove(session, kb.organization_id, kb.id, document_id, entry.generation_id)
            await EpochRepository(self.connection).advance(
                session, kb.id, commit_id=new_id(), added=None, removed=entry.generation_id
            )

        await run_in_transaction(self.connection, commit)
        del self.documents[document_id], self.truth[document_id]

    async def filter(self, tree: Filter) -> ChunkFilter:
        async def matching(part: Filter) -> frozenset[str]:
            return frozenset(document.id for document in self.documents.values() if evaluate(part, document))

        return ChunkFilter(tree, await selection_of(tree, matching))

    async def found(self, query: Vectors, *, limit: int = 100, tree: Filter | None = None) -> Found:
        """(document, chunk, relevance), best first."""
        chunk_filter = None if tree is None else await self.filter(tree)
        epoch = await self.epoch()
        answer = await self.store.search(self.knowledge_base, epoch, query, limit=limit, chunk_filter=chunk_filter)
        return [(hit.document_id, hit.chunk_index, hit.relevance) for hit in answer]

    async def counted(self, tree: Filter | None = None) -> int:
        chunk_filter = None if tree is None else await self.filter(tree)
        return await self.store.count(self.knowledge_base, await self.epoch(), chunk_filter=chunk_filter)

    def expected(self, query: Vectors, *, limit: int = 100, tree: Filter | None = None) -> Found:
        """The same by a plain scan."""
        scored = [
            (document_id, place, round((1 + _cosine(vector, query)) / 2, 5))
            for document_id, rows in self.truth.items()
            for place, vector in enumerate(rows)
            if tree is None or evaluate(tree, self.documents[document_id], _pages(place))
        ]
        return sorted(scored, key=lambda row: (-row[2], row[0], row[1]))[:limit]


def _cosine(left: Vectors, right: Vectors) -> float:
    return float(left @ right) / float(np.linalg.norm(left) * np.linalg.norm(right))


def _pages(place: int) -> range:
    first, last = PAGES_OF[place % len(PAGES_OF)]
    return range(first, last + 1)


def _rows(rows: Vectors) -> list[VectorRow]:
    return [
        VectorRow(
            chunk_index=place,
            chunk_hash="",
            chunk_text=f"chunk {place}",
            embedding=vector,
            token_count=1,
            start=place,
            end=place + 1,
            first_page=_pages(place)[0],
            last_page=_pages(place)[-1],
        )
        for place, vector in enumerate(rows)
    ]


@pytest.fixture(scope="module", params=STORES)
async def serving(request: pytest.FixtureRequest, mongo_uri: SecretStr) -> AsyncIterator[tuple[str, MongoConnection]]:
    """The store's name, and a migrated database by way of what serves it; dropped afterwards."""
    name: str = request.param
    async with AsyncExitStack() as stack:
        uri = mongo_uri
        if name == "emulator":
            server = await stack.enter_async_context(SearchServer.running(mongo_uri.get_secret_value()))
            uri = SecretStr(server.uri)
        elif name == "server":
            uri = SecretStr(REAL_SERVER or "")
        connection = await connect(uri, f"contract_{new_id()}")
        try:
            await migrate(connection)
            yield name, connection
        finally:
            await connection.client.drop_database(connection.database)
            await connection.close()


def store_of(name: str, connection: MongoConnection) -> VectorStore:
    if name == "local":
        return LocalVectorStore(VectorRepository(connection), memory_bytes=2**20, load_wait_seconds=30.0)
    return MongoVectorStore(
        SearchIndexes(connection),
        SearchRowRepository(connection),
        CurrentHits(IndexEntryRepository(connection)),
        SearchSettings(),
        with_words=False,
    )


@pytest.fixture
async def shelf(serving: tuple[str, MongoConnection]) -> AsyncIterator[Shelf]:
    """An empty knowledge base."""
    name, connection = serving
    store = store_of(name, connection)
    created = Shelf(connection, store, a_knowledge_base())
    await created.create()
    yield created
    await store.discard(created.knowledge_base)
    await VectorRepository(connection).drop_collection(created.knowledge_base.id)
    await store.close()


def a_knowledge_base() -> KnowledgeBase:
    now = clock.now()
    return KnowledgeBase(
        id=new_id(), organization_id="o1", name="KB", description="", tag_ids=(), chunker_type="token", chunk_size=16,
        chunk_overlap=0, embedding_model="m", embedding_dimensions=DIMENSIONS, coalesce_neighbors=0,
        status=KnowledgeBaseStatus.ACTIVE, vectors_uuid="", vector_store=VectorStoreKind.MONGODB, created_at=now,
        updated_at=now,
    )  # fmt: skip


def alike(found: Found, expected: Found) -> None:
    """The same chunks in the same order; stores add up in different orders."""
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], abs=2e-5)


async def test_an_empty_knowledge_base_has_nothing_to_find(shelf: Shelf) -> None:
    assert await shelf.found(QUERY) == []
    assert await shelf.counted() == 0


async def test_the_nearest_come_first_with_half_of_one_plus_the_cosine_as_relevance(shelf: Shelf) -> None:
    for document_id in IDS[:4]:
        await shelf.put(a_document(document_id), vectors(5) * 7)
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    alike(await shelf.found(QUERY, limit=3), shelf.expected(QUERY, limit=3))
    assert await shelf.counted() == 20


async def test_ties_are_in_the_order_of_document_and_chunk(shelf: Shelf) -> None:
    same = np.tile(vectors(1), (3, 1))
    for document_id in reversed(IDS[:3]):
        await shelf.put(a_document(document_id), same)
    found = [row[:2] for row in await shelf.found(QUERY)]
    assert found == [(document_id, place) for document_id in IDS[:3] for place in range(3)]


async def test_what_was_committed_is_found_and_what_was_taken_out_is_not(shelf: Shelf) -> None:
    first, second = a_document(IDS[0]), a_document(IDS[1])
    await shelf.put(first, vectors(2))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    await shelf.put(second, vectors(3))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    await shelf.put(first, vectors(4))
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    assert await shelf.counted() == 7
    await shelf.take_out(second.id)
    alike(await shelf.found(QUERY), shelf.expected(QUERY))
    assert await shelf.counted() == 4


async def test_what_is_only_staged_is_not_found(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    await shelf.stage(a_document(IDS[1]), np.tile(QUERY, (30, 1)))
    alike(await shelf.found(QUERY, limit=2), shelf.expected(QUERY, limit=2))


async def test_a_page_of_results_is_full_although_older_generations_are_nearer(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), np.tile(QUERY, (40, 1)))
    await shelf.put(a_document(IDS[0]), vectors(12))
    alike(await shelf.found(QUERY, limit=10), shelf.expected(QUERY, limit=10))


async def test_an_empty_set_of_documents_has_nothing(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    nobody = In(BuiltInField.DOCUMENT_ID, ())
    assert await shelf.found(QUERY, tree=nobody) == []
    assert await shelf.counted(nobody) == 0


async def test_another_organization_finds_nothing(shelf: Shelf, serving: tuple[str, MongoConnection]) -> None:
    await shelf.put(a_document(IDS[0]), vectors(2))
    foreign = shelf.knowledge_base.model_copy(update={"organization_id": "o2"})
    store = store_of(*serving)
    assert await store.search(foreign, await shelf.epoch(), QUERY, limit=5, chunk_filter=None) == []
    place = (await shelf.store.search(shelf.knowledge_base, await shelf.epoch(), QUERY, limit=1, chunk_filter=None))[0]
    chunk = (place.generation_id, place.chunk_index)
    assert await store.relevance_of(foreign, await shelf.epoch(), QUERY, [chunk]) == {}
    await store.close()


async def test_the_relevance_of_a_chunk_is_what_a_search_says(shelf: Shelf) -> None:
    await shelf.put(a_document(IDS[0]), vectors(4))
    epoch = await shelf.epoch()
    answer = await shelf.store.search(shelf.knowledge_base, epoch, QUERY, limit=4, chunk_filter=None)
    chunks = {(hit.generation_id, hit.chunk_index): hit.relevance for hit in answer}
    asked = [*chunks, (new_id(), 0)]
    assert await shelf.store.relevance_of(shelf.knowledge_base, epoch, QUERY, asked) == pytest.approx(chunks, abs=1e-5)


NUMBER, WORD = MetadataField(("number",)), MetadataField(("word",))


@pytest.fixture
async def library(shelf: Shelf) -> Shelf:
    """Six documents of three chunks, whose metadata the made filters ask for."""
    metadata: list[dict[str, object]] = [
        {"a": 1, "b": "a"},
        {"a": [1, "b", None], "b": {"a": 2.0}},
        {"a": {"b": ["a", {"0": True}]}, "0": 2**53 + 1},
        {"b": [], "-1": "$gt"},
        {"a": [{"b": 1}, {"b": [2, "ab"]}], "00": False},
        {},
    ]
    for document_id, attached in zip(IDS, metadata, strict=True):
        tags = {"tag_ids": ("2024",) if "b" in attached else (), "metadata": attached}
        await shelf.put(a_document(document_id).model_copy(update=tags), vectors(3))
    return shelf


@pytest.mark.parametrize("named", [hits.MOST_DOCUMENTS_NAMED, -1], ids=["by ids", "by what chunks carry"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(tree=chunk_filters)
async def test_filters_let_through_what_a_plain_reading_does(
    library: Shelf, monkeypatch: pytest.MonkeyPatch, named: int, tree: Filter
) -> None:
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
    alike(await library.found(QUERY, tree=tree), library.expected(QUERY, tree=tree))
    assert await library.counted(tree) == len(library.expected(QUERY, tree=tree))


async def test_a_filter_that_one_of_many_near_identical_chunks_passes_finds_it(shelf: Shelf) -> None:
    for number in range(12):
        rows = np.tile(QUERY, (100, 1)) + vectors(100) * 0.01
        await shelf.put(a_document(new_id(), number=number).model_copy(update={"document_name": f"{number}"}), rows)
    await shelf.put(a_document(IDS[0], number=99), -QUERY[np.newaxis])
    for tree in [
        Comparison(NUMBER, Comparator.GREATER, 11),
        Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "invoice.pdf"),
        In(BuiltInField.DOCUMENT_ID, (IDS[0],)),
        And((Comparison(NUMBER, Comparator.EQUAL, 99), Comparison(BuiltInField.PAGE, Comparator.LESS, 2))),
        Or((Comparison(NUMBER, Comparator.EQUAL, 99), Comparison(WORD, Comparator.EQUAL, "none"))),
    ]:
        assert [row[:2] for row in await shelf.found(QUERY, limit=10, tree=tree)] == [(IDS[0], 0)]


async def test_asking_deeper_than_the_store_can_look_is_right_or_refused(
    shelf: Shelf, serving: tuple[str, MongoConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "MOST_FOUND", 50)
    await shelf.put(a_document(IDS[0]), vectors(60))
    alike(await shelf.found(QUERY, limit=50), shelf.expected(QUERY, limit=50))
    if serving[0] == "local":
        alike(await shelf.found(QUERY, limit=55), shelf.expected(QUERY, limit=55))
    else:
        with pytest.raises(InvalidInputError, match="skip: MongoDB's search server shows the 50 best chunks"):
            await shelf.found(QUERY, limit=55)
