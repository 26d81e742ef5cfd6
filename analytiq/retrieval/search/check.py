"""The check that every search makes of every hit (design 2.4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.search.candidates import Candidate
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository


@dataclass(frozen=True, slots=True)
class Checked:
    """The candidates that count, in order, and what is known of their documents.

    `is_outdated`: one was dropped because a newer generation of its document is current; searching again, at
    the newer epoch, finds that one.
    """

    candidates: tuple[Candidate, ...] = ()
    names: dict[str, str] = field(default_factory=dict[str, str])
    chunk_counts: dict[str, int] = field(default_factory=dict[str, int])
    text_hashes: dict[str, str] = field(default_factory=dict[str, str])
    """Generation id → hash of the text that its chunks are slices of."""
    is_outdated: bool = False

    def ranked(self, candidates: tuple[Candidate, ...]) -> "Checked":
        """The same with the candidates in another order, or fewer of them."""
        return replace(self, candidates=candidates)


class Check:
    """Asks the truth whether candidates may be shown."""

    def __init__(self, documents: DocumentRepository, entries: IndexEntryRepository) -> None:
        self._documents = documents
        self._entries = entries

    async def check(self, knowledge_bases: Sequence[KnowledgeBase], candidates: Sequence[Candidate]) -> Checked:
        """Keep the candidates whose index entry names their generation and whose document is a member.

        It is unconditional: it makes leaving immediate on every store, and hides every race of the swap.
        """
        by_kb = {knowledge_base.id: knowledge_base for knowledge_base in knowledge_bases}
        asked: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            asked.setdefault(candidate.kb_id, []).append(candidate)
        parts = await asyncio.gather(*(self._check(by_kb[kb_id], of_kb) for kb_id, of_kb in asked.items()))
        kept = {candidate.key for part in parts for candidate in part.candidates}
        return Checked(
            candidates=tuple(candidate for candidate in candidates if candidate.key in kept),
            names={document_id: name for part in parts for document_id, name in part.names.items()},
            chunk_counts={generation: count for part in parts for generation, count in part.chunk_counts.items()},
            text_hashes={generation: of_text for part in parts for generation, of_text in part.text_hashes.items()},
            is_outdated=any(part.is_outdated for part in parts),
        )

    async def _check(self, knowledge_base: KnowledgeBase, candidates: Sequence[Candidate]) -> Checked:
        """Two `$in` finds: 3 ms against 9 for `$lookup` at 50 documents."""
        document_ids = {candidate.document_id for candidate in candidates}
        organization_id = knowledge_base.organization_id
        entries, names = await asyncio.gather(
            self._entries.of_documents(organization_id, knowledge_base.id, document_ids),
            self._documents.names_of_members(organization_id, document_ids, knowledge_base.tag_ids),
        )
        kept: list[Candidate] = []
        is_outdated = False
        for candidate in candidates:
            entry = entries.get(candidate.document_id)
            if entry is None or candidate.document_id not in names:
                continue
            if entry.generation_id == candidate.generation_id:
                kept.append(candidate)
            else:
                is_outdated = True
        counts = {entry.generation_id: entry.chunk_count for entry in entries.values()}
        hashes = {entry.generation_id: entry.text_hash for entry in entries.values()}
        return Checked(tuple(kept), names, counts, hashes, is_outdated)
