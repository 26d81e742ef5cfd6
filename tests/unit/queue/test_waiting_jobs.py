"""Jobs that wait for an answer leave their slot, and take one again."""

import asyncio
from typing import Any, cast

import pytest

from analytiq import clock
from analytiq.jobs.queue import waiting_jobs
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.jobs.queue.waiting_jobs import WaitingJobs
from analytiq.models.job import Job, JobKind, JobState, JobSubject


class Slots:
    """The jobs that hold no slot, by their ids."""

    def __init__(self, most: int) -> None:
        self.left: list[str] = []
        self.waiting = WaitingJobs(on_leave=self._leave, on_enter=self._enter)
        self.waiting.most = most

    def _leave(self, job: Job) -> None:
        self.left.append(job.id)

    def _enter(self, job: Job) -> None:
        self.left.remove(job.id)


def running_job(name: str) -> RunningJob:
    now = clock.now()
    job = Job(
        id=name, kind=JobKind.RUN_SOURCE, organization_id="o", lane="l", subject=JobSubject(),
        state=JobState.RUNNING, priority=0, run_at=now, wanted=1, created_at=now, updated_at=now,
    )  # fmt: skip
    return RunningJob(job, cast("Any", None))


def job_in(slots: Slots, name: str) -> RunningJob:
    running = running_job(name)
    running.waiting_jobs = slots.waiting
    return running


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_jobs, "GRACE_SECONDS", 0.0)


async def several_rounds() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_waiting_job_leaves_its_slot_until_an_answer_comes() -> None:
    slots = Slots(most=1)
    one, other = job_in(slots, "one"), job_in(slots, "other")
    with one.waiting():
        assert slots.left == []
        await several_rounds()
        with other.waiting():
            await several_rounds()
            assert slots.left == [one.job.id]  # the most of them
            one.note_answer()
            assert (slots.left, slots.waiting.count) == ([], 0)
            other.note_answer()
            await several_rounds()
            assert slots.waiting.count == 1  # silent again, one or the other
    assert (slots.left, slots.waiting.count) == ([], 0)
    one.note_answer()  # behind the wait it begins none
    await several_rounds()
    assert slots.left == []


async def test_time_without_a_slot_is_known_once() -> None:
    slots = Slots(most=1)
    one = job_in(slots, "one")
    with pytest.raises(TimeoutError), one.waiting():
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    assert 0 < slots.waiting.forget(one.job) < 60
    assert slots.waiting.forget(one.job) == 0
    assert slots.left == []


async def test_job_without_slots_waits_as_it_is() -> None:
    running = running_job("one")
    with running.waiting():
        running.note_answer()
    running.note_answer()
