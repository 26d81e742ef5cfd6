"""The runner on a real mongod: slots, heartbeats, draining, and several runners at once."""

import asyncio
from collections import Counter

import pytest
from pymongo.errors import AutoReconnect, OperationFailure
from structlog.testing import capture_logs

from analytiq.errors import CorruptFileError, RateLimitedError, TransientError
from analytiq.jobs.queue.runner import JobWork, QueueRunner, RunningJob
from analytiq.jobs.queue.stops import cancelled
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobState
from analytiq.settings import QueueSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.job_leases import Held
from analytiq.storage.repositories.jobs import JobRepository
from tests.integration.queue.runners import (
    Ended,
    EventuallyTrue,
    history_of,
    request,
    row,
    runner_of,
    started,
    stopped_of,
)


async def nothing(_: RunningJob) -> None: ...


async def test_runner_works_off_what_is_enqueued_while_it_runs(jobs: JobRepository, eventually: EventuallyTrue) -> None:
    ended: Ended = []
    async with started(runner_of(jobs, nothing, ended=ended)):
        await jobs.enqueue([request(str(number)) for number in range(50)])
        await eventually(lambda: len(ended) == 50)
    assert await jobs.counts() == {}
    assert sorted(ended) == sorted(("settled", f"extract:{number}") for number in range(50))


