"""Indexes in memory, for tests of what is found."""

from collections.abc import Mapping, Sequence

from analytiq.retrieval.backends.local.keywords.index import FORMAT, State, WordIndex, searched
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.filters.selection import Selection
from analytiq.storage.repositories.index_contents import ChunkText

STATE = State(FORMAT, "organization", "kb", "uuid", 1, "commit")


def chunk(document_id: str, text: str, *, index: int = 0, pages: tuple[int, int] = (1, 1)) -> ChunkText:
    return ChunkText(f"generation of {document_id}", document_id, index, *pages, text)


def view_of(chunks: Sequence[ChunkText] | Mapping[str, str]) -> View:
    """Return the searchable part of these chunks, or of documents of one chunk each."""
    rows = [chunk(name, text) for name, text in chunks.items()] if isinstance(chunks, Mapping) else chunks
    index = WordIndex.created(None)
    index.add(rows, {})
    index.commit(STATE)
    view = index.view()
    index.rest()
    return view


def found(view: View, question: str, *, limit: int = 100, selection: Selection | None = None) -> list[str]:
    """The documents, best first."""
    return [hit.document_id for hit in searched(view, question, limit=limit, selection=selection)]
