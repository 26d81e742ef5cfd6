"""Invariant: each document's file and text exist and are complete.

A lost text is extracted again. Only a new upload or a backup restores a lost file.
"""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import BATCH, Batch, SystemInvariant
from analytiq.operations.reconcile.pairs import Parts
from analytiq.operations.reconcile.reading_ahead import both, read_ahead
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import extract_of
from analytiq.storage.repositories.document_survey import DocumentPointers


def judge_parts(
    documents: Sequence[DocumentPointers], whole_files: Collection[str], whole_texts: Collection[str]
) -> list[Drift]:
    """Compare documents with the complete files and texts; pure. The text of a lost file cannot be extracted again."""
    found: list[Drift] = []
    for item in documents:
        if item.file_id not in whole_files:
            found.append(
                Drift(DriftKind.LOST_FILE, item.organization_id, document_id=item.document_id, target_id=item.file_id)
            )
        elif item.text_id is not None and item.text_id not in whole_texts:
            found.append(
                Drift(
                    DriftKind.LOST_TEXT,
                    item.organization_id,
                    document_id=item.document_id,
                    target_id=item.text_id,
                    byte_size=item.byte_size,
                )
            )
    return found


_Read = tuple[Sequence[DocumentPointers], tuple[list[Drift], Parts | None], str | None]
"""Documents, their lost parts and the number of all, and the last key; None if there are no more."""


class LostParts(SystemInvariant):
    """Checks this invariant; see the module."""

    name = "lost_parts"
    kinds = frozenset({DriftKind.LOST_FILE, DriftKind.LOST_TEXT})
    depth = Depth.FULL

    async def find(self, organization_id: str | None, *, after: str) -> AsyncGenerator[Batch]:
        """See SystemInvariant."""
        self.system.pairs.whole = None

        async def read(position: str) -> _Read:
            keyed = await self.rows.document_survey.pointers_after(organization_id, after=position, limit=BATCH)
            documents = [document for _, document in keyed]
            return documents, await self._judge(documents), keyed[-1][0] if len(keyed) == BATCH else None

        whole: Parts | None = None if after or organization_id is not None else Parts()
        batches = read_ahead(read, lambda batch: batch[2], after=after)
        async with aclosing(batches):
            async for _, (candidates, parts), end in batches:
                whole = None if candidates or whole is None or parts is None else whole + parts
                yield Batch(await self._confirmed(candidates) if candidates else [], after=end or "")
        self.system.pairs.whole = whole

    async def _judge(self, documents: Sequence[DocumentPointers]) -> tuple[list[Drift], Parts | None]:
        """Return the documents with lost parts, and the parts of all; None unless each is its document's own."""
        files, texts = await both(
            self.rows.file_survey.whole_among([item.file_id for item in documents]),
            self.rows.texts.whole_among([item.text_id for item in documents if item.text_id is not None]),
        )
        found = judge_parts(documents, files, texts)
        is_own = not found and all(
            files[item.file_id].document_id == item.document_id
            and (item.text_id is None or texts[item.text_id].document_id == item.document_id)
            for item in documents
        )
        parts = Parts(
            documents=len(documents),
            files=len(files),
            chunks=sum(file.chunk_count for file in files.values()),
            texts=len(texts),
            segments=sum(text.segment_count for text in texts.values()),
        )
        return found, parts if is_own else None

    async def _confirmed(self, candidates: Sequence[Drift]) -> list[Drift]:
        """Return the candidates without an extraction that still hold: a file may have been replaced meanwhile."""
        keys = {extract_of(item).deduplication_key: item.document_id for item in candidates}
        covered = {keys[key] for key in await self.rows.jobs.existing(keys)}
        pointers = await self.rows.document_survey.pointers(
            [item.document_id for item in candidates if item.document_id]
        )
        found, _ = await self._judge(list(pointers.values()))
        return [item for item in found if item.kind is DriftKind.LOST_FILE or item.document_id not in covered]

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue the extractions; see Invariant."""
        return await writer.enqueue([(item, extract_of(item)) for item in drift if item.kind is DriftKind.LOST_TEXT])
