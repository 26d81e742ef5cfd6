"""Passes as periodic tasks of the leader."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from analytiq.jobs.scheduling import leadership
from analytiq.operations.reconcile.passes import passes
from analytiq.settings import ReconcilerSettings
from tests.integration.reconcile.conftest import Patient

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "WAIT_SECONDS", 0.02)


async def finished_passes(patient: Patient) -> int:
    """Tasks are noted once they have run, after their reports are written."""
    row = await patient.database["leases"].find_one({"_id": leadership.LEASE}) or {}
    return len({"pass", "full_pass"} & row.get("tasks", {}).keys())


async def test_leader_of_a_healthy_system_writes_nothing_but_reports_and_its_lease(
    patient: Patient, eventually: EventuallyTrue
) -> None:
    own = ("leases", "reconcile_reports")
    before = await patient.fingerprint_but(*own)
    stopping = asyncio.Event()
    leading = asyncio.create_task(patient.tenant.services.operations.leader().run(stopping))

    async def is_done() -> bool:
        return leading.done() or await finished_passes(patient) == 2

    await eventually(is_done)
    stopping.set()
    await leading
    assert await patient.fingerprint_but(*own) == before
    reports = [row async for row in patient.database["reconcile_reports"].find()]
    assert sorted((row["depth"], row["state"], row["checked"]) for row in reports) == [
        ("full", "done", 2), ("quick", "done", 2),
    ]  # fmt: skip


async def test_passes_run_unless_they_are_switched_off(patient: Patient) -> None:
    runs = patient.tenant.services.operations.reconciliations
    assert [task.name for task in passes(runs, ReconcilerSettings())] == ["pass", "full_pass"]
    assert passes(runs, ReconcilerSettings(is_enabled=False)) == []
