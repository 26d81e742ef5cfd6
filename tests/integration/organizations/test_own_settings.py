"""An organization's own settings, as work meets them."""

import pytest

from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.models.own_limits import OwnModelLimit, OwnRateLimits
from analytiq.settings import RateLimitSettings
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.storage.repositories.workers import WorkerRepository
from analytiq.tenancy.organizations.own_settings import SettingsChange
from analytiq.tenancy.rate_limits.limits import DOCUMENTS_CODE, RateLimits
from analytiq.tenancy.rate_limits.own import OwnLimits
from tests.integration.tenant import Tenant, new_tenant

SERVER = RateLimitSettings(requests_per_minute=3000, tokens_per_minute=1_000_000, documents_per_minute=6000)


async def set_limits(tenant: Tenant, limits: OwnRateLimits) -> None:
    await tenant.services.tenancy.own_settings.change(tenant.organization, SettingsChange(rate_limits=limits))


def limits_of(tenant: Tenant) -> RateLimits:
    """Of another process, which remembers nothing."""
    connection = tenant.services.connection
    own = OwnLimits(OrganizationRepository(connection), remembered_seconds=0)
    return RateLimits(RateLimitRepository(connection), SERVER, own)


async def test_own_limit_of_documents_holds_for_its_organization_only(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await set_limits(tenant, OwnRateLimits(documents_per_minute=1))
    limits = limits_of(tenant)
    await limits.take_document(tenant.id, "kb")
    with pytest.raises(RateLimitedError, match="has begun 1 documents") as refused:
        await limits.take_document(tenant.id, "kb")
    assert refused.value.code == DOCUMENTS_CODE
    for _ in range(5):
        await limits.take_document(other.id, "kb")


async def test_own_limit_of_a_model_with_dots_in_its_name_holds(tenant: Tenant) -> None:
    model = "openai/gpt-4.1.mini"
    await set_limits(tenant, OwnRateLimits(models=(OwnModelLimit(model=model, requests_per_minute=1),)))
    limits = limits_of(tenant)
    await limits.take_call(tenant.id, model, tokens=1)
    with pytest.raises(RateLimitedError):
        await limits.take_call(tenant.id, model, tokens=1)
    await limits.take_call(tenant.id, "openai/another", tokens=1)


async def test_limits_that_are_taken_away_hold_no_longer(tenant: Tenant) -> None:
    await set_limits(tenant, OwnRateLimits(documents_per_minute=1))
    await set_limits(tenant, OwnRateLimits())
    for _ in range(5):
        await tenant.services.tenancy.rate_limits.take_document(tenant.id, "kb")


async def test_nothing_is_changed_where_a_part_is_wrong(tenant: Tenant) -> None:
    languages = installed_languages()
    wrong = SettingsChange(
        sets_languages=True, ocr_languages=languages[:1], rate_limits=OwnRateLimits(requests_per_minute=10**9)
    )
    with pytest.raises(InvalidInputError, match="server's limit"):
        await tenant.services.tenancy.own_settings.change(tenant.organization, wrong)
    assert (await tenant.services.tenancy.organizations.get(tenant.id)).ocr_languages is None


async def test_languages_are_those_that_every_worker_has(tenant: Tenant) -> None:
    workers = WorkerRepository(tenant.services.connection)
    for name, languages in (("a", ["deu", "eng", "fra"]), ("b", ["eng", "fra", "ita"])):
        await workers.announce(
            name,
            host=name,
            pid=1,
            started_at=tenant.organization.created_at,
            concurrency=1,
            running=0,
            ocr_languages=languages,
        )
    assert await tenant.services.tenancy.own_settings.available_ocr_languages() == ("eng", "fra")
    with pytest.raises(InvalidInputError, match="eng, fra"):
        await tenant.services.tenancy.own_settings.change(
            tenant.organization, SettingsChange(sets_languages=True, ocr_languages=["deu"])
        )


async def test_languages_of_this_machine_are_offered_where_no_worker_runs(tenant: Tenant) -> None:
    assert await tenant.services.tenancy.own_settings.available_ocr_languages() == installed_languages()
