"""Items that a whole listing no longer names: found, and treated as their source wants it."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.errors import NotFoundError
from analytiq.ingestion.documents.changing import DocumentChanging, Selected, WantedChange
from analytiq.ingestion.documents.service import Documents
from analytiq.models.document import ExternalIdentity
from analytiq.models.source import Source, SourceItem, SourceRun, WhenVanished
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.telemetry.checkpoints import checkpoint

BATCH = 50
LEAST_SHARE = 0.5
"""A run that saw a smaller share of the items before it removes nothing."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The number of missing items, and the reason not to treat them as vanished."""

    count: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class VanishedBatch:
    """Vanished items whose documents were treated, with the treatment in words."""

    outcomes: tuple[tuple[SourceItem, str], ...]
    cursor: str | None


class Vanishing:
    """Treats vanished items."""

    def __init__(self, rows: Repositories, documents: Documents, changing: DocumentChanging) -> None:
        self._items = rows.source_items
        self._rows = rows.documents
        self._documents = documents
        self._changing = changing

    async def find_missing(self, run: SourceRun) -> Missing:
        """Count the items that a run has not seen, or that the source removed; decide whether they have vanished."""
        if run.is_delta:
            return await self._find_removed(run)
        missing = await self._items.count_unseen(run.organization_id, run.source_id, run.id)
        if not missing:
            return Missing(0)
        if not run.is_whole:
            return Missing(missing, f"Nothing was removed: {missing:,} items are missing, but the list is incomplete.")
        seen = await self._items.count_seen(run.organization_id, run.source_id, run.id)
        if run.accepts_losses or (seen and seen >= run.known_before * LEAST_SHARE):
            return Missing(missing)
        return Missing(
            missing,
            f"Nothing was removed: the source lists {seen:,} items, and had {run.known_before:,} before. If this is"
            " right, run it once with `accepts_losses`.",
        )

    async def _find_removed(self, run: SourceRun) -> Missing:
        """Count the items that a listing of changes reports as removed, and decide the same."""
        removed = await self._items.count_removed(run)
        if removed and not run.is_whole:
            return Missing(removed, f"Nothing was removed: {removed:,} items are gone, but the list is incomplete.")
        if removed and not run.accepts_losses and run.known_before - removed < max(1, run.known_before * LEAST_SHARE):
            return Missing(
                removed,
                f"Nothing was removed: the source reports {removed:,} of {run.known_before:,} items as removed. If this"
                " is right, run it once with `accepts_losses`.",
            )
        return Missing(removed)

    async def next_batch(self, source: Source, run: SourceRun) -> VanishedBatch | None:
        """Treat the documents of some vanished items; None at the end. A repetition changes nothing more."""
        organization_id = source.organization_id
        if run.is_dry_run and not run.is_delta:
            items = await self._items.unseen(organization_id, source.id, run.id, after=run.cursor, limit=BATCH)
        else:
            # Only a dry run settles nothing, so that its cursor counts.
            after = run.cursor if run.is_dry_run else None
            items = await self._items.vanished(run, after=after, limit=BATCH)
        if not items:
            return None
        if run.is_dry_run:
            return VanishedBatch(tuple((item, _WORDS[source.when_vanished]) for item in items), items[-1].id)
        return await self.treat(source, items)

    async def treat(self, source: Source, items: Sequence[SourceItem]) -> VanishedBatch:
        """Treat the documents of these items, few of them, as vanished. A repetition changes nothing more."""
        items = await self._with_documents(source, items)
        if source.when_vanished is WhenVanished.DELETE:
            for item in items:
                await self._delete(item)
        elif source.when_vanished is WhenVanished.TAG and source.vanished_tag_id is not None:
            ids = tuple(item.document_id for item in items if item.document_id is not None)
            if ids:
                wanted = WantedChange(added_tag_ids=(source.vanished_tag_id,))
                await self._changing.change(source.organization_id, Selected(document_ids=ids), wanted)
        await checkpoint("sources.documents_removed")
        return VanishedBatch(
            tuple((item, _WORDS[source.when_vanished]) for item in items), items[-1].id if items else None
        )

    async def settle(self, session: Session, source: Source, run: SourceRun, batch: VanishedBatch) -> None:
        """Forget the items of a batch, or record that their documents are kept."""
        if run.is_dry_run:
            return
        items = [item for item, _ in batch.outcomes]
        if source.when_vanished is WhenVanished.DELETE:
            await self._items.delete_some(session, source.organization_id, source.id, items)
        else:
            given = source.vanished_tag_id if source.when_vanished is WhenVanished.TAG else None
            await self._items.keep_vanished(session, items, given_tag_id=given)

    async def _with_documents(self, source: Source, items: Sequence[SourceItem]) -> list[SourceItem]:
        """Find the documents of items whose batch was uploaded, but never committed."""
        unknown = [item for item in items if item.document_id is None]
        identities = [
            ExternalIdentity(source=source.identity_source, external_id=item.external_id, version=None)
            for item in unknown
        ]
        found = await self._rows.with_external_identities(source.organization_id, identities) if identities else []
        ids = {identity.external_id: document.id for document in found if (identity := document.external_identity)}
        return [item if item.document_id else item.model_copy(update={"document_id": ids.get(item.external_id)})
                for item in items]  # fmt: skip

    async def _delete(self, item: SourceItem) -> None:
        if item.document_id is None:
            return
        try:
            await self._documents.delete(item.organization_id, item.document_id)
        except NotFoundError:
            return  # by a killed attempt, or by a person


_WORDS = {
    WhenVanished.DELETE: "It vanished from the source; its document is deleted.",
    WhenVanished.KEEP: "It vanished from the source; its document is kept.",
    WhenVanished.TAG: "It vanished from the source; its document is tagged.",
}
