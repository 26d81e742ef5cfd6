"""The check that every search makes of every hit (design 2.4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.index_entries import IndexEntryRepository
from analytiq.vector_stores.base import VectorHit


@dataclass(frozen=True, slots=True)
class Checked:
    """The hits that count, in order, and what is known of their documents.

    `is_outdated`: a hit was dropped because a newer generation of its document is current; searching again, at
    the newer epoch, finds that one.
    """

    hits: tuple[VectorHit, ...]
    names: dict[str, str]
    chunk_counts: dict[str, int]
    is_outdated: bool


class Check:
    """Asks the truth whether hits may be shown."""

    def __init__(self, documents: DocumentRepository, entries: IndexEntryRepository) -> None:
        self._documents = documents
        self._entries = entries

    async def check(self, knowledge_base: KnowledgeBase, hits: Sequence[VectorHit]) -> Checked:
        """Keep the hits whose index entry names their generation and whose document is a member.

        It is unconditional: it makes leaving immediate on every store, and hides every race of the swap. Two
        `$in` finds: 3 ms against 9 for `$lookup` at 50 documents.
        """
        document_ids = {hit.document_id for hit in hits}
        if not document_ids:
            return Checked((), {}, {}, is_outdated=False)
        organization_id = knowledge_base.organization_id
        entries, names = await asyncio.gather(
            self._entries.of_documents(organization_id, knowledge_base.id, document_ids),
            self._documents.names_of_members(organization_id, document_ids, knowledge_base.tag_ids),
        )
        kept: list[VectorHit] = []
        is_outdated = False
        for hit in hits:
            entry = entries.get(hit.document_id)
            if entry is None or hit.document_id not in names:
                continue
            if entry.generation_id == hit.generation_id:
                kept.append(hit)
            else:
                is_outdated = True
        counts = {entry.generation_id: entry.chunk_count for entry in entries.values()}
        return Checked(tuple(kept), names, counts, is_outdated)
