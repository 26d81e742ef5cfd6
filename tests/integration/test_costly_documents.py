"""Documents that cost much hold up nobody else, end with their deletion, and are given up by a budget that is told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil
import pytest

from analytiq.composition import Services
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.ingestion.parsing.servers import running_server
from analytiq.jobs.queue.runner import QueueRunner
from analytiq.models.document import Document, DocumentState
from analytiq.models.job import Job, JobState
from analytiq.settings import ExtractionSettings, WorkerSettings
from tests.costly_files import scans
from tests.integration.tenant import Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@asynccontextmanager
async def at_work(services: Services) -> AsyncGenerator[None]:
    runner = services.jobs.new_runner()
    working = asyncio.create_task(runner.run())
    try:
        yield
    finally:
        await runner.stop(drain_seconds=0)
        await working


async def states(tenant: Tenant, documents: list[Document]) -> list[DocumentState]:
    return [(await tenant.services.ingestion.documents.get(tenant.id, item.id)).state for item in documents]


async def test_eleven_bytes_are_searchable_while_another_organizations_scans_are_still_read(
    compose_services: Compose, eventually: EventuallyTrue
) -> None:
    services = await compose_services(worker=WorkerSettings(concurrency=4))
    busy, other = await new_tenant(services), await new_tenant(services)
    kb = await other.knowledge_base()
    await other.drain()
    costly = [(await busy.upload(f"scan {number}.pdf", scans(400))).document for number in range(4)]

    async def all_are_read() -> bool:
        return await states(busy, costly) == [DocumentState.EXTRACTING] * 4

    async with at_work(services):
        await eventually(all_are_read)
        small = (await other.upload("small.txt", "eleven byte")).document

        async def is_found() -> bool:
            (state,) = await services.ingestion.indexing_states.of_document(
                await services.ingestion.documents.get(other.id, small.id)
            )
            return state.state is IndexingState.INDEXED

        await eventually(is_found)
        assert await other.found(kb.id, "eleven") == [small.id]
        assert await states(busy, costly) == [DocumentState.EXTRACTING] * 4


def parsers() -> set[int]:
    """The processes that the parsing server has forked and that have not ended."""
    return {child.pid for child in psutil.Process(running_server().pid).children() if child.status() != "zombie"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A document whose parser runs, and the runner of its job."""

    tenant: Tenant
    document: Document
    runner: QueueRunner
    eventually: EventuallyTrue

    async def job(self) -> Job | None:
        return await self.tenant.services.repositories.jobs.get(f"extract:{self.document.id}")

    async def until_parser_and_slot_are_free(self) -> None:
        await self.eventually(lambda: not parsers())
        await self.eventually(lambda: self.runner.running_jobs == 0)


@pytest.fixture
async def reading(
    compose_services: Compose, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Reading]:
    # No heartbeat comes within a test, as in a process that was told nothing.
    monkeypatch.setattr("analytiq.jobs.queue.runner.LONGEST_HEARTBEAT_SECONDS", 3600.0)
    services = await compose_services()
    tenant = await new_tenant(services)
    document = (await tenant.upload("scan.pdf", scans(400))).document
    runner = services.jobs.new_runner()
    working = asyncio.create_task(runner.run())
    read = Reading(tenant, document, runner, eventually)

    async def is_read() -> bool:
        job = await read.job()
        return job is not None and job.progress is not None

    try:
        await eventually(is_read)
        assert len(parsers()) == 1
        yield read
    finally:
        await runner.stop(drain_seconds=0)
        await working


async def test_deleted_document_ends_its_parser(reading: Reading) -> None:
    # By another process, as it were: nothing but the database is shared.
    await reading.tenant.services.ingestion.documents.delete(reading.tenant.id, reading.document.id)
    await reading.until_parser_and_slot_are_free()
    assert await reading.job() is None


async def test_cancelled_job_ends_its_parser_and_fails_its_document(reading: Reading) -> None:
    tenant = reading.tenant
    await tenant.services.jobs.operations.cancel(tenant.id, f"extract:{reading.document.id}")
    await reading.until_parser_and_slot_are_free()
    job = await reading.job()
    assert job is not None
    assert job.error is not None
    assert (job.state, job.error.code) == (JobState.DEAD, "cancelled")
    assert await states(tenant, [reading.document]) == [DocumentState.FAILED]


async def test_shutdown_ends_parsers_and_returns_their_jobs(reading: Reading) -> None:
    await reading.runner.stop(drain_seconds=0)
    await reading.until_parser_and_slot_are_free()
    job = await reading.job()
    assert job is not None
    assert job.state is JobState.AVAILABLE


async def test_document_beyond_the_budget_of_its_size_fails_and_says_so(compose_services: Compose) -> None:
    services = await compose_services(extraction=ExtractionSettings(cpu_seconds_least=2))
    tenant = await new_tenant(services)
    document = (await tenant.upload("scan.pdf", scans(400))).document
    await tenant.drain()
    failed = await services.ingestion.documents.get(tenant.id, document.id)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (DocumentState.FAILED, "limit_exceeded")
    assert f"the most for a file of {document.byte_size:,} bytes" in failed.error.detail
