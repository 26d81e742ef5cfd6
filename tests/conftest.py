"""Fixtures of every test: a real MongoDB, started when the first test asks for it."""

import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

# Before usearch, which some tests import: loaded after it, Tesseract cannot read its language data (both bring C++
# libraries). In the product pages are read in processes that know no index.
import tesserocr  # noqa: F401  # pyright: ignore[reportUnusedImport]
from hypothesis import HealthCheck, settings
from pydantic import SecretStr
from shared_mongod import share_of_mongod

from analytiq.storage.client import MongoConnection, connect
from tests.examples import QUICK, QUICK_EXAMPLES

# An example that takes long tells of what else the machine does, not of the code.
settings.register_profile("analytiq", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(QUICK, settings.get_profile("analytiq"), max_examples=QUICK_EXAMPLES)
settings.load_profile("analytiq")


def pytest_configure(config: pytest.Config) -> None:
    """Overlook one leak that is the driver's.

    pymongo 4.20 does not close the socket of a connection attempt that `close` cancels (`pool_shared`,
    `_async_create_connection`): a client closed soon after it was opened leaves a socket that never had a
    peer. Established connections and all other sockets are still errors when left open.
    """
    config.addinivalue_line(
        "filterwarnings", r"ignore:unclosed <socket\.socket .*laddr=\('127\.0\.0\.1', \d+\)>:ResourceWarning"
    )


@pytest.fixture(scope="session")
def mongo_uri(testrun_uid: str) -> Iterator[SecretStr]:
    """Address of the run's one mongod, a replica set of one, shared by all workers."""
    # Not below pytest's tmp_path: a Unix socket's path has at most 108 bytes.
    with share_of_mongod(Path(tempfile.gettempdir()) / f"analytiq-tests-{testrun_uid}") as uri:
        yield SecretStr(uri)


@pytest.fixture(scope="session")
async def mongo_connection(mongo_uri: SecretStr) -> AsyncIterator[MongoConnection]:
    """This worker's connection; `database` and `module_database` are views of it."""
    connection = await connect(mongo_uri, "unused")
    yield connection
    await connection.close()


@pytest.fixture
async def database(mongo_connection: MongoConnection) -> AsyncIterator[MongoConnection]:
    """A connection on a database of the test's own, dropped after it; do not close it."""
    view = mongo_connection.using(f"test_{uuid.uuid4().hex}")
    yield view
    await mongo_connection.client.drop_database(view.database)


@pytest.fixture(scope="module")
async def module_database(mongo_connection: MongoConnection) -> AsyncIterator[MongoConnection]:
    """As `database`, shared by the tests of one module; do not close it."""
    view = mongo_connection.using(f"module_{uuid.uuid4().hex}")
    yield view
    await mongo_connection.client.drop_database(view.database)
