"""Tasks of organizations: who is due, what a failure costs, and who may note a run."""

from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import LeaseLostError, TransientError
from analytiq.jobs.scheduling.fences import Fence, LeaseFence, NoFence
from analytiq.jobs.scheduling.tasks import TenantTask
from analytiq.jobs.scheduling.tenants import TenantTasks
from analytiq.models.organization import Organization
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id

HOUR = 3600.0


class Runs:
    """A tenant task that remembers for whom it ran."""

    def __init__(self, migrated: MongoConnection) -> None:
        self.names: list[str] = []
        self.fails_for: set[str] = set()
        self.intervals: dict[str, float | None] = {}
        self.database = migrated.database
        self._tasks = TenantTasks(Repositories(migrated))

    async def look(self, fence: Fence | None = None, *, task: str = "task") -> list[str]:
        """Look once, as the leader does; return the names of the organizations that the task ran for."""
        self.names = []
        declared = TenantTask(name=task, interval_of=lambda each: self.intervals.get(each.name, HOUR), run=self._run)
        await self._tasks.schedule(declared).run(fence or NoFence())
        return self.names

    async def _run(self, organization: Organization, fence: Fence) -> None:
        await fence.hold()
        self.names.append(organization.name)
        if organization.name in self.fails_for:
            raise TransientError("The source is away. Try again.")

    async def put_back(self, organization: Organization, seconds: float) -> None:
        """Let the organization's last run be this long ago."""
        await self.database["tenant_tasks"].update_one(
            {"organization_id": organization.id},
            [{"$set": {"last_run_at": {"$subtract": ["$$NOW", int(seconds * 1000)]}}}],
        )


@pytest.fixture
def runs(migrated: MongoConnection) -> Runs:
    return Runs(migrated)


@pytest.fixture
async def organizations(migrated: MongoConnection) -> dict[str, Organization]:
    made = {name: Organization(id=new_id(), name=name, created_at=clock.now()) for name in ("a", "b")}
    for organization in made.values():
        await Repositories(migrated).organizations.insert(organization)
    return made


async def test_each_organization_runs_at_its_own_interval(runs: Runs, organizations: dict[str, Organization]) -> None:
    runs.intervals = {"a": HOUR, "b": 10 * HOUR}
    assert sorted(await runs.look()) == ["a", "b"]
    assert await runs.look() == []
    for organization in organizations.values():
        await runs.put_back(organization, 2 * HOUR)
    assert await runs.look() == ["a"]
    await runs.put_back(organizations["b"], 11 * HOUR)
    assert await runs.look() == ["b"]


async def test_organization_that_has_waited_longest_is_first(
    runs: Runs, organizations: dict[str, Organization]
) -> None:
    await runs.look()
    await runs.put_back(organizations["a"], 2 * HOUR)
    await runs.put_back(organizations["b"], 3 * HOUR)
    assert await runs.look() == ["b", "a"]


async def test_last_runs_of_two_tasks_are_apart(runs: Runs, organizations: dict[str, Organization]) -> None:
    assert len(await runs.look()) == len(organizations)
    assert len(await runs.look(task="other")) == len(organizations)
    assert await runs.look(task="other") == []


async def test_organization_that_does_not_want_the_task_has_no_run(
    runs: Runs, organizations: dict[str, Organization]
) -> None:
    runs.intervals = {"a": None}
    assert await runs.look() == ["b"]
    assert await runs.database["tenant_tasks"].distinct("organization_id") == [organizations["b"].id]


async def test_failure_holds_up_no_other_organization_and_is_tried_again_after_the_interval(
    runs: Runs, organizations: dict[str, Organization]
) -> None:
    runs.fails_for = {"a"}
    assert sorted(await runs.look()) == ["a", "b"]
    assert await runs.look() == []
    await runs.put_back(organizations["a"], 2 * HOUR)
    assert await runs.look() == ["a"]


async def test_process_that_lost_the_lead_runs_and_notes_nothing(
    runs: Runs, organizations: dict[str, Organization], migrated: MongoConnection
) -> None:
    leases = Repositories(migrated).leases
    await leases.take("leader", "mine", holder="a", lease_seconds=30)
    fence = LeaseFence(leases, "leader", "mine")
    await migrated.database["leases"].update_one({}, {"$set": {"expires_at": clock.now() - timedelta(days=1)}})
    with pytest.raises(LeaseLostError):
        await runs.look(fence)
    assert runs.names == []
    assert await runs.database["tenant_tasks"].count_documents({}) == 0
    assert sorted(await runs.look()) == ["a", "b"], "the next leader runs it"


async def test_lead_that_is_lost_in_the_middle_of_a_run_lets_the_next_leader_repeat_it(
    runs: Runs, organizations: dict[str, Organization], migrated: MongoConnection
) -> None:
    leases = Repositories(migrated).leases
    await leases.take("leader", "mine", holder="a", lease_seconds=30)

    async def lose(organization: Organization, fence: Fence) -> None:
        runs.names.append(organization.name)
        await migrated.database["leases"].update_one({}, {"$set": {"token": "another's"}})

    task = TenantTask(name="task", interval_of=lambda _: HOUR, run=lose)
    with pytest.raises(LeaseLostError):
        await TenantTasks(Repositories(migrated)).schedule(task).run(LeaseFence(leases, "leader", "mine"))
    assert len(runs.names) == 1
    assert sorted(await runs.look()) == ["a", "b"]


async def test_organization_that_is_erased_during_its_run_leaves_no_row(
    runs: Runs, organizations: dict[str, Organization], migrated: MongoConnection
) -> None:
    async def erase(organization: Organization, fence: Fence) -> None:
        await migrated.database["organizations"].delete_one({"_id": object_id(organization.id)})

    task = TenantTask(name="task", interval_of=lambda each: HOUR if each.name == "a" else None, run=erase)
    await TenantTasks(Repositories(migrated)).schedule(task).run(NoFence())
    assert await runs.database["tenant_tasks"].count_documents({}) == 0
