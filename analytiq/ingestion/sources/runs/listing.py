"""The batches of a run: of the source's listing, of selected items, and of items that failed before."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import Connector, ItemGoneError, ListedBatch, ListedItem, SourceSilentError
from analytiq.ingestion.sources.runs.comparison import storable_id
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.models.source import RunTrigger, SourceItem, SourceRun

FOUND_AT_ONCE = 50
"""Items of a batch that are found one by one."""
LONGEST_POSITION = 1024 * 1024
"""Most characters of a position in changes; with a longer one, the next run lists everything."""
NOT_FOUND = "It does not exist in the source, or its patterns leave it out."


@dataclass(frozen=True, slots=True)
class CutBatch:
    """A batch without the items beyond the most of a source."""

    batch: ListedBatch
    items: Sequence[ListedItem]
    removed: frozenset[str]
    """Storable ids of items that the source removed."""

    @property
    def is_cut(self) -> bool:
        """Return True if items were left out: the listing ends here."""
        return len(self.items) < len(self.batch.items)

    def advanced(self, run: SourceRun) -> SourceRun:
        """Return the run behind this batch."""
        batch = self.batch
        is_whole = run.is_whole and not batch.problems and not self.is_cut and not self.contradicts(run)
        since = batch.next_since if batch.next_since is not None else run.next_since
        return run.model_copy(
            update={
                "cursor": batch.cursor,
                "is_whole": is_whole,
                "is_delta": batch.is_delta if run.is_delta is None else run.is_delta,
                "next_since": since if since is None or len(since) <= LONGEST_POSITION else None,
            }
        )

    def contradicts(self, run: SourceRun) -> bool:
        """Return True if one batch lists changes only, and another one everything: then nothing is known to be gone."""
        return run.is_delta is not None and run.is_delta != self.batch.is_delta

    def notes(self, run: SourceRun, max_items: int) -> list[str]:
        """Return the lines of the batch for the run's log."""
        notes = [*self.batch.problems, *self.batch.notes]
        if self.is_cut:
            notes.append(f"The source has more than {max_items:,} items, the most of a source; the rest is left out.")
        if run.is_delta is None and self.batch.is_delta and not run.external_ids:
            notes.append("The source tells its changes: unchanged items are not listed, and not counted.")
        if self.contradicts(run):
            notes.append("The connector listed changes only, and then everything. Nothing is removed.")
        return notes


def cut(batch: ListedBatch, run: SourceRun, max_items: int) -> CutBatch:
    """Return the batch within the most items of a source."""
    items = batch.items[: max(0, max_items - run.counts.listed)]
    return CutBatch(batch, items, frozenset(map(storable_id, batch.removed)) - {item.external_id for item in items})


async def next_batch(opened: OpenSource, batches: AsyncGenerator[ListedBatch]) -> ListedBatch | None:
    """Return the next batch; None at the end.

    Raises:
        SourceSilentError: the source did not answer in time.
    """
    async with _answering(opened):
        return await anext(batches, None)


async def selected(opened: OpenSource) -> AsyncGenerator[ListedBatch]:
    """List the selected items of a run; the cursor is the number of those before."""
    run = opened.run
    # A service names deleted items too: what it no longer has is removed.
    is_pushed = run.trigger is RunTrigger.PUSH
    for start in range(int(run.cursor or 0), len(run.external_ids), FOUND_AT_ONCE):
        ids = run.external_ids[start : start + FOUND_AT_ONCE]
        items: list[ListedItem] = []
        removed: list[str] = []
        for external_id in ids:
            item = await opened.connector.find(external_id)
            if item is not None:
                items.append(item)
            elif is_pushed:
                removed.append(external_id)
            else:
                items.append(ListedItem(external_id=external_id, name=external_id, failure=NOT_FOUND))
        yield ListedBatch(items=items, cursor=str(start + len(ids)), removed=removed, is_delta=is_pushed)


async def found_again(opened: OpenSource, failed: Sequence[SourceItem]) -> ListedBatch:
    """Return items that failed before as a batch of changes; those that no longer exist are removed.

    Raises:
        AnalytiqError: as `next_batch`.
    """
    items: list[ListedItem] = []
    removed: list[str] = []
    for known in failed:
        async with _answering(opened):
            item = await _found(opened.connector, known)
        if item is None:
            removed.append(known.external_id)
        else:
            items.append(item)
    return ListedBatch(items=items, cursor=opened.run.cursor or "", removed=removed, is_delta=True)


async def _found(connector: Connector, known: SourceItem) -> ListedItem | None:
    try:
        item = await connector.find(known.external_id)
    except (NotFoundError, ItemGoneError):
        return None
    except (PermanentError, InvalidInputError) as error:
        # Its fault is its own: it does not end the run.
        return ListedItem(external_id=known.external_id, name=known.name, failure=error.detail)
    if item is not None and item.external_id != known.external_id:
        return None  # it has another identity now, and is listed under that one
    return item


@asynccontextmanager
async def _answering(opened: OpenSource) -> AsyncGenerator[None]:
    """Bound the wait for an answer; see `next_batch`."""
    seconds = opened.listing_seconds
    try:
        with opened.waiting():
            async with asyncio.timeout(seconds):
                yield
    except TimeoutError:
        raise SourceSilentError(f"The source did not answer within {seconds:g} s. Run it again later.") from None
