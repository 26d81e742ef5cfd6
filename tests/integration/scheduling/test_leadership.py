"""The lease, and what the process does that holds it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from analytiq.errors import LeaseLostError, TransientError
from analytiq.jobs.scheduling import leadership
from analytiq.jobs.scheduling.fences import Fence
from analytiq.jobs.scheduling.leadership import Leader
from analytiq.jobs.scheduling.tasks import PeriodicTask
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.leases import LeaseRepository
from analytiq.storage.session import DatabaseError, Session
from analytiq.storage.transactions import run_in_transaction

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
def leases(migrated: MongoConnection) -> LeaseRepository:
    return LeaseRepository(migrated)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "WAIT_SECONDS", 0.02)


async def run_out(migrated: MongoConnection, name: str) -> None:
    """Let the lease's time be over, by the server's clock."""
    await migrated.database["leases"].update_one({"_id": name}, [{"$set": {"expires_at": {"$subtract": ["$$NOW", 1]}}}])


async def test_of_many_who_take_a_lease_at_once_one_has_it(leases: LeaseRepository) -> None:
    taken = await asyncio.gather(
        *(leases.take("name", f"token-{number}", holder="h", lease_seconds=30) for number in range(20))
    )
    assert sum(taken) == 1


async def test_lease_that_has_run_out_can_be_taken_and_its_holder_finds_out(
    leases: LeaseRepository, migrated: MongoConnection
) -> None:
    assert await leases.take("name", "first", holder="a", lease_seconds=30)
    assert not await leases.take("name", "second", holder="b", lease_seconds=30)
    assert await leases.renew("name", "first", lease_seconds=30)
    await run_out(migrated, "name")
    assert not await leases.renew("name", "first", lease_seconds=30), "it may be another's in a moment"
    assert await leases.take("name", "second", holder="b", lease_seconds=30)
    with pytest.raises(LeaseLostError):
        await leases.hold("name", "first")
    await leases.release("name", "first")
    await leases.hold("name", "second")
    await leases.release("name", "second")
    assert await leases.take("name", "third", holder="c", lease_seconds=30)


async def test_lease_that_is_lost_within_a_transaction_makes_its_commit_fail(
    leases: LeaseRepository, migrated: MongoConnection
) -> None:
    await leases.take("name", "first", holder="a", lease_seconds=30)
    await migrated.database["tags"].insert_one({"_id": "before"})

    async def write(session: Session) -> None:
        # Read within the snapshot, before the other takes the lease; held after it.
        await migrated.database["tags"].find_one({}, session=session)
        await run_out(migrated, "name")
        await leases.take("name", "second", holder="b", lease_seconds=30)
        await leases.hold("name", "first", session=session)
        await migrated.database["tags"].insert_one({"_id": "late"}, session=session)

    with pytest.raises(LeaseLostError):
        await run_in_transaction(migrated, write)
    assert await migrated.database["tags"].count_documents({"_id": "late"}) == 0


async def test_task_is_due_when_its_time_has_come_whoever_did_it_last(
    leases: LeaseRepository, migrated: MongoConnection
) -> None:
    await leases.take("name", "first", holder="a", lease_seconds=30)
    assert await leases.is_due("name", "task", interval_seconds=3600)
    assert await leases.note_run("name", "first", "task")
    assert not await leases.is_due("name", "task", interval_seconds=3600)
    assert await leases.is_due("name", "task", interval_seconds=0)
    assert await leases.is_due("name", "other", interval_seconds=3600)
    await run_out(migrated, "name")
    assert not await leases.note_run("name", "first", "other")
    await leases.take("name", "second", holder="b", lease_seconds=30)
    assert not await leases.is_due("name", "task", interval_seconds=3600)


def every(seconds: float, name: str, run: Callable[[Fence], Awaitable[object]]) -> PeriodicTask:
    return PeriodicTask(name=name, interval_seconds=seconds, run=run)


class Counted:
    """A task that counts how often it was done."""

    def __init__(self, *failures: Exception) -> None:
        self.times = 0
        self._failures = list(failures)

    async def __call__(self, fence: Fence) -> None:
        await fence.hold()
        self.times += 1
        if self._failures:
            raise self._failures.pop(0)


async def led(
    leases: LeaseRepository, *tasks: PeriodicTask, until: Callable[[], bool], eventually: EventuallyTrue
) -> None:
    stopping = asyncio.Event()
    leading = asyncio.create_task(Leader(leases, tasks, lease_seconds=0.5).run(stopping))
    try:
        await eventually(lambda: until() or leading.done())
    finally:
        stopping.set()
        await leading


async def test_task_that_fails_holds_up_no_other_and_is_tried_again(
    leases: LeaseRepository, eventually: EventuallyTrue
) -> None:
    failing, other = Counted(TransientError("not now"), DatabaseError("away"), ZeroDivisionError()), Counted()
    await led(
        leases, every(0.05, "failing", failing), every(3600.0, "other", other), until=lambda: failing.times == 4,
        eventually=eventually,
    )  # fmt: skip
    assert other.times == 1


async def test_tasks_are_run_by_one_of_several_processes(leases: LeaseRepository, eventually: EventuallyTrue) -> None:
    stopping, counted = asyncio.Event(), [Counted() for _ in range(5)]
    leaders = [
        asyncio.create_task(Leader(leases, [every(3600.0, "task", each)], lease_seconds=30).run(stopping))
        for each in counted
    ]
    await eventually(lambda: sum(each.times for each in counted) > 0)
    stopping.set()
    await asyncio.gather(*leaders)
    assert sum(each.times for each in counted) == 1


async def test_process_that_ends_lets_the_next_one_lead_at_once(
    leases: LeaseRepository, eventually: EventuallyTrue
) -> None:
    first, second = Counted(), Counted()
    await led(leases, every(3600.0, "first", first), until=lambda: first.times == 1, eventually=eventually)
    await led(leases, every(3600.0, "second", second), until=lambda: second.times == 1, eventually=eventually)


async def test_work_is_stopped_when_the_lease_is_lost(
    leases: LeaseRepository, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def long(_: Fence) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async def take_over() -> None:
        await begun.wait()
        await run_out(migrated, leadership.LEASE)
        assert await leases.take(leadership.LEASE, "other", holder="other", lease_seconds=30)

    taking = asyncio.create_task(take_over())
    await led(leases, every(3600.0, "long", long), until=stopped.is_set, eventually=eventually)
    await taking
    await leases.hold(leadership.LEASE, "other")
