"""Runs whose source asks for a wait, does not answer, or denies access."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import AnalytiqError, PostponedError, RateLimitedError, TransientError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.jobs.queue.retry import Retry, plan
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.job import Job, JobKind, is_slow
from analytiq.models.source import RunCounts, RunState, Source, SourceRun
from analytiq.settings import SourceSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from tests.fakes.scripted_source import KIND, ScriptedService, faults_of, scripted_services
from tests.integration.conftest import Compose
from tests.integration.sources.conftest import Sourcing


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with scripted_services() as (made,):
        made.page = 4
        made.write(*"abcdefgh")
        yield made


async def source_of(sourcing: Sourcing, **fields: object) -> Source:
    return await sourcing.source(name="Scripted", kind=KIND, settings={"service": "service"}, **fields)


async def stored(sourcing: Sourcing, source: Source) -> Source:
    return await sourcing.tenant.services.ingestion.sources.get(sourcing.id, source.id)


async def job_of(sourcing: Sourcing, run: SourceRun) -> Job:
    found = await sourcing.tenant.services.repositories.jobs.get(f"run_source:{run.source_id}:{run.id}")
    assert found is not None
    return found


async def attempt(sourcing: Sourcing) -> AnalytiqError | None:
    """Run the waiting run for a turn; return what its handler raises."""
    services = sourcing.tenant.services
    jobs = services.repositories.jobs
    job = await jobs.claim([JobKind.RUN_SOURCE], worker="w", lease_token=new_id(), lease_seconds=60)
    assert job is not None
    try:
        await services.jobs.handlers[JobKind.RUN_SOURCE](RunningJob(job, jobs))
    except AnalytiqError as error:
        await jobs.give_back(job)
        return error
    await jobs.finish(job)
    return None


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (RateLimitedError("Slow down.", retry_after=1800.0), "list"),
        (RateLimitedError("Slow down.", retry_after=1800.0), "fetch c"),
        (TransientError("Maintenance.", retry_after=1800.0), "fetch c"),
    ],
)
async def test_run_waits_as_long_as_the_source_asks_and_loses_nothing(
    sourcing: Sourcing, service: ScriptedService, error: AnalytiqError, call: str
) -> None:
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, (await source_of(sourcing)).id)
    service.faults = faults_of(error, call)
    raised = await attempt(sourcing)
    assert isinstance(raised, PostponedError)
    assert plan(raised, attempt=12, max_attempts=12) == Retry(1800.0, is_counted=False)
    now = await sourcing.again(run)
    assert (now.state, now.waits) == (RunState.RUNNING, 1)
    assert "goes on in 1,800 s" in now.notes[-1].text
    service.faults.clear()
    fetched = len(service.fetched)
    await sourcing.tenant.drain()
    ended = await sourcing.again(run)
    assert (ended.state, ended.counts, ended.waits) == (RunState.SUCCEEDED, RunCounts(added=8), 0)
    # What was fetched before the wait is not fetched again: a limit of few calls an hour gets on.
    assert len(service.fetched) == 8
    assert fetched == (0 if call == "list" else 2)


async def test_run_that_waits_for_a_day_fails(
    sourcing: Sourcing, service: ScriptedService, migrated: MongoConnection
) -> None:
    source = await source_of(sourcing)
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, source.id)
    service.faults = faults_of(RateLimitedError("Slow down."), "list")
    waits: list[float] = []
    for hours in (0, 1, 23, 24):
        begun = clock.now() - timedelta(hours=hours)
        if hours:
            await migrated.database["source_runs"].update_one({}, {"$set": {"waiting_since": begun}})
        raised = await attempt(sourcing)
        waits += [raised.retry_after or 0] if isinstance(raised, PostponedError) else []
    assert waits == [30.0, 900.0, 900.0]
    ended = await sourcing.again(run)
    assert (ended.state, ended.error and ended.error.code) == (RunState.FAILED, "source_rate_limited")
    assert len(ended.notes) == 2  # not a line for each wait
    problem = (await stored(sourcing, source)).problem
    assert problem is not None
    assert "24 hours" in problem.detail


async def test_item_that_wants_waits_for_ever_fails_alone(sourcing: Sourcing, service: ScriptedService) -> None:
    service.faults = faults_of(TransientError("Busy.", retry_after=1e-3), "fetch c")
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, (await source_of(sourcing)).id)
    for _ in range(3):
        assert isinstance(await attempt(sourcing), PostponedError)
    await sourcing.tenant.drain()
    assert (await sourcing.again(run)).counts == RunCounts(added=7, failed=1)


async def test_source_that_denies_access_shows_it_and_pauses_its_schedule(
    sourcing: Sourcing, service: ScriptedService
) -> None:
    source = await source_of(sourcing, interval_seconds=3600, credentials={"token": "revoked"})
    service.faults = faults_of(CredentialsRefusedError("Renew the token."), "list")
    run = await sourcing.run(source)
    assert (run.state, run.error and run.error.code) == (RunState.FAILED, "credentials_refused")
    now = await stored(sourcing, source)
    assert now.problem is not None
    assert now.next_run_at is not None
    assert (now.problem.code, now.problem.detail) == ("credentials_refused", "Renew the token.")
    assert now.next_run_at > clock.now() + timedelta(hours=23)
    service.faults.clear()
    changed = await sourcing.tenant.services.ingestion.sources.change(
        sourcing.id, source.id, {}, credentials={"token": "new"}
    )
    assert changed.problem is None
    assert changed.next_run_at is not None
    assert changed.next_run_at <= clock.now()
    service.faults = faults_of(CredentialsRefusedError("Renew the token."), "list")
    await sourcing.run(source)
    service.faults.clear()
    await sourcing.run(source)
    assert (await stored(sourcing, source)).problem is None


@pytest.mark.parametrize("calls", [["list"], [f"fetch {name}" for name in "abcdefgh"]])
async def test_silent_source_goes_on_in_the_slow_partition_and_fails_after_three_attempts(
    compose_services: Compose, sourcing: Sourcing, service: ScriptedService, calls: list[str]
) -> None:
    service.page = 8
    services = await compose_services(sources=SourceSettings(call_seconds=0.2, probe_seconds=0.1))
    hasty = Sourcing(sourcing.tenant.seen_by(services), sourcing.folder)
    source = await source_of(hasty)
    runs = services.ingestion.source_runs
    service.silent = set(calls)
    run = await runs.start(hasty.id, source.id)
    assert not is_slow((await job_of(hasty, run)).lane)
    for seconds in (30.0, 60.0):
        raised = await attempt(hasty)
        assert isinstance(raised, PostponedError)
        assert raised.retry_after == seconds
        assert is_slow((await job_of(hasty, run)).lane)
    await hasty.tenant.drain()
    ended = await hasty.again(run)
    assert (ended.state, ended.error and ended.error.code) == (RunState.FAILED, "source_silent")
    # The next run has one attempt, in the slow partition; one that is answered makes the source usual again.
    run = await runs.start(hasty.id, source.id)
    assert is_slow((await job_of(hasty, run)).lane)
    await hasty.tenant.drain()
    assert (await hasty.again(run)).state is RunState.FAILED
    service.silent.clear()
    assert (await hasty.run(source)).counts == RunCounts(added=8)
    run = await runs.start(hasty.id, source.id)
    assert not is_slow((await job_of(hasty, run)).lane)
