"""An organization at its quota: nothing is lost, nothing is given away, and all goes on after a top-up."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import InvalidInputError, QuotaExceededError, RateLimitedError, TransientError
from analytiq.ingestion.documents.indexing_state import IndexingState
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.settings import WorkerSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import MIGRATIONS
from analytiq.storage.repositories.embedding_cache import CacheRow
from analytiq.tenancy.metering import charges
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]

WORKERS = 20
DOCUMENTS = 40
SENTENCES = 24
"""Below a thousand in all: each is a chunk then, and no two are alike."""


def purpose_of(tenant: Tenant, operation: Operation = Operation.INDEX) -> SpuPurpose:
    return SpuPurpose(organization_id=tenant.id, kb_id=None, operation=operation, embedding_model=REMOTE_MODEL)


async def figures(tenant: Tenant) -> tuple[int | None, int, int]:
    """(quota, used, reserved)"""
    account = await tenant.services.tenancy.metering.account(tenant.id)
    return account.quota, account.used, account.reserved


async def charged(connection: MongoConnection) -> int:
    return sum([row["spus"] async for row in connection.database["spu_ledger"].find({})])


@contextlib.asynccontextmanager
async def working(*applications: Services) -> AsyncGenerator[None]:
    """Workers of these processes."""
    runners = [services.jobs.new_runner() for services in applications]
    tasks = [asyncio.create_task(runner.run()) for runner in runners]
    try:
        yield
    finally:
        await asyncio.gather(*(runner.stop(drain_seconds=20) for runner in runners))
        await asyncio.gather(*tasks)


# The driver may leave the socket of a connection that a stopped worker was opening to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_at_the_quota_nothing_is_lost_and_all_jobs_resume_after_a_top_up_exactly_under_20_workers(
    compose_services: Compose, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    applications = [await compose_services(worker=WorkerSettings(concurrency=1)) for _ in range(WORKERS)]
    tenant = await new_tenant(applications[0])
    metering = tenant.services.tenancy.metering
    kb = await tenant.knowledge_base()
    total = DOCUMENTS * SENTENCES
    await metering.set_quota(tenant.id, total // 3)
    for number in range(DOCUMENTS):
        await tenant.upload(f"{number}.txt", prose("whales", SENTENCES, first=number * SENTENCES))

    async def is_used(spus: int) -> bool:
        return await figures(tenant) == (spus, spus, 0)

    async def is_indexed() -> bool:
        return await migrated.database["document_index"].count_documents({"kb_id": kb.id}) == DOCUMENTS

    async with working(*applications):
        await eventually(lambda: is_used(total // 3))
        assert await charged(migrated) == total // 3
        await metering.top_up(tenant.id, total // 3)
        await eventually(lambda: is_used(2 * (total // 3)))
        assert await charged(migrated) == 2 * (total // 3)
        await metering.set_quota(tenant.id, total)
        await eventually(is_indexed)
    assert await figures(tenant) == (total, total, 0)
    assert await charged(migrated) == await migrated.database["embedding_cache"].count_documents({}) == total
    assert await migrated.database["jobs"].count_documents({"state": "dead"}) == 0


async def test_search_out_of_quota_says_so_and_questions_asked_before_stay_free(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.search(kb.id, "whales")
    await tenant.services.tenancy.metering.set_quota(tenant.id, 6)
    with pytest.raises(QuotaExceededError, match="quota add"):
        await tenant.search(kb.id, "birds")
    assert (await tenant.search(kb.id, "whales")).results
    assert await figures(tenant) == (6, 6, 0)


async def test_document_out_of_quota_shows_that_it_waits_and_what_the_quota_allows_is_embedded(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.services.tenancy.metering.set_quota(tenant.id, 70)
    document = await tenant.document("a.txt", prose("whales", 100))
    (state,) = await tenant.services.ingestion.indexing_states.of_document(document)
    assert (state.state, state.error and state.error.code) == (IndexingState.WAITING_FOR_QUOTA, "quota_exceeded")
    assert "waits for SPUs" in (state.reason or "")
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert job.attempt == 0
    assert await figures(tenant) == (70, 70, 0)
    assert await migrated.database["embedding_cache"].count_documents({}) == 70
    await tenant.services.tenancy.metering.top_up(tenant.id, 30)
    await tenant.drain()
    (state,) = await tenant.services.ingestion.indexing_states.of_document(document)
    assert state.state is IndexingState.INDEXED
    assert await figures(tenant) == (100, 100, 0)


async def test_document_whose_embeddings_are_cached_is_indexed_at_the_quota(tenant: Tenant) -> None:
    await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 20))
    await tenant.services.tenancy.metering.set_quota(tenant.id, 0)
    second = await tenant.knowledge_base()
    await tenant.drain()
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, second.id)).chunk_count == 20


async def test_failed_call_gives_back_what_was_reserved_for_it(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(Failure.UNAUTHORIZED)
    await tenant.document("a.txt", prose("whales", 5))
    assert await figures(tenant) == (None, 0, 0)


async def test_reservation_of_a_process_that_died_is_given_back_and_counted_apart(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    metering = tenant.services.tenancy.metering
    await metering.set_quota(tenant.id, 10)
    monkeypatch.setattr(charges, "RESERVATION_SECONDS", 0.0)
    async with metering.reserved(purpose_of(tenant), 10):
        monkeypatch.undo()
        await asyncio.sleep(0.002)  # the server's clock counts milliseconds, and has to be past it
        # As another process sees it: the last SPUs are somebody's who is not there any more.
        async with metering.reserved(purpose_of(tenant), 10) as reservation:
            assert reservation.spus == 10
    assert await figures(tenant) == (10, 0, 0)
    (total,) = await metering.totals(tenant.id, since=None, until=None)
    assert (total.spus, total.unconfirmed_spus) == (0, 10)


async def test_call_that_ends_after_its_reservation_is_not_charged_and_keeps_nothing(
    tenant: Tenant, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch, cache_row: CacheRow
) -> None:
    metering = tenant.services.tenancy.metering
    monkeypatch.setattr(charges, "RESERVATION_SECONDS", 0.0)
    async with metering.reserved(purpose_of(tenant), 1) as reservation:
        await asyncio.sleep(0.002)  # as above
        assert await metering.return_expired(tenant.id) == 1
        with pytest.raises(TransientError, match="expired before the call ended"):
            await metering.keep_and_charge(reservation, [cache_row])
    assert await migrated.database["embedding_cache"].count_documents({}) == await charged(migrated) == 0
    assert await figures(tenant) == (None, 0, 0)


async def test_charge_whose_release_was_lost_is_counted_once_when_its_reservation_expires(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, cache_row: CacheRow
) -> None:
    metering = tenant.services.tenancy.metering
    monkeypatch.setattr(charges, "RESERVATION_SECONDS", 0.0)
    async with metering.reserved(purpose_of(tenant), 5) as reservation:
        assert await metering.keep_and_charge(reservation, [cache_row]) == 1
        await asyncio.sleep(0.002)  # as above
        assert await metering.return_expired(tenant.id) == 1
    assert await figures(tenant) == (None, 1, 0)
    (total,) = await metering.totals(tenant.id, since=None, until=None)
    assert (total.spus, total.unconfirmed_spus) == (1, 0)


async def test_last_spus_that_others_have_reserved_are_worth_waiting_for(tenant: Tenant) -> None:
    metering = tenant.services.tenancy.metering
    await metering.set_quota(tenant.id, 3)
    async with metering.reserved(purpose_of(tenant), 5) as reservation:
        assert reservation.spus == 3
        with pytest.raises(RateLimitedError) as refused:
            async with metering.reserved(purpose_of(tenant), 1):
                pass
        assert (refused.value.code, refused.value.retry_after) == ("quota_reserved", charges.RESERVED_WAIT_SECONDS)


async def test_quota_of_one_organization_is_not_anothers(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await tenant.services.tenancy.metering.set_quota(tenant.id, 0)
    async with tenant.services.tenancy.metering.reserved(purpose_of(other), 7) as reservation:
        assert reservation.spus == 7


async def test_quota_that_makes_no_sense_is_refused(tenant: Tenant) -> None:
    metering = tenant.services.tenancy.metering
    for wrong in (metering.set_quota(tenant.id, -1), metering.top_up(tenant.id, 0), metering.top_up(tenant.id, 5)):
        with pytest.raises(InvalidInputError):
            await wrong


async def test_migration_opens_accounts_with_what_the_ledger_says_was_used(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await migrated.database["spu_accounts"].delete_many({})
    step = next(step for step in MIGRATIONS if "accounts" in step.name)
    for _ in range(2):
        assert step.apply is not None
        await step.apply(migrated)
    assert await figures(tenant) == (None, 5, 0)
