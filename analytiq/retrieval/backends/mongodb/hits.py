"""Conversion of the search server's hits to chunks that are current and pass the filter.

The server's index also holds staged, superseded and swept generations, and stale copies of document fields. So every
chunk is checked against `document_index` and against the filter as `docs` answered it. If too few remain, more chunks
are requested.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.filters.compilers.mongodb_search import of_filter, of_selection, of_types
from analytiq.retrieval.filters.selection import AllOf, ChunkFilter, DocumentSet, Outside, Selection, contains
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.search.predicates import Verdict, every
from analytiq.storage.search.rows import MOST_FOUND, FoundChunk

MOST_DOCUMENTS_NAMED = 5_000
"""A filter that matches at most this many documents names them, exact and as fresh as `docs`: at most 200 kB of ids."""
COUNTED_AT_ONCE = 50_000
"""Documents of one query; a command of 16 MB would hold about seven times as many."""
TIES = 20
"""Chunks requested beyond the limit, so that equal scores at its edge are in order of document and chunk. The server
orders them differently from page to page."""
GROWTH = 4
"""Growth of the request if too few hits are current: from ten to the server's limit in five requests."""

Ask = Callable[[int], Awaitable[list[FoundChunk]]]
"""Request the given number of chunks, best first."""
IsExhausted = Callable[[int, int], Awaitable[bool]]
"""(requested, current among the answer) → True if a larger request would bring no more."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The part of a filter sent to the server; `document_ids`: all documents whose chunks may pass, if they are few."""

    verdict: Verdict
    document_ids: frozenset[str] | None = None


def narrowing(chunk_filter: ChunkFilter | None) -> Narrowing:
    """Narrow by the documents' ids if they are few, else by the fields stored with the chunks."""
    if chunk_filter is None:
        return Narrowing(verdict=True)
    selection = chunk_filter.selection
    if _documents_named(selection) <= MOST_DOCUMENTS_NAMED:
        return Narrowing(of_selection(selection), _all_documents(selection))
    types = True if chunk_filter.index_types is None else of_types(chunk_filter.index_types)
    return Narrowing(every([of_filter(chunk_filter.tree), types]))


class CurrentHits:
    """A loop of requests until enough current chunks are found, or none are left."""

    def __init__(self, entries: IndexEntryRepository, epochs: EpochRepository) -> None:
        self._entries = entries
        self._epochs = epochs

    async def gather(
        self,
        knowledge_base: KnowledgeBase,
        chunk_filter: ChunkFilter | None,
        *,
        since: Epoch | None,
        limit: int,
        ask: Ask,
        is_exhausted: IsExhausted,
    ) -> list[FoundChunk]:
        """Return at most `limit` current chunks, best first; ties in order of document and chunk.

        With `since`, documents are as they were at this epoch, whatever has been committed meanwhile. A chunk of a
        later generation stands for the replaced one, by which the caller sees that it must ask again.

        Raises:
            InvalidInputError: the search needs more chunks than the server returns for one question.
        """
        asked = min(limit + TIES, MOST_FOUND)
        while True:
            found = await ask(asked)
            kept = await self._current(knowledge_base, chunk_filter, found)
            if since is not None and kept:
                kept = await self._as_of(since, kept)
            if len(kept) > limit and kept[-1].score < kept[limit - 1].score:
                return _best(kept, limit)
            is_last = asked == MOST_FOUND
            if len(found) < asked:
                # A row that vanished before it was read leaves a gap: a short answer proves nothing by itself.
                if is_last or await is_exhausted(asked, len(kept)):
                    return _best(kept, limit)
            elif is_last and len(kept) >= limit:
                return _best(kept, limit)
            elif is_last:
                raise InvalidInputError.of_field(
                    "skip",
                    f"MongoDB's search server returns the {MOST_FOUND} best chunks of a question, and only"
                    f" {len(kept)} of the wanted {limit} count. Ask for fewer, or narrow the question by a filter.",
                    code="search_too_deep",
                )
            asked = min(asked * GROWTH, MOST_FOUND)

    async def count(self, knowledge_base: KnowledgeBase, document_ids: Collection[str] | None) -> int:
        """Count the indexed chunks, of these documents or of all."""
        if document_ids is None:
            return (await self._entries.statistics(knowledge_base.id))[1]
        ordered = sorted(document_ids)
        total = 0
        for start in range(0, len(ordered), COUNTED_AT_ONCE):
            part = ordered[start : start + COUNTED_AT_ONCE]
            total += (await self._entries.statistics(knowledge_base.id, document_ids=part))[1]
        return total

    async def generations(self, knowledge_base: KnowledgeBase, document_ids: Collection[str]) -> set[str]:
        """Return the current generations of these documents."""
        ordered = sorted(document_ids)
        current: set[str] = set()
        for start in range(0, len(ordered), COUNTED_AT_ONCE):
            entries = await self._entries.of_documents(
                knowledge_base.organization_id, knowledge_base.id, ordered[start : start + COUNTED_AT_ONCE]
            )
            current |= {entry.generation_id for entry in entries.values()}
        return current

    async def _current(
        self, knowledge_base: KnowledgeBase, chunk_filter: ChunkFilter | None, found: Sequence[FoundChunk]
    ) -> list[FoundChunk]:
        current = await self.generations(knowledge_base, {chunk.document_id for chunk in found})
        return [
            chunk
            for chunk in found
            if chunk.generation_id in current and (chunk_filter is None or passes(chunk_filter.selection, chunk))
        ]

    async def _as_of(self, epoch: Epoch, current: Sequence[FoundChunk]) -> list[FoundChunk]:
        """Leave out documents that have joined after the epoch, and name the replaced generations of others.

        The change log is read after the entries: no commit comes between them unseen.
        """
        replaced = await self._epochs.replaced_after(epoch, {chunk.generation_id for chunk in current})
        before = [(chunk, replaced.get(chunk.generation_id, chunk.generation_id)) for chunk in current]
        return [replace(chunk, generation_id=generation_id) for chunk, generation_id in before if generation_id]


def _best(chunks: Sequence[FoundChunk], limit: int) -> list[FoundChunk]:
    return sorted(chunks, key=lambda chunk: (-chunk.score, chunk.document_id, chunk.chunk_index))[:limit]


def passes(selection: Selection, chunk: FoundChunk) -> bool:
    """Return True if the chunk is selected."""
    return contains(selection, chunk.document_id, chunk.first_page, chunk.last_page, chunk_index=chunk.chunk_index)


def _documents_named(selection: Selection) -> int:
    match selection:
        case DocumentSet(document_ids):
            return len(document_ids)
        case Outside(operand):
            return _documents_named(operand)
        case _:
            return sum(_documents_named(operand) for operand in getattr(selection, "operands", ()))


def _all_documents(selection: Selection) -> frozenset[str] | None:
    """Return the documents that contain every selected chunk, if the selection names them."""
    match selection:
        case DocumentSet(document_ids):
            return document_ids
        case AllOf(operands):
            named = [ids for operand in operands if (ids := _all_documents(operand)) is not None]
            return min(named, key=len) if named else None
        case _:
            return None
