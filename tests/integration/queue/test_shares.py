"""Slots are shared between organizations: none holds up another, however long its jobs take."""

import asyncio

import pytest

from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import JobRequest, JobState
from analytiq.models.job_payloads import ExtractPayload
from analytiq.storage.repositories.jobs import JobQuery, JobRepository
from tests.integration.queue.runners import EventuallyTrue, runner_of, started


def wanted(organization_id: str, number: int) -> JobRequest:
    return JobRequest(
        payload=ExtractPayload(document_id=f"{organization_id}-{number}"),
        organization_id=organization_id,
    )


async def test_newcomer_is_served_while_another_organization_holds_every_slot(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    release, ended = asyncio.Event(), list[str]()

    async def handler(running: RunningJob) -> None:
        if running.job.organization_id == "busy":
            await release.wait()
        ended.append(running.job.organization_id)

    for concurrency in (1, 4):
        release.clear()
        ended.clear()
        await jobs.enqueue([wanted("busy", number) for number in range(8)])
        runner = runner_of(jobs, handler, concurrency=concurrency)
        async with started(runner):
            await eventually(lambda: runner.running_jobs == concurrency)  # noqa: B023  # awaited at once
            await jobs.enqueue([wanted("other", number) for number in range(3)])
            await eventually(lambda: ended == ["other"] * 3)
            await eventually(lambda: runner.running_jobs == concurrency)  # noqa: B023  # the last one is being settled
            release.set()
            await eventually(lambda: len(ended) == 11)


async def test_freed_slots_go_to_who_has_fewer_until_the_shares_are_equal(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    may_end: dict[str, asyncio.Event] = {}

    async def handler(running: RunningJob) -> None:
        await may_end.setdefault(running.job.id, asyncio.Event()).wait()

    async def running_of(organization_id: str) -> list[str]:
        rows = jobs._collection.find({"state": JobState.RUNNING.value, "organization_id": organization_id})
        return [str(row["_id"]) async for row in rows]

    async def holds(busy: int, other: int) -> bool:
        return (len(await running_of("busy")), len(await running_of("other"))) == (busy, other)

    await jobs.enqueue([wanted("busy", number) for number in range(20)])
    async with started(runner_of(jobs, handler, concurrency=4)):
        await eventually(lambda: holds(4, 0))
        await jobs.enqueue([wanted("other", number) for number in range(20)])
        await eventually(lambda: holds(4, 1))  # beyond the four slots, and no more
        may_end[(await running_of("busy"))[0]].set()
        await eventually(lambda: holds(3, 2))
        for job_id in await running_of("other"):
            may_end[job_id].set()
        await eventually(lambda: holds(3, 1))  # the one beyond the four is for newcomers only
        may_end[(await running_of("busy"))[0]].set()
        await eventually(lambda: holds(2, 2))


async def test_bound_of_an_organizations_extractions_leaves_slots_to_others(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    release, begun = asyncio.Event(), list[str]()

    async def handler(running: RunningJob) -> None:
        begun.append(running.job.organization_id)
        await release.wait()

    await jobs.enqueue([wanted("busy", number) for number in range(8)])
    runner = runner_of(jobs, handler, concurrency=4, extractions_per_organization=1)
    async with started(runner):
        await eventually(lambda: begun == ["busy"])
        await jobs.enqueue([wanted(name, 0) for name in ("first", "second", "third")])
        await eventually(lambda: sorted(begun) == ["busy", "first", "second", "third"])
        release.set()
        await eventually(lambda: begun.count("busy") == 8)


async def test_cancelled_job_is_stopped_without_waiting_for_its_heartbeat(
    jobs: JobRepository, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = asyncio.Event()

    async def handler(_: RunningJob) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await jobs.enqueue([wanted("a", 0)])
    # No heartbeat comes within the test.
    monkeypatch.setattr("analytiq.jobs.queue.runner.LONGEST_HEARTBEAT_SECONDS", 3600.0)
    runner = runner_of(jobs, handler, lease_seconds=36_000)
    async with started(runner):
        await eventually(lambda: runner.running_jobs == 1)
        await jobs.stop_running("a", JobQuery())
        await eventually(stopped.is_set)
        await eventually(lambda: runner.running_jobs == 0)


async def test_jobs_that_wait_for_an_answer_leave_their_slots(
    jobs: JobRepository, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.jobs.queue.waiting_jobs.GRACE_SECONDS", 0.01)
    answer, meeting = asyncio.Event(), asyncio.Barrier(4)
    waiting, worked = list[str](), list[str]()

    async def handler(running: RunningJob) -> None:
        document_id = running.job.subject.document_id or ""
        if int(document_id.removeprefix("same-")) < 5:
            with running.waiting():
                waiting.append(document_id)
                await answer.wait()
        else:
            await meeting.wait()
        worked.append(document_id)

    await jobs.enqueue([wanted("same", number) for number in range(5)])
    runner = runner_of(jobs, handler, concurrency=4)
    async with started(runner):
        await eventually(lambda: len(waiting) == 5)
        await jobs.enqueue([wanted("same", number) for number in range(5, 9)])
        # All four slots are free for them.
        await eventually(lambda: sorted(worked) == [f"same-{number}" for number in range(5, 9)])
        answer.set()
        await eventually(lambda: len(worked) == 9)
