"""Runs of sources: list, compare, take in, and remove what vanished.

A run is a job. It goes on in turns of some seconds, so that it holds no slot for long. Each batch of items is uploaded
first; then one transaction stores the items' states, their outcomes, the counts and the cursor. A worker that dies
in between has uploaded documents that the next attempt finds by their identities: nothing is lost or doubled.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import structlog

from analytiq import clock
from analytiq.errors import (
    AccessDeniedError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    QuotaExceededError,
    RateLimitedError,
    TransientError,
)
from analytiq.ingestion.sources.base import ListedBatch, PositionExpiredError, SourceSilentError
from analytiq.ingestion.sources.configuration.opening import Connectors
from analytiq.ingestion.sources.jobs import run_request
from analytiq.ingestion.sources.runs.listing import FOUND_AT_ONCE, CutBatch, cut, found_again, next_batch, selected
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.ingestion.sources.runs.outcomes import TakenBatch
from analytiq.ingestion.sources.runs.positions import Positions
from analytiq.ingestion.sources.runs.taking import ItemTaking
from analytiq.ingestion.sources.runs.vanishing import Vanishing
from analytiq.ingestion.sources.runs.waiting import RunWaits
from analytiq.jobs.queue.handling import job, when_dead
from analytiq.jobs.queue.retry import failure_of
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job
from analytiq.models.job_payloads import RunSourcePayload
from analytiq.models.source import (
    ItemOutcome,
    RunCounts,
    RunNote,
    RunPhase,
    RunState,
    Source,
    SourceItem,
    SourceRun,
    SourceRunEntry,
)
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.source_runs import RunEnd
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

DENIED_PAUSE = timedelta(days=1)
"""Least time until the next scheduled run of a source that denies access: a person has to act."""
CLOSING_SECONDS = 10.0

Settle = Callable[[Session], Awaitable[None]]
"""A further part of the transaction of a batch."""


_FOR_GOOD = (PermanentError, InvalidInputError, NotFoundError, AccessDeniedError, QuotaExceededError)
"""Errors that end the run: the same attempt would fail again."""


class RunEndedError(Exception):
    """The run was cancelled, or its source deleted."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """The turn of a running job: it ends at `deadline`, a time of the event loop."""

    running: RunningJob
    deadline: float

    @property
    def is_over(self) -> bool:
        """Return True if the job gives its slot back."""
        return asyncio.get_running_loop().time() >= self.deadline


class SourceRunning:
    """The handler of runs."""

    def __init__(self, rows: Repositories, connectors: Connectors, taking: ItemTaking, vanishing: Vanishing) -> None:
        self._connection = rows.connection
        self._sources = rows.sources
        self._items = rows.source_items
        self._runs = rows.source_runs
        self._jobs = rows.jobs
        self._connectors = connectors
        self._taking = taking
        self._vanishing = vanishing
        self._positions = Positions(rows)
        self._waits = RunWaits(rows)

    @job(RunSourcePayload)
    async def handle(self, running: RunningJob, payload: RunSourcePayload) -> None:
        """Continue a run for one turn; a run that is not at its end queues again."""
        organization_id = running.job.organization_id
        run = await self._runs.get(organization_id, payload.source_id, payload.run_id)
        if run is None or not run.is_open:
            return
        source = await self._sources.get(organization_id, payload.source_id)
        if source is None or source.is_deleted:
            await self._runs.finish(run, RunEnd(RunState.CANCELLED))
            return
        turn = _Turn(running, asyncio.get_running_loop().time() + self._connectors.operator.turn_seconds)
        try:
            await self._attempt(turn, source, run)
        except RunEndedError:
            log.info("sources.run_ended_by_others", run_id=run.id)
        except _FOR_GOOD as error:
            # The run says why; a failed job beside it would say it twice.
            failure = failure_of(error).for_owner()
            running.note_failure(failure)
            pause = DENIED_PAUSE if isinstance(error, AccessDeniedError) else None
            await self._fail(run, failure, pause)

    async def _attempt(self, turn: _Turn, source: Source, run: SourceRun) -> None:
        try:
            await self._work(turn, source, await self._begin(turn, source, run))
        except TransientError as error:
            is_wait = isinstance(error, SourceSilentError | RateLimitedError) or error.retry_after is not None
            now = await self._runs.get(run.organization_id, run.source_id, run.id) if is_wait else None
            if now is None or not now.is_open:
                raise
            await self._waits.put_off(turn.running, now, error)

    async def _fail(self, run: SourceRun, failure: Failure, pause: timedelta | None = None) -> None:
        """End the run as failed, and tell it at its source; a source that denies access is not asked each hour."""
        if await self._runs.finish(run, RunEnd(RunState.FAILED, failure)) and not run.is_dry_run:
            pauses_until = clock.now() + pause if pause else None
            await self._sources.note_problem(run, failure, pauses_until=pauses_until)

    @when_dead(RunSourcePayload)
    async def on_dead(self, job: Job, payload: RunSourcePayload, failure: Failure) -> None:
        """End the run of a job that was given up or cancelled."""
        run = await self._runs.get(job.organization_id, payload.source_id, payload.run_id)
        if run is not None and run.is_open:
            if failure.code == "cancelled":
                await self._runs.finish(run, RunEnd(RunState.CANCELLED, failure.for_owner()))
            else:
                await self._fail(run, failure.for_owner())

    async def _work(self, turn: _Turn, source: Source, run: SourceRun) -> None:
        connector = self._connectors.open(source, since=run.since, note_answer=turn.running.note_answer)
        opened = OpenSource(
            source=source,
            run=run,
            connector=connector,
            max_item_bytes=self._connectors.max_item_bytes(source),
            operator=self._connectors.operator,
            running=turn.running,
        )
        try:
            if run.phase is RunPhase.LISTING:
                batches = selected(opened) if run.external_ids else connector.list_changes(run.cursor)
                async with aclosing(batches):
                    listed = await self._list(turn, opened, batches)
                if listed is not None and listed.is_delta and not listed.external_ids:
                    listed = await self._try_failed_again(turn, opened, listed)
                if listed is None:
                    return await self._go_on_later(run)
                run = listed
            if run.external_ids and not run.is_delta:
                return await self._finish(turn, source, run, "Done with the selected items.")
            await self._remove(turn, source, run)
        finally:
            async with asyncio.timeout(CLOSING_SECONDS):
                await connector.close()

    async def _begin(self, turn: _Turn, source: Source, run: SourceRun) -> SourceRun:
        if run.started_at is not None:
            if run.settings_id == source.settings_id or not run.is_whole or run.phase is not RunPhase.LISTING:
                return run
            mixed = run.model_copy(update={"is_whole": False})
            return await self._commit(turn, mixed, TakenBatch(), ["The settings changed: nothing is removed."])
        await self._items.unmark(run)
        before = await self._items.count_present(run.organization_id, run.source_id)
        await self._runs.forget_unchanged(run.organization_id, run.source_id)
        seconds = self._connectors.operator.full_interval_seconds
        since = await self._positions.beginning(source, run, full_interval_seconds=seconds)
        started = run.model_copy(
            update={
                "started_at": clock.now(),
                "known_before": before,
                "since": since,
                "settings_id": source.settings_id,
            }
        )
        kind = "Dry run" if run.is_dry_run else "Run"
        asked = "" if since is None else " The source is asked for the changes since the last run."
        return await self._commit(turn, started, TakenBatch(), [f"{kind} began. Known items: {before:,}.{asked}"])

    async def _list(self, turn: _Turn, opened: OpenSource, batches: AsyncGenerator[ListedBatch]) -> SourceRun | None:
        """Take in batches until the turn or the listing ends; return the run at the end of the listing."""
        run = opened.run
        max_items = self._connectors.operator.max_items
        try:
            while (batch := await next_batch(opened, batches)) is not None:
                listed = cut(batch, run, max_items)
                run = await self._take(turn, opened, run, listed, listed.notes(run, max_items))
                if listed.is_cut:
                    return run
                if turn.is_over:
                    return None
        except PositionExpiredError:
            if run.was_expired or (run.since is None and run.cursor is None):
                raise
            afresh = {"since": None, "cursor": None, "next_since": None, "is_delta": None, "was_expired": True}
            note = "The source does not know its last position any more, and is listed whole."
            await self._commit(turn, run.model_copy(update=afresh), TakenBatch(), [note])
            return None
        return run

    async def _take(
        self, turn: _Turn, opened: OpenSource, run: SourceRun, listed: CutBatch, notes: Sequence[str]
    ) -> SourceRun:
        """Take in a batch, and store it with its cursor."""
        taken = await self._taking.take(replace(opened, run=run), listed.items)
        if taken.has_any or taken.postponed is None:
            run = run.model_copy(update={"waiting_since": None, "waits": 0, "silent_attempts": 0})
        if taken.postponed is not None:
            # The cursor stays: the batch is listed again for the items that are left.
            await self._commit(turn, run, taken)
            raise taken.postponed
        removed = listed.removed.union(taken.gone if listed.batch.is_delta else ())
        settle = partial(self._items.mark_removed, run=run, external_ids=sorted(removed))
        run = await self._commit(turn, listed.advanced(run), taken, notes, settle=settle)
        known = run.counts.listed if run.is_delta else run.known_before
        await turn.running.report(run.counts.listed, max(known, run.counts.listed), "items")
        return run

    async def _try_failed_again(self, turn: _Turn, opened: OpenSource, run: SourceRun) -> SourceRun | None:
        """Take in items that failed in an earlier run, which a listing of changes need not name; None: later."""
        while failed := await self._items.failed_before(run, FOUND_AT_ONCE):
            if turn.is_over:
                return None
            batch = await found_again(replace(opened, run=run), failed)
            run = await self._take(turn, opened, run, cut(batch, run, run.counts.listed + len(failed)), ())
        return run

    async def _remove(self, turn: _Turn, source: Source, run: SourceRun) -> None:
        """Remove what the whole listing did not name, batch by batch."""
        if run.phase is RunPhase.LISTING:
            missing = await self._vanishing.find_missing(run)
            if missing.reason is not None:
                held = run.model_copy(update={"withheld_removals": missing.count})
                return await self._finish(turn, source, held, missing.reason)
            if missing.count and not run.is_dry_run and not run.is_delta:
                await self._items.mark_vanished(run.organization_id, source.id, run.id)
                await checkpoint("sources.vanished_marked")
            run = run.model_copy(update={"phase": RunPhase.REMOVING, "cursor": None})
            run = await self._commit(turn, run, TakenBatch(), [f"Items that vanished: {missing.count:,}."])
        while (batch := await self._vanishing.next_batch(source, run)) is not None:
            taken = TakenBatch(
                entries=[_removal(run, item, reason) for item, reason in batch.outcomes],
                counts=RunCounts(removed=len(batch.outcomes)),
            )
            settle = partial(self._vanishing.settle, source=source, run=run, batch=batch)
            run = await self._commit(turn, run.model_copy(update={"cursor": batch.cursor}), taken, settle=settle)
            if turn.is_over:
                return await self._go_on_later(run)
        return await self._finish(turn, source, run, "The run is complete.")

    async def _commit(
        self,
        turn: _Turn,
        run: SourceRun,
        taken: TakenBatch,
        notes: Sequence[str] = (),
        *,
        settle: Settle | None = None,
    ) -> SourceRun:
        """Store a batch with its cursor.

        Raises:
            RunEndedError: the run was cancelled, or its source deleted.
            LeaseLostError: another worker has the job.
        """
        counts = {
            name: getattr(run.counts, name) + getattr(taken.counts, name) for name in type(run.counts).model_fields
        }
        advanced = run.model_copy(update={"counts": run.counts.model_copy(update=counts)})
        lines = [RunNote(at=clock.now(), text=text) for text in notes]

        async def commit(session: Session) -> SourceRun:
            await self._jobs.note_headway(turn.running.job, session=session)
            if not await self._sources.hold(session, run.organization_id, run.source_id):
                raise RunEndedError
            stored = await self._runs.advance(session, advanced, state=RunState.RUNNING, notes=lines)
            if stored is None:
                raise RunEndedError
            await self._items.put(session, taken.items)
            await self._items.mark_seen(session, run, taken.seen)
            await self._runs.add_entries(session, taken.entries)
            if settle is not None:
                await settle(session)
            return stored

        stored = await run_in_transaction(self._connection, commit)
        await checkpoint("sources.batch_committed")
        return stored

    async def _go_on_later(self, run: SourceRun) -> None:
        # The job runs again behind others, since it was requested while it runs.
        await self._jobs.enqueue([run_request(run)])

    async def _finish(self, turn: _Turn, source: Source, run: SourceRun, note: str) -> None:
        end = RunEnd(RunState.SUCCEEDED, notes=(RunNote(at=clock.now(), text=note),))

        async def commit(session: Session) -> None:
            await self._jobs.hold(turn.running.job, session=session)
            if await self._runs.advance(session, run, state=RunState.RUNNING) is None:
                raise RunEndedError
            await self._runs.finish(run, end, session=session)
            await self._positions.keep(session, source, run)
            await self._items.unmark(run, session=session)

        await run_in_transaction(self._connection, commit)
        if source.problem is not None and not run.is_dry_run:
            await self._sources.note_problem(run, None)
        log.info("sources.run_done", run_id=run.id, source_id=run.source_id, **run.counts.model_dump())


def _removal(run: SourceRun, item: SourceItem, reason: str) -> SourceRunEntry:
    """Return the outcome of a vanished item, without the id of its document: nothing names a deleted one."""
    return SourceRunEntry(
        id=new_id(),
        organization_id=run.organization_id,
        source_id=run.source_id,
        run_id=run.id,
        external_id=item.external_id,
        name=item.name,
        outcome=ItemOutcome.REMOVED,
        reason=reason,
        at=clock.now(),
    )
