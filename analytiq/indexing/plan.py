"""What is to become of a pair (design 2.1): pure."""

from dataclasses import dataclass

from analytiq.models.document import Document
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase


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
class Nothing:
    """The pair is as it should be."""

    reason: str


def plan(
    knowledge_base: KnowledgeBase | None, document: Document | None, entry: IndexEntry | None
) -> Index | Remove | Nothing:
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
        return Nothing("it is indexed already")
    return Index(document.text_id, document.text_hash)


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
