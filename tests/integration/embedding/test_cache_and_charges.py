"""The cache, what is charged, and what a failure costs."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta

import numpy as np
import pytest
from pydantic import SecretStr

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.ingestion.membership import sync_request
from analytiq.models.job import JobState
from analytiq.models.organization import CacheScope, Organization
from analytiq.models.provider import LlmProvider
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation, SpuCharge, UsageGrouping
from analytiq.retrieval.pipeline.request import Mode
from analytiq.settings import EmbeddingSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.rows import encode
from analytiq.tenancy.metering.charges import Metering
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]


def embedding_of(tenant: Tenant) -> EmbeddingService:
    return tenant.services.inference.embedding


async def test_same_text_in_a_second_knowledge_base_is_neither_embedded_nor_charged(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    first = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 200))
    second = await tenant.knowledge_base()  # asks for the dimensions, which is free
    calls, spus = embedding_server.calls, await books.spus()
    await tenant.drain()
    assert (embedding_server.calls, await books.spus()) == (calls, spus)
    assert spus == 200
    for kb in (first, second):
        assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 200
        assert len((await tenant.search(kb.id, "whales", top_k=100)).results) == 100


async def test_text_that_occurs_twice_in_a_document_is_embedded_once(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    await tenant.knowledge_base()
    await tenant.document("a.txt", "\n".join([prose("whales", 20)] * 3))
    assert max(embedding_server.text_counts.values()) == 1
    assert await books.cached() == await books.charged()


async def test_failure_in_the_middle_is_paid_for_only_once(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()  # else its membership asks for the failed work once more
    embedding_server.script(None, Failure.UNAUTHORIZED)
    document = await tenant.document("a.txt", prose("whales", 150))
    assert await books.spus() == 50
    assert await books.cached() == await books.charged()
    await tenant.services.repositories.jobs.enqueue([sync_request(tenant.id, kb.id, document.id)])
    await tenant.drain()
    assert set(embedding_server.text_counts.values()) == {1}
    assert await books.spus() == 150
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 150


async def test_passing_failures_are_repeated_within_the_attempt(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()  # else its membership asks for the failed work once more
    embedding_server.script(Failure.SERVER_ERROR, Failure.RATE_LIMITED, None, Failure.CUT)
    await tenant.document("a.txt", prose("whales", 100))
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 100
    assert await books.spus() == 100


async def test_rate_limit_that_outlasts_the_attempt_is_left_to_the_queue(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()  # else its membership asks for the failed work once more
    embedding_server.retry_after = "600"
    embedding_server.script(Failure.RATE_LIMITED)
    document = await tenant.document("a.txt", prose("whales", 5))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.state, job.attempt, job.error and job.error.code) == (JobState.AVAILABLE, 0, "rate_limited")
    assert (job.run_at - job.updated_at).total_seconds() >= 300, "it comes back to probe the provider"


async def test_malformed_answer_leaves_nothing_in_the_cache(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()  # else its membership asks for the failed work once more
    embedding_server.script(*[Failure.NOT_A_NUMBER] * 3)
    await tenant.document("a.txt", prose("whales", 5))
    assert await books.cached() == await books.charged() == {}


async def test_vectors_of_another_length_are_refused_and_not_kept(
    tenant: Tenant, embedding_server: EmbeddingServer, books: Books
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()  # else its membership asks for the failed work once more
    embedding_server.dimensions = 32
    document = await tenant.document("a.txt", prose("whales", 5))
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.state, job.error and job.error.code) == (JobState.DEAD, "dimension_mismatch")
    assert await books.cached() == {}


async def test_question_costs_one_spu_and_the_same_question_nothing(tenant: Tenant, books: Books) -> None:
    kb = await tenant.knowledge_base()
    for question in ("whales?", "whales?", "birds?"):
        await tenant.search(kb.id, question)
    assert await books.charged() == {(tenant.id, REMOTE_MODEL, "search"): 2}
    assert await books.charged() == await books.cached()


async def test_question_and_passage_of_the_same_words_are_not_mixed_up(tenant: Tenant, books: Books) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 1))
    await tenant.search(kb.id, prose("whales", 1))
    assert await books.charged() == {
        (tenant.id, REMOTE_MODEL, "index"): 1,
        (tenant.id, REMOTE_MODEL, "search"): 1,
    }


async def test_two_workers_that_embed_the_same_texts_at_once_are_charged_once(
    tenant: Tenant, compose_services: Compose, books: Books
) -> None:
    """With copies of one text in two knowledge bases and of two organizations, four pairs at once."""
    other = await new_tenant(await compose_services())
    for each in (tenant, other):
        for _ in range(2):
            await each.knowledge_base()
        await each.drain()
        await each.upload("a.txt", prose("whales", 200))
    await asyncio.gather(*(each.drain() for each in (tenant, other, tenant, other)))
    await tenant.drain()
    assert await books.cached() == await books.charged()
    assert await books.spus() == 200


async def test_same_rows_kept_by_eight_at_once_are_charged_once(tenant: Tenant, books: Books) -> None:
    kb = await tenant.knowledge_base()
    texts = [f"text {number}" for number in range(120)]
    answers = await asyncio.gather(
        *(embedding_of(tenant).embed_chunks(tenant.organization, kb, texts) for _ in range(8))
    )
    for vectors in answers:
        np.testing.assert_array_equal(vectors, answers[0])
    assert await books.charged() == {(tenant.id, REMOTE_MODEL, "index"): 120}
    assert await books.charged() == await books.cached()


async def test_organization_that_shares_no_cache_pays_for_itself_and_gives_nothing_away(
    tenant: Tenant, migrated: MongoConnection, books: Books
) -> None:
    private = Organization(id=new_id(), name="p", cache_scope=CacheScope.ORGANIZATION, created_at=clock.now())
    await OrganizationRepository(migrated).insert(private)
    kb = await tenant.knowledge_base()
    third = Organization(id=new_id(), name="q", cache_scope=CacheScope.GLOBAL, created_at=clock.now())
    for organization, text in ((private, "a"), (tenant.organization, "a"), (private, "a"), (third, "a")):
        await embedding_of(tenant).embed_chunks(organization, kb, [text])
    assert await books.charged() == {
        (private.id, REMOTE_MODEL, "index"): 1,
        (tenant.id, REMOTE_MODEL, "index"): 1,
    }


async def test_choice_to_share_counts_for_nothing_unless_the_operator_allows_it(
    compose_services: Compose, books: Books
) -> None:
    """The price told whether another organization has a certain text."""
    services = await compose_services(embedding=EmbeddingSettings(batch_size=50, timeout_seconds=20))
    first, second = await new_tenant(services), await new_tenant(services)
    kb = await first.knowledge_base()
    for tenant in (first, second, first):
        assert tenant.organization.cache_scope is CacheScope.GLOBAL
        await embedding_of(tenant).embed_chunks(tenant.organization, kb, ["the contract says 90 days"])
    assert await books.charged() == {
        (first.id, REMOTE_MODEL, "index"): 1,
        (second.id, REMOTE_MODEL, "index"): 1,
    }


async def test_new_organization_shares_nothing(tenant: Tenant) -> None:
    made = await tenant.services.tenancy.organizations.create("New")
    assert made.cache_scope is CacheScope.ORGANIZATION


async def test_server_of_ones_own_never_fills_the_cache_of_others(
    tenant: Tenant, migrated: MongoConnection, secret_key: SecretStr, books: Books
) -> None:
    """Its vectors may be anything: another model of the same name, or a trap."""
    with EmbeddingServer() as own:
        now = clock.now()
        await ProviderRepository(migrated).put_if_absent(
            LlmProvider(
                id=new_id(),
                organization_id=tenant.id,
                litellm_provider="openai",
                token=Vault(secret_key).encrypt(SecretStr(own.api_key)),
                api_base=own.url,
                created_at=now,
                updated_at=now,
            )
        )
        kb = await tenant.knowledge_base()
        await embedding_of(tenant).embed_chunks(tenant.organization, kb, ["a"])
        assert own.text_counts["a"] == 1
    other = await new_tenant(tenant.services)
    await embedding_of(other).embed_chunks(other.organization, kb, ["a"])
    assert await books.charged() == {(tenant.id, REMOTE_MODEL, "index"): 1, (other.id, REMOTE_MODEL, "index"): 1}


async def test_model_whose_provider_has_no_key_says_how_to_add_one(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError, match="COHERE_API_KEY") as caught:
        await tenant.knowledge_base(embedding_model="embed-multilingual-v3.0")
    assert caught.value.code == "provider_key_missing"


async def test_question_to_a_provider_that_is_rate_limited_tells_how_long_to_wait(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    embedding_server.retry_after = "600"
    embedding_server.script(Failure.RATE_LIMITED)
    with pytest.raises(RateLimitedError) as caught:
        await tenant.search(kb.id, "whales?", mode=Mode.VECTOR)  # else the words answer
    assert caught.value.retry_after == 600


async def test_provider_key_is_stored_once_however_many_processes_start(
    migrated: MongoConnection, secret_key: SecretStr
) -> None:
    credentials = Credentials(ProviderRepository(migrated), Vault(secret_key))
    key = {"cohere": (SecretStr("the key"), None)}
    stored = await asyncio.gather(*(credentials.store_platform_defaults(key) for _ in range(8)))
    assert sorted(len(names) for names in stored) == [0] * 7 + [1]
    found = await credentials.find(new_id(), "cohere")
    assert found is not None
    assert (found.api_key.get_secret_value(), found.is_own) == ("the key", False)
    assert "the key" not in str([row async for row in migrated.database["llm_providers"].find({})])
    # A key that the operator changed by hand is not overwritten at the next start.
    await credentials.store_platform_defaults({"cohere": (SecretStr("another"), None)})
    assert await credentials.find(new_id(), "cohere") == found


async def test_usage_shows_what_the_cache_saved_a_second_knowledge_base(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    first = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 30))
    second = await tenant.knowledge_base()
    calls = embedding_server.calls
    await tenant.drain()
    for _ in range(3):
        await tenant.search(second.id, "whales")
    assert embedding_server.calls == calls + 1  # for the question
    today = clock.now().date().isoformat()
    totals = await tenant.services.tenancy.metering.totals(tenant.id, since=None, until=None, by_day=True)
    figures = {
        (total.kb_id, total.operation.value): (total.spus, total.saved_spus) for total in totals if total.day == today
    }
    assert figures == {(first.id, "index"): (30, 0), (second.id, "index"): (0, 30), (second.id, "search"): (1, 2)}
    tomorrow, week_ago = clock.now() + timedelta(days=1), clock.now() - timedelta(days=7)
    metering = tenant.services.tenancy.metering
    assert await metering.totals(tenant.id, since=tomorrow, until=None) == []
    assert await metering.totals(tenant.id, since=None, until=week_ago) == []
    whole = await metering.totals(tenant.id, since=None, until=None)
    assert await metering.totals(tenant.id, since=week_ago, until=tomorrow) == whole
    assert [total.day for total in whole] == [None] * 3
    assert await metering.totals((await new_tenant(tenant.services)).id, since=None, until=None) == []


async def test_days_of_the_largest_groups_and_the_rest_are_what_all_rows_add_up_to(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    metering, now = tenant.services.tenancy.metering, clock.now()
    other = await new_tenant(tenant.services)
    kbs = [None, *(new_id() for _ in range(6))]
    rows = [
        SpuCharge(
            id=new_id(), organization_id=organization, kb_id=kb_id, operation=operation, embedding_model=f"m{at % 3}",
            spus=1 + at * 3 + day, unconfirmed_spus=at, charged_at=now - timedelta(days=day),
        )
        for organization in (tenant.id, other.id)
        for at, kb_id in enumerate(kbs)
        for operation in Operation
        for day in (0, 1, 5)
    ]  # fmt: skip
    await migrated.database["spu_ledger"].insert_many([encode(row) for row in rows])
    await metering.note_saved(
        SpuPurpose(organization_id=tenant.id, kb_id=kbs[1], operation=Operation.INDEX, embedding_model="m1"), 9
    )
    since = now - timedelta(days=3)
    whole = await metering.totals(tenant.id, since=since, until=None, by_day=True)
    for grouping, most in itertools.product(UsageGrouping, (2, 100)):
        usage = await metering.daily(tenant.id, grouping, since=since, until=None, most=most)
        sums: dict[str | None, int] = {}
        for row in whole:
            value = getattr(row, grouping.value)
            sums[value] = sums.get(value, 0) + row.spus
        assert [group.spus for group in usage.groups] == sorted(sums.values(), reverse=True)[:most]
        assert all(sums[group.id] == group.spus for group in usage.groups)
        assert usage.spus == sum(sums.values()) == sum(sum(day.spus) + day.other_spus for day in usage.days)
        assert [day.day for day in usage.days] == sorted({row.day for row in whole if row.spus and row.day})
        for at, group in enumerate(usage.groups):
            of_group = [row for row in whole if getattr(row, grouping.value) == group.id]
            for day in usage.days:
                assert day.spus[at] == sum(row.spus for row in of_group if row.day == day.day)
        assert (usage.saved_spus, usage.unconfirmed_spus) == (9, sum(row.unconfirmed_spus for row in whole))
    nobody = await new_tenant(tenant.services)
    empty = await metering.daily(nobody.id, UsageGrouping.MODEL, since=since, until=None, most=4)
    assert (empty.groups, empty.days, empty.spus) == ((), (), 0)


async def test_repeated_question_reads_no_embedding_and_its_saving_is_counted(
    tenant: Tenant, embedding_server: EmbeddingServer, migrated: MongoConnection
) -> None:
    knowledge_base = await tenant.knowledge_base()
    await tenant.search(knowledge_base.id, "whales")
    await migrated.database["embedding_cache"].delete_many({})
    calls = embedding_server.calls
    for _ in range(3):
        await tenant.search(knowledge_base.id, "whales")
    assert embedding_server.calls == calls
    totals = await tenant.services.tenancy.metering.totals(tenant.id, since=None, until=None)
    assert [(one.spus, one.saved_spus) for one in totals if one.operation is Operation.SEARCH] == [(1, 3)]


async def test_savings_of_searches_are_written_when_the_process_ends(tenant: Tenant, migrated: MongoConnection) -> None:
    metering = Metering(Repositories(migrated))
    purpose = SpuPurpose(organization_id=tenant.id, kb_id=None, operation=Operation.SEARCH, embedding_model="m")
    await metering.note_saved(purpose, 2)
    await metering.note_saved(purpose, 3)
    await metering.close()
    rows = await migrated.database["spu_savings"].find({"organization_id": tenant.id}).to_list()
    assert [row["saved_spus"] for row in rows] == [5]


async def test_saving_of_an_organization_that_is_erased_meanwhile_is_not_written(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    metering = Metering(Repositories(migrated))
    gone = new_id()
    for organization_id in (tenant.id, gone):
        purpose = SpuPurpose(
            organization_id=organization_id, kb_id=None, operation=Operation.SEARCH, embedding_model="m"
        )
        await metering.note_saved(purpose, 1)
    await metering.close()
    written = await migrated.database["spu_savings"].distinct("organization_id", {})
    assert tenant.id in written
    assert gone not in written
