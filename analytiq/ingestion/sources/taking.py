"""Takes in a batch of listed items: compares them with what is known, and uploads what is new or changed."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from analytiq import clock
from analytiq.errors import AnalytiqError, LimitExceededError, QuotaExceededError, RateLimitedError, TransientError
from analytiq.ingestion.documents.naming import LONGEST_EXTERNAL_ID
from analytiq.ingestion.sources.base import (
    LONGEST_NOTE,
    Connector,
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    ListedItem,
    SourceSilentError,
)
from analytiq.ingestion.sources.item_data import ItemData, readers_of, shortened
from analytiq.ingestion.upload.request import StagedFile, UploadRequest
from analytiq.ingestion.upload.store import Uploads
from analytiq.models.document import Document, ExternalIdentity
from analytiq.models.source import ItemOutcome, RunCounts, RunTrigger, Source, SourceItem, SourceRun, SourceRunEntry
from analytiq.models.upload import DuplicatePolicy
from analytiq.settings import SourceSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

FETCHES_AT_ONCE = 5
PATIENT_WAITS = 3
"""Waits without an item between them, after which an item that wants another one fails; rate limits are waited for."""


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source with its connector, in one run."""

    source: Source
    run: SourceRun
    connector: Connector
    max_item_bytes: int
    operator: SourceSettings

    @property
    def listing_seconds(self) -> float:
        """Return the longest wait for a batch."""
        longest = self.operator.call_seconds
        return longest if self.run.is_slow else min(longest, self.operator.probe_seconds)

    def identity(self, external_id: str, version: str | None) -> ExternalIdentity:
        """Return the identity of an item's document."""
        return ExternalIdentity(source=self.source.identity_source, external_id=external_id, version=version)


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
class _Wanted:
    """An item to fetch, with what is known of it."""

    item: ListedItem
    data: ItemData
    known: SourceItem | None
    document: Document | None


