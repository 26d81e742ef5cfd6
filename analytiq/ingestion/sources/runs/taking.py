"""Takes in a batch of listed items: compares them with what is known, and uploads what is new or changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from analytiq.errors import AnalytiqError, QuotaExceededError, TransientError
from analytiq.ingestion.sources.base import ItemGoneError, ListedItem
from analytiq.ingestion.sources.runs.comparison import is_newer, is_unchanged, problem_of, with_storable_id
from analytiq.ingestion.sources.runs.item_data import ItemData, readers_of, shortened
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.ingestion.sources.runs.outcomes import (
    TakenBatch,
    WantedItem,
    new_state,
    note_document,
    note_error,
    note_outcome,
    note_problem,
)
from analytiq.ingestion.sources.runs.staging import ItemStaging, StagedItem
from analytiq.ingestion.upload.request import StagedFile, UploadRequest
from analytiq.ingestion.upload.store import Uploads
from analytiq.models.source import ItemOutcome, RunTrigger, SourceItem
from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry.checkpoints import checkpoint


class ItemTaking:
    """Takes items in."""

    def __init__(self, rows: Repositories, uploads: Uploads) -> None:
        self._items = rows.source_items
        self._documents = rows.documents
        self._uploads = uploads
        self._staging = ItemStaging(uploads)

    async def take(self, opened: OpenSource, listed: Sequence[ListedItem]) -> TakenBatch:
        """Upload what is new or changed, and return the outcome of each item.

        An unchanged item costs a comparison of versions; the items of a batch share three queries.

        Raises:
            QuotaExceededError: the organization has no room for another document.
        """
        run, source = opened.run, opened.source
        by_id = {item.external_id: item for item in map(with_storable_id, listed)}
        known = await self._items.with_external_ids(source.organization_id, source.id, by_id.keys())
        taken = TakenBatch()
        candidates: list[ListedItem] = []
        for external_id, item in by_id.items():
            before = known.get(external_id)
            if before is not None and before.seen_run_id == run.id and not is_newer(opened, item, before):
                continue  # a batch that this run has committed
            problem = problem_of(opened, item)
            if problem is not None:
                note_problem(opened, taken, item, before, problem)
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
    ) -> list[WantedItem]:
        """Record unchanged items, and in a dry run all; return the others."""
        source, run = opened.source, opened.run
        documents = await self._known_documents(opened, candidates, known)
        wanted: list[WantedItem] = []
        for item in candidates:
            data, before = ItemData.of_item(source, item), known.get(item.external_id)
            document_id = before.document_id if before else None
            is_there = document_id is not None and document_id in documents
            if before is not None and is_there and not run.external_ids and is_unchanged(item, data, before):
                if before.access == readers_of(item) or run.is_dry_run:
                    taken.seen.append(item.external_id)
                else:
                    taken.items.append(new_state(opened, item, before))
                note_outcome(opened, taken, item, ItemOutcome.UNCHANGED, document_id=document_id)
            elif run.is_dry_run:
                taken.seen.append(item.external_id)
                note_outcome(opened, taken, item, ItemOutcome.CHANGED if is_there else ItemOutcome.ADDED)
            else:
                wanted.append(WantedItem(item, data, before, None))
        if not wanted:
            return []
        # Also those of items that a killed attempt has uploaded and not committed.
        identities = [opened.identity(each.item.external_id, None) for each in wanted]
        found = await self._documents.with_external_identities(source.organization_id, identities)
        by_item = {item.external_id: document for document in found if (item := document.external_identity)}
        return [WantedItem(each.item, each.data, each.known, by_item.get(each.item.external_id)) for each in wanted]

    async def _known_documents(
        self, opened: OpenSource, candidates: Sequence[ListedItem], known: Mapping[str, SourceItem]
    ) -> set[str]:
        ids = {
            before.document_id
            for item in candidates
            if (before := known.get(item.external_id)) is not None and before.document_id is not None
        }
        return set(await self._documents.names(opened.source.organization_id, ids)) if ids else set()

    async def _fetch(self, opened: OpenSource, wanted: Sequence[WantedItem], taken: TakenBatch) -> None:
        """Fetch and upload some items."""
        results_of_fetch = await self._staging.stage_all(opened, wanted, taken)
        await checkpoint("sources.batch_staged")
        wanted = [_with_version(each, result) for each, result in zip(wanted, results_of_fetch, strict=True)]
        staged = [result.file if isinstance(result, StagedItem) else result for result in results_of_fetch]
        places = [index for index, file in enumerate(staged) if isinstance(file, StagedFile)]
        requests = [
            _request(opened, wanted[index], file) for index in places if isinstance(file := staged[index], StagedFile)
        ]
        await self._plan(opened, [wanted[index] for index in places])
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
                note_error(opened, taken, each, outcome)
            elif outcome is not None and not isinstance(outcome, StagedFile):
                note_document(opened, taken, each, outcome.document)
        if no_room is not None:
            # The others are uploaded, and are found by their identities when the run is repeated.
            raise no_room

    async def _plan(self, opened: OpenSource, wanted: Sequence[WantedItem]) -> None:
        """Note new items before their documents exist: an item may vanish after a crash in between."""
        if opened.running is None:
            return  # pushed: whoever pushes it repeats what was not acknowledged
        new = [new_state(opened, each.item, None, seen_run_id=None) for each in wanted if each.known is None]
        await self._items.plan(new)


def _with_version(each: WantedItem, result: StagedItem | AnalytiqError) -> WantedItem:
    """Return the item with the version of the content that was fetched."""
    if not isinstance(result, StagedItem) or result.version == each.item.version:
        return each
    return replace(each, item=replace(each.item, version=result.version))


def _request(opened: OpenSource, each: WantedItem, staged: StagedFile) -> UploadRequest:
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
