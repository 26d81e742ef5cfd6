"""Jobs that wait for something are woken when it is there, with their lanes."""

from collections.abc import AsyncGenerator

import pytest
from pymongo.errors import AutoReconnect

from analytiq.errors import QuotaExceededError
from analytiq.jobs.queue.runner import RunningJob
from analytiq.storage.repositories.job_lanes import LaneNews
from analytiq.storage.repositories.jobs import JobRepository
from tests.integration.queue.runners import EventuallyTrue, request, runner_of, started


@pytest.mark.parametrize("is_stream_broken", [False, True])
async def test_lane_that_waits_for_spus_goes_on_once_its_jobs_are_woken(
    jobs: JobRepository, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch, *, is_stream_broken: bool
) -> None:
    async def broken() -> AsyncGenerator[LaneNews]:
        raise AutoReconnect
        yield

    monkeypatch.setattr("analytiq.jobs.queue.retry.QUOTA_WAIT_SECONDS", 10_000.0)
    if is_stream_broken:
        monkeypatch.setattr(jobs, "watch_enqueues", broken)
    has_spus = False
    tried: list[str] = []
    done: list[str] = []

    async def handler(running: RunningJob) -> None:
        tried.append(running.job.id)
        if not has_spus:
            raise QuotaExceededError("none is left")
        done.append(running.job.id)

    names = [f"d{number}" for number in range(30)]
    await jobs.enqueue([request(name) for name in names])
    async with started(runner_of(jobs, handler, concurrency=2)):

        async def waits() -> bool:
            return (await jobs.counts()).get(("extract", "running"), 0) == 0 and bool(tried)

        await eventually(waits)
        assert len(tried) <= 4, "the others of the lane need not each find out"
        has_spus = True
        assert await jobs.wake("another", error_code="quota_exceeded") == 0
        assert await jobs.wake("o", error_code="quota_exceeded") >= 1
        await eventually(lambda: len(done) == len(names))
