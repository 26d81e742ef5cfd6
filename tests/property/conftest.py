"""A database behind gates, and how many schedules are tried.

`ANALYTIQ_HYPOTHESIS=long` (or `--hypothesis-profile=long`) tries many more of them.
"""

import logging
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings
from pydantic import SecretStr

from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from analytiq.telemetry import checkpoints
from tests.property.gates import gated_connection, stop_at_checkpoint
from tests.property.processes import Launch, launcher

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("analytiq", deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.register_profile("long", settings.get_profile("analytiq"), max_examples=2000)


def schedules(count: int) -> settings:
    """The number of schedules that a test tries: `count`, and fifty times as many in the long profile."""
    is_long = "long" in (os.environ.get("ANALYTIQ_HYPOTHESIS"), settings.get_current_profile_name())
    return settings(
        max_examples=count * (50 if is_long else 1),
        deadline=None,
        suppress_health_check=_SLOW,
        print_blob=True,
        # The same schedules at every run, so that a change of the code is what a new failure is about.
        derandomize=not is_long,
        # Explaining runs the failing schedule many times more, and knows nothing of a database.
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
    )


@pytest.fixture(scope="session", autouse=True)
def quiet_logs() -> Iterator[None]:
    """A schedule has its own trace; a thousand of them would log a million lines."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
async def gated(mongo_uri: SecretStr, mongo_connection: MongoConnection) -> AsyncIterator[MongoConnection]:
    """A migrated database; commands of actors wait at its gates."""
    name = f"property_{uuid.uuid4().hex}"
    connection = gated_connection(mongo_uri, name, mongo_connection.server_version)
    await migrate(connection)
    checkpoints.install(stop_at_checkpoint)
    yield connection
    checkpoints.install(None)
    await connection.client.drop_database(name)
    await connection.close()


@pytest.fixture(scope="module")
def launch(gated: MongoConnection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    """Starts a process of the platform on the gated database."""
    directory: Path = tmp_path_factory.mktemp("property")
    with pytest.MonkeyPatch.context() as patch:
        yield launcher(gated, directory, patch)


async def emptied(connection: MongoConnection) -> None:
    """The database without a row: migrating anew would take longer than most schedules."""
    for name in await connection.database.list_collection_names():
        if name.startswith("kb_vectors_"):
            await connection.database.drop_collection(name)
        elif name != "schema_migrations":
            await connection.database[name].delete_many({})
