"""Request and response bodies of chunk previews."""

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from analytiq.ingestion.documents.chunk_preview import (
    CHARACTERS_READ,
    ChunkPreview,
    PreviewedChunk,
    PreviewRequest,
)
from analytiq.models.index_types import PARAGRAPHS, Chunking, IndexType, index_type_at, number_of
from api.schemas.chunking import IndexTypes, SectionLevel
from api.schemas.wire import RequestBody, ResponseBody


class ChunkPreviewBody(RequestBody):
    """The settings of a knowledge base, and either a document or a text."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "# Pumps\n\nA pump moves water.", "chunker_type": "section", "chunk_size": 256}]
        },
    )

    document_id: Annotated[
        str | None, Field(min_length=1, max_length=100, description="A document whose text is extracted")
    ] = None
    text: Annotated[
        str | None, Field(max_length=CHARACTERS_READ, description="A text instead; Markdown marks are its structure")
    ] = None
    chunker_type: str = "auto"
    chunk_size: Annotated[int, Field(ge=1, le=8192, description="Tokens")] = 512
    chunk_overlap: Annotated[
        int, Field(ge=0, le=4096, description="Tokens; default: 128, at most a quarter of chunk_size")
    ] = 128
    section_level: SectionLevel = 0
    index_types: IndexTypes = PARAGRAPHS
    skip: Annotated[int, Field(ge=0, le=1_000_000, description="Chunks to skip")] = 0
    limit: Annotated[int, Field(ge=1, le=1000, description="Maximum number of chunks")] = 100

    @model_validator(mode="after")
    def _has_one_source(self) -> "ChunkPreviewBody":
        if (self.document_id is None) == (self.text is None):
            raise ValueError("Give either document_id or text.")
        return self

    def wanted(self) -> PreviewRequest:
        """Convert to the library's request."""
        is_given = "chunk_overlap" in self.model_fields_set
        return PreviewRequest(
            Chunking(
                self.chunker_type,
                self.chunk_size,
                self.chunk_overlap if is_given else min(self.chunk_overlap, self.chunk_size // 4),
                section_level=self.section_level,
                index_types=self.index_types,
            ),
            skip=self.skip,
            limit=self.limit,
        )


class PreviewedChunkResponse(ResponseBody):
    """A chunk that the settings would make; `text` is characters [start, end) of the document's text."""

    chunk_index: int = Field(description="Number among the chunks of the same index type, from 0")
    index_type: IndexType
    text: str
    start: int
    end: int
    token_count: int
    first_page: int
    last_page: int
    heading_path: list[str] = Field(description="Headings above the whole chunk, outermost first")
    page_name: str = Field(description="Sheet, slide or chapter that holds the whole chunk; else empty")
    context: str = Field(description="Text that is embedded and searched with the chunk; may be empty")

    @classmethod
    def from_chunk(cls, one: PreviewedChunk) -> "PreviewedChunkResponse":
        """Build the response."""
        return cls.from_model(
            one.chunk,
            chunk_index=number_of(one.chunk.chunk_index),
            index_type=index_type_at(one.chunk.chunk_index),
            first_page=one.first_page,
            last_page=one.last_page,
            heading_path=list(one.context.heading_path),
            page_name=one.context.page_name,
            context=one.context.text,
        )


class ChunkPreviewResponse(ResponseBody):
    """The chunks of a document or text under given settings; nothing was stored."""

    document_id: str | None
    document_name: str | None
    text_hash: str | None = Field(description="Hash of the document text's version; null for a given text")
    chunks: list[PreviewedChunkResponse]
    total_count: int = Field(description="Chunks of the part that was read")
    skip: int
    character_count: int = Field(description="Characters that were read")
    is_complete: bool = Field(description="False: only the beginning of a long text was read")
    skipped_character_count: int = Field(description="Characters of flawed text that the organization leaves out")

    @classmethod
    def from_preview(cls, preview: ChunkPreview, *, skip: int) -> "ChunkPreviewResponse":
        """Build the response."""
        document = preview.document
        return cls(
            document_id=document.id if document else None,
            document_name=document.document_name if document else None,
            text_hash=document.text_hash if document else None,
            chunks=[PreviewedChunkResponse.from_chunk(one) for one in preview.chunks],
            total_count=preview.total_count,
            skip=skip,
            character_count=preview.character_count,
            is_complete=preview.is_complete,
            skipped_character_count=preview.skipped_character_count,
        )
