"""The registry of invariants: complete, and each proved by tests that find its drift and repair it."""

import ast
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.job import JobKind
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import Invariant, System
from analytiq.operations.reconcile.invariants.registry import INVARIANTS
from analytiq.operations.reconcile.invariants.stuck_documents import StuckDocuments
from analytiq.operations.reconcile.repairing import RepairWriter, Requested
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.all_repositories import Repositories

ROOT = Path(__file__).parents[3]
GUARANTEES = (ROOT / "docs/guarantees.md").read_text()
SECTION = "## What the reconciler finds and repairs"
ONLY_REPORTED = {DriftKind.LOST_FILE, DriftKind.LOST_DOCUMENT}
REPAIRING_CALLS = {"mend", "mended", "run_pass", "reconcile", "look"}


def rows() -> list[tuple[str, str, str, str]]:
    """Module, kind, grace period and tests of each row of the table."""
    table = GUARANTEES.partition(SECTION)[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    return [(module, kind, grace.strip(), tests) for module, kind, grace, tests in found]


def module_of(invariant: type[Invariant]) -> str:
    return invariant.__module__.rpartition(".")[2]


def test_every_module_is_registered_once_and_names_are_unique() -> None:
    files = {path.stem for path in (ROOT / "analytiq/operations/reconcile/invariants").glob("*.py")}
    modules = [module_of(invariant) for invariant in INVARIANTS]
    assert sorted(modules) == sorted(files - {"__init__", "base", "registry"})
    assert len({invariant.name for invariant in INVARIANTS}) == len(INVARIANTS)


def test_every_kind_of_drift_is_found_by_an_invariant() -> None:
    assert {kind for invariant in INVARIANTS for kind in invariant.kinds} == set(DriftKind)


def test_every_kind_of_every_invariant_has_a_row_with_its_grace_period() -> None:
    said = {float("inf"): "as configured", 60.0: "a minute", 0.0: "none"}
    expected = {
        (module_of(invariant), kind.value, said[invariant.most_grace_seconds])
        for invariant in INVARIANTS
        for kind in invariant.kinds
    }
    assert {(module, kind, grace) for module, kind, grace, _ in rows()} == expected


@pytest.mark.parametrize(("module", "kind", "grace", "tests"), rows())
def test_every_kind_has_a_test_that_finds_and_repairs_it(module: str, kind: str, grace: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
    assert named
    proofs = 0
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        (function,) = [
            node for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == name
        ]
        calls = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
        calls |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        words = {node.value for node in ast.walk(function) if isinstance(node, ast.Constant)}
        is_found = kind in words or DriftKind(kind).name in calls
        proofs += is_found and bool(calls & REPAIRING_CALLS)
    assert proofs, f"none of the tests finds {kind} and repairs it"


class Recorder(RepairWriter):
    """A writer that records which kind of job repairs which kind of drift, and writes nothing."""

    def __init__(self) -> None:
        super().__init__(Repositories(cast("Any", None)), NoFence())
        self.jobs: dict[DriftKind, JobKind] = {}
        self.acts: set[DriftKind] = set()

    async def enqueue(self, requested: Sequence[Requested], *, prepare: object = None) -> int:
        self.jobs |= {item.kind: request.kind for item, request in requested}
        return len(requested)

    async def apply(self, drift: Sequence[Drift], act: Callable[[Drift], Awaitable[object]]) -> int:
        self.acts |= {item.kind for item in drift}
        return len(drift)

    async def delete(self, drift: Sequence[Drift], act: Callable[[Drift], Awaitable[object]]) -> int:
        return await self.apply(drift, act)


async def test_each_kind_is_repaired_by_the_job_that_changes_enqueue_or_by_a_change_of_its_own() -> None:
    nothing = cast("Any", None)
    system = System(Repositories(nothing), nothing, nothing, nothing, 0.0)
    recorder = Recorder()
    for invariant in INVARIANTS:
        if DriftKind.UNCACHED in invariant.kinds or invariant is StuckDocuments:
            continue  # these read first
        drift = [Drift(kind, "o", "k", "d", "g", "x") for kind in sorted(invariant.kinds - ONLY_REPORTED)]
        assert await invariant(system).repair(drift, recorder) == len(drift)
    assert recorder.jobs == {
        DriftKind.MISSING: JobKind.SYNC,
        DriftKind.STALE: JobKind.SYNC,
        DriftKind.OUTDATED: JobKind.SYNC,
        DriftKind.HOLLOW: JobKind.SYNC,
        DriftKind.UNINDEXED: JobKind.SYNC,
        DriftKind.ORPHAN: JobKind.SWEEP,
        DriftKind.HALF_DELETED: JobKind.DROP_KB,
        DriftKind.LOST_TEXT: JobKind.EXTRACT,
        DriftKind.ORPHANED_FILE: JobKind.CLEAN_DOCUMENT,
    }
    read_first = {DriftKind.UNCACHED, DriftKind.STUCK_DOCUMENT}
    assert recorder.acts == set(DriftKind) - recorder.jobs.keys() - ONLY_REPORTED - read_first


async def test_what_is_only_reported_is_not_repaired() -> None:
    nothing = cast("Any", None)
    system = System(Repositories(nothing), nothing, nothing, nothing, 0.0)
    for invariant in INVARIANTS:
        drift = [Drift(kind, "o", "k", "d", "g", "x") for kind in invariant.kinds & ONLY_REPORTED]
        if drift:
            assert await invariant(system).repair(drift, Recorder()) == 0
