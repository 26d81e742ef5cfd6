"""Runs of sources: list, compare, take in, and remove what vanished.

A run is a job. It goes on in turns of some seconds, so that it holds no slot for long. Each batch of items is uploaded
first; then one transaction stores the items' states, their outcomes, the counts and the cursor. A worker that dies
in between has uploaded documents that the next attempt finds by their identities: nothing is lost or doubled.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import structlog

from analytiq import clock
from analytiq.errors import (
    AccessDeniedError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    QuotaExceededError,
    TransientError,
)
from analytiq.ingestion.sources.base import ListedBatch, ListedItem
from analytiq.ingestion.sources.opening import Connectors
from analytiq.ingestion.sources.requests import run_request
from analytiq.ingestion.sources.taking import ItemTaking, OpenSource, TakenBatch
from analytiq.ingestion.sources.vanishing import Vanishing
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
from analytiq.settings import SourceSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.source_runs import RunEnd
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

FOUND_AT_ONCE = 50
"""Selected items of a batch."""
SILENT_ATTEMPTS = 3
"""Attempts after which a source that does not answer ends the run; the next run tries again."""


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
        settings = self._connectors.operator
        turn = _Turn(running, asyncio.get_running_loop().time() + settings.turn_seconds)
        try:
            run = await self._begin(turn, run)
            await self._work(turn, source, run, settings)
        except RunEndedError:
            log.info("sources.run_ended_by_others", run_id=run.id)
        except _FOR_GOOD as error:
            # The run says why; a failed job beside it would say it twice.
            failure = failure_of(error).for_owner()
            running.note_failure(failure)
            await self._runs.finish(run, RunEnd(RunState.FAILED, failure))

    @when_dead(RunSourcePayload)
    async def on_dead(self, job: Job, payload: RunSourcePayload, failure: Failure) -> None:
        """End the run of a job that was given up or cancelled."""
        run = await self._runs.get(job.organization_id, payload.source_id, payload.run_id)
        if run is not None and run.is_open:
            state = RunState.CANCELLED if failure.code == "cancelled" else RunState.FAILED
            await self._runs.finish(run, RunEnd(state, failure.for_owner()))

    async def _work(self, turn: _Turn, source: Source, run: SourceRun, settings: SourceSettings) -> None:
        connector = self._connectors.open(source)
        opened = OpenSource(source, run, connector, self._connectors.max_item_bytes(source), settings.call_seconds)
        try:
            if run.phase is RunPhase.LISTING:
                batches = self._selected(opened) if run.external_ids else connector.list_changes(run.cursor)
                async with aclosing(batches):
                    listed = await self._list(turn, opened, batches, settings.max_items)
                if listed is None:
                    return await self._go_on_later(run)
                run = listed
            if run.external_ids:
                return await self._finish(turn, run, "Done with the selected items.")
            await self._remove(turn, source, run)
        finally:
            await connector.close()

    async def _begin(self, turn: _Turn, run: SourceRun) -> SourceRun:
        if run.started_at is not None:
            return run
        before = await self._items.count_present(run.organization_id, run.source_id)
        await self._runs.forget_unchanged(run.organization_id, run.source_id)
        started = run.model_copy(update={"started_at": clock.now(), "known_before": before})
        kind = "Dry run" if run.is_dry_run else "Run"
        return await self._commit(turn, started, TakenBatch(), [f"{kind} began. Known items: {before:,}."])

    async def _list(
        self, turn: _Turn, opened: OpenSource, batches: AsyncGenerator[ListedBatch], max_items: int
    ) -> SourceRun | None:
        """Take in batches until the turn or the listing ends; return the run at the end of the listing."""
        run = opened.run
        while (batch := await self._next_batch(turn, opened, batches)) is not None:
            room = max_items - run.counts.listed
            taken = await self._taking.take(opened, batch.items[:room])
            notes = [*batch.problems, *batch.notes]
            is_whole = run.is_whole and not batch.problems and len(batch.items) <= room
            if len(batch.items) > room:
                notes.append(
                    f"The source has more than {max_items:,} items, the most of a source; the rest is left out."
                )
            run = await self._commit(
                turn, run.model_copy(update={"cursor": batch.cursor, "is_whole": is_whole}), taken, notes
            )
            await turn.running.report(run.counts.listed, max(run.known_before, run.counts.listed), "items")
            if len(batch.items) > room:
                return run
            if turn.is_over:
                return None
        return run

    async def _next_batch(
        self, turn: _Turn, opened: OpenSource, batches: AsyncGenerator[ListedBatch]
    ) -> ListedBatch | None:
        try:
            async with asyncio.timeout(opened.call_seconds):
                return await anext(batches, None)
        except TimeoutError:
            detail = f"The source did not answer within {opened.call_seconds:g} s. Run it again later."
            if turn.running.job.attempt >= SILENT_ATTEMPTS:
                raise PermanentError(detail, code="source_silent") from None
            raise TransientError(detail, code="source_silent") from None

    async def _selected(self, opened: OpenSource) -> AsyncGenerator[ListedBatch]:
        """List the selected items; the cursor is the number of those before."""
        run = opened.run
        first = int(run.cursor or 0)
        for start in range(first, len(run.external_ids), FOUND_AT_ONCE):
            ids = run.external_ids[start : start + FOUND_AT_ONCE]
            items: list[ListedItem] = []
            for external_id in ids:
                item = await opened.connector.find(external_id)
                reason = "It does not exist in the source, or its patterns leave it out."
                items.append(item or ListedItem(external_id=external_id, name=external_id, failure=reason))
            yield ListedBatch(items=items, cursor=str(start + len(ids)))

    async def _remove(self, turn: _Turn, source: Source, run: SourceRun) -> None:
        """Remove what the whole listing did not name, batch by batch."""
        if run.phase is RunPhase.LISTING:
            missing = await self._vanishing.find_missing(run)
            if missing.reason is not None:
                held = run.model_copy(update={"withheld_removals": missing.count})
                return await self._finish(turn, held, missing.reason)
            if missing.count and not run.is_dry_run:
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
        return await self._finish(turn, run, "The run is complete.")

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

    async def _finish(self, turn: _Turn, run: SourceRun, note: str) -> None:
        end = RunEnd(RunState.SUCCEEDED, notes=(RunNote(at=clock.now(), text=note),))

        async def commit(session: Session) -> None:
            await self._jobs.hold(turn.running.job, session=session)
            if await self._runs.advance(session, run, state=RunState.RUNNING) is None:
                raise RunEndedError
            await self._runs.finish(run, end, session=session)

        await run_in_transaction(self._connection, commit)
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
