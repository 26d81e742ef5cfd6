"""The stores that the contracts are run over: the local one, MongoDB's behind the emulator, and a real server.

`ANALYTIQ_TEST_SEARCH_URI` names a real MongoDB with a search server: Atlas, or 8.2 with mongot.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytiq.retrieval.backends.mongodb.hits import CurrentHits
from analytiq.retrieval.lexical.base import LexicalIndex
from analytiq.retrieval.lexical.local.store import LocalLexicalIndex
from analytiq.retrieval.lexical.mongodb.store import MongoLexicalIndex
from analytiq.retrieval.vector_stores.base import VectorStore
from analytiq.retrieval.vector_stores.local.store import LocalVectorStore
from analytiq.retrieval.vector_stores.mongodb.store import MongoVectorStore
from analytiq.settings import SearchSettings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.chunk_texts import ChunkTextRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import VectorRepository
from analytiq.storage.search.indexes import SearchIndexes
from analytiq.storage.search.rows import SearchRowRepository
from tests.contract.shelf import Shelf, a_knowledge_base
from tests.fakes.search_server import SearchServer

REAL_SERVER = os.environ.get("ANALYTIQ_TEST_SEARCH_URI")
STORES = ["local", "emulator", pytest.param("server", marks=pytest.mark.skipif(not REAL_SERVER, reason="no URI given"))]

NewShelf = Callable[..., Awaitable[Shelf]]


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves: its name, a migrated database by way of it, and the emulator where it is that."""

    name: str
    connection: MongoConnection
    emulator: SearchServer | None

    def stores(self, directory: Path | None, *, with_words: bool) -> tuple[VectorStore, LexicalIndex]:
        """New ones, as another process would have them."""
        if self.name == "local":
            texts = ChunkTextRepository(self.connection)
            return (
                LocalVectorStore(VectorRepository(self.connection), memory_bytes=2**26, load_wait_seconds=60.0),
                LocalLexicalIndex(texts, directory, disk_bytes=2**28, build_wait_seconds=60.0),
            )
        indexes, rows = SearchIndexes(self.connection), SearchRowRepository(self.connection)
        hits = CurrentHits(IndexEntryRepository(self.connection))
        store = MongoVectorStore(indexes, rows, hits, SearchSettings(), with_words=with_words)
        return store, MongoLexicalIndex(indexes, rows, hits)


@pytest.fixture(scope="module", params=STORES)
async def serving(request: pytest.FixtureRequest, mongo_uri: SecretStr) -> AsyncIterator[Serving]:
    """Its database is dropped afterwards."""
    name: str = request.param
    async with AsyncExitStack() as stack:
        uri, emulator = mongo_uri, None
        if name == "emulator":
            emulator = await stack.enter_async_context(SearchServer.running(mongo_uri.get_secret_value()))
            uri = SecretStr(emulator.uri)
        elif name == "server":
            uri = SecretStr(REAL_SERVER or "")
        connection = await connect(uri, f"contract_{new_id()}")
        try:
            await migrate(connection)
            yield Serving(name, connection, emulator)
        finally:
            await connection.client.drop_database(connection.database)
            await connection.close()


@pytest.fixture
async def new_shelf(serving: Serving, tmp_path: Path) -> AsyncIterator[NewShelf]:
    """Makes empty knowledge bases. `with_words`: the index of words is kept too."""
    made: list[Shelf] = []

    async def make(*, with_words: bool = False) -> Shelf:
        store, words = serving.stores(tmp_path / "words", with_words=with_words)
        made.append(Shelf(serving.name, serving.connection, store, words, a_knowledge_base()))
        await made[-1].create()
        return made[-1]

    yield make
    for shelf in made:
        await shelf.drop()
        await shelf.store.close()
        if isinstance(shelf.words, LocalLexicalIndex):
            await shelf.words.close()


@pytest.fixture
async def shelf(new_shelf: NewShelf) -> Shelf:
    """An empty knowledge base."""
    return await new_shelf()
