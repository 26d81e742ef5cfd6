"""Executes runs of the reconciler, and stores their progress and findings."""

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from analytiq import clock
from analytiq.errors import AnalytiqError, LeaseLostError
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.jobs.scheduling.fences import Fence, JobFence
from analytiq.models.document import Failure
from analytiq.models.job import Progress
from analytiq.models.job_payloads import ReconcilePayload
from analytiq.models.reconciliation import Depth, FoundDrift, ReconciliationRun, RunState
from analytiq.operations.reconcile.reconciler import PassOptions, Reconciler, Scope, Step
from analytiq.operations.reconcile.report import EXAMPLES, Drift, Report
from analytiq.operations.reconcile.run_requests import RunRequests
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.reconcile_reports import ReconcileReportRepository

log = structlog.get_logger(__name__)

WRITE_SECONDS = 1.0
"""Seconds between two writes of a run's progress."""


class Runs(RunRequests):
    """Executes requested runs, and those of the leader."""

    def __init__(self, connection: MongoConnection, reconciler: Reconciler, *, kept_days: int) -> None:
        super().__init__(connection, kept_days=kept_days)
        self._reconciler = reconciler

    @job(ReconcilePayload)
    async def handle(self, running: RunningJob, payload: ReconcilePayload) -> None:
        """Handle a run's job; resume a run whose worker died."""
        job = running.job
        run = await self._reports.get(job.organization_id or None, payload.run_id)
        if run is None or run.state in (RunState.DONE, RunState.FAILED):
            return
        await self._do(run, JobFence(self._jobs, job))

    async def run_over_everything(self, depth: Depth, fence: Fence) -> ReconciliationRun:
        """Run a pass as the leader: resume an interrupted pass, else begin one.

        Findings in an organization are also stored for that organization, so that its owners see them.

        Raises:
            LeaseLostError: another process leads.
        """
        run = await self._reports.unfinished_over_everything(depth)
        if run is None:
            run = self._new(None, None, depth)
            await fence.hold()
            await self._reports.insert(run)
        return await self._do(run, fence)

    async def _do(self, run: ReconciliationRun, fence: Fence) -> ReconciliationRun:
        keeper = _Keeper(run, self._reports, fence)
        report = Report(repairs=run.repairs, is_cut=run.is_cut, entries=run.checked)
        if run.organization_id is None:
            report.of_organization = {}
        report.resume(run.counts)
        options = PassOptions(
            scope=Scope(run.organization_id, run.kb_id),
            depth=run.depth,
            is_dry=run.is_dry,
            rebuilds_cache=run.rebuilds_cache,
            reads_changes=run.is_periodic,
            resume=run.position,
        )
        await keeper.begin()
        try:
            await self._reconciler.reconcile(options, fence, report=report, on_step=keeper.note)
        except LeaseLostError:
            raise
        except AnalytiqError as error:
            await keeper.fail(report, Failure(code=error.code, detail=error.detail, at=clock.now()))
            raise
        done = await keeper.finish(report)
        if run.organization_id is None and not run.is_dry:
            await self._tell_organizations(done, report)
        log.info(
            "reconciler.pass", run_id=done.id, depth=done.depth.value, knowledge_bases=done.knowledge_bases,
            checked=done.checked, drift=done.counts, repairs=done.repairs, is_cut=done.is_cut,
        )  # fmt: skip
        return done

    async def _tell_organizations(self, run: ReconciliationRun, report: Report) -> None:
        """Store each organization's findings, without those of a process that died before."""
        for organization_id, own in (report.of_organization or {}).items():
            told = {
                "id": new_id(),
                "organization_id": organization_id,
                "is_asked": False,
                "counts": own.counts(),
                "examples": tuple(_found(item) for item in own.drift),
                "repairs": 0,
                "knowledge_bases": 0,
                "checked": 0,
            }
            await self._reports.insert(run.model_copy(update=told))


class _Keeper:
    """Stores a run's progress, at most once a second."""

    def __init__(self, run: ReconciliationRun, reports: ReconcileReportRepository, fence: Fence) -> None:
        self._run = run
        self._before = run.examples
        self._reports = reports
        self._fence = fence
        self._written_at = 0.0

    async def begin(self) -> None:
        started_at = self._run.started_at or clock.now()
        await self._write(self._run.model_copy(update={"state": RunState.RUNNING, "started_at": started_at}))

    async def note(self, report: Report, step: Step) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._written_at < WRITE_SECONDS:
            return
        self._written_at = now
        progress = Progress(done=step.done, total=step.total, unit="parts")
        await self._write(self._with(report, {"position": step.position, "progress": progress}))

    async def fail(self, report: Report, failure: Failure) -> None:
        """Record the failure; the job may retry."""
        await self._write(self._with(report, {"error": failure}))

    async def finish(self, report: Report) -> ReconciliationRun:
        ended = {"state": RunState.DONE, "ended_at": clock.now(), "position": None, "progress": None, "error": None}
        return await self._write(self._with(report, ended))

    def _with(self, report: Report, changes: Mapping[str, object]) -> ReconciliationRun:
        found = {
            "counts": report.counts(),
            "examples": _first_of_each([*self._before, *(_found(item) for item in report.drift)]),
            "repairs": report.repairs,
            "is_cut": report.is_cut,
            "knowledge_bases": report.knowledge_bases,
            "checked": report.entries,
        }
        return self._run.model_copy(update={**found, **changes})

    async def _write(self, run: ReconciliationRun) -> ReconciliationRun:
        await self._fence.hold()
        self._run = run
        await self._reports.update(run)
        return run


def _found(item: Drift) -> FoundDrift:
    return FoundDrift(
        kind=item.kind,
        organization_id=item.organization_id or None,
        kb_id=item.kb_id,
        document_id=item.document_id,
        detail=item.detail,
    )


def _first_of_each(examples: Iterable[FoundDrift]) -> tuple[FoundDrift, ...]:
    kept: dict[str, list[FoundDrift]] = {}
    for item in examples:
        of_kind = kept.setdefault(item.kind.value, [])
        if len(of_kind) < EXAMPLES and item not in of_kind:
            of_kind.append(item)
    return tuple(item for of_kind in kept.values() for item in of_kind)
