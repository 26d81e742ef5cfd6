"""Fixtures of the integration tests: the whole library on a migrated database; mongod processes to be broken."""

import asyncio
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import SecretStr

from analytiq.composition import Services, compose
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder
from analytiq.settings import (
    EmbeddingSettings,
    LexicalSettings,
    ProviderSettings,
    QueueSettings,
    SearchSettings,
    Settings,
)
from analytiq.standalone import embedded_guardian
from analytiq.standalone.embedded_binary import find_binaries
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.providers import ProviderRepository
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]


@pytest.fixture(scope="session", autouse=True)
def plain_logs() -> Iterator[None]:
    """Log a line an event: unconfigured, structlog draws the variables of every frame of an exception."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
async def platform_database(mongo_connection: MongoConnection) -> AsyncIterator[MongoConnection]:
    """This worker's one migrated database: migrating takes 0.5 s, emptying 0.02 s."""
    view = mongo_connection.using(f"platform_{uuid.uuid4().hex}")
    await migrate(view)
    yield view
    await mongo_connection.client.drop_database(view.database)


@pytest.fixture
async def migrated(platform_database: MongoConnection) -> AsyncIterator[MongoConnection]:
    """A migrated database without a row; do not close it."""
    yield platform_database
    for name in await platform_database.database.list_collection_names():
        if name.startswith("kb_vectors_"):
            await platform_database.database.drop_collection(name)
        elif name != "schema_migrations":
            await platform_database.database[name].delete_many({})


@pytest.fixture(scope="session")
def secret_key() -> SecretStr:
    """The key that the tests' applications encrypt with."""
    return SecretStr(new_secret_key())


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalEmbedder]:
    """The local model, loaded once for all tests of this worker."""
    embedder = LocalEmbedder(LOCAL_MODEL)
    yield embedder
    embedder.close()


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    """A provider of embeddings, stored as `openai`'s; its model is `tests.integration.tenant.REMOTE_MODEL`."""
    with EmbeddingServer(retry_after="0") as server:
        yield server


@pytest.fixture
async def compose_services(
    migrated: MongoConnection,
    secret_key: SecretStr,
    local_model: LocalEmbedder,
    embedding_server: EmbeddingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Compose:
    """Compose the services of a process, by default with a large cache of vectors and small batches.

    Each call stands for another process; keyword arguments are sections of the settings.
    """
    monkeypatch.setattr("analytiq.inference.embedding.models.LocalEmbedder", lambda *_, **__: local_model)
    vault = Vault(secret_key)

    async def composed(**sections: Any) -> Services:
        wanted: dict[str, Any] = {
            "queue": QueueSettings(poll_seconds=0.05),
            "embedding": EmbeddingSettings(batch_size=50, timeout_seconds=20, allow_global_cache=True),
            # The tests' servers are on this machine.
            "providers": ProviderSettings(allow_private_addresses=True),
            # A stalled machine is no reason for a search without an answer.
            "search": SearchSettings(load_wait_seconds=60.0, leg_timeout_seconds=60.0, step_timeout_seconds=60.0),
            "lexical": LexicalSettings(build_wait_seconds=60.0),
            **sections,
        }
        credentials = Credentials(ProviderRepository(migrated), vault)
        await credentials.store_platform_defaults(
            {"openai": (SecretStr(embedding_server.api_key), embedding_server.url)}
        )
        return await compose(Settings(data_dir=tmp_path, secret_key=secret_key, **wanted), migrated)

    return composed


@pytest.fixture
async def services(compose_services: Compose) -> Services:
    """The whole library, as one process has it."""
    return await compose_services()


@pytest.fixture
async def tenant(services: Services) -> Tenant:
    """An organization with a tag; `Tenant.knowledge_base` and `Tenant.document` give it the rest."""
    return await new_tenant(services)


EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
def eventually() -> EventuallyTrue:
    """Wait until a condition holds, at most a minute."""

    async def wait(condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(60):
            while True:
                holds = condition()
                if not isinstance(holds, bool):
                    holds = await holds
                if holds:
                    return
                await asyncio.sleep(0.02)

    return wait


StartMongod = Callable[..., Awaitable[int]]


@pytest.fixture
async def start_mongod(tmp_path: Path) -> AsyncIterator[StartMongod]:
    """Start a bare mongod, without authentication, with the given options; returns its port."""
    async with AsyncExitStack() as stack:

        async def start(*options: str) -> int:
            return await stack.enter_async_context(_mongod(tmp_path, options))

        yield start


@asynccontextmanager
async def _mongod(directory: Path, options: tuple[str, ...]) -> AsyncGenerator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    data = directory / f"mongod-{port}"
    data.mkdir()
    process = subprocess.Popen(
        [
            *(str(find_binaries()[-1]), "--dbpath", str(data), "--port", str(port), "--bind_ip", "127.0.0.1"),
            *("--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--logpath", str(data / "log")),
            *("--setParameter", "diagnosticDataCollectionEnabled=false", *options),
        ],
        stdout=subprocess.DEVNULL,
    )
    guardian = _guarded(process)
    try:
        async with asyncio.timeout(60):
            while not _accepts(port):
                assert process.poll() is None, (data / "log").read_text()[-2000:]
                await asyncio.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()
        guardian.wait()


def _guarded(mongod: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """End it also when this test run is killed, as the embedded server's guardian does."""
    run, server = os.pidfd_open(os.getpid()), os.pidfd_open(mongod.pid)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", embedded_guardian.__file__, str(run), str(server)],
            pass_fds=(run, server),
            start_new_session=True,
        )
    finally:
        os.close(run)
        os.close(server)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
