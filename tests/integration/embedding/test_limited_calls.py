"""Calls to embedding models keep to the rate limits, and jobs that meet one wait without calling."""

from collections.abc import Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import RateLimitedError
from analytiq.models.job import JobState
from analytiq.settings import ModelRateLimit, RateLimitSettings
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]

ONE_A_MINUTE = RateLimitSettings(models={REMOTE_MODEL: ModelRateLimit(requests_per_minute=1)})


async def test_call_beyond_the_limit_is_not_made_nor_asked_for_again_and_gives_its_spus_back(
    compose_services: Compose, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = await compose_services(rate_limits=ONE_A_MINUTE)
    tenant = await new_tenant(services)
    kb = await tenant.knowledge_base()  # asks for the dimensions: the one call of this minute
    await tenant.drain()  # else its membership asks for the failed work once more
    taken: list[int] = []
    take_call = services.tenancy.rate_limits.take_call

    async def counted(organization_id: str, model: str, *, tokens: int) -> None:
        taken.append(tokens)
        await take_call(organization_id, model, tokens=tokens)

    monkeypatch.setattr(services.tenancy.rate_limits, "take_call", counted)
    document = await tenant.document("a.txt", prose("whales", 5))
    job = await services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert (job.state, job.attempt, job.error and job.error.code) == (JobState.AVAILABLE, 0, "rate_limited")
    assert embedding_server.calls == len(taken) == 1
    assert 5 * 10 <= taken[0] <= 5 * 30
    account = await services.tenancy.metering.account(tenant.id)
    assert (account.used, account.reserved) == (0, 0)


async def test_provider_that_names_a_wait_is_left_alone_by_every_process(
    tenant: Tenant, compose_services: Compose, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.retry_after = "600"
    embedding_server.script(Failure.RATE_LIMITED)
    with pytest.raises(RateLimitedError):
        await tenant.services.inference.embedding.embed_query(tenant.organization, kb, "whales")
    asked = len(embedding_server.requests)
    other = tenant.seen_by(await compose_services())
    with pytest.raises(RateLimitedError) as refused:
        await other.services.inference.embedding.embed_query(tenant.organization, kb, "whales")
    assert 270 <= (refused.value.retry_after or 0) <= 300
    assert len(embedding_server.requests) == asked


async def test_rate_limit_in_the_middle_costs_no_batch_twice(tenant: Tenant, embedding_server: EmbeddingServer) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.retry_after = "6"  # longer than is waited for in place
    embedding_server.script(None, None, Failure.RATE_LIMITED)
    await tenant.document("a.txt", prose("whales", 150))
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 0
    await tenant.services.tenancy.rate_limits._rows.delete(tenant.id, f"call:{tenant.id}:{REMOTE_MODEL}")
    await tenant.services.repositories.jobs.wake(tenant.id, error_code="rate_limited")
    await tenant.drain()
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count == 150
    assert set(embedding_server.text_counts.values()) == {1}
