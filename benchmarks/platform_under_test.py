"""A platform of one process on its own mongod, in a temporary directory that is removed afterwards."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from analytiq.composition import Services, bootstrap
from analytiq.inference.credentials.encryption import new_secret_key
from analytiq.ingestion.chunking.registry import DEFAULT_CHUNKER
from analytiq.ingestion.knowledge_bases.service import NewKnowledgeBase
from analytiq.ingestion.parsing.servers import stop_server
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import Organization
from analytiq.models.tag import Tag
from analytiq.settings import (
    EmbeddingSettings,
    IndexingSettings,
    LexicalSettings,
    MongoSettings,
    RateLimitSettings,
    SearchSettings,
    Settings,
    SourceSettings,
)
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from analytiq.storage.ids import new_id
from analytiq.telemetry import logs
from benchmarks.processor_time import ProcessorClock

POLL_SECONDS = 0.2
NO_LIMITS = RateLimitSettings(requests_per_minute=0, tokens_per_minute=0, documents_per_minute=0)


@dataclass(frozen=True, slots=True)
class Server:
    """A running mongod."""

    uri: SecretStr
    pid: int
    directory: Path


@dataclass(frozen=True, slots=True)
class Platform:
    """The library on an empty database, with an organization and a tag."""

    services: Services
    organization: Organization
    tag: Tag
    clock: ProcessorClock

    async def create_knowledge_base(
        self, *, model: str, chunk_size: int = 256, chunk_overlap: int = 0
    ) -> KnowledgeBase:
        """Create a knowledge base of all documents with the tag."""
        wanted = NewKnowledgeBase(
            name=f"Benchmark {new_id()}",
            description="",
            tag_ids=(self.tag.id,),
            chunker_type="recursive",
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            embedding_model=model,
            coalesce_neighbors=0,
        )
        return await self.services.ingestion.knowledge_bases.create(self.organization, wanted)

    async def knowledge_base_named(
        self,
        name: str,
        tag: Tag,
        *,
        model: str | None,
        chunk_size: int,
        chunk_overlap: int,
        chunker: str = DEFAULT_CHUNKER,
        context: bool = True,
    ) -> KnowledgeBase:
        """Return the knowledge base of this name, created if missing; `model` None: the default one."""
        found, _ = await self.services.ingestion.knowledge_bases.page(
            self.organization.id, skip=0, limit=100, name_search=name
        )
        exact = [one for one in found if one.name == name]
        if exact:
            return exact[0]
        wanted = NewKnowledgeBase(
            name=name,
            description="",
            tag_ids=(tag.id,),
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            embedding_model=model,
            coalesce_neighbors=0,
            context=context,
        )
        return await self.services.ingestion.knowledge_bases.create(self.organization, wanted)

    async def until_idle(self) -> None:
        """Wait until no job is left; a failed job ends the benchmark."""
        while counts := await self.services.repositories.jobs.counts():
            if any(state == "dead" for _, state in counts):
                raise SystemExit(f"a job has failed: {counts}; nothing that was measured counts")
            await asyncio.sleep(POLL_SECONDS)


async def tag_named(services: Services, organization: Organization, name: str) -> Tag:
    """Return the organization's tag of this name, created if missing."""
    found, _ = await services.ingestion.tags.page(
        organization.id, skip=0, limit=100, name_search=name, descending=False
    )
    exact = [tag for tag in found if tag.name == name]
    if exact:
        return exact[0]
    return await services.ingestion.tags.create(organization.id, name=name, color="#000000", description="")


@asynccontextmanager
async def running_server(kept: Path | None = None) -> AsyncGenerator[Server]:
    """Run the embedded mongod with its default limits; `kept`: a directory whose data is reused."""
    logs.configure(as_json=False, level="WARNING", process="benchmark")
    passing = tempfile.TemporaryDirectory(prefix="analytiq-benchmark-")
    with passing as directory, DataDirectory.claim(kept or Path(directory)) as claimed:
        server = EmbeddedServer(claimed)
        uri = await server.start()
        try:
            assert server.pid is not None
            yield Server(uri, server.pid, claimed.path)
        finally:
            await server.stop()
            stop_server()


@asynccontextmanager
async def platform(
    server: Server,
    database: str,
    *,
    local_store_bytes: int | None = None,
    most_results: int | None = None,
    is_limited: bool = True,
    is_kept: bool = False,
    model_threads: int = 1,
    sources: SourceSettings | None = None,
) -> AsyncGenerator[Platform]:
    """Build the library in this process on a database of the server.

    `is_kept`: keep the database, and reuse an existing one; otherwise drop it afterwards.
    `is_limited`: whether the usual rate limits apply. `most_results`: of one search. `model_threads`: of the local
    embedding model.
    """
    search = SearchSettings(load_wait_seconds=600.0)
    if most_results is not None:
        search = search.model_copy(update={"max_top_k": most_results})
    if local_store_bytes is not None:
        search = search.model_copy(update={"local_store_bytes": local_store_bytes})
    settings = Settings(
        data_dir=server.directory,
        secret_key=SecretStr(new_secret_key()),
        mongo=MongoSettings(uri=server.uri, database=database),
        embedding=EmbeddingSettings(local_threads=model_threads),
        # The wait before a sweep protects readers; here its work is to be counted.
        indexing=IndexingSettings(sweep_delay_seconds=0.0),
        search=search,
        lexical=LexicalSettings(build_wait_seconds=600.0),
        rate_limits=RateLimitSettings() if is_limited else NO_LIMITS,
        sources=sources or SourceSettings(),
    )
    services = await bootstrap(settings)
    try:
        organization = await services.tenancy.organizations.first() or await services.tenancy.organizations.create(
            "Benchmark"
        )
        tag = await tag_named(services, organization, "benchmark")
        yield Platform(services, organization, tag, ProcessorClock(server.pid))
    finally:
        if not is_kept:
            await services.connection.client.drop_database(database)
        await services.close()


@asynccontextmanager
async def working(services: Services, *, slots: int | None = None) -> AsyncGenerator[None]:
    """Run a worker in this process within the block, as `python -m workers` does, by default with as many slots."""
    runner = services.jobs.new_runner()
    if slots is not None:
        runner.resize(slots)
    running = asyncio.create_task(runner.run())
    settling = asyncio.create_task(services.ingestion.life_cycle.settle_continuously())
    try:
        yield
    finally:
        await runner.stop(drain_seconds=5.0)
        await running
        settling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await settling
        await services.ingestion.life_cycle.settle_noted()
