"""The plan of a pair: index, remove or do nothing. A pure decision."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind
from analytiq.models.index_entry import Generation, IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.projection import Projection
from analytiq.retrieval.backends.registry import filters_stored_chunks
from analytiq.retrieval.filters.projection import projection_of


@dataclass(frozen=True, slots=True)
class Index:
    """Create vectors of the document's text and point the pair at them."""

    text_id: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the document from the knowledge base."""

    entry: IndexEntry
    reason: str


@dataclass(frozen=True, slots=True)
class Project:
    """Keep the chunks, and rewrite their copy of the document's fields for the search server."""

    entry: IndexEntry
    projection: Projection


@dataclass(frozen=True, slots=True)
class Retire:
    """Supersede current generations that no entry names; the pair is right otherwise."""

    generations: tuple[Generation, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Do nothing: the pair is right."""

    reason: str


def plan(
    knowledge_base: KnowledgeBase | None,
    document: Document | None,
    entry: IndexEntry | None,
    current: Sequence[Generation] = (),
    *,
    skipped: Collection[FlawKind] = (),
) -> Index | Remove | Project | Retire | Nothing:
    """Decide the action from the state just read.

    `current` are the pair's generations in that state. A commit leaves one, which the entry names; lost entries
    and restored backups leave others. `skipped`: the kinds of flawed text that the organization leaves out.
    """
    if knowledge_base is None:
        return Nothing("the knowledge base is gone, and its deletion takes everything along")
    why_not = _why_not_member(knowledge_base, document)
    if why_not is not None:
        return _settled(current, entry, why_not) if entry is None else Remove(entry, why_not)
    assert document is not None  # noqa: S101  # a missing one is no member
    assert document.text_id is not None  # noqa: S101
    assert document.text_hash is not None  # noqa: S101
    if (
        entry is not None
        and entry.text_hash == document.text_hash
        and entry.configuration_hash == knowledge_base.configuration_hash
        and entry.context_hash == knowledge_base.context_hash_of(document.document_name, document.metadata)
        and entry.skipped_flaws == document.flaw_kinds_among(skipped)
    ):
        projection = projection_in(knowledge_base, document)
        if projection is not None and entry.projection_hash != projection.hash:
            return Project(entry, projection)
        return _settled(current, entry, "it is indexed already")
    return Index(document.text_id, document.text_hash)


def projection_in(knowledge_base: KnowledgeBase, document: Document) -> Projection | None:
    """Return the document's fields to store in its chunks for filters of a search server."""
    return projection_of(document) if filters_stored_chunks(knowledge_base.vector_store) else None


def _settled(current: Sequence[Generation], entry: IndexEntry | None, reason: str) -> Retire | Nothing:
    unnamed = tuple(item for item in current if entry is None or item.id != entry.generation_id)
    return Retire(unnamed, reason) if unnamed else Nothing(reason)


def _why_not_member(knowledge_base: KnowledgeBase, document: Document | None) -> str | None:
    if document is None:
        return "the document is gone"
    if not set(document.tag_ids) & set(knowledge_base.tag_ids):
        return "the document shares no tag with the knowledge base"
    if document.text_id is None or document.text_hash is None:
        return "the document has no extracted text yet"
    if not document.character_count:
        return "the document has no extractable text"
    return None
