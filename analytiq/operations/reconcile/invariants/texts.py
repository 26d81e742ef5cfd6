"""Invariant: a document refers to each current text, and each segment has its text.

Checked like files, and as rarely.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence

from analytiq import clock
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import AS_CONFIGURED, BATCH, Batch, SystemInvariant
from analytiq.operations.reconcile.lost_rows import LostRows, without_cleaning
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.ids import is_made_before
from analytiq.storage.repositories.document_survey import DocumentPointers
from analytiq.storage.repositories.texts import StagedText

_UNFINISHED = "c:"
"""Marks a position in the second half, which scans segments instead of texts."""


def unnamed_texts(texts: Sequence[StagedText], documents: Mapping[str, DocumentPointers]) -> list[Drift]:
    """Return current texts that their document does not refer to; pure."""
    return [
        Drift(DriftKind.ORPHANED_TEXT, item.organization_id, document_id=item.document_id, target_id=item.text_id)
        for item in texts
        if item.document_id not in documents or documents[item.document_id].text_id != item.text_id
    ]


class UnnamedTexts(SystemInvariant):
    """Checks this invariant. After mass loss of documents' rows, it reports them and keeps their texts."""

    name = "texts"
    kinds = frozenset({DriftKind.ORPHANED_TEXT, DriftKind.LOST_DOCUMENT})
    depth = Depth.FULL
    most_grace_seconds = AS_CONFIGURED
    needs_everything = True

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        position, latest, lost = after, clock.now() - self.grace, LostRows(self.rows.document_survey)
        are_all_named, have_all_heads = (False, False) if after else await self._are_paired()
        if are_all_named:
            position = _UNFINISHED
        while not position.startswith(_UNFINISHED):
            texts = await self.rows.texts.served_after(after=position, until=latest, limit=BATCH)
            position = texts[-1].text_id if len(texts) == BATCH else _UNFINISHED
            yield Batch(await self._unnamed(texts, lost), after=position)
        if have_all_heads:
            return
        position = position.removeprefix(_UNFINISHED)
        while True:
            segmented = await self.rows.texts.segmented_after(after=position, limit=BATCH)
            if not segmented:
                return
            position = segmented[-1].text_id
            yield Batch(await self._headless(segmented), after=_UNFINISHED + position)

    async def _are_paired(self) -> tuple[bool, bool]:
        """Return whether all texts, and all segments, are those found with the documents of this pass."""
        rows = self.rows
        return await self.system.pairs.are_all(
            rows.document_survey, rows.texts.count, lambda whole: (whole.texts, whole.segments)
        )

    async def _unnamed(self, texts: Sequence[StagedText], lost: LostRows) -> list[Drift]:
        known = await self.rows.document_survey.pointers({item.document_id for item in texts})
        left = await without_cleaning(self.rows.jobs, unnamed_texts(texts, known))
        there = await self.rows.texts.heads_among([item.target_id for item in left if item.target_id])
        owners = [(item.organization_id, item.document_id) for item in texts]
        return await lost.spare([item for item in left if item.target_id in there], owners, known)

    async def _headless(self, texts: Sequence[StagedText]) -> list[Drift]:
        latest = clock.now() - self.grace
        old = [item for item in texts if is_made_before(item.text_id, latest)]
        heads = await self.rows.texts.heads_among([item.text_id for item in old])
        return [
            Drift(DriftKind.ORPHANED_TEXT, item.organization_id, document_id=item.document_id, target_id=item.text_id)
            for item in old
            if item.text_id not in heads
        ]

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Clean the documents; see Invariant."""
        return await writer.delete([item for item in drift if item.kind is DriftKind.ORPHANED_TEXT], self._delete)

    async def _delete(self, item: Drift) -> None:
        document_id, text_id = item.document_id or "", item.target_id or ""
        document = await self.rows.documents.get(item.organization_id, document_id)
        if document is None or document.text_id != text_id:
            await self.rows.texts.delete(item.organization_id, document_id, text_id)
