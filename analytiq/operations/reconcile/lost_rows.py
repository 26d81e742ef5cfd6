"""Distinguishes leftover files and texts from lost rows of documents.

A file without a reference is deleted, since its document may have been deleted on purpose. But while another tool
restores, or after an accident, the row is missing and the file must stay. Cleanings leave few files behind.
"""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from analytiq.ingestion.documents.requests import clean_request
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.invariants.base import BATCH
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.repositories.document_survey import DocumentSurvey
from analytiq.storage.repositories.jobs import JobRepository

MANY = 5


def are_rows_lost(*, gone: int, named: int, documents: int) -> bool:
    """Return True if rows were lost, False if files were left behind. Pure.

    Args:
        gone: the number of examined items whose document is missing.
        named: the number of examined items whose document exists.
        documents: the number of documents in all, counted up to BATCH.
    """
    return gone > documents or (gone >= MANY and gone >= named)


class LostRows:
    """Counts of a stage so far, by organization ("" if unknown)."""

    def __init__(self, documents: DocumentSurvey) -> None:
        self._documents = documents
        self._gone: Counter[str] = Counter()
        self._named: Counter[str] = Counter()

    async def spare(
        self, nameless: Sequence[Drift], owners: Iterable[tuple[str, str]], known: Container[str]
    ) -> list[Drift]:
        """Return a batch's unreferenced items to delete; after mass loss report LOST_DOCUMENT without a repair instead.

        Args:
            nameless: items that no document refers to.
            owners: (organization id, document id) of each item of the batch.
            known: ids of existing documents.
        """
        self._named.update(organization_id for organization_id, document_id in owners if document_id in known)
        orphans = [item for item in nameless if item.document_id is None or item.document_id not in known]
        self._gone.update(item.organization_id for item in orphans)
        lost = {owner for owner in {item.organization_id for item in orphans} if await self._are_lost(owner)}
        return [
            replace(item, kind=DriftKind.LOST_DOCUMENT) if item in orphans and item.organization_id in lost else item
            for item in nameless
        ]

    async def _are_lost(self, organization_id: str) -> bool:
        documents = await self._documents.count(organization_id or None, at_most=BATCH)
        return are_rows_lost(gone=self._gone[organization_id], named=self._named[organization_id], documents=documents)


async def without_cleaning(jobs: JobRepository, candidates: Sequence[Drift]) -> list[Drift]:
    """Return the candidates whose document has no cleaning job."""
    if not candidates:
        return []
    keys = {
        item.document_id: clean_request(item.organization_id, item.document_id).deduplication_key
        for item in candidates
        if item.document_id
    }
    known = await jobs.existing(list(keys.values()))
    return [item for item in candidates if keys.get(item.document_id or "") not in known]
