"""`analytiq reconcile --everything` and `analytiq reports --everything`: all organizations, for operators.

Directly in the database: no token opens more than one organization.
"""

import asyncio
from pathlib import Path
from typing import Any

from analytiq.cli.console import messages, note, print_rows
from analytiq.cli.reconcile import COLUMNS, print_report, row_of
from analytiq.client import ReconcileReport, ReconcileRun
from analytiq.models.reconciliation import Depth, ReconciliationRun
from analytiq.operations.reconcile.run_requests import RunRequests
from analytiq.settings import Settings
from analytiq.standalone.local_database import address_of_database, run_on_database
from analytiq.storage.client import MongoConnection

LOOK_SECONDS = 0.5


def run(
    settings: Settings, data_dir: Path | None, *, is_full: bool, is_dry: bool, rebuilds_cache: bool, waits: bool
) -> bool:
    """Check all organizations; return False if the run failed."""

    async def ask(connection: MongoConnection) -> ReconciliationRun:
        requests = _requests(connection, settings)
        depth = Depth.FULL if is_full else Depth.QUICK
        asked = await requests.ask(None, depth=depth, is_dry=is_dry, rebuilds_cache=rebuilds_cache)
        if not waits:
            return asked
        while not (shown := _report(await requests.get(None, asked.id))).is_over:
            if shown.progress:
                messages.print(f"{shown.progress.done} of {shown.progress.total} parts", end="\r", markup=False)
            await asyncio.sleep(LOOK_SECONDS)
        return await requests.get(None, asked.id)

    found = run_on_database(address_of_database(settings, data_dir), settings.mongo.database, ask)
    if not waits:
        note(f"The run {found.id} is waiting for a worker; `analytiq reports --everything {found.id}` shows it.")
        return True
    _print(found)
    return found.state.value == "done"


def print_table(settings: Settings, data_dir: Path | None, limit: int) -> None:
    """Print the latest runs over everything: passes of the reconciler, and operators' requests."""

    async def read(connection: MongoConnection) -> tuple[list[ReconciliationRun], int]:
        return await _requests(connection, settings).page(None, skip=0, limit=limit)

    runs, total = run_on_database(address_of_database(settings, data_dir), settings.mongo.database, read)
    if not runs:
        note("No pass has run yet. Is `python -m reconciler` running?")
        return
    print_rows(COLUMNS, [row_of(_run(item)) for item in runs])
    if total > len(runs):
        note(f"{len(runs)} of {total}; --limit shows more.")


def print_one(settings: Settings, data_dir: Path | None, run_id: str) -> None:
    """Print a run over everything with its findings."""

    async def read(connection: MongoConnection) -> ReconciliationRun:
        return await _requests(connection, settings).get(None, run_id)

    _print(run_on_database(address_of_database(settings, data_dir), settings.mongo.database, read))


def _requests(connection: MongoConnection, settings: Settings) -> RunRequests:
    return RunRequests(connection, kept_days=settings.reconciler.report_days)


def _print(run: ReconciliationRun) -> None:
    print_report(_report(run))
    owners = sorted({item.organization_id for item in run.examples if item.organization_id})
    if owners:
        note(f"Organizations: {', '.join(owners)}.")


def _run(run: ReconciliationRun) -> ReconcileRun:
    return ReconcileRun.model_validate(_fields(run))


def _report(run: ReconciliationRun) -> ReconcileReport:
    fields = _fields(run)
    return ReconcileReport.model_validate({**fields, "drift": fields["examples"], "more": run.more})


def _fields(run: ReconciliationRun) -> dict[str, Any]:
    return {**run.model_dump(), "run_id": run.id, "dry_run": run.is_dry, "periodic": run.is_periodic}
