"""Workers whose wall clock is an hour off: only the server's counts."""

from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.models.document import DocumentState
from analytiq.models.job import JobRequest
from analytiq.models.job_payloads import SweepPayload
from analytiq.models.upload import DuplicatePolicy
from analytiq.operations.reconcile.report import DriftKind
from analytiq.storage.ids import new_id
from tests.fault import invariants
from tests.fault.site import LEASE_SECONDS, Site
from tests.fault.worker_process import WAIT, Fault
from tests.integration.tenant import prose

HOUR = 3600.0
LATER_SECONDS = 900.0


@pytest.mark.parametrize("clock_seconds", [HOUR, -HOUR], ids=["ahead", "behind"])
async def test_worker_whose_clock_is_an_hour_off_neither_steals_nor_delays_jobs(
    site: Site, clock_seconds: float
) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    long_one = (await site.tenant.upload("long.txt", prose("whales", 3))).document
    right = site.processes.worker(Fault("extraction.begun", WAIT), concurrency=1)
    await right.reach("extraction.begun")
    await not_yet(site)
    site.processes.worker(clock_seconds=clock_seconds)
    document = (await site.tenant.upload("a.txt", prose("birds", 3))).document

    async def is_done_long_after(seconds: float = 3 * LEASE_SECONDS) -> bool:
        """The other worker has done what was due, and has had time to take away a lease that it thinks expired."""
        job = await site.database["jobs"].find_one(
            {"kind": "extract", "$expr": {"$gt": ["$$NOW", {"$add": ["$created_at", int(seconds * 1000)]}]}}
        )
        return job is not None and await site.is_indexed(kb.id, document.id)

    await site.until(is_done_long_after, site.jobs)
    held, waiting = sorted(await site.jobs(), key=lambda row: str(row["kind"]))
    assert (held["kind"], held["state"], held["attempt"]) == ("extract", "running", 1)
    assert (waiting["kind"], waiting["state"], waiting["attempt"]) == ("sweep", "available", 0)
    right.let_go("extraction.begun")
    await site.until(lambda: site.is_indexed(kb.id, long_one.id), site.jobs)
    await site.database["jobs"].delete_one({"_id": waiting["_id"]})
    await site.mend()
    texts = {long_one.id: prose("whales", 3), document.id: prose("birds", 3)}
    await invariants.hold(site, {kb.id: texts})


async def not_yet(site: Site) -> None:
    """Enqueue a job that is due in a quarter of an hour."""
    request = JobRequest(
        payload=SweepPayload(kb_id=new_id(), generation_id=new_id()),
        organization_id=site.tenant.id,
        delay_seconds=LATER_SECONDS,
    )
    await site.services.repositories.jobs.enqueue([request])


async def test_reconciler_whose_clock_is_an_hour_ahead_gives_up_no_upload_under_way(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = await site.tenant.stage("large.txt", prose("whales", 2) + " " * 70_000)
    right_now = clock.now
    monkeypatch.setattr(clock, "now", lambda: right_now() + timedelta(seconds=HOUR))
    report = await site.services.operations.reconciler.run_pass()
    assert report.count(DriftKind.ABANDONED_UPLOAD) == 0
    committed = await site.services.ingestion.uploads.commit(
        staged, tag_ids=[], metadata=None, policy=DuplicatePolicy.RETURN
    )
    await site.tenant.drain()
    document = await site.services.ingestion.documents.get(site.tenant.id, committed.document.id)
    assert document.state is DocumentState.EXTRACTED
