"""Takes in pushed items at once, as a run does: documents first, then their states and outcomes in one transaction.

The pushes of an hour are one row in the source's list of runs, with their counts and outcomes. A pushed item is never
taken for unchanged by its row: the upload decides, since two pushes of one item may cross.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import LimitExceededError
from analytiq.ingestion.sources.base import FetchedItem, ListedItem
from analytiq.ingestion.sources.configuration.opening import Connectors
from analytiq.ingestion.sources.configuration.service import unknown_source
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.kinds.push import PushConnector
from analytiq.ingestion.sources.patterns import accepting
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.ingestion.sources.runs.outcomes import TakenBatch
from analytiq.ingestion.sources.runs.taking import ItemTaking
from analytiq.ingestion.sources.runs.vanishing import VanishedBatch, Vanishing
from analytiq.models.source import ItemOutcome, RunState, RunTrigger, Source, SourceItem, SourceRun, SourceRunEntry
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

UNKNOWN = "The source has no item with this id."


@dataclass(frozen=True, slots=True)
class PushedItem:
    """An item as it was pushed; no content: it was deleted.

    Attributes:
        external_id: its id there; the same id is the same document.
        name: of the document.
        content: its bytes.
        content_type: of the content.
        source_url: its web address, for people.
        metadata: of the document; the source's own metadata and mapping win.
    """

    external_id: str
    name: str
    content: bytes | None = field(default=None, repr=False)
    content_type: str = "application/octet-stream"
    source_url: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


class _PushedContents(PushConnector):
    """A connector with the content of pushed items in memory."""

    def __init__(self, items: Mapping[str, PushedItem]) -> None:
        self._items = items

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        pushed = self._items[item.external_id]
        return FetchedItem(content=contents.whole(pushed.content or b""), content_type=pushed.content_type)


class PushTaking:
    """Takes pushed items in."""

    def __init__(self, rows: Repositories, connectors: Connectors, taking: ItemTaking, vanishing: Vanishing) -> None:
        self._connection = rows.connection
        self._sources = rows.sources
        self._items = rows.source_items
        self._runs = rows.source_runs
        self._documents = rows.documents
        self._connectors = connectors
        self._taking = taking
        self._vanishing = vanishing

    async def take(
        self, source: Source, pushed: Sequence[PushedItem], *, request_id: str | None
    ) -> list[SourceRunEntry]:
        """Take in pushed items and return their outcomes, in the order of their ids' last places.

        Raises:
            LimitExceededError: the source has no room for further items; nothing was taken.
            NotFoundError: the source was deleted.
            QuotaExceededError: the organization has no room; what was taken is repeated without harm.
        """
        by_id = {item.external_id: item for item in pushed}
        known = await self._items.with_external_ids(source.organization_id, source.id, by_id.keys())
        await self._require_room(source, len(by_id) - len(known))
        opened = self._opened(source, by_id, request_id)
        taken = await self._taking.take(opened, [_listed(source, item) for item in by_id.values() if not _gone(item)])
        gone = [item for item in by_id.values() if _gone(item)]
        removed = await self._remove(opened, gone, known, taken) if gone else None

        async def commit(session: Session) -> list[SourceRunEntry]:
            if not await self._sources.hold(session, source.organization_id, source.id):
                raise unknown_source(source.id)
            await self._items.put_pushed(session, taken.items)
            if removed is not None:
                await self._vanishing.settle(session, source, opened.run, removed)
            log_id = await self._runs.note_pushes(session, source.organization_id, source.id, taken.counts)
            entries = [entry.model_copy(update={"run_id": log_id}) for entry in taken.entries]
            await self._runs.add_entries(session, entries)
            return entries

        return await run_in_transaction(self._connection, commit)

    def _opened(self, source: Source, items: Mapping[str, PushedItem], request_id: str | None) -> OpenSource:
        now = clock.now()
        run = SourceRun(
            id=new_id(),
            organization_id=source.organization_id,
            source_id=source.id,
            state=RunState.SUCCEEDED,
            is_open=False,
            trigger=RunTrigger.PUSH,
            request_id=request_id,
            created_at=now,
        )
        operator = self._connectors.operator
        return OpenSource(source, run, _PushedContents(items), self._connectors.max_item_bytes(source), operator)

    async def _require_room(self, source: Source, new_items: int) -> None:
        most = self._connectors.operator.max_items
        if new_items and await self._items.count_all(source.organization_id, source.id) + new_items > most:
            raise LimitExceededError(f"The source would have more than {most:,} items. Push deletions first.")

    async def _remove(
        self, opened: OpenSource, gone: Sequence[PushedItem], known: Mapping[str, SourceItem], taken: TakenBatch
    ) -> VanishedBatch:
        """Treat the documents of deleted items as the source wants it, and record the outcomes."""
        source, run = opened.source, opened.run
        # Also documents whose push ended before its items were stored.
        identities = [opened.identity(item.external_id, None) for item in gone]
        found = await self._documents.with_external_identities(source.organization_id, identities)
        documents = {identity.external_id: each.id for each in found if (identity := each.external_identity)}
        items: list[SourceItem] = []
        for item in gone:
            before = known.get(item.external_id)
            document_id = documents.get(item.external_id)
            if before is not None or document_id is not None:
                items.append(before or _state_of(source, item, document_id))
            reason = None if before is not None or document_id is not None else UNKNOWN
            outcome = ItemOutcome.REMOVED if reason is None else ItemOutcome.SKIPPED
            taken.counts = taken.counts.plus(outcome)
            taken.entries.append(_entry(run, item, before.name if before else item.name, outcome, reason))
        return await self._vanishing.treat(source, items)


def _listed(source: Source, item: PushedItem) -> ListedItem:
    accepted = accepting(source.filters)(item.name)
    return ListedItem(
        external_id=item.external_id,
        name=item.name,
        byte_size=len(item.content or b""),
        source_url=item.source_url,
        fields={**item.metadata, "id": item.external_id, "name": item.name, "content_type": item.content_type},
        metadata=item.metadata,
        skip_reason=None if accepted else "The patterns of the source leave it out.",
    )


def _gone(item: PushedItem) -> bool:
    return item.content is None


def _state_of(source: Source, item: PushedItem, document_id: str | None) -> SourceItem:
    return SourceItem(
        id=new_id(),
        organization_id=source.organization_id,
        source_id=source.id,
        external_id=item.external_id,
        name=item.name,
        document_id=document_id,
        updated_at=clock.now(),
    )


def _entry(run: SourceRun, item: PushedItem, name: str, outcome: ItemOutcome, reason: str | None) -> SourceRunEntry:
    """Return the outcome of a deleted item, without the id of its document: nothing names a deleted one."""
    return SourceRunEntry(
        id=new_id(),
        organization_id=run.organization_id,
        source_id=run.source_id,
        run_id=run.id,
        external_id=item.external_id,
        name=name,
        outcome=outcome,
        reason=reason,
        at=clock.now(),
    )
