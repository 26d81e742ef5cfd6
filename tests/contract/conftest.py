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

from analytiq.retrieval.backends.base import RetrievalBackend
from analytiq.retrieval.backends.registry import backend_type
from analytiq.settings import LexicalSettings, SearchSettings, Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import migrate
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

    def backend(self, directory: Path, *, with_keywords: bool) -> RetrievalBackend:
        """A new one, as another process would have it."""
        found = backend_type("mongodb" if self.name in ("emulator", "server") else self.name)
        assert found is not None
        settings = Settings(
            data_dir=str(directory),
            search=SearchSettings(local_store_bytes=2**26, load_wait_seconds=60.0),
            lexical=LexicalSettings(is_enabled=with_keywords, build_wait_seconds=60.0),
        )
        return found.create(Repositories(self.connection), settings)


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
    """Makes empty knowledge bases. `with_keywords`: the keyword index is kept too."""
    made: list[Shelf] = []

    async def make(*, with_keywords: bool = False) -> Shelf:
        backend = serving.backend(tmp_path, with_keywords=with_keywords)
        made.append(Shelf(serving.name, serving.connection, backend, a_knowledge_base()))
        await made[-1].create()
        return made[-1]

    yield make
    for shelf in made:
        await shelf.drop()
        await shelf.backend.close()


@pytest.fixture
async def shelf(new_shelf: NewShelf) -> Shelf:
    """An empty knowledge base."""
    return await new_shelf()
