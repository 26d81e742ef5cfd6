"""A worker that dies in the middle of a run: the next goes on, and nothing is lost, doubled or stale."""

import pytest

from analytiq import clock
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.job import JobKind
from analytiq.models.source import ItemOutcome, RunCounts, RunState, RunTrigger
from analytiq.settings import SourceSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.telemetry import checkpoints
from analytiq.telemetry.checkpoints import SOURCE_CHECKPOINTS
from tests.integration.conftest import Compose
from tests.integration.sources.conftest import LONG_AGO, Sourcing

PLACES = (
    ("sources.batch_staged", 1), ("sources.batch_staged", 2), ("sources.batch_uploaded", 1),
    ("sources.batch_uploaded", 2), ("sources.batch_committed", 1), ("sources.vanished_marked", 1),
    ("sources.documents_removed", 1), ("sources.documents_removed", 2), ("sources.batch_committed", 1),
)  # fmt: skip
"""Checkpoints in the order of a run, and which time that an attempt passes them."""


class Died(BaseException):
    """In the place of a SIGKILL: nothing of ours catches it."""


async def die_at(sourcing: Sourcing, name: str, *, time: int) -> bool:
    """Claim the waiting run as a worker that dies when it passes the checkpoint so often; False if it does not."""
    passed = 0

    async def kill(place: str) -> None:
        nonlocal passed
        passed += place == name
        if passed == time and place == name:
            raise Died

    services = sourcing.tenant.services
    jobs = services.repositories.jobs
    job = await jobs.claim([JobKind.RUN_SOURCE], worker="dies", lease_token=new_id(), lease_seconds=-1)
    assert job is not None
    checkpoints.install(kill)
    try:
        await services.jobs.handlers[JobKind.RUN_SOURCE](RunningJob(job, jobs))
    except Died:
        return True
    finally:
        checkpoints.install(None)
        await jobs.rescue(max_deaths=4)
    return False


async def test_run_whose_worker_dies_at_every_place_ends_as_if_none_had(
    sourcing: Sourcing, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.BATCH", 6)
    monkeypatch.setattr("analytiq.ingestion.sources.runs.vanishing.BATCH", 2)
    names = [f"{number:02}.txt" for number in range(24)]
    for name in names:
        sourcing.write(name, f"The first text of {name}.")
    source = await sourcing.source()
    await sourcing.run(source)
    before = await sourcing.documents()
    for name in names[:5]:
        (sourcing.folder / name).unlink()
    for name in names[5:12]:
        sourcing.write(name, f"Another text of {name}.", at=LONG_AGO + 1)
    for number in range(4):
        sourcing.write(f"new{number}.txt", f"A new text {number}.")
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, source.id)
    assert {name for name, _ in PLACES} == set(SOURCE_CHECKPOINTS)
    for name, time in PLACES:
        assert await die_at(sourcing, name, time=time)
    await sourcing.tenant.drain()
    ended = await sourcing.again(run)
    assert (ended.state, ended.counts) == (
        RunState.SUCCEEDED,
        RunCounts(added=4, changed=7, unchanged=12, removed=5),
    )
    after = await sourcing.documents()
    assert sorted(after) == sorted([*names[5:], *(f"new{number}.txt" for number in range(4))])
    assert all(after[name].id == before[name].id for name in names[5:])
    assert all((after[name].sha256 != before[name].sha256) is (name in names[5:12]) for name in names[5:])
    assert len(await sourcing.entries(ended)) == 28
    assert await migrated.database["fs.files"].count_documents({}) == 23
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=23)


async def test_item_that_vanishes_after_a_crash_behind_its_upload_leaves_no_document(sourcing: Sourcing) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        sourcing.write(name, f"A text of {name}.")
    source = await sourcing.source()
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, source.id)
    assert await die_at(sourcing, "sources.batch_uploaded", time=1)
    assert len(await sourcing.documents()) == 3
    (sourcing.folder / "b.txt").unlink()
    await sourcing.tenant.drain()
    assert (await sourcing.again(run)).counts == RunCounts(added=2, removed=1)
    assert list(await sourcing.documents()) == ["a.txt", "c.txt"]


async def test_run_that_costs_too_many_workers_ends_with_the_reason_and_the_next_one_can_start(
    sourcing: Sourcing,
) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source(interval_seconds=3600)
    runs = sourcing.tenant.services.ingestion.source_runs
    run = await runs.start(sourcing.id, source.id)
    for _ in range(4):
        assert (await sourcing.again(run)).is_open
        assert await die_at(sourcing, "sources.batch_staged", time=1)
    assert await runs.keep_up(NoFence()) == 1  # the schedule's next one, for which there is room now
    ended = await sourcing.again(run)
    assert (ended.state, ended.error and ended.error.code) == (RunState.FAILED, "worker_died")
    now = await sourcing.tenant.services.ingestion.sources.get(sourcing.id, source.id)
    assert now.problem == ended.error
    await sourcing.tenant.drain()
    assert list(await sourcing.documents()) == ["a.txt"]


async def test_long_run_goes_on_in_turns(
    compose_services: Compose, sourcing: Sourcing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.BATCH", 3)
    allowed = sourcing.tenant.services.settings.sources.folders
    services = await compose_services(sources=SourceSettings(folders=allowed, turn_seconds=1e-9))
    hasty = Sourcing(sourcing.tenant.seen_by(services), sourcing.folder)
    for number in range(10):
        hasty.write(f"{number}.txt", f"Number {number}.")
    run = await hasty.run(await hasty.source())
    assert (run.state, run.counts) == (RunState.SUCCEEDED, RunCounts(added=10))


async def test_cancelled_run_stops_before_its_next_batch(sourcing: Sourcing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.BATCH", 3)
    for number in range(10):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    source = await sourcing.source()
    runs = sourcing.tenant.services.ingestion.source_runs
    run = await runs.start(sourcing.id, source.id)
    committed = 0

    async def cancel(place: str) -> None:
        nonlocal committed
        committed += place == "sources.batch_committed"
        if committed == 2:  # the beginning, and the first batch
            committed += 1
            await runs.cancel(sourcing.id, source.id, run.id)

    checkpoints.install(cancel)
    await sourcing.tenant.drain()
    ended = await sourcing.again(run)
    assert (ended.state, ended.counts) == (RunState.CANCELLED, RunCounts(added=3))
    assert len(await sourcing.entries(ended, ItemOutcome.ADDED)) == 3
    checkpoints.install(None)
    # What was uploaded and not committed is found by its identity.
    assert (await sourcing.run(source)).counts == RunCounts(added=7, unchanged=3)
    assert len(await sourcing.documents()) == 10


async def test_source_with_an_interval_runs_by_itself_and_once_at_a_time(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source(interval_seconds=3600)
    runs = sourcing.tenant.services.ingestion.source_runs
    assert await runs.keep_up(NoFence()) == 1
    assert await runs.keep_up(NoFence()) == 0
    await sourcing.tenant.drain()
    found, total = await runs.page(sourcing.id, source.id, skip=0, limit=10)
    assert (total, found[0].trigger, found[0].state) == (1, RunTrigger.SCHEDULE, RunState.SUCCEEDED)
    now = await sourcing.tenant.services.ingestion.sources.get(sourcing.id, source.id)
    assert now.next_run_at is not None
    assert 3500 < (now.next_run_at - clock.now()).total_seconds() <= 3600