async def test_idle_runner_wakes_up_by_the_change_stream_long_before_it_would_poll(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    ran: list[str] = []

    async def handler(running: RunningJob) -> None:
        ran.append(running.job.id)

    runner = runner_of(jobs, handler, concurrency=1, poll_seconds=3600)
    async with started(runner):
        # The stream opens some time after the first look at the queue: enqueue until it has told of one.
        numbers = iter(range(10_000))

        async def has_run() -> bool:
            if not ran:
                await jobs.enqueue([request(str(next(numbers)))])
            return bool(ran)

        await eventually(has_run)
        await eventually(lambda: jobs_are_gone(jobs))
        seen = len(ran)
        await jobs.enqueue([request("later")])
        await eventually(lambda: len(ran) > seen)


async def test_runner_ends_whose_slots_look_for_jobs_while_it_is_stopped(
    jobs: JobRepository, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first slot that finds none takes the news of the stop; the second must not wait for further news."""
    looking: list[asyncio.Event] = []

    async def claim(*_: object) -> list[Job]:
        looking.append(asyncio.Event())
        await looking[-1].wait()
        return []

    async def handler(running: RunningJob) -> None:
        raise AssertionError(running.job.id)

    runner = runner_of(jobs, handler, concurrency=1, poll_seconds=3600)
    monkeypatch.setattr("analytiq.jobs.queue.claiming.Claims.claim", claim)
    running = asyncio.create_task(runner.run())
    await eventually(lambda: looking != [])
    while len(looking) < 2:
        runner.resize(runner.concurrency + 1)
        await asyncio.sleep(0.01)
    await runner.stop(drain_seconds=0)
    for found_none in looking:
        found_none.set()
        for _ in range(20):
            await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await running


async def jobs_are_gone(jobs: JobRepository) -> bool:
    return await jobs.counts() == {}


async def test_three_runners_never_run_the_same_job_at_once(jobs: JobRepository, eventually: EventuallyTrue) -> None:
    at_work: Counter[str] = Counter()
    overlaps: list[str] = []
    runs: Counter[str] = Counter()

    async def handler(running: RunningJob) -> None:
        name = running.job.id
        at_work[name] += 1
        if at_work[name] > 1:
            overlaps.append(name)
        await jobs.get(name)  # gives the others every chance to cut in
        await asyncio.sleep(0)
        at_work[name] -= 1
        runs[name] += 1

    await jobs.enqueue([request(str(number)) for number in range(40)])
    async with started(*(runner_of(jobs, handler) for _ in range(3))):
        for _ in range(5):
            await jobs.enqueue([request(str(number)) for number in range(40)])
        await eventually(lambda: jobs_are_gone(jobs))
    assert overlaps == []
    assert set(runs) == {f"extract:{number}" for number in range(40)}


async def test_heartbeats_keep_a_job_that_takes_longer_than_its_lease(
    jobs: JobRepository, eventually: EventuallyTrue
) -> None:
    attempts: list[int] = []
    release = asyncio.Event()

    async def handler(running: RunningJob) -> None:
        attempts.append(running.job.attempt)
        await release.wait()

    await jobs.enqueue([request()])
    # Two runners: the other one's rescue would take the job away.
    async with started(*(runner_of(jobs, handler, lease_seconds=1.5) for _ in range(2))):
        await eventually(lambda: bool(attempts))
        first = (await row(jobs)).lease_expires_at

        async def is_renewed_beyond_the_first_lease() -> bool:
            now = (await row(jobs)).lease_expires_at
            assert first is not None
            return now is not None and (now - first).total_seconds() > 1.5

        await eventually(is_renewed_beyond_the_first_lease)
        release.set()
        await eventually(lambda: jobs_are_gone(jobs))
    assert attempts == [1]


async def test_work_whose_lease_was_lost_is_stopped_and_writes_nothing(
    jobs: JobRepository, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()
    ended: Ended = []

    async def handler(_: RunningJob) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await jobs.enqueue([request()])
    async with started(runner_of(jobs, handler, concurrency=1, lease_seconds=0.6, ended=ended)):
        await begun.wait()
        far_off = (await row(jobs)).created_at.replace(year=2999)
        theirs = {"lease_token": "another worker's", "lease_expires_at": far_off}
        await migrated.database["jobs"].update_one({"_id": "extract:a"}, {"$set": theirs})
        await stopped.wait()
    assert (await row(jobs)).lease_token == "another worker's"
    assert ended == []


async def test_stopping_lets_running_work_end(jobs: JobRepository) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def handler(_: RunningJob) -> None:
        begun.set()
        await release.wait()

    await jobs.enqueue([request("a")])
    runner = runner_of(jobs, handler, concurrency=1)
    running = asyncio.create_task(runner.run())
    await begun.wait()
    await jobs.enqueue([request("b")])
    stopping = asyncio.create_task(runner.stop(drain_seconds=60))
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(stopping, running)
    assert await jobs.get("extract:a") is None
    assert (await row(jobs, "b")).attempt == 0


async def test_work_that_outlasts_the_drain_goes_back_and_the_attempt_does_not_count(jobs: JobRepository) -> None:
    begun = asyncio.Event()

    async def handler(_: RunningJob) -> None:
        begun.set()
        await asyncio.Event().wait()

    await jobs.enqueue([request()])
    async with started(runner_of(jobs, handler, concurrency=1)):
        await begun.wait()
    returned = await row(jobs)
    assert (returned.state, returned.attempt, returned.lease_token) == (JobState.AVAILABLE, 0, None)


async def test_job_claimed_at_the_moment_of_stopping_is_not_begun(
    jobs: JobRepository, migrated: MongoConnection
) -> None:
    """A claim under way when `stop` looks at what is running would otherwise run on without any limit."""
    begun: list[str] = []
    is_claimed, may_go_on = asyncio.Event(), asyncio.Event()

    class SlowToHear(JobRepository):
        async def claim(self, *arguments: object, **options: object) -> Job | None:
            job = await super().claim(*arguments, **options)  # type: ignore[arg-type]
            is_claimed.set()
            await may_go_on.wait()
            return job

    async def handler(running: RunningJob) -> None:
        begun.append(running.job.id)
        await asyncio.Event().wait()

    await jobs.enqueue([request()])
    runner = runner_of(SlowToHear(migrated), handler, concurrency=1)
    running = asyncio.create_task(runner.run())
    await is_claimed.wait()
    await runner.stop(drain_seconds=0)
    may_go_on.set()
    async with asyncio.timeout(30):
        await running
    assert begun == []
    assert ((await row(jobs)).state, (await row(jobs)).attempt) == (JobState.AVAILABLE, 0)


async def test_permanent_error_makes_the_job_dead_at_once(jobs: JobRepository) -> None:
    async def handler(_: RunningJob) -> None:
        raise CorruptFileError("the file is torn; send it again")

    ended: Ended = []
    await jobs.enqueue([request()])
    assert await runner_of(jobs, handler, ended=ended).run_until_idle() == 1
    dead = await row(jobs)
    assert dead.state is JobState.DEAD
    assert dead.error is not None
    assert (dead.error.code, dead.error.detail) == ("corrupt_file", "the file is torn; send it again")
    assert ended == [("dead", "corrupt_file"), ("settled", "extract:a")]


async def test_passing_error_is_tried_again_later(jobs: JobRepository) -> None:
    async def handler(_: RunningJob) -> None:
        raise TransientError("not now", retry_after=240)

    ended: Ended = []
    await jobs.enqueue([request()])
    assert await runner_of(jobs, handler, ended=ended).run_until_idle() == 1
    waiting = await row(jobs)
    assert (waiting.state, waiting.attempt) == (JobState.AVAILABLE, 1)
    assert (waiting.run_at - waiting.updated_at).total_seconds() == pytest.approx(240, abs=1)
    assert ended == [("settled", "extract:a")], "its knowledge base may wait for no more than this attempt"


async def test_provider_that_asks_to_wait_uses_up_no_attempt(jobs: JobRepository) -> None:
    async def handler(_: RunningJob) -> None:
        raise RateLimitedError("slow down", retry_after=60)

    await jobs.enqueue([request()])
    await runner_of(jobs, handler, max_attempts=1).run_until_idle()
    assert ((await row(jobs)).state, (await row(jobs)).attempt) == (JobState.AVAILABLE, 0)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AutoReconnect("connection closed"), "database_unreachable"),
        (OperationFailure("secret words", 59), "internal_error"),
        (ZeroDivisionError("secret words"), "internal_error"),
    ],
)
async def test_unforeseen_error_is_told_by_its_class_only(jobs: JobRepository, error: Exception, code: str) -> None:
    async def handler(_: RunningJob) -> None:
        raise error

    await jobs.enqueue([request()])
    await runner_of(jobs, handler).run_until_idle()
    failure = (await row(jobs)).error
    assert failure is not None
    assert failure.code == code
    assert "secret" not in failure.detail


async def test_job_that_the_handler_finished_itself_is_not_finished_twice(jobs: JobRepository) -> None:
    async def handler(running: RunningJob) -> None:
        await jobs.finish(running.job)
        running.note_finished()
        await jobs.enqueue([request()])

    ended: Ended = []
    await jobs.enqueue([request()])
    runner = runner_of(jobs, handler, ended=ended)
    job = await jobs.claim([JobKind.EXTRACT], worker="w", lease_token=new_id(), lease_seconds=30.0)
    assert job is not None
    await runner._run_job(job)
    assert (await row(jobs)).state is JobState.AVAILABLE
    assert ended == [("settled", "extract:a")]


async def test_heartbeat_that_finds_the_row_gone_before_the_commit_is_acknowledged_stops_nothing(
    jobs: JobRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()
    heartbeat = JobRepository.heartbeat

    async def watched(self: JobRepository, job: Job, *, lease_seconds: float) -> Held | None:
        held = await heartbeat(self, job, lease_seconds=lease_seconds)
        if held is None:
            looked.set()
        return held

    monkeypatch.setattr(JobRepository, "heartbeat", watched)

    async def handler(running: RunningJob) -> None:
        with running.finishing():
            await jobs.finish(running.job)
            await looked.wait()
            await asyncio.sleep(0)  # where a cancellation would arrive
            running.note_finished()

    ended: Ended = []
    await jobs.enqueue([request()])
    await runner_of(jobs, handler, lease_seconds=0.3, ended=ended).run_until_idle()
    assert ended == [("settled", "extract:a")]


async def test_progress_of_a_running_job_is_shown(jobs: JobRepository) -> None:
    seen: list[tuple[int, int, str]] = []

    async def handler(running: RunningJob) -> None:
        await running.report(3, 9, "pages")
        await running.report(4, 9, "pages")  # so soon after the first, it is left out
        progress = (await row(jobs)).progress
        assert progress is not None
        seen.append((progress.done, progress.total, progress.unit))

    await jobs.enqueue([request()])
    await runner_of(jobs, handler).run_until_idle()
    assert seen == [(3, 9, "pages")]


async def test_what_follows_a_job_cannot_undo_it(jobs: JobRepository) -> None:
    async def on_settled(_: Job) -> None:
        raise RuntimeError("counting failed")

    async def on_dead(_: Job, __: Failure) -> None: ...

    work = JobWork(
        handlers={JobKind.EXTRACT: nothing},
        on_settled=on_settled,
        on_dead=on_dead,
        find_stopped=stopped_of(jobs),
        history=history_of(jobs),
    )
    runner = QueueRunner(jobs, work, settings=QueueSettings(), concurrency=1)
    await jobs.enqueue([request()])
    assert await runner.run_until_idle() == 1
    assert await jobs.get("extract:a") is None


async def test_running_until_idle_does_not_stop_at_a_job_that_is_held_up_for_a_moment(
    migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    misses: list[None] = []

    class CountsMisses(JobRepository):
        async def claim(self, *arguments: object, **options: object) -> Job | None:
            job = await super().claim(*arguments, **options)  # type: ignore[arg-type]
            if job is None:
                misses.append(None)
            return job

    jobs = CountsMisses(migrated)
    await jobs.enqueue([request()])
    async with migrated.client.start_session() as session:
        await session.start_transaction()
        await jobs.enqueue([request()], session=session)
        running = asyncio.create_task(runner_of(jobs, nothing).run_until_idle())
        await eventually(lambda: bool(misses))
        await session.abort_transaction()
    assert await running == 1


async def test_job_cancelled_while_its_attempt_fails_is_not_run_again(jobs: JobRepository) -> None:
    ran: list[str] = []

    async def handler(running: RunningJob) -> None:
        ran.append(running.job.id)
        await jobs.cancel("o", running.job.id, cancelled())
        raise RateLimitedError("slow down", retry_after=0.0)

    await jobs.enqueue([request()])
    ended: Ended = []
    runner = runner_of(jobs, handler, ended=ended)
    await runner.run_until_idle()
    # Due at once, whatever the provider asked for; to ask for the work again would be to want it after all.
    await jobs._collection.update_one({}, [{"$set": {"run_at": "$$NOW"}}])
    await runner.run_until_idle()
    assert ran == ["extract:a"]
    assert ended == [("settled", "extract:a"), ("dead", "cancelled"), ("settled", "extract:a")]


@pytest.mark.parametrize("error", [TransientError("not now"), CorruptFileError("torn")], ids=["passing", "permanent"])
async def test_attempt_that_fails_after_it_has_lost_its_lease_is_neither_told_nor_followed_by_anything(
    jobs: JobRepository, migrated: MongoConnection, error: Exception
) -> None:
    async def handler(_: RunningJob) -> None:
        await jobs._collection.update_one({}, {"$set": {"lease_token": "another's"}})
        raise error

    ended: Ended = []
    await jobs.enqueue([request()])
    with capture_logs() as logs:
        assert await runner_of(jobs, handler, ended=ended).run_until_idle() == 1
    job = await row(jobs)
    assert (job.state, job.lease_token, job.error) == (JobState.RUNNING, "another's", None)
    assert ended == []
    assert await migrated.database["job_history"].count_documents({}) == 0
    assert [entry["event"] for entry in logs] == ["queue.lease_lost"]
