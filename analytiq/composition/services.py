"""All services of the platform, in groups built on first use."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import cached_property

import structlog

from analytiq.composition.assistants import Assistants
from analytiq.composition.inference import Inference
from analytiq.composition.ingestion import Ingestion
from analytiq.composition.jobs import JobServices
from analytiq.composition.operations import Operations
from analytiq.composition.retrieval import Retrieval
from analytiq.composition.tenancy import Tenancy
from analytiq.errors import AnalytiqError
from analytiq.inference.providers.guarded_http import close_idle_connections
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.telemetry import metrics

log = structlog.get_logger(__name__)


class Services:
    """The services of one process, on one database."""

    def __init__(self, settings: Settings, connection: MongoConnection) -> None:
        self.settings = settings
        self.connection = connection
        self.repositories = Repositories(connection)
        self.closing = AsyncExitStack()
        """Closes the services that were built, the last one first."""
        self.when_closing_begins: list[Callable[[], None]] = []
        """Ends the streams to callers, which a stopping server would otherwise wait for."""
        self._background: set[asyncio.Task[None]] = set()

    @cached_property
    def tenancy(self) -> Tenancy:
        """Organizations, people, rights, metering and limits."""
        return Tenancy(self)

    @cached_property
    def inference(self) -> Inference:
        """Providers' keys, and the ways to their models."""
        return Inference(self)

    @cached_property
    def retrieval(self) -> Retrieval:
        """Indexes and search."""
        return Retrieval(self)

    @cached_property
    def ingestion(self) -> Ingestion:
        """Documents, tags and knowledge bases, from upload to index."""
        return Ingestion(self)

    @cached_property
    def assistants(self) -> Assistants:
        """Conversations and prompts."""
        return Assistants(self)

    @cached_property
    def operations(self) -> Operations:
        """The reconciler, erasures, retention and live events."""
        return Operations(self)

    @cached_property
    def jobs(self) -> JobServices:
        """Handlers, runners and operators' views of jobs."""
        return JobServices(self)

    async def prepare(self) -> None:
        """Store the platform's provider keys, and open the backends of KBs; once per process."""
        metrics.name_tenants(self.settings.telemetry.metrics_name_tenants)
        stored = await self.inference.credentials.store_platform_defaults(provider_keys_from_environment())
        if stored:
            log.info("credentials.stored_from_environment", providers=stored)
        await self.retrieval.open_backends()

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Run work outside of the caller's answer, so that its duration reveals nothing; `close` awaits its end."""

        async def logged() -> None:
            try:
                await work
            except AnalytiqError as error:
                log.warning("background.failed", code=error.code, detail=error.detail)

        task = asyncio.create_task(logged())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def settled(self) -> None:
        """Wait for the work that runs in the background."""
        await asyncio.gather(*self._background, return_exceptions=True)

    def begin_closing(self) -> None:
        """End the streams to callers."""
        for end in self.when_closing_begins:
            end()

    async def close(self) -> None:
        """End background work, and close every connection."""
        await self.settled()
        await self.closing.aclose()
        await close_idle_connections()
        await self.connection.close()


async def compose(settings: Settings, connection: MongoConnection) -> Services:
    """Prepare the services of a process on a migrated database."""
    services = Services(settings, connection)
    await services.prepare()
    return services
