"""The outcome of a batch: the next state of each item, its entry in the log, and the counts."""

from dataclasses import dataclass, field

from analytiq import clock
from analytiq.errors import AnalytiqError, LimitExceededError, TransientError
from analytiq.ingestion.sources.base import LONGEST_NOTE, ItemGoneError, ItemRefusedError, ListedItem
from analytiq.ingestion.sources.runs.item_data import ItemData, readers_of, shortened
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.models.document import Document
from analytiq.models.source import ItemOutcome, RunCounts, SourceItem, SourceRunEntry
from analytiq.storage.ids import new_id


@dataclass(slots=True)
class TakenBatch:
    """The outcome of a batch, to be committed with its cursor."""

    items: list[SourceItem] = field(default_factory=list[SourceItem])
    """New states of items."""
    seen: list[str] = field(default_factory=list[str])
    """External ids of items whose state did not change."""
    gone: list[str] = field(default_factory=list[str])
    """External ids of items that were deleted since they were listed."""
    entries: list[SourceRunEntry] = field(default_factory=list[SourceRunEntry])
    counts: RunCounts = field(default_factory=RunCounts)
    postponed: TransientError | None = None
    """The source wants a wait, or does not answer: some items are left, and the batch is to be listed again."""

    @property
    def has_any(self) -> bool:
        """Return True if the run got on."""
        return bool(self.items or self.seen)


@dataclass(frozen=True, slots=True)
class WantedItem:
    """An item to fetch, with what is known of it."""

    item: ListedItem
    data: ItemData
    known: SourceItem | None
    document: Document | None


def note_document(opened: OpenSource, taken: TakenBatch, each: WantedItem, document: Document) -> None:
    """Record that an item is taken in: added, changed, or found to be the same."""
    item, before = each.item, each.known
    if before is None or before.document_id != document.id:
        outcome = ItemOutcome.ADDED
    elif before.sha256 != document.sha256 or before.fingerprint != each.data.fingerprint or before.vanished_at:
        outcome = ItemOutcome.CHANGED
    else:
        outcome = ItemOutcome.UNCHANGED
    taken.items.append(
        new_state(
            opened,
            item,
            before,
            version=shortened(item.version),
            sha256=document.sha256,
            fingerprint=each.data.fingerprint,
            note=item.note,
            document_id=document.id,
            given_tag_ids=each.data.tag_ids,
            given_metadata_keys=tuple(each.data.metadata),
            problem=None,
            has_failed=False,
        )
    )
    note_outcome(opened, taken, item, outcome, document_id=document.id)


def note_error(opened: OpenSource, taken: TakenBatch, each: WantedItem, error: AnalytiqError) -> None:
    """Record that an item is not taken in: it is gone, refused, or failed."""
    if isinstance(error, ItemGoneError):
        # Not seen: the end of the run treats it as vanished.
        taken.gone.append(each.item.external_id)
        note_outcome(opened, taken, each.item, ItemOutcome.SKIPPED, reason=error.detail)
        return
    is_refused = isinstance(error, ItemRefusedError | LimitExceededError)
    outcome = ItemOutcome.SKIPPED if is_refused else ItemOutcome.FAILED
    note_problem(opened, taken, each.item, each.known, (outcome, error.detail))


def note_problem(
    opened: OpenSource,
    taken: TakenBatch,
    item: ListedItem,
    before: SourceItem | None,
    problem: tuple[ItemOutcome, str],
) -> None:
    """Record that an item exists and was not taken in; the document of its last version stays."""
    outcome, reason = problem
    if opened.run.is_dry_run:
        taken.seen.append(item.external_id)
    elif before is not None or not opened.run.external_ids:  # a selected id may name nothing
        has_failed = outcome is ItemOutcome.FAILED
        taken.items.append(new_state(opened, item, before, problem=reason, has_failed=has_failed))
    note_outcome(opened, taken, item, outcome, reason=reason)


def new_state(opened: OpenSource, item: ListedItem, before: SourceItem | None, **changes: object) -> SourceItem:
    """Return the item's next state: seen by this run, and changed."""
    if before is None:
        before = SourceItem(
            id=new_id(),
            organization_id=opened.source.organization_id,
            source_id=opened.source.id,
            external_id=item.external_id,
            name=item.name,
            updated_at=clock.now(),
        )
    remark = changes.get("note")
    if isinstance(remark, str) and len(remark) > LONGEST_NOTE:
        changes["note"] = None
    seen = {
        "name": item.name,
        "seen_run_id": opened.run.id,
        "vanished_run_id": None,
        "is_pushed": False,
        "vanished_at": before.vanished_at if changes.get("problem") else None,
        "access": readers_of(item) or (before.access if changes.get("problem") else None),
        "updated_at": clock.now(),
    }
    return before.model_copy(update={**seen, **changes})


def note_outcome(
    opened: OpenSource,
    taken: TakenBatch,
    item: ListedItem,
    outcome: ItemOutcome,
    *,
    reason: str | None = None,
    document_id: str | None = None,
) -> None:
    """Count an outcome and enter it in the log of the run."""
    taken.counts = taken.counts.plus(outcome)
    taken.entries.append(
        SourceRunEntry(
            id=new_id(),
            organization_id=opened.source.organization_id,
            source_id=opened.source.id,
            run_id=opened.run.id,
            external_id=item.external_id,
            name=item.name,
            outcome=outcome,
            reason=reason,
            document_id=document_id,
            at=clock.now(),
        )
    )
