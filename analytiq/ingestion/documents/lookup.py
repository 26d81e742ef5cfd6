"""Lookups of many documents in one call: by path, to compare a folder with them; by id, to follow their progress."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.ingestion.documents.indexing_state import IndexingStates, StandingDocument
from analytiq.models.document import Document
from analytiq.storage.repositories.document_lookups import DocumentLookupRepository, PathPlace

BATCH = 1000
"""Most documents returned by one call."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A batch of documents in the order of paths; `next` is None at the end."""

    documents: list[Document]
    next: PathPlace | None


class DocumentLookups:
    """Lookups in one organization."""

    def __init__(self, documents: DocumentLookupRepository, states: IndexingStates) -> None:
        self._documents = documents
        self._states = states

    async def at_paths(self, organization_id: str, paths: Sequence[str], *, after: PathPlace | None) -> LookedUp:
        """Return the documents with exactly these paths."""
        found = await self._documents.at_paths(organization_id, paths, after=after, limit=BATCH)
        return _batch(found)

    async def of_items(self, organization_id: str, source: str, external_ids: Sequence[str]) -> LookedUp:
        """Return the documents of these items of a source, in any order and in one batch."""
        return LookedUp(await self._documents.of_items(organization_id, source, external_ids), None)

    async def below(self, organization_id: str, folder: str, *, after: PathPlace | None) -> LookedUp:
        """Return the documents in a folder and below it."""
        found = await self._documents.below(organization_id, folder, after=after, limit=BATCH)
        return _batch(found)

    async def progress(self, organization_id: str, document_ids: Sequence[str]) -> list[StandingDocument]:
        """Return the progress of the existing documents among these."""
        found = await self._documents.with_ids(organization_id, document_ids)
        return await self._states.of_documents(organization_id, found)


def _batch(found: list[Document]) -> LookedUp:
    last = found[-1] if len(found) == BATCH else None
    return LookedUp(found, None if last is None else PathPlace(last.document_name, last.id))
