"""Chunk previews: the chunks that settings would make of a document or a text; nothing is stored."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.ingestion.chunking.context import ChunkContext, ChunkContexts
from analytiq.ingestion.chunking.index_types import check, chunks_of_types, cuts_by_meaning, without_last
from analytiq.ingestion.chunking.markdown_parts import markdown_text
from analytiq.ingestion.chunking.skipping import outline_without
from analytiq.ingestion.documents.service import Documents, text_id_of
from analytiq.models.chunk import Chunk
from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind, ranges_of
from analytiq.models.index_types import Chunking
from analytiq.models.organization import Organization
from analytiq.models.text import DocumentText, PageLocator
from analytiq.storage.repositories.texts import TextRepository

CHARACTERS_READ = 500_000
"""Characters read for a preview: chunking them takes about a second."""
CHARACTERS_READ_BY_MEANING = 20_000
"""The same for chunkers that compare sentences, which takes fifty times as long."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Settings of a knowledge base, and the part of the chunks that is wanted."""

    chunking: Chunking
    skip: int
    limit: int


@dataclass(frozen=True, slots=True)
class PreviewedChunk:
    """A chunk with its pages and its context."""

    chunk: Chunk
    first_page: int
    last_page: int
    context: ChunkContext


@dataclass(frozen=True, slots=True)
class ChunkPreview:
    """Some of the chunks of a text, or of its beginning.

    Attributes:
        document: the document, unless the text was given.
        total_count: chunks of the part that was read.
        character_count: characters of that part.
        is_complete: the whole text was read.
        skipped_character_count: characters of that part that the organization leaves out.
    """

    document: Document | None
    chunks: Sequence[PreviewedChunk]
    total_count: int
    character_count: int
    is_complete: bool
    skipped_character_count: int


class ChunkPreviews:
    """Cuts texts as indexing would."""

    def __init__(self, documents: Documents, texts: TextRepository, models: EmbeddingModels) -> None:
        self._documents = documents
        self._texts = texts
        self._models = models

    async def of_document(self, organization: Organization, document_id: str, wanted: PreviewRequest) -> ChunkPreview:
        """Cut a document's text, or the beginning of a long one, without the flawed text that is left out.

        Raises:
            NotFoundError: the organization has no such document.
            ConflictError: the document has no text yet, or extraction failed.
            InvalidInputError: chunker or sizes are invalid.
        """
        document = await self._documents.get(organization.id, document_id)
        _check(wanted)
        most = _most_characters(wanted) + 1
        text = await self._texts.read_beginning(organization.id, text_id_of(document), most)
        return await asyncio.to_thread(self._preview, document, text, wanted, organization.skipped_flaws)

    async def of_text(self, text: str, wanted: PreviewRequest) -> ChunkPreview:
        """Cut a given text, whose structure is read from its Markdown marks.

        Raises:
            InvalidInputError: chunker or sizes are invalid.
        """
        _check(wanted)
        return await asyncio.to_thread(self._preview, None, markdown_text(text), wanted)

    def _preview(
        self,
        document: Document | None,
        text: DocumentText,
        wanted: PreviewRequest,
        skipped: Collection[FlawKind] = (),
    ) -> ChunkPreview:
        most = _most_characters(wanted)
        is_complete = len(text.text) <= most
        text = text if is_complete else text.beginning(most)
        chunks = chunks_of_types(text, wanted.chunking, skipped, embed_texts=self._models.local.embed_texts)
        if not is_complete:
            chunks = list(without_last(chunks))
        contexts = ChunkContexts(outline_without(text, skipped), document.document_name if document else "")
        locator = PageLocator(text.pages)
        shown = islice(chunks, wanted.skip, wanted.skip + wanted.limit)
        return ChunkPreview(
            document,
            [_previewed(chunk, locator, contexts) for chunk in shown],
            total_count=len(chunks),
            character_count=len(text.text),
            is_complete=is_complete,
            skipped_character_count=sum(end - start for start, end in ranges_of(text.flaws, skipped)),
        )


def _previewed(chunk: Chunk, locator: PageLocator, contexts: ChunkContexts) -> PreviewedChunk:
    first, last = locator.between(chunk.start, chunk.end)
    return PreviewedChunk(chunk, first, last, contexts.of(chunk.start, chunk.end, chunk.token_count))


def _check(wanted: PreviewRequest) -> None:
    check(wanted.chunking)


def _most_characters(wanted: PreviewRequest) -> int:
    return CHARACTERS_READ_BY_MEANING if cuts_by_meaning(wanted.chunking) else CHARACTERS_READ
