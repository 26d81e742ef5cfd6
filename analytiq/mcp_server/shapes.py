"""Answers of the tools, with the REST API's field names."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from analytiq.client import Document, KnowledgeBase, Passage


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class FoundSection(_Answer):
    """The section around a passage."""

    content: str
    start: int
    end: int
    first_page: int
    last_page: int
    heading_path: list[str]


class FoundPassage(_Answer):
    """A passage with its citation: `content` is characters `start` to `end` of the document's text."""

    content: str
    source: Annotated[str, Field(description="The document's name")]
    document_id: str
    first_page: int
    last_page: int
    start: int
    end: int
    relevance: Annotated[float, Field(description="From 0 to 1")]
    is_matched: Annotated[bool, Field(description="false for a neighbour of a match")]
    kb_id: str
    chunk_id: str
    index_type: Annotated[str, Field(description="Granularity: paragraph, section or website (a whole page)")]
    heading_path: Annotated[list[str], Field(description="The headings above the passage, outermost first")]
    page_name: Annotated[str, Field(description="Name of its sheet, slide or chapter; empty for none")]
    rank: Annotated[int | None, Field(description="Place among all matches, from 1")]
    token_count: int
    source_url: Annotated[str | None, Field(description="Web address of the document's original")]
    tags: list[str]
    metadata: Annotated[dict[str, JsonValue], Field(description="The metadata that `include` asks for")]
    section: Annotated[FoundSection | None, Field(description="If include_section was true")] = None

    @classmethod
    def of(cls, passage: Passage) -> "FoundPassage":
        """Build the passage from the API's answer."""
        return cls.model_validate(passage, from_attributes=True)


class FoundPassages(_Answer):
    """Passages, best first. `notes` names failed steps."""

    passages: list[FoundPassage]
    notes: list[str]


class KnowledgeBaseSummary(_Answer):
    """A knowledge base; `tags` are the names of those whose documents it gathers."""

    kb_id: str
    name: str
    description: str
    tags: list[str]
    status: str
    document_count: int
    chunk_count: int
    context: Annotated[bool, Field(description="True if chunks are searched with their document's title and headings")]
    index_types: Annotated[list[str], Field(description="Granularities that can be searched")]

    @classmethod
    def of(cls, knowledge_base: KnowledgeBase, tags: list[str]) -> "KnowledgeBaseSummary":
        """Build the summary from the API's answer."""
        return cls(
            kb_id=knowledge_base.kb_id,
            name=knowledge_base.name,
            description=knowledge_base.description,
            tags=tags,
            status=knowledge_base.status,
            document_count=knowledge_base.document_count,
            chunk_count=knowledge_base.chunk_count,
            context=knowledge_base.context,
            index_types=knowledge_base.index_types,
        )


class KnowledgeBasePage(_Answer):
    """A page of knowledge bases, newest first; `total_count` counts all."""

    knowledge_bases: list[KnowledgeBaseSummary]
    total_count: int
    skip: int


class DocumentSummary(_Answer):
    """A document; its state is uploaded, extracting, extracted or failed."""

    document_id: str
    document_name: str
    state: str
    tags: list[str]
    metadata: dict[str, JsonValue]
    parent_id: str | None
    path: str | None
    part_count: int | None
    page_count: int | None
    byte_size: int
    created_at: str
    error: str | None

    @classmethod
    def of(cls, document: Document, tags: list[str]) -> "DocumentSummary":
        """Build the summary from the API's answer."""
        return cls(
            document_id=document.document_id,
            document_name=document.document_name,
            state=document.state,
            tags=tags,
            metadata=document.metadata,
            parent_id=document.parent_id,
            path=document.path,
            part_count=document.part_count,
            page_count=document.page_count,
            byte_size=document.byte_size,
            created_at=document.created_at.isoformat(),
            error=document.error.detail if document.error else None,
        )


class DocumentPage(_Answer):
    """A page of documents, newest first; `total_count` counts all."""

    documents: list[DocumentSummary]
    total_count: int
    skip: int


class ReadPage(_Answer):
    """Text of a page, from its character `offset` on."""

    page_number: int
    offset: int
    text: str


class ReadDocument(_Answer):
    """Pages of a document. If there are more, `next_page` and `next_offset` continue."""

    document_id: str
    document_name: str
    page_count: int
    pages: list[ReadPage]
    next_page: int | None
    next_offset: int


class Uploaded(_Answer):
    """The outcome of an upload: created, returned (already stored) or replaced."""

    document_id: str
    document_name: str
    outcome: str
    state: str
    note: str
