"""Jobs that take long leave a slot and a lane to the others."""

import asyncio

from analytiq.ingestion.documents.requests import HEAVY_BYTES
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import HEAVY, JobKind
from analytiq.storage.repositories.jobs import JobRepository
from tests.integration.queue.runners import EventuallyTrue, request, runner_of, started
from tests.integration.tenant import Tenant


async def test_heavy_jobs_hold_up_no_other_job_of_their_lane_and_leave_a_slot(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    release, ran = asyncio.Event(), list[str]()

    async def handler(running: RunningJob) -> None:
        if running.job.lane.endswith(HEAVY):
            await release.wait()
        ran.append(running.job.id)

    heavy = [request(f"heavy{number}").model_copy(update={"is_heavy": True}) for number in range(6)]
    await jobs.enqueue(heavy)
    runner = runner_of(jobs, handler, concurrency=3)
    async with started(runner):
        await eventually(lambda: runner.running_jobs == 2)
        await jobs.enqueue([request("light")])
        await eventually(lambda: ran == ["extract:light"])
        await eventually(lambda: runner.running_jobs == 2)  # the light one's slot is free a moment later
        release.set()
        await eventually(lambda: len(ran) == 7)


async def test_only_slot_of_a_process_runs_heavy_jobs_too(jobs: JobRepository, eventually: EventuallyTrue) -> None:
    ran: list[str] = []

    async def handler(running: RunningJob) -> None:
        ran.append(running.job.id)

    await jobs.enqueue([request("heavy").model_copy(update={"is_heavy": True})])
    async with started(runner_of(jobs, handler, concurrency=1)):
        await eventually(lambda: ran == ["extract:heavy"])


async def test_heavy_jobs_are_run_when_the_number_of_slots_shrinks_to_one(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    ran: list[str] = []

    async def handler(running: RunningJob) -> None:
        ran.append(running.job.id)

    runner = runner_of(jobs, handler, concurrency=3)
    async with started(runner):
        await jobs.enqueue([request("first")])
        await eventually(lambda: ran == ["extract:first"])
        runner.resize(1)
        await jobs.enqueue([request("heavy").model_copy(update={"is_heavy": True})])
        await eventually(lambda: "extract:heavy" in ran)


async def test_extraction_is_heavy_where_the_file_is_large_however_it_is_asked_for(tenant: Tenant) -> None:
    small = (await tenant.upload("small.txt", b" " * HEAVY_BYTES)).document
    large = (await tenant.upload("large.txt", b" " * (HEAVY_BYTES + 1))).document

    async def lanes() -> list[bool]:
        jobs = [
            await tenant.services.repositories.jobs.get(f"{JobKind.EXTRACT.value}:{item.id}") for item in (small, large)
        ]
        return [job.lane.endswith(HEAVY) for job in jobs if job is not None]

    assert await lanes() == [False, True]
    await tenant.drain()
    await tenant.services.ingestion.documents.extract_again(tenant.id, small.id)
    await tenant.services.ingestion.documents.extract_again(tenant.id, large.id)
    assert await lanes() == [False, True]
    await tenant.drain()
    await tenant.replace("small.txt", b"!" * (HEAVY_BYTES + 1))
    await tenant.replace("large.txt", b"!" * HEAVY_BYTES)
    assert await lanes() == [True, False]
