"""The transaction that points many pairs of one knowledge base at their generations."""

from collections.abc import Mapping, Sequence

import structlog

from analytiq.errors import TransactionTooLargeError
from analytiq.ingestion.indexing.batch_staging import Staged
from analytiq.ingestion.indexing.commit import (
    Commit,
    TruthChangedError,
    entry_of,
    generation_id_of,
    indexed_event,
    leaving_of,
    sweep_request,
)
from analytiq.jobs.queue.running_batch import RunningBatch
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.settings import IndexingSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

DEADLINE_SECONDS = 10.0
"""Most time of a transaction with its repetitions: no lease is renewed meanwhile."""
MOST_LOST = 2
"""Times in a row that the server may end the transaction for its age, before a smaller one is tried."""


class BatchCommit:
    """Makes staged vectors of many pairs current, and finishes their jobs in the same transaction."""

    def __init__(self, rows: Repositories, single: Commit, settings: IndexingSettings) -> None:
        self._rows = rows
        self._single = single
        self._settings = settings

    async def make_current(self, batch: RunningBatch, staged: Sequence[Staged]) -> list[Staged]:
        """Commit those pairs whose job, text, tags and staged vectors are as they were; return them.

        Pairs that changed are left out and cost the others nothing. A transaction that is too large is made in halves.

        Raises:
            TruthChangedError: the knowledge base was deleted; nothing was written.
            TransientError: the database failed; with the code `commit_outcome_unknown` all may be written.
        """
        counts = await self._rows.vectors.counts(staged[0].generation.kb_id, [item.generation.id for item in staged])
        ready = [item for item in staged if counts.get(item.generation.id, 0) == item.generation.chunk_count]
        return await self._commit(batch, ready) if ready else []

    async def _commit(self, batch: RunningBatch, ready: Sequence[Staged]) -> list[Staged]:
        async def commit(session: Session) -> list[Staged]:
            kept = await self._hold(session, ready)
            if kept:
                await self._put(session, kept)
            return kept

        try:
            with batch.finishing([item.wanted.running for item in ready]):
                committed = await run_in_transaction(
                    self._rows.connection,
                    commit,
                    lock=self._single.lock(ready[0].generation.kb_id),
                    deadline_seconds=DEADLINE_SECONDS,
                    most_lost=MOST_LOST,
                )
                for item in committed:
                    item.wanted.running.note_finished()
        except TransactionTooLargeError:
            log.warning("indexing.batch_halved", documents=len(ready))
            middle = len(ready) // 2
            if not middle:
                return []
            return [*await self._commit(batch, ready[:middle]), *await self._commit(batch, ready[middle:])]
        return committed

    async def _hold(self, session: Session, ready: Sequence[Staged]) -> list[Staged]:
        """Return the pairs that nothing changed meanwhile; later changes conflict with this transaction.

        Read within the transaction rather than matched by its writes, so that a changed pair costs no abort.
        """
        pair = ready[0].wanted.pair
        organization_id = pair.organization.id
        jobs = await self._rows.jobs.held_among([item.wanted.running.job for item in ready], session=session)
        own = [item for item in ready if item.wanted.running.job.id in jobs]
        present = await self._rows.generations.in_state(
            session, organization_id, [item.generation.id for item in own], GenerationState.STAGING
        )
        own = [item for item in own if item.generation.id in present]
        documents = await self._rows.documents.hold_many_for_commit(
            session,
            organization_id,
            {item.wanted.pair.document.id: item.wanted.pair.document.text_hash or "" for item in own},
            tag_ids=pair.knowledge_base.tag_ids,
        )
        return [item for item in own if item.wanted.pair.document.id in documents]

    async def _put(self, session: Session, kept: Sequence[Staged]) -> None:
        pair = kept[0].wanted.pair
        organization_id, kb_id = pair.organization.id, pair.knowledge_base.id
        await self._rows.generations.move_many(
            session,
            organization_id,
            [item.generation.id for item in kept],
            from_state=GenerationState.STAGING,
            to_state=GenerationState.CURRENT,
        )
        skipped = pair.organization.skipped_flaws
        entries = [entry_of(pair.knowledge_base, item.wanted.pair.document, item.generation, skipped) for item in kept]
        before = await self._rows.entries.put_many(session, entries)
        events = [indexed_event(item.generation) for item in kept]
        await self._rows.webhook_outbox.record(session, organization_id, events)
        changes, leaving = _changes(kept, before)
        await self._rows.generations.move_many(
            session,
            organization_id,
            [generation_id_of(item) for item in leaving],
            from_state=GenerationState.CURRENT,
            to_state=GenerationState.SUPERSEDED,
        )
        await self._rows.jobs.finish_many([item.wanted.running.job for item in kept], session=session)
        delay_seconds = self._settings.sweep_delay_seconds
        sweeps = [sweep_request(item, delay_seconds=delay_seconds) for item in leaving]
        await self._rows.jobs.enqueue(sweeps, session=session)
        # Last, since other commits to the knowledge base wait for this row.
        if await self._rows.epochs.advance_many(session, kb_id, changes) is None:
            raise TruthChangedError("the knowledge base was deleted meanwhile")


def _changes(
    kept: Sequence[Staged], before: Mapping[str, IndexEntry]
) -> tuple[list[tuple[str | None, str | None]], list[IndexEntry | Generation]]:
    """Return the changes (added, removed), one for each removed generation and at least one for each pair."""
    changes: list[tuple[str | None, str | None]] = []
    leaving: list[IndexEntry | Generation] = []
    for item in kept:
        own = leaving_of(before.get(item.wanted.pair.document.id), item.wanted.current)
        leaving += own
        removed = [generation_id_of(left) for left in own] or [None]
        changes += [(None if number else item.generation.id, left) for number, left in enumerate(removed)]
    return changes, leaving
