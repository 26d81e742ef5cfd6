"""A platform of one process on a mongod of its own, in a temporary directory that is removed afterwards."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from analytiq.bootstrap import Application, bootstrap
from analytiq.credentials.encryption import new_secret_key
from analytiq.knowledge_bases.service import NewKnowledgeBase
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.tag import Tag
from analytiq.mongo.data_directory import DataDirectory
from analytiq.mongo.embedded import EmbeddedServer
from analytiq.parsing.sandbox import stop_server
from analytiq.settings import IndexingSettings, MongoSettings, SearchSettings, Settings
from analytiq.telemetry import logs
from benchmarks.processor_time import ProcessorClock

POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Server:
    """A running mongod."""

    uri: SecretStr
    pid: int
    directory: Path


@dataclass(frozen=True, slots=True)
class Platform:
    """The library on an empty database, with an organization and a tag."""

    application: Application
    organization: Organization
    tag: Tag
    clock: ProcessorClock

    async def create_knowledge_base(
        self, *, model: str, chunk_size: int = 256, chunk_overlap: int = 0
    ) -> KnowledgeBase:
        """A knowledge base of everything that has the tag."""
        wanted = NewKnowledgeBase(
            name="Benchmark",
            description="",
            tag_ids=(self.tag.id,),
            chunker_type="recursive",
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            embedding_model=model,
            coalesce_neighbors=0,
        )
        return await self.application.knowledge_bases.create(self.organization, wanted)

    async def until_idle(self) -> None:
        """Wait until no job is left; a dead one ends the benchmark."""
        while counts := await self.application.jobs.counts():
            if any(state == "dead" for _, state in counts):
                raise SystemExit(f"a job has failed: {counts}; nothing that was measured counts")
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def running_server() -> AsyncGenerator[Server]:
    """The embedded mongod with its default limits."""
    logs.configure(as_json=False, level="WARNING", process="benchmark")
    with (
        tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory,
        DataDirectory.claim(Path(directory)) as claimed,
    ):
        server = EmbeddedServer(claimed)
        uri = await server.start()
        try:
            assert server.pid is not None
            yield Server(uri, server.pid, Path(directory))
        finally:
            await server.stop()
            stop_server()


@asynccontextmanager
async def platform(server: Server, database: str, *, local_store_bytes: int | None = None) -> AsyncGenerator[Platform]:
    """The library in this process on an empty database of the server, which is dropped afterwards."""
    search = SearchSettings(load_wait_seconds=600.0)
    if local_store_bytes is not None:
        search = search.model_copy(update={"local_store_bytes": local_store_bytes})
    settings = Settings(
        data_dir=server.directory,
        secret_key=SecretStr(new_secret_key()),
        mongo=MongoSettings(uri=server.uri, database=database),
        # The wait before a sweep protects readers; here its work is to be counted.
        indexing=IndexingSettings(sweep_delay_seconds=0.0),
        search=search,
    )
    application = await bootstrap(settings)
    try:
        organization = await application.organizations.create("Benchmark")
        tag = await application.tags.create(organization.id, name="benchmark", color="#000000", description="")
        yield Platform(application, organization, tag, ProcessorClock(server.pid))
    finally:
        await application.connection.client.drop_database(database)
        await application.close()


@asynccontextmanager
async def working(application: Application, *, slots: int | None = None) -> AsyncGenerator[None]:
    """Within the block a worker runs in this process, as `python -m workers` runs it, by default with as many slots."""
    runner = application.queue_runner()
    if slots is not None:
        runner.resize(slots)
    running = asyncio.create_task(runner.run())
    settling = asyncio.create_task(application.life_cycle.settle_continuously())
    try:
        yield
    finally:
        await runner.stop(drain_seconds=5.0)
        await running
        settling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await settling
        await application.life_cycle.settle_noted()
