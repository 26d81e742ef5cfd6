"""Whether files and texts were left behind, or the rows that name them were lost.

A file that nobody names is deleted, for somebody may have wanted it gone; but while another tool restores, or after an
accident, it is the row that is missing, and what is deleted by then is lost for good. Cleanings leave few files behind.
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
    """Whether rows were lost, rather than things left: pure.

    Args:
        gone: how many things name a document that is not there, of those that were looked at so far.
        named: how many of those name one that is there.
        documents: how many there are in all, counted up to BATCH.
    """
    return gone > documents or (gone >= MANY and gone >= named)


class LostRows:
    """What a stage has seen so far, by organization ("" where nothing tells whose it is)."""

    def __init__(self, documents: DocumentSurvey) -> None:
        self._documents = documents
        self._gone: Counter[str] = Counter()
        self._named: Counter[str] = Counter()

    async def spare(
        self, nameless: Sequence[Drift], owners: Iterable[tuple[str, str]], known: Container[str]
    ) -> list[Drift]:
        """Return a batch's rows without a name; report mass loss as LOST_DOCUMENT, without a repair.

        Args:
            nameless: things that no document names.
            owners: (organization id, document id) of each thing of the batch.
            known: ids of documents that are there.
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
    """Return the candidates whose document no cleaning job is about."""
    if not candidates:
        return []
    keys = {
        item.document_id: clean_request(item.organization_id, item.document_id).deduplication_key
        for item in candidates
        if item.document_id
    }
    known = await jobs.existing(list(keys.values()))
    return [item for item in candidates if keys.get(item.document_id or "") not in known]
