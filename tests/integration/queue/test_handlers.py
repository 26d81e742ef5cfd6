"""The handlers of the composed services."""

from analytiq.models.job import JobKind
from tests.integration.tenant import Tenant


async def test_every_kind_of_job_has_a_handler(tenant: Tenant) -> None:
    assert set(tenant.services.jobs.handlers) == set(JobKind)
