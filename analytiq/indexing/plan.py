"""What is to become of a pair (design 2.1): pure."""

from dataclasses import dataclass

from analytiq.models.document import Document
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase, VectorStoreKind
from analytiq.models.projection import Projection, projection_of


@dataclass(frozen=True, slots=True)
class Index:
    """Make vectors of the document's text and point the pair at them."""

    text_id: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the document out."""

    entry: IndexEntry
    reason: str


@dataclass(frozen=True, slots=True)
class Project:
    """Its chunks are right; write anew what they carry of their document for the search server."""

    entry: IndexEntry
    projection: Projection


@dataclass(frozen=True, slots=True)
class Nothing:
    """The pair is as it should be."""

    reason: str


def plan(
    knowledge_base: KnowledgeBase | None, document: Document | None, entry: IndexEntry | None
) -> Index | Remove | Project | Nothing:
    """Decide from the truth as it was just read."""
    if knowledge_base is None:
        return Nothing("the knowledge base is gone, and its deletion takes everything along")
    why_not = _why_not_member(knowledge_base, document)
    if why_not is not None:
        return Nothing(why_not) if entry is None else Remove(entry, why_not)
    assert document is not None  # noqa: S101  # a missing one is no member
    assert document.text_id is not None  # noqa: S101
    assert document.text_hash is not None  # noqa: S101
    if (
        entry is not None
        and entry.text_hash == document.text_hash
        and entry.configuration_hash == knowledge_base.configuration_hash
    ):
        projection = projection_in(knowledge_base, document)
        if projection is not None and entry.projection_hash != projection.hash:
            return Project(entry, projection)
        return Nothing("it is indexed already")
    return Index(document.text_id, document.text_hash)


def projection_in(knowledge_base: KnowledgeBase, document: Document) -> Projection | None:
    """What chunks of the document carry in this knowledge base, where a search server filters them."""
    return projection_of(document) if knowledge_base.vector_store is VectorStoreKind.MONGODB else None


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
