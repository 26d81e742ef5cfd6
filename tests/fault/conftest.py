"""Fixtures of the fault tests: a platform on the run's mongod, or on one of the test's own that is to be broken."""

import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import structlog
from pydantic import SecretStr

from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.migrations import migrate
from tests.fakes.embedding_server import EmbeddingServer
from tests.fault.poisoned_server import PoisonedServer
from tests.fault.processes import Nursery
from tests.fault.site import Site, open_site
from tests.integration.conftest import migrated, platform_database

__all__ = ["migrated", "platform_database"]

OpenSite = Callable[[MongoConnection, SecretStr], AbstractAsyncContextManager[Site]]


@pytest.fixture(scope="session", autouse=True)
def short_logs() -> Iterator[None]:
    """A line an event, and none for each of a reader's thousand searches."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Starts worker processes quickly, for all tests of this worker."""
    opened = Nursery()
    yield opened
    opened.close()


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    with PoisonedServer(retry_after="0") as server:
        yield server


@pytest.fixture
def open_a_site(embedding_server: EmbeddingServer, nursery: Nursery, tmp_path: Path) -> OpenSite:
    """Open a platform on a connection to a migrated database and the address of its server."""
    return lambda connection, uri: open_site(connection, uri, embedding_server, nursery, tmp_path)


@pytest.fixture
async def site(migrated: MongoConnection, mongo_uri: SecretStr, open_a_site: OpenSite) -> AsyncIterator[Site]:
    """A platform on the run's shared mongod, whose database is emptied afterwards."""
    async with open_a_site(migrated, mongo_uri) as opened:
        yield opened


async def migrated_view(connection: MongoConnection) -> MongoConnection:
    """A migrated database of its own on a server."""
    view = connection.using(f"fault_{uuid.uuid4().hex}")
    await migrate(view)
    return view


@asynccontextmanager
async def site_at(uri: SecretStr, open_a_site: OpenSite) -> AsyncGenerator[Site]:
    """A platform on a server of the test's own."""
    connection = await connect(uri, "fault", selection_timeout_seconds=5)
    try:
        async with open_a_site(await migrated_view(connection), uri) as site:
            yield site
    finally:
        await connection.close()
