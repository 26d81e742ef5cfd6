"""The backends of the contract: the local one, MongoDB's behind the emulator, a plug-in, and a real server.

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
from tests.sqlite_backend.registration import registered

REAL_SERVER = os.environ.get("ANALYTIQ_TEST_SEARCH_URI")
BACKENDS = [
    "local",
    "emulator",
    "sqlite",
    pytest.param("server", marks=pytest.mark.skipif(not REAL_SERVER, reason="no URI given")),
]

NewShelf = Callable[..., Awaitable[Shelf]]


@dataclass(frozen=True, slots=True)
class Serving:
    """The server: its name, a migrated database by way of it, and the emulator where it is that."""

    name: str
    connection: MongoConnection
    emulator: SearchServer | None

    def backend(self, directory: Path, *, with_keywords: bool) -> RetrievalBackend:
        """A new one, as another process would have it."""
        found = backend_type("mongodb" if self.name in ("emulator", "server") else self.name)
        assert found is not None
        settings = Settings(
            data_dir=directory,
            search=SearchSettings(local_store_bytes=2**26, load_wait_seconds=60.0),
            lexical=LexicalSettings(is_enabled=with_keywords, build_wait_seconds=60.0),
        )
        return found.create(Repositories(self.connection), settings)


@pytest.fixture(scope="module", params=BACKENDS)
async def serving(
    request: pytest.FixtureRequest, mongo_uri: SecretStr, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Serving]:
    """Its database is dropped afterwards."""
    name: str = request.param
    async with AsyncExitStack() as stack:
        uri, emulator = mongo_uri, None
        if name == "emulator":
            emulator = await stack.enter_async_context(SearchServer.running(mongo_uri.get_secret_value()))
            uri = SecretStr(emulator.uri)
        elif name == "sqlite":
            stack.enter_context(registered(tmp_path_factory.mktemp("packages")))
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


@pytest.fixture
async def keyed(new_shelf: NewShelf) -> Shelf:
    """An empty knowledge base with a keyword index."""
    return await new_shelf(with_keywords=True)