class ItemTaking:
    """Takes items in."""

    def __init__(self, rows: Repositories, uploads: Uploads) -> None:
        self._items = rows.source_items
        self._documents = rows.documents
        self._uploads = uploads

    async def take(self, opened: OpenSource, listed: Sequence[ListedItem]) -> TakenBatch:
        """Upload what is new or changed, and return the outcome of each item.

        An unchanged item costs a comparison of versions; the items of a batch share three queries.

        Raises:
            QuotaExceededError: the organization has no room for another document.
        """
        run, source = opened.run, opened.source
        by_id = {item.external_id: item for item in map(_with_storable_id, listed)}
        known = await self._items.with_external_ids(source.organization_id, source.id, by_id.keys())
        taken = TakenBatch()
        candidates: list[ListedItem] = []
        for external_id, item in by_id.items():
            before = known.get(external_id)
            if before is not None and before.seen_run_id == run.id and not _is_newer(opened, item, before):
                continue  # a batch that this run has committed
            problem = _problem_of(opened, item)
            if problem is not None:
                self._note_problem(opened, taken, item, before, problem)
            else:
                candidates.append(item)
        wanted = await self._compare(opened, candidates, known, taken)
        if wanted:
            await self._fetch(opened, wanted, taken)
        return taken

    async def _compare(
        self,
        opened: OpenSource,
        candidates: Sequence[ListedItem],
        known: Mapping[str, SourceItem],
        taken: TakenBatch,
    ) -> list[_Wanted]:
        """Record unchanged items, and in a dry run all; return the others."""
        source, run = opened.source, opened.run
        documents = await self._known_documents(opened, candidates, known)
        wanted: list[_Wanted] = []
        for item in candidates:
            data, before = ItemData.of_item(source, item), known.get(item.external_id)
            document_id = before.document_id if before else None
            is_there = document_id is not None and document_id in documents
            if before is not None and is_there and not run.external_ids and _is_unchanged(item, data, before):
                if before.access == readers_of(item) or run.is_dry_run:
                    taken.seen.append(item.external_id)
                else:
                    taken.items.append(_new_state(opened, item, before))
                _note(opened, taken, item, ItemOutcome.UNCHANGED, document_id=document_id)
            elif run.is_dry_run:
                taken.seen.append(item.external_id)
                _note(opened, taken, item, ItemOutcome.CHANGED if is_there else ItemOutcome.ADDED)
            else:
                wanted.append(_Wanted(item, data, before, None))
        if not wanted:
            return []
        # Also those of items that a killed attempt has uploaded and not committed.
        identities = [opened.identity(each.item.external_id, None) for each in wanted]
        found = await self._documents.with_external_identities(source.organization_id, identities)
        by_item = {item.external_id: document for document in found if (item := document.external_identity)}
        return [_Wanted(each.item, each.data, each.known, by_item.get(each.item.external_id)) for each in wanted]

    async def _known_documents(
        self, opened: OpenSource, candidates: Sequence[ListedItem], known: Mapping[str, SourceItem]
    ) -> set[str]:
        ids = {
            before.document_id
            for item in candidates
            if (before := known.get(item.external_id)) is not None and before.document_id is not None
        }
        return set(await self._documents.names(opened.source.organization_id, ids)) if ids else set()

    async def _fetch(self, opened: OpenSource, wanted: Sequence[_Wanted], taken: TakenBatch) -> None:
        """Fetch and upload some items."""
        slots = asyncio.Semaphore(FETCHES_AT_ONCE)
        silent = delivered = 0

        async def stage(each: _Wanted) -> StagedFile | AnalytiqError:
            nonlocal silent, delivered
            async with slots:
                if taken.postponed is not None:
                    return taken.postponed
                result = await self._stage(opened, each)
            silent += isinstance(result, SourceSilentError)
            delivered += isinstance(result, StagedFile)
            is_silent = isinstance(result, SourceSilentError) and silent >= FETCHES_AT_ONCE and not delivered
            if isinstance(result, TransientError) and (is_silent or _wants_wait(opened, result)):
                taken.postponed = result
            return result

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(stage(each)) for each in wanted]
        staged = [task.result() for task in tasks]
        await checkpoint("sources.batch_staged")
        places = [index for index, file in enumerate(staged) if isinstance(file, StagedFile)]
        requests = [
            _request(opened, wanted[index], file) for index in places if isinstance(file := staged[index], StagedFile)
        ]
        results = dict(zip(places, await self._uploads.commit_all(requests), strict=True))
        await checkpoint("sources.batch_uploaded")
        no_room: QuotaExceededError | None = None
        for index, each in enumerate(wanted):
            file = staged[index]
            if taken.postponed is not None and isinstance(file, TransientError | ItemGoneError):
                continue  # left for the next attempt
            outcome = results.get(index, file if isinstance(file, AnalytiqError) else None)
            if isinstance(outcome, AnalytiqError):
                if isinstance(file, StagedFile):
                    await self._uploads.discard(file)
                if isinstance(outcome, QuotaExceededError):
                    no_room = outcome
                    continue
                self._note_error(opened, taken, each, outcome)
            elif outcome is not None and not isinstance(outcome, StagedFile):
                self._note_document(opened, taken, each, outcome.document)
        if no_room is not None:
            # The others are uploaded, and are found by their identities when the run is repeated.
            raise no_room

    async def _stage(self, opened: OpenSource, each: _Wanted) -> StagedFile | AnalytiqError:
        try:
            async with asyncio.timeout(opened.operator.call_seconds):
                fetched = await _fetched(opened.connector, each.item)
                return await self._uploads.stage(
                    opened.source.organization_id,
                    document_name=each.item.name,
                    content_type=fetched.content_type,
                    source=_bounded(fetched.content, opened.max_item_bytes),
                    external_identity=opened.identity(each.item.external_id, None),
                )
        except TimeoutError:
            seconds = opened.operator.call_seconds
            return SourceSilentError(f"The source did not deliver the item within {seconds:g} s.")
        except AnalytiqError as error:
            return error

    def _note_document(self, opened: OpenSource, taken: TakenBatch, each: _Wanted, document: Document) -> None:
        item, before = each.item, each.known
        if before is None or before.document_id != document.id:
            outcome = ItemOutcome.ADDED
        elif before.sha256 != document.sha256 or before.fingerprint != each.data.fingerprint or before.vanished_at:
            outcome = ItemOutcome.CHANGED
        else:
            outcome = ItemOutcome.UNCHANGED
        taken.items.append(
            _new_state(
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
        _note(opened, taken, item, outcome, document_id=document.id)

    def _note_error(self, opened: OpenSource, taken: TakenBatch, each: _Wanted, error: AnalytiqError) -> None:
        if isinstance(error, ItemGoneError):
            # Not seen: the end of the run treats it as vanished.
            taken.gone.append(each.item.external_id)
            _note(opened, taken, each.item, ItemOutcome.SKIPPED, reason=error.detail)
            return
        is_refused = isinstance(error, ItemRefusedError | LimitExceededError)
        outcome = ItemOutcome.SKIPPED if is_refused else ItemOutcome.FAILED
        self._note_problem(opened, taken, each.item, each.known, (outcome, error.detail))

    def _note_problem(
        self,
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
            taken.items.append(_new_state(opened, item, before, problem=reason, has_failed=has_failed))
        _note(opened, taken, item, outcome, reason=reason)


def storable_id(external_id: str) -> str:
    """Return the id, or a hash of one that is too long for an identity."""
    if len(external_id) <= LONGEST_EXTERNAL_ID:
        return external_id
    return f"sha256:{hashlib.sha256(external_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _with_storable_id(item: ListedItem) -> ListedItem:
    """Return the item; one whose id is too long for an identity is skipped under a hash of the id."""
    if len(item.external_id) <= LONGEST_EXTERNAL_ID:
        return item
    return replace(
        item,
        external_id=storable_id(item.external_id),
        skip_reason=f"Its id has more than {LONGEST_EXTERNAL_ID:,} characters.",
    )


def _problem_of(opened: OpenSource, item: ListedItem) -> tuple[ItemOutcome, str] | None:
    """Return the reason not to fetch an item."""
    if item.failure is not None:
        return ItemOutcome.FAILED, item.failure
    if item.skip_reason is not None:
        return ItemOutcome.SKIPPED, item.skip_reason
    if item.byte_size is not None and item.byte_size > opened.max_item_bytes:
        return ItemOutcome.SKIPPED, f"Larger than {opened.max_item_bytes:,} bytes."
    return None


def _wants_wait(opened: OpenSource, error: TransientError) -> bool:
    """Return True if the source wants a wait, and not for this item alone, as it seems."""
    if isinstance(error, RateLimitedError):
        return True
    return error.retry_after is not None and opened.run.waits < PATIENT_WAITS


def _is_newer(opened: OpenSource, item: ListedItem, before: SourceItem) -> bool:
    """Return True if an item that this run has taken in was listed again because it changed meanwhile."""
    version = shortened(item.version)
    is_taken = before.problem is None and not opened.run.is_dry_run
    return is_taken and None not in (version, before.version) and version != before.version


def _is_unchanged(item: ListedItem, data: ItemData, before: SourceItem) -> bool:
    version = shortened(item.version)
    return (
        version is not None
        and before.version == version
        and before.fingerprint == data.fingerprint
        and before.vanished_at is None
        and before.problem is None
    )


async def _fetched(connector: Connector, item: ListedItem) -> FetchedItem:
    try:
        return await connector.fetch(item)
    except (AnalytiqError, asyncio.CancelledError):
        raise
    except Exception as error:
        # A connector of another package may raise anything; the other items do not wait for it.
        log.exception("sources.fetch_failed")
        raise TransientError(f"The connector failed with an unexpected {type(error).__name__}.") from error


async def _bounded(content: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    count = 0
    async for block in content:
        count += len(block)
        if count > most:
            raise LimitExceededError(f"Larger than {most:,} bytes.")
        yield block


def _request(opened: OpenSource, each: _Wanted, staged: StagedFile) -> UploadRequest:
    item = each.item
    return UploadRequest(
        staged=staged,
        tag_ids=each.data.tags_with(each.document, each.known),
        metadata=each.data.metadata_with(each.document, each.known),
        policy=DuplicatePolicy.REPLACE,
        external_identity=opened.identity(item.external_id, shortened(item.version)),
        source_url=item.source_url,
        is_bulk=opened.run.trigger is not RunTrigger.PUSH,
        request_id=opened.run.request_id,
    )


def _new_state(opened: OpenSource, item: ListedItem, before: SourceItem | None, **changes: object) -> SourceItem:
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
    note = changes.get("note")
    if isinstance(note, str) and len(note) > LONGEST_NOTE:
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


def _note(
    opened: OpenSource,
    taken: TakenBatch,
    item: ListedItem,
    outcome: ItemOutcome,
    *,
    reason: str | None = None,
    document_id: str | None = None,
) -> None:
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
