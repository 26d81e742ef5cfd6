"""A platform whose processes are broken: a database, this process's view of it, and processes to start."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pymongo.errors import PyMongoError

from analytiq.composition import Services, compose
from analytiq.errors import TransientError
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.providers import Credentials
from analytiq.operations.reconcile.report import Report
from analytiq.settings import IndexingSettings, QueueSettings, ReconcilerSettings, Settings, SourceSettings
from analytiq.storage.client import MongoConnection, translate
from analytiq.storage.repositories.providers import ProviderRepository
from tests.fakes.embedding_server import EmbeddingServer
from tests.fault.processes import Nursery, Processes
from tests.integration.tenant import Tenant, new_tenant

LEASE_SECONDS = 1.0
SWEEP_DELAY_SECONDS = 0.6
"""Longer than any search of these small knowledge bases takes: a sweep may come to nobody who still reads."""
PATIENCE_SECONDS = 90.0
LOOK_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Site:
    """`tenant` and `services` act in the test's process; workers run in `processes` only."""

    tenant: Tenant
    connection: MongoConnection
    processes: Processes
    embedding_server: EmbeddingServer

    @property
    def services(self) -> Services:
        return self.tenant.services

    @property
    def database(self) -> Any:
        return self.connection.database

    async def until(
        self,
        condition: Callable[[], Awaitable[bool]],
        otherwise: Callable[[], Awaitable[object]],
        *,
        remaining: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        """Wait until the condition holds, also while the database is away; else the error tells `otherwise`.

        Patience begins again whenever `remaining` falls below its least value so far: a slow machine is no fault.
        """
        least: int | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS) as patience:
                while True:
                    try:
                        if await condition():
                            return
                        left = None if remaining is None else await remaining()
                        if left is not None and (least is None or left < least):
                            least = left
                            patience.reschedule(asyncio.get_running_loop().time() + PATIENCE_SECONDS)
                    except PyMongoError:
                        pass
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"it never came about: {await otherwise()}") from None

    async def jobs(self) -> list[dict[str, Any]]:
        return [row async for row in self.database["jobs"].find()]

    async def until_idle(self) -> None:
        """Wait until no job is left, waiting, running or dead."""

        async def is_idle() -> bool:
            return await self.database["jobs"].find_one() is None

        async def remaining() -> int:
            return await self.database["jobs"].count_documents({})

        await self.until(is_idle, self.jobs, remaining=remaining)

    async def mend(self) -> Report:
        """Let the running workers work everything off, then one pass of the reconciler and what it asks for."""
        await self.until_idle()
        report = await self.services.operations.reconciler.run_pass()
        await self.until_idle()
        return report

    async def is_indexed(self, kb_id: str, document_id: str) -> bool:
        return await self.database["document_index"].find_one({"kb_id": kb_id, "document_id": document_id}) is not None


def is_passing(error: Exception) -> bool:
    """Return True if a client that meets it should simply ask again."""
    return isinstance(error, TransientError) or (isinstance(error, PyMongoError) and translate(error) is not None)


@asynccontextmanager
async def open_site(
    connection: MongoConnection,
    uri: SecretStr,
    embedding_server: EmbeddingServer,
    nursery: Nursery,
    directory: Path,
    *,
    sources: SourceSettings | None = None,
) -> AsyncGenerator[Site]:
    """A platform on a migrated, empty database; its processes end with the block."""
    sources = sources or SourceSettings()
    secret_key = SecretStr(new_secret_key())
    credentials = Credentials(ProviderRepository(connection), Vault(secret_key))
    await credentials.store_platform_defaults({"openai": (SecretStr(embedding_server.api_key), embedding_server.url)})
    settings = Settings(
        data_dir=directory,
        secret_key=secret_key,
        queue=QueueSettings(lease_seconds=LEASE_SECONDS, poll_seconds=0.05),
        indexing=IndexingSettings(sweep_delay_seconds=SWEEP_DELAY_SECONDS),
        reconciler=ReconcilerSettings(orphan_grace_seconds=0),
        sources=sources,
    )
    services = await compose(settings, connection)
    environment = {
        "MONGODB_URI": uri.get_secret_value(),
        "ANALYTIQ_MONGO__DATABASE": connection.database.name,
        "ANALYTIQ_SECRET_KEY": secret_key.get_secret_value(),
        "ANALYTIQ_DATA_DIR": str(directory),
        "ANALYTIQ_QUEUE__LEASE_SECONDS": str(LEASE_SECONDS),
        "ANALYTIQ_QUEUE__POLL_SECONDS": "0.1",
        "ANALYTIQ_INDEXING__SWEEP_DELAY_SECONDS": str(SWEEP_DELAY_SECONDS),
        "ANALYTIQ_SOURCES__FOLDERS": json.dumps([str(folder) for folder in sources.folders]),
        "ANALYTIQ_SOURCES__PRIVATE_HOSTS": json.dumps(sources.private_hosts),
    }
    constants = {"analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS": LEASE_SECONDS}
    with Processes(nursery, directory, environment, constants=constants).all_ended() as processes:
        yield Site(await new_tenant(services), connection, processes, embedding_server)
