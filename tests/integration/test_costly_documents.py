"""Documents that cost much hold up nobody else, end with their deletion, and are given up by a budget that is told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from analytiq.composition import Services
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.models.document import Document, DocumentState
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


async def test_deleted_document_ends_its_parser(
    compose_services: Compose, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No heartbeat comes within the test, as in a process that was told nothing.
    monkeypatch.setattr("analytiq.jobs.queue.runner.LONGEST_HEARTBEAT_SECONDS", 3600.0)
    services = await compose_services()
    tenant = await new_tenant(services)
    document = (await tenant.upload("scan.pdf", scans(400))).document

    async def is_read() -> bool:
        job = await services.repositories.jobs.get(f"extract:{document.id}")
        return job is not None and job.progress is not None

    async def is_over() -> bool:
        return await services.repositories.jobs.get(f"extract:{document.id}") is None

    async with at_work(services):
        await eventually(is_read)
        # By another process, as it were: nothing but the database is shared.
        await services.ingestion.documents.delete(tenant.id, document.id)
        await eventually(is_over)


async def test_document_beyond_the_budget_of_its_size_fails_and_says_so(compose_services: Compose) -> None:
    services = await compose_services(extraction=ExtractionSettings(cpu_seconds_least=2))
    tenant = await new_tenant(services)
    document = (await tenant.upload("scan.pdf", scans(400))).document
    await tenant.drain()
    failed = await services.ingestion.documents.get(tenant.id, document.id)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (DocumentState.FAILED, "limit_exceeded")
    assert f"the most for a file of {document.byte_size:,} bytes" in failed.error.detail
