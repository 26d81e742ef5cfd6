"""Requests for runs of the reconciler, and their views; workers execute them (`analytiq.operations.reconcile.runs`)."""

from datetime import timedelta

from analytiq import clock
from analytiq.errors import ConflictError, NotFoundError
from analytiq.models.document import Failure
from analytiq.models.job import JobKind, JobRequest, Priority
from analytiq.models.job_payloads import ReconcilePayload
from analytiq.models.reconciliation import Depth, ReconciliationRun, RunState
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.repositories.reconcile_reports import ReconcileReportRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

MOST_UNFINISHED = 10
"""Most unfinished runs of an organization."""


class RunRequests:
    """Runs by organization; None for runs over everything, which only operators may request."""

    def __init__(self, connection: MongoConnection, *, kept_days: int) -> None:
        self._connection = connection
        self._reports = ReconcileReportRepository(connection)
        self._documents = DocumentRepository(connection)
        self._knowledge_bases = KnowledgeBaseRepository(connection)
        self._jobs = JobRepository(connection)
        self._kept = timedelta(days=kept_days)

    async def ask(
        self,
        organization_id: str | None,
        *,
        kb_id: str | None = None,
        depth: Depth = Depth.QUICK,
        is_dry: bool = False,
        rebuilds_cache: bool = False,
        request_id: str | None = None,
    ) -> ReconciliationRun:
        """Request a run over an organization, one knowledge base of it, or everything; a worker executes it.

        Raises:
            NotFoundError: the organization has no such knowledge base.
            ConflictError: too many of its runs are waiting or running.
        """
        if kb_id is not None and await self._knowledge_bases.get(organization_id or "", kb_id) is None:
            raise NotFoundError(f"No knowledge base has the id {kb_id!r}. List the knowledge bases to find it.")
        if await self._jobs.count_unfinished(organization_id or "", JobKind.RECONCILE) >= MOST_UNFINISHED:
            raise ConflictError(
                f"{MOST_UNFINISHED} requested runs are waiting or running. Wait until one has ended.",
                code="too_many_runs",
            )
        run = self._new(organization_id, kb_id, depth, is_dry=is_dry, rebuilds_cache=rebuilds_cache, is_asked=True)

        async def commit(session: Session) -> None:
            await self._reports.insert(run, session=session)
            await self._jobs.enqueue([_request(run)], request_id=request_id, session=session)

        await run_in_transaction(self._connection, commit)
        return run

    async def get(self, organization_id: str | None, run_id: str) -> ReconciliationRun:
        """Return a run in its present state.

        Raises:
            NotFoundError: the organization has no such run, or it has expired.
        """
        run = await self._reports.get(organization_id, run_id)
        if run is None:
            raise NotFoundError(f"No run has the id {run_id!r}. List the runs to find it.")
        return await self._named((await self._as_they_are([run]))[0])

    async def page(
        self, organization_id: str | None, *, kb_id: str | None = None, skip: int, limit: int
    ) -> tuple[list[ReconciliationRun], int]:
        """Return a page of an organization's runs, newest first, without examples, and the total count."""
        runs, total = await self._reports.page(organization_id, kb_id=kb_id, skip=skip, limit=limit)
        return await self._as_they_are(runs), total

    def _new(
        self,
        organization_id: str | None,
        kb_id: str | None,
        depth: Depth,
        *,
        is_dry: bool = False,
        rebuilds_cache: bool = False,
        is_asked: bool = False,
    ) -> ReconciliationRun:
        now = clock.now()
        return ReconciliationRun(
            id=new_id(),
            organization_id=organization_id,
            kb_id=kb_id,
            depth=depth,
            is_dry=is_dry,
            rebuilds_cache=rebuilds_cache,
            is_asked=is_asked,
            state=RunState.QUEUED,
            created_at=now,
            expires_at=now + self._kept,
        )

    async def _named(self, run: ReconciliationRun) -> ReconciliationRun:
        """Add the names of existing documents and knowledge bases."""
        documents: dict[str, str] = {}
        kb_names: dict[str, str] = {}
        for organization_id in {item.organization_id for item in run.examples if item.organization_id}:
            own = [item for item in run.examples if item.organization_id == organization_id]
            documents |= await self._documents.names(
                organization_id, {item.document_id for item in own if item.document_id}
            )
            kb_names |= await self._knowledge_bases.names(organization_id, {item.kb_id for item in own if item.kb_id})
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
        """Show a run as failed, cancelled or lost if its job is, although its row does not say so."""
        waiting = {_request(run).deduplication_key: run for run in runs if _is_unfinished(run)}
        if not waiting:
            return runs
        unfinished = await self._jobs.unfinished_among(waiting)
        dead = {job.id: job for job in await self._jobs.dead_among(waiting)}
        # A job that has ended between the reads has recorded its run's end before.
        again = {run.id: await self._reports.get(run.organization_id, run.id) for key, run in waiting.items()
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


def _is_unfinished(run: ReconciliationRun) -> bool:
    return run.is_asked and run.state in (RunState.QUEUED, RunState.RUNNING)


def _request(run: ReconciliationRun) -> JobRequest:
    return JobRequest(
        payload=ReconcilePayload(run_id=run.id, kb_id=run.kb_id),
        organization_id=run.organization_id or "",
        priority=Priority.INTERACTIVE,
    )
