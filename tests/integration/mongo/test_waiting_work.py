"""Scrapes of `/metrics` cost the database one count a while, however many they are."""

import asyncio
import re

from analytiq.models.job import JobRequest
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.telemetry import metrics
from api.waiting_work import WaitingWork


async def test_scrapes_share_a_count_until_the_next_is_due(migrated: MongoConnection) -> None:
    jobs = JobRepository(migrated)
    waiting_work = WaitingWork(least_seconds=3600.0)
    await jobs.enqueue([_sync("one")])

    await asyncio.gather(*(waiting_work.measure(jobs) for _ in range(5)))
    await jobs.enqueue([_sync("two")])
    await waiting_work.measure(jobs)
    shared = _gauges()
    await WaitingWork().measure(jobs)

    assert (shared, _gauges()) == ((1.0, 1.0), (2.0, 2.0))


def _sync(document_id: str) -> JobRequest:
    return JobRequest(payload=SyncPayload(kb_id="kb", document_id=document_id), organization_id="organization")


def _gauges() -> tuple[float, float]:
    """Return the values of the indexing queue's depth and of the due jobs."""
    text = metrics.exposition(None).decode()
    depth, due = (
        re.search(rf"^{name} (\S+)$", text, re.MULTILINE) for name in ("kb_indexing_queue_depth", "kb_jobs_due")
    )
    assert depth
    assert due
    return float(depth[1]), float(due[1])
