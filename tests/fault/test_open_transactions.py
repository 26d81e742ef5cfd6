"""A process that is killed within a transaction leaves it open on the server, and what it wrote held."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from analytiq.models.job import JobKind, JobRequest
from analytiq.models.job_payloads import ExtractPayload
from analytiq.standalone.embedded_process import TRANSACTION_SECONDS
from analytiq.storage.ids import new_id
from tests.fault.site import Site


async def claimed_by_the_dead(site: Site) -> str:
    """A job whose lease has run out; returns its id."""
    request = JobRequest(payload=ExtractPayload(document_id=new_id()), organization_id=site.tenant.id)
    await site.services.repositories.jobs.enqueue([request])
    await site.services.repositories.jobs.claim(
        [JobKind.EXTRACT], worker="dead", lease_token=new_id(), lease_seconds=-1
    )
    return request.deduplication_key


@asynccontextmanager
async def open_transaction_on(site: Site, job_id: str) -> AsyncGenerator[None]:
    """The leftovers of a worker that was killed as it finished the job."""
    async with site.connection.client.start_session() as session:
        await session.start_transaction()
        await site.database["jobs"].update_one(
            {"_id": job_id}, {"$set": {"progress": None, "seen": 1}}, session=session
        )
        yield
        await session.abort_transaction()


async def states(site: Site) -> dict[str, Any]:
    return {row["_id"]: row["state"] for row in await site.jobs()}


async def test_job_that_a_dead_workers_transaction_holds_delays_the_rescue_of_no_other(site: Site) -> None:
    held, other = await claimed_by_the_dead(site), await claimed_by_the_dead(site)
    async with open_transaction_on(site, held):
        assert await site.services.repositories.jobs.rescue(max_deaths=8) == 1
        assert await states(site) == {held: "running", other: "available"}
    assert await site.services.repositories.jobs.rescue(max_deaths=8) == 1
    assert await states(site) == {held: "available", other: "available"}


async def test_embedded_server_ends_transactions_of_the_dead_within_seconds(site: Site) -> None:
    name = "transactionLifetimeLimitSeconds"
    answer = await site.connection.client.admin.command({"getParameter": 1, name: 1})
    assert answer[name] == TRANSACTION_SECONDS
