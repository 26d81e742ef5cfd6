"""Evictions from the cache, their order, and the books, which still add up."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from analytiq import clock
from analytiq.composition import Services
from analytiq.inference.embedding.eviction import SPARED, CacheEviction
from analytiq.models.organization import Organization
from analytiq.settings import EmbeddingSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.books import BooksRepository
from analytiq.storage.repositories.embedding_cache import Cached, EmbeddingCacheRepository
from analytiq.telemetry import metrics
from analytiq.tenancy.metering.audit import imbalances
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import Tenant, prose

Compose = Callable[..., Awaitable[Services]]


async def embed(tenant: Tenant, kb_id: str, texts: Sequence[str], organization: Organization | None = None) -> None:
    kb = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb_id)
    await tenant.services.inference.embedding.embed_chunks(organization or tenant.organization, kb, texts)


def eviction_of(connection: MongoConnection, **settings: Any) -> CacheEviction:
    return CacheEviction(connection, EmbeddingCacheRepository(connection), EmbeddingSettings(**settings))


async def age(connection: MongoConnection, period: timedelta) -> None:
    """As if everything had been used so much earlier than it was."""
    milliseconds = int(period.total_seconds() * 1000)
    earlier = {"$subtract": ["$last_used_at", milliseconds]}
    await connection.database["embedding_cache"].update_many({}, [{"$set": {"last_used_at": earlier}}])


async def balances(connection: MongoConnection) -> bool:
    return imbalances(await BooksRepository(connection).read()) == []


async def test_what_was_not_used_for_longest_goes_first_until_the_bound_is_kept(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    old, young = [f"old {number}" for number in range(60)], [f"young {number}" for number in range(40)]
    await embed(tenant, kb.id, old)
    await age(migrated, timedelta(days=2))
    await embed(tenant, kb.id, young)
    await age(migrated, timedelta(hours=1))
    used_again = old[:10]
    await embed(tenant, kb.id, used_again)
    size = await EmbeddingCacheRepository(migrated).size()
    assert size.rows == 100
    bound = size.bytes * 60 // 100
    report = await eviction_of(migrated, cache_max_bytes=bound).run()
    assert report.unused_rows == 0
    assert 40 <= report.surplus_rows <= 50
    assert report.left.rows == 100 - report.surplus_rows
    assert report.left.bytes <= bound
    assert report.removed_bytes == size.bytes - report.left.bytes
    assert await balances(migrated)
    calls = embedding_server.calls
    await embed(tenant, kb.id, [*young, *used_again])
    assert embedding_server.calls == calls, "what was used lately is still there"
    await embed(tenant, kb.id, old[10:])
    assert sum(embedding_server.text_counts[text] == 2 for text in old[10:]) == report.surplus_rows
    assert await balances(migrated)
    assert (await eviction_of(migrated, cache_max_bytes=10**12).run()).removed_bytes == 0


async def test_what_was_used_minutes_ago_stays_however_small_the_bound(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    """An attempt that failed is repeated soon, and must find what it has paid for."""
    kb = await tenant.knowledge_base()
    await embed(tenant, kb.id, ["a", "b", "c"])
    await age(migrated, SPARED - timedelta(minutes=1))
    report = await eviction_of(migrated, cache_max_bytes=1).run()
    assert (report.surplus_rows, report.left.rows) == (0, 3)
    await age(migrated, timedelta(minutes=2))
    await embed(tenant, kb.id, ["a"])
    report = await eviction_of(migrated, cache_max_bytes=1).run()
    assert (report.surplus_rows, report.left.rows) == (2, 1)
    await embed(tenant, kb.id, ["a"])
    assert embedding_server.text_counts["a"] == 1


async def test_eviction_between_two_attempts_at_a_document_makes_the_second_pay_nothing_twice(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.retry_after = "600"
    calls = len(embedding_server.requests)
    embedding_server.rule(lambda number: Failure.RATE_LIMITED if number == calls + 2 else None)
    await tenant.upload("a.txt", prose("whales", 120))
    await tenant.drain()
    assert await migrated.database["embedding_cache"].count_documents({}) == 50
    await eviction_of(migrated, cache_max_bytes=1, cache_unused_days=1).run()
    await migrated.database["rate_limits"].delete_many({})
    await tenant.services.repositories.jobs.wake(tenant.id, error_code="rate_limited")
    await tenant.drain()
    whales = [count for text, count in embedding_server.text_counts.items() if "whales" in text]
    assert (len(whales), max(whales)) == (120, 1)


async def test_what_nobody_used_for_a_set_time_goes_and_one_use_saves_it(
    tenant: Tenant, migrated: MongoConnection, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await embed(tenant, kb.id, ["forgotten", "used", "forgotten too"])
    await age(migrated, timedelta(days=31))
    await embed(tenant, kb.id, ["used"])
    counted = metrics.cache_evictions.labels(reason="unused")._value.get()
    report = await eviction_of(migrated, cache_unused_days=30).run()
    assert (report.unused_rows, report.surplus_rows, report.left.rows) == (2, 0, 1)
    assert metrics.cache_evictions.labels(reason="unused")._value.get() == counted + 2
    assert metrics.cache_rows._value.get() == 1
    assert await books.spus() == 3
    assert await balances(migrated)
    assert (await eviction_of(migrated, cache_unused_days=0).run()).unused_rows == 0


async def test_use_is_noted_to_ten_minutes_and_not_for_each_look_up(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    await embed(tenant, kb.id, ["a"])
    await age(migrated, timedelta(days=2))
    await embed(tenant, kb.id, ["a"])
    (noted,) = await migrated.database["embedding_cache"].distinct("last_used_at")
    assert noted > clock.now() - timedelta(minutes=5)
    await embed(tenant, kb.id, ["a"])
    assert await migrated.database["embedding_cache"].distinct("last_used_at") == [noted]


async def test_row_that_is_used_while_it_is_chosen_to_go_stays(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    await embed(tenant, kb.id, ["a", "b"])
    await age(migrated, timedelta(days=31))
    cache = EmbeddingCacheRepository(migrated)
    choose = cache.least_recently_used

    async def choose_and_be_late(**options: Any) -> list[str]:
        keys = await choose(**options)
        await cache.note_use(keys[:1])
        return keys

    cache.least_recently_used = choose_and_be_late  # type: ignore[method-assign]
    report = await CacheEviction(migrated, cache, EmbeddingSettings(cache_unused_days=30)).run()
    assert (report.unused_rows, report.left.rows) == (1, 1)
    assert await balances(migrated)


async def test_text_that_was_evicted_is_embedded_and_charged_again_and_the_books_add_up(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    for number in range(1, 4):
        await embed(tenant, kb.id, ["a"])
        assert (embedding_server.text_counts["a"], await books.spus()) == (number, number)
        await age(migrated, timedelta(days=31))
        assert (await eviction_of(migrated, cache_unused_days=30).run()).unused_rows == 1
        assert await balances(migrated)


async def test_several_evictions_at_once_while_others_embed_keep_the_books(
    tenant: Tenant, compose_services: Compose, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    texts = [f"text {number}" for number in range(400)]
    # The others may have used all of theirs before anything is chosen to go; nobody uses the spare ones.
    await embed(tenant, kb.id, [*texts[:200], *(f"spare {number}" for number in range(100))])
    await age(migrated, timedelta(hours=1))
    others = [tenant.seen_by(await compose_services()) for _ in range(2)]
    reports, *_ = await asyncio.gather(
        asyncio.gather(*(eviction_of(migrated, cache_max_bytes=20_000).run() for _ in range(3))),
        *(embed(other, kb.id, texts[start:]) for start, other in zip((0, 100), others, strict=True)),
    )
    assert sum(report.surplus_rows for report in reports) > 0
    assert await balances(migrated)


async def test_vectors_of_a_knowledge_base_survive_the_cache(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", "Whales sing.")
    await age(migrated, timedelta(days=31))
    assert (await eviction_of(migrated, cache_unused_days=30).run()).left.rows == 0
    assert await tenant.found(kb.id, "whales") == [document.id]


async def test_look_up_takes_more_keys_than_there_are_rows(migrated: MongoConnection) -> None:
    found = await EmbeddingCacheRepository(migrated).find([f"{number:064x}" for number in range(1000)])
    assert found == Cached({}, [])


@pytest.mark.parametrize("reason", ["erase", "evict"])
async def test_cache_that_was_emptied_while_a_worker_embeds_costs_no_vector(
    tenant: Tenant, migrated: MongoConnection, reason: str
) -> None:
    """Between look-up and use nothing is read again: what was found is in hand."""
    kb = await tenant.knowledge_base()
    texts = [f"text {number}" for number in range(120)]
    await embed(tenant, kb.id, texts[:60])
    await age(migrated, timedelta(days=31))
    cache = EmbeddingCacheRepository(migrated)
    service = tenant.services.inference.embedding
    note = service._cache.note_use

    async def empty_and_note(keys: Sequence[str]) -> None:
        if reason == "erase":
            await migrated.database["embedding_cache"].delete_many({})
        else:
            await CacheEviction(migrated, cache, EmbeddingSettings(cache_unused_days=30)).run()
        await note(keys)

    service._cache.note_use = empty_and_note  # type: ignore[method-assign,assignment]
    try:
        await embed(tenant, kb.id, texts)
    finally:
        service._cache.note_use = note  # type: ignore[method-assign]
    assert await migrated.database["embedding_cache"].count_documents({}) == 60
