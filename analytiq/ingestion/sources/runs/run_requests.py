"""Runs of sources for people: start, list, show, cancel; and the schedule."""

from collections.abc import Collection, Sequence

import structlog

from analytiq import clock
from analytiq.errors import AnalytiqError, ConflictError, InvalidInputError, NotFoundError
from analytiq.ingestion.sources.configuration.service import unknown_source
from analytiq.ingestion.sources.jobs import clean_source_request, run_request
from analytiq.ingestion.sources.runs.waiting import first_wait
from analytiq.jobs.scheduling.fences import Fence
from analytiq.models.source import ItemOutcome, RunState, RunTrigger, Source, SourceRun, SourceRunEntry
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.source_runs import RunEnd
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

SCHEDULE_SECONDS = 15.0
"""Seconds between two looks for due sources."""
DUE_AT_ONCE = 500
MOST_SELECTED = 1000
OPEN_AT_ONCE = 1000
"""Unfinished runs that one pass looks at."""


class SourceRuns:
    """Runs of an organization's sources."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._sources = rows.sources
        self._runs = rows.source_runs
        self._jobs = rows.jobs

    async def start(
        self,
        organization_id: str,
        source_id: str,
        *,
        is_dry_run: bool = False,
        accepts_losses: bool = False,
        is_full: bool = False,
        external_ids: Sequence[str] = (),
        request_id: str | None = None,
    ) -> SourceRun:
        """Start a run of a source as a background job.

        Args:
            organization_id: the source's organization.
            source_id: the source.
            is_dry_run: list and compare, and change nothing.
            accepts_losses: remove what is missing, even if that is most of the items.
            is_full: list everything, although the source tells changes.
            external_ids: fetch these items again, and no others; empty: run the whole source.
            request_id: the id of the caller's request.

        Raises:
            ConflictError: a run of the source is unfinished.
        """
        if len(external_ids) > MOST_SELECTED:
            raise InvalidInputError.of_field("external_ids", f"More than {MOST_SELECTED:,} items.")
        source = await self._require_source(organization_id, source_id)
        run = SourceRun(
            id=new_id(),
            organization_id=organization_id,
            source_id=source_id,
            is_dry_run=is_dry_run,
            accepts_losses=accepts_losses,
            is_full=is_full,
            external_ids=tuple(dict.fromkeys(external_ids)),
            request_id=request_id,
            created_at=clock.now(),
        ).model_copy(update=first_wait(source))

        async def commit(session: Session) -> None:
            await self._insert(session, run)

        await run_in_transaction(self._connection, commit)
        return run

    async def look_again(
        self, source: Source, external_ids: Sequence[str], *, is_whole: bool = False, request_id: str | None = None
    ) -> None:
        """Have items looked at that a service named: by a run at once, or behind the one that is at work."""
        await self._sources.note_pending(source, external_ids, is_whole=is_whole)
        await self._start_pending(source, request_id=request_id)

    async def get(self, organization_id: str, source_id: str, run_id: str) -> SourceRun:
        """Return a run of a source."""
        await self._require_source(organization_id, source_id)
        run = await self._runs.get(organization_id, source_id, run_id)
        if run is None:
            raise NotFoundError(f"The source has no run with the id {run_id!r}. List its runs to find it.")
        return run

    async def page(self, organization_id: str, source_id: str, *, skip: int, limit: int) -> tuple[list[SourceRun], int]:
        """Return a page of a source's runs, latest first, and their count."""
        await self._require_source(organization_id, source_id)
        return await self._runs.page(organization_id, source_id, skip=skip, limit=limit)

    async def latest_of(self, organization_id: str, source_ids: Collection[str]) -> dict[str, SourceRun]:
        """Return the latest run by source id; sources without runs are left out."""
        return await self._runs.latest_of(organization_id, source_ids)

    async def entries(
        self,
        organization_id: str,
        run: SourceRun,
        outcomes: Sequence[ItemOutcome],
        *,
        skip: int,
        limit: int,
    ) -> tuple[list[SourceRunEntry], int]:
        """Return a page of the outcomes of a run's items, and their count; no outcomes: all."""
        return await self._runs.entries(organization_id, run, outcomes, skip=skip, limit=limit)

    async def cancel(self, organization_id: str, source_id: str, run_id: str) -> SourceRun:
        """Cancel a run; what it has taken in stays.

        Raises:
            ConflictError: the run has ended.
        """
        run = await self.get(organization_id, source_id, run_id)
        if not await self._runs.finish(run, RunEnd(RunState.CANCELLED)):
            raise ConflictError("The run has ended. Start another run if you need one.", code="run_ended")
        return await self.get(organization_id, source_id, run_id)

    async def keep_up(self, fence: Fence) -> int:
        """Start the runs that are due in all organizations; return their number."""
        await self._clean_deleted()
        await self._end_given_up()
        now, started = clock.now(), 0
        for source in await self._sources.pending(DUE_AT_ONCE):
            await fence.hold()
            started += await self._start_pending(source, fence=fence)
        for source in await self._sources.due(now, DUE_AT_ONCE):
            await fence.hold()
            try:
                started += await self._start_due(source, fence)
            except AnalytiqError as error:
                # The other sources do not wait for this one.
                log.warning("sources.not_scheduled", source_id=source.id, code=error.code, detail=error.detail)
        return started

    async def _start_pending(
        self, source: Source, *, fence: Fence | None = None, request_id: str | None = None
    ) -> bool:
        """Start the run of a source's noted items; return False while another run is at work."""
        created_at, run_id = clock.now(), new_id()

        async def commit(session: Session) -> bool:
            if fence is not None:
                await fence.hold(session=session)
            if await self._runs.open_run(source.organization_id, source.id, session=session) is not None:
                return False
            noted = await self._sources.take_pending(session, source)
            if noted is None:
                return False
            run = SourceRun(
                id=run_id,
                organization_id=source.organization_id,
                source_id=source.id,
                trigger=RunTrigger.PUSH,
                external_ids=() if noted.is_pending_whole else noted.pending_ids,
                request_id=request_id,
                created_at=created_at,
            ).model_copy(update=first_wait(source))
            await self._insert(session, run)
            return True

        return await run_in_transaction(self._connection, commit)

    async def _start_due(self, source: Source, fence: Fence) -> bool:
        run = SourceRun(
            id=new_id(),
            organization_id=source.organization_id,
            source_id=source.id,
            trigger=RunTrigger.SCHEDULE,
            created_at=clock.now(),
        ).model_copy(update=first_wait(source))

        async def commit(session: Session) -> bool:
            await fence.hold(session=session)
            if not await self._sources.schedule_next(session, source, clock.now()):
                return False
            if await self._runs.open_run(source.organization_id, source.id, session=session) is not None:
                return False  # the run before is still at work
            await self._insert(session, run)
            return True

        return await run_in_transaction(self._connection, commit)

    async def _clean_deleted(self) -> None:
        """Request again the cleaning of deleted sources, whose jobs a restore leaves out."""
        for source in await self._sources.being_deleted(DUE_AT_ONCE):
            await self._jobs.enqueue([clean_source_request(source.organization_id, source.id)])

    async def _end_given_up(self) -> None:
        """End runs whose job was given up when its last worker died: no worker was left to record it."""
        runs = {run_request(run).deduplication_key: run for run in await self._runs.all_open(OPEN_AT_ONCE)}
        for job in await self._jobs.dead_among(runs):
            if job.error is None:
                continue
            run, failure = runs[job.id], job.error.for_owner()
            if await self._runs.finish(run, RunEnd(RunState.FAILED, failure)) and not run.is_dry_run:
                await self._sources.note_problem(run, failure)

    async def _insert(self, session: Session, run: SourceRun) -> None:
        if not await self._sources.hold(session, run.organization_id, run.source_id):
            raise unknown_source(run.source_id)
        other = await self._runs.open_run(run.organization_id, run.source_id, session=session)
        if other is not None:
            raise ConflictError(
                f"The run {other.id} of this source is not at its end. Wait for it, or cancel it.",
                code="source_running",
            )
        await self._runs.insert(session, run)
        await self._jobs.enqueue([run_request(run)], request_id=run.request_id, session=session)

    async def _require_source(self, organization_id: str, source_id: str) -> Source:
        source = await self._sources.get(organization_id, source_id)
        if source is None or source.is_deleted:
            raise unknown_source(source_id)
        return source
