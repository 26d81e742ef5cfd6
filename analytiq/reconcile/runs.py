"""Runs of the reconciler that are remembered: asked for by an organization, or by the leader for everything."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.errors import AnalytiqError, ConflictError, LeaseLostError, NotFoundError
from analytiq.models.document import Failure
from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority, Progress
from analytiq.models.reconciliation import Depth, FoundDrift, ReconciliationRun, RunState
from analytiq.mongo.client import MongoConnection
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.jobs import JobRepository
from analytiq.mongo.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.mongo.repositories.reconcile_reports import ReconcileReportRepository
from analytiq.mongo.session import Session
from analytiq.mongo.transactions import run_in_transaction
from analytiq.queue.runner import RunningJob
from analytiq.reconcile.fences import Fence, JobFence
from analytiq.reconcile.reconciler import PassOptions, Reconciler, Step
from analytiq.reconcile.report import EXAMPLES, Drift, Report
from analytiq.reconcile.stages import Scope

log = structlog.get_logger(__name__)

WRITE_SECONDS = 1.0
"""How often a run writes how far it is."""
MOST_UNFINISHED = 10
"""Runs of an organization that may wait or run at once."""


class Runs:
    """Asks for runs, does them, and shows them."""

    def __init__(
        self,
        connection: MongoConnection,
        reconciler: Reconciler,
        reports: ReconcileReportRepository,
        documents: DocumentRepository,
        knowledge_bases: KnowledgeBaseRepository,
        jobs: JobRepository,
        *,
        kept_days: int,
    ) -> None:
        self._connection = connection
        self._reconciler = reconciler
        self._reports = reports
        self._documents = documents
        self._knowledge_bases = knowledge_bases
        self._jobs = jobs
        self._kept = timedelta(days=kept_days)

    async def ask(
        self,
        organization_id: str,
        *,
        kb_id: str | None = None,
        depth: Depth = Depth.QUICK,
        is_dry: bool = False,
        rebuilds_cache: bool = False,
        request_id: str | None = None,
    ) -> ReconciliationRun:
        """Ask for a run over an organization, or one knowledge base of it; a worker does it.

        Raises:
            NotFoundError: the organization has no such knowledge base.
            ConflictError: too many of its runs are waiting or running.
        """
        if kb_id is not None and await self._knowledge_bases.get(organization_id, kb_id) is None:
            raise NotFoundError(f"no knowledge base has the id {kb_id!r}")
        if await self._jobs.count_unfinished(organization_id, JobKind.RECONCILE) >= MOST_UNFINISHED:
            raise ConflictError(
                f"{MOST_UNFINISHED} runs of the organization are waiting or running; wait until one has ended",
                code="too_many_runs",
            )
        run = self._new(organization_id, kb_id, depth, is_dry=is_dry, rebuilds_cache=rebuilds_cache)

        async def commit(session: Session) -> None:
            await self._reports.insert(run, session=session)
            await self._jobs.enqueue([_request(run)], request_id=request_id, session=session)

        await run_in_transaction(self._connection, commit)
        return run

    async def get(self, organization_id: str, run_id: str) -> ReconciliationRun:
        """A run, as far as it is.

        Raises:
            NotFoundError: the organization has no such run, or it has expired.
        """
        run = await self._reports.get(organization_id, run_id)
        if run is None:
            raise NotFoundError(f"no run has the id {run_id!r}")
        return await self._named((await self._as_they_are([run]))[0])

    async def page(
        self, organization_id: str, *, kb_id: str | None = None, skip: int, limit: int
    ) -> tuple[list[ReconciliationRun], int]:
        """A page of an organization's runs, newest first, without their examples, and how many there are."""
        runs, total = await self._reports.page(organization_id, kb_id=kb_id, skip=skip, limit=limit)
        return await self._as_they_are(runs), total

    async def handle(self, running: RunningJob) -> None:
        """The handler of runs' jobs; a run whose worker died goes on where it was."""
        job = running.job
        if job.subject.run_id is None:
            raise ValueError("a job of a run names it")
        run = await self._reports.get(job.organization_id, job.subject.run_id)
        if run is None or run.state in (RunState.DONE, RunState.FAILED):
            return
        await self._do(run, JobFence(self._jobs, job))

    async def run_over_everything(self, depth: Depth, fence: Fence) -> ReconciliationRun:
        """A pass of the leader: goes on with the one whose process has ended, else begins one.

        What it found of an organization is stored for that organization as well, for its owners to see.

        Raises:
            LeaseLostError: another process leads.
        """
        run = await self._reports.unfinished_over_everything(depth)
        if run is None:
            run = self._new(None, None, depth)
            await fence.hold()
            await self._reports.insert(run)
        return await self._do(run, fence)

    def _new(
        self,
        organization_id: str | None,
        kb_id: str | None,
        depth: Depth,
        *,
        is_dry: bool = False,
        rebuilds_cache: bool = False,
    ) -> ReconciliationRun:
        now = clock.now()
        return ReconciliationRun(
            id=new_id(),
            organization_id=organization_id,
            kb_id=kb_id,
            depth=depth,
            is_dry=is_dry,
            rebuilds_cache=rebuilds_cache,
            state=RunState.QUEUED,
            created_at=now,
            expires_at=now + self._kept,
        )

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
        if run.organization_id is None:
            await self._tell_organizations(done, report)
        log.info(
            "reconciler.pass", run_id=done.id, depth=done.depth.value, knowledge_bases=done.knowledge_bases,
            checked=done.checked, drift=done.counts, repairs=done.repairs, is_cut=done.is_cut,
        )  # fmt: skip
        return done

    async def _tell_organizations(self, run: ReconciliationRun, report: Report) -> None:
        """Store for each organization what was found of it, without what a process that died had found before."""
        for organization_id, own in (report.of_organization or {}).items():
            told = {
                "id": new_id(),
                "organization_id": organization_id,
                "counts": own.counts(),
                "examples": tuple(_found(item) for item in own.drift),
                "repairs": 0,
                "knowledge_bases": 0,
                "checked": 0,
            }
            await self._reports.insert(run.model_copy(update=told))

    async def _named(self, run: ReconciliationRun) -> ReconciliationRun:
        """With the names of documents and knowledge bases that are still there."""
        if run.organization_id is None:
            return run
        documents = await self._documents.names(
            run.organization_id, {item.document_id for item in run.examples if item.document_id}
        )
        kb_names = await self._knowledge_bases.names(
            run.organization_id, {item.kb_id for item in run.examples if item.kb_id}
        )
        named = [
            item.model_copy(
                update={
                    "kb_name": kb_names.get(item.kb_id or ""),
                    "document_name": documents.get(item.document_id or ""),
                }
            )
            for item in run.examples
        ]
        return run.model_copy(update={"examples": tuple(named)})

    async def _as_they_are(self, runs: list[ReconciliationRun]) -> list[ReconciliationRun]:
        """A run whose job was given up, cancelled or lost says so, though nobody wrote it into its row."""
        waiting = {_request(run).deduplication_key: run for run in runs if _is_unfinished(run)}
        if not waiting:
            return runs
        unfinished = await self._jobs.unfinished_among(waiting)
        dead = {job.id: job for job in await self._jobs.dead_among(waiting)}
        # A job that has ended between the reads has written its run's end before.
        again = {run.id: await self._reports.get(run.organization_id or "", run.id) for key, run in waiting.items()
                 if key not in unfinished}  # fmt: skip
        seen: dict[str, ReconciliationRun] = {}
        for key, run in waiting.items():
            latest = again.get(run.id)
            if key in unfinished or latest is None:
                continue
            job = dead.get(key)
            error = job.error.for_owner() if job is not None and job.error is not None else None
            lost = Failure(code="run_lost", detail="its job is gone; ask for another run", at=run.created_at)
            is_over = not _is_unfinished(latest)
            seen[run.id] = (
                latest
                if is_over
                else latest.model_copy(update={"state": RunState.FAILED, "error": error or latest.error or lost})
            )
        return [seen.get(run.id, run) for run in runs]


class _Keeper:
    """Writes how far a run is, at most once a second."""

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
        """Show why; the job may try again."""
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
    return FoundDrift(kind=item.kind, kb_id=item.kb_id, document_id=item.document_id, detail=item.detail)


def _first_of_each(examples: Iterable[FoundDrift]) -> tuple[FoundDrift, ...]:
    kept: dict[str, list[FoundDrift]] = {}
    for item in examples:
        of_kind = kept.setdefault(item.kind.value, [])
        if len(of_kind) < EXAMPLES and item not in of_kind:
            of_kind.append(item)
    return tuple(item for of_kind in kept.values() for item in of_kind)


def _is_unfinished(run: ReconciliationRun) -> bool:
    return run.state in (RunState.QUEUED, RunState.RUNNING)


def _request(run: ReconciliationRun) -> JobRequest:
    return JobRequest(
        kind=JobKind.RECONCILE,
        organization_id=run.organization_id or "",
        subject=JobSubject(kb_id=run.kb_id, run_id=run.id),
        priority=Priority.INTERACTIVE,
    )
