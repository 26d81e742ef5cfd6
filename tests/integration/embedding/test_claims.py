"""Workers that need the same text make one call; one that dies holds the others up for its lease and no longer."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from analytiq.composition import Services
from analytiq.errors import PermanentError
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.inference.embedding.sharing import ELSEWHERE_CODE
from analytiq.settings import EmbeddingSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_claims import EmbeddingClaimRepository
from analytiq.tenancy.metering.audit import imbalances
from tests.fakes.embedding_server import EmbeddingServer, Failure, Outcome
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
TEXTS = [f"text {number}" for number in range(1000)]
CALLS_NEEDED = 20  # of 50 texts each
WORKERS = 20


def embedding_of(services: Services) -> EmbeddingService:
    return services.inference.embedding


async def claims_left(connection: MongoConnection) -> int:
    return await connection.database["embedding_claims"].count_documents({})


async def test_twenty_workers_with_the_same_texts_pay_for_none_twice_and_make_one_call_more_each_at_most(
    tenant: Tenant,
    compose_services: Compose,
    embedding_server: EmbeddingServer,
    books: Books,
    migrated: MongoConnection,
) -> None:
    kb = await tenant.knowledge_base()
    calls = embedding_server.calls
    processes = [await compose_services() for _ in range(5)]
    services = [embedding_of(processes[number % 5]) for number in range(WORKERS)]
    answers = await asyncio.gather(*(each.embed_chunks(tenant.organization, kb, TEXTS) for each in services))
    assert {embedding_server.text_counts[text] for text in TEXTS} == {1}
    assert CALLS_NEEDED <= embedding_server.calls - calls <= CALLS_NEEDED + WORKERS
    assert await books.spus() == len(TEXTS)
    for vectors in answers:
        np.testing.assert_array_equal(vectors, answers[0])
    saved = await migrated.database["spu_savings"].find({}).to_list()
    assert sum(row["saved_spus"] for row in saved) == (WORKERS - 1) * len(TEXTS)
    assert await claims_left(migrated) == 0


async def test_same_document_of_twenty_organizations_at_once_is_embedded_once_through_errors_of_the_provider(
    tenant: Tenant, compose_services: Compose, embedding_server: EmbeddingServer, migrated: MongoConnection
) -> None:
    processes = [await compose_services() for _ in range(4)]
    tenants = [await new_tenant(processes[number % 4]) for number in range(WORKERS)]
    for each in tenants:
        await each.knowledge_base()
        await each.drain()
        await each.upload("a.txt", prose("whales", 200))

    def every_third_fails(number: int) -> Outcome:
        return Failure.SERVER_ERROR if number % 3 == 0 else None

    embedding_server.rule(every_third_fails)

    async def work(each: Tenant) -> None:
        while await migrated.database["jobs"].count_documents({"state": {"$ne": "dead"}}):
            await each.drain()
            await asyncio.sleep(0.05)

    await asyncio.gather(*(work(each) for each in tenants))
    whales = {text: count for text, count in embedding_server.text_counts.items() if "whales" in text}
    assert (len(whales), set(whales.values())) == (200, {1})
    assert await migrated.database["document_index"].count_documents({"chunk_count": 200}) == WORKERS
    assert imbalances(await BooksRepository(migrated).read()) == []


async def test_call_that_fails_leaves_no_claim_behind(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.UNAUTHORIZED)
    with pytest.raises(PermanentError):
        await embedding_of(tenant.services).embed_chunks(tenant.organization, kb, TEXTS[:60])
    assert await claims_left(migrated) == 0


async def test_call_that_is_cancelled_leaves_no_claim_and_no_reservation_behind(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.SLOW)
    embedding = embedding_of(tenant.services)
    task = asyncio.create_task(embedding.embed_chunks(tenant.organization, kb, ["a", "b"]))
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    assert await claims_left(migrated) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    embedding_server.release()
    account = await tenant.services.tenancy.metering.account(tenant.id)
    assert (account.used, account.reserved, await claims_left(migrated)) == (0, 0, 0)


async def test_claim_of_a_dead_worker_is_taken_over_when_its_lease_ends(migrated: MongoConnection) -> None:
    claims = EmbeddingClaimRepository(migrated)
    assert await claims.take(["a", "b"], "dead", lease_seconds=0.3) == {"a", "b"}
    assert await claims.take(["a", "b", "c"], "alive", lease_seconds=30) == {"c"}
    deadline = time.monotonic() + 30
    while (taken := await claims.take(["a", "b"], "alive", lease_seconds=30)) != {"a", "b"}:
        assert taken == set()
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await claims.release(["a", "b"], "dead")
    assert await claims.take(["a", "b"], "third", lease_seconds=30) == set(), "the dead cannot release what is not his"
    assert await claims.held(["a", "b", "c", "d"]) == {"a", "b", "c"}


async def test_texts_of_a_worker_that_died_are_embedded_by_the_one_that_waits(
    tenant: Tenant,
    compose_services: Compose,
    embedding_server: EmbeddingServer,
    migrated: MongoConnection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.SLOW)
    monkeypatch.setattr("analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS", 1)
    dead = embedding_of(await compose_services(embedding=EmbeddingSettings(allow_global_cache=True, batch_size=50)))
    claims = dead._filling._claims

    async def die(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    claims.renew = claims.release = die  # type: ignore[method-assign]  # a killed process does neither
    holder = asyncio.create_task(dead.embed_chunks(tenant.organization, kb, ["a", "b"]))
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    alive = embedding_of(await compose_services())
    assert (await alive.embed_chunks(tenant.organization, kb, ["a", "b"])).shape == (2, 64)
    assert embedding_server.text_counts["a"] == 1, "of the first call nobody has heard again"
    holder.cancel()
    embedding_server.release()
    assert imbalances(await BooksRepository(migrated).read()) == []


async def test_claim_that_is_renewed_outlasts_its_lease(
    tenant: Tenant,
    compose_services: Compose,
    embedding_server: EmbeddingServer,
    migrated: MongoConnection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.SLOW)
    monkeypatch.setattr("analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS", 0.6)
    slow = embedding_of(await compose_services(embedding=EmbeddingSettings(allow_global_cache=True)))
    holder = asyncio.create_task(slow.embed_chunks(tenant.organization, kb, ["a"]))
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    (row,) = await migrated.database["embedding_claims"].find({}).to_list()
    first = row["lease_expires_at"]
    deadline = time.monotonic() + 30
    while (await migrated.database["embedding_claims"].find({}).to_list())[0]["lease_expires_at"] == first:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    embedding_server.release()
    await holder
    assert embedding_server.text_counts["a"] == 1


async def test_forty_that_claim_the_same_keys_share_them_out(migrated: MongoConnection) -> None:
    claims = EmbeddingClaimRepository(migrated)
    keys = [f"key {number}" for number in range(50)]
    taken = await asyncio.gather(*(claims.take(keys, f"worker {number}", lease_seconds=60) for number in range(40)))
    assert sorted(key for one in taken for key in one) == sorted(keys)


async def test_worker_whose_texts_another_holds_goes_on_when_they_are_there(
    tenant: Tenant,
    compose_services: Compose,
    embedding_server: EmbeddingServer,
    migrated: MongoConnection,
    eventually: EventuallyTrue,
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.SLOW)
    one = embedding_of(tenant.services)
    other = embedding_of(await compose_services())
    holder = asyncio.create_task(one.embed_chunks(tenant.organization, kb, ["a", "b"]))
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    waiter = asyncio.create_task(other.embed_chunks(tenant.organization, kb, ["b", "c"]))
    await eventually(lambda: embedding_server.text_counts["c"] == 1)
    assert not waiter.done()
    embedding_server.release()
    assert (await holder).shape == (await waiter).shape == (2, 64)
    assert {embedding_server.text_counts[text] for text in "abc"} == {1}
    assert imbalances(await BooksRepository(migrated).read()) == []


async def test_worker_gives_its_slot_back_when_another_takes_too_long_and_its_job_is_none_the_worse(
    tenant: Tenant, compose_services: Compose, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    document = (await tenant.upload("a.txt", prose("whales", 2))).document
    other = await new_tenant(tenant.services)
    other_kb = await other.knowledge_base()
    embedding_server.script(Failure.SLOW)
    texts = prose("whales", 2).split("\n")
    holder = asyncio.create_task(
        embedding_of(tenant.services).embed_chunks(other.organization, other_kb, [f"{texts[0]}\n", texts[1]])
    )
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    monkeypatch.setattr("analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS", 0.3)
    waiting = tenant.seen_by(await compose_services(embedding=EmbeddingSettings(allow_global_cache=True)))
    await waiting.drain()
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.attempt, job.error and job.error.code) == (0, ELSEWHERE_CODE)
    embedding_server.release()
    await holder
    await tenant.services.repositories.jobs.wake(tenant.id, error_code=ELSEWHERE_CODE)
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == [document.id]
    assert {embedding_server.text_counts[text] for text in embedding_server.text_counts if "whales" in text} == {1}


async def test_question_does_not_wait_for_a_claim(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.script(Failure.SLOW)
    first = asyncio.create_task(tenant.search(kb.id, "whales?"))
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    await tenant.search(kb.id, "whales?")
    embedding_server.release()
    await first
    assert await books.spus("search") == 1
