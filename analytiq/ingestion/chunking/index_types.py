"""Cuts a text into the chunks of each index type of a knowledge base."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analytiq.ingestion.chunking.base import Chunker
from analytiq.ingestion.chunking.registry import (
    DEEPEST_SECTION_LEVEL,
    check_chunking,
    create_chunker,
    needs_embeddings,
)
from analytiq.ingestion.chunking.skipping import chunks_of
from analytiq.models.chunk import Chunk
from analytiq.models.flaws import FlawKind
from analytiq.models.index_types import ChunkCounts, Chunking, IndexType, first_index_of, index_type_at
from analytiq.models.text import DocumentText

if TYPE_CHECKING:
    from analytiq.ingestion.chunking.semantic_chunker import EmbedTexts

SECTION_TOKENS = 2048
"""Most tokens of a section, unless paragraphs are longer."""


def check(chunking: Chunking) -> None:
    """Check the settings of a knowledge base.

    Raises:
        InvalidInputError: with an entry in `errors` for each invalid field.
    """
    check_chunking(
        chunking.chunker_type,
        chunk_size=chunking.chunk_size,
        chunk_overlap=chunking.chunk_overlap,
        section_level=chunking.section_level,
    )


def chunks_of_types(
    text: DocumentText, chunking: Chunking, skipped: Collection[FlawKind], *, embed_texts: "EmbedTexts | None"
) -> list[Chunk]:
    """Cut a text; pure CPU work. Return the chunks of all index types, in order of their indexes.

    A passage is one chunk of each type, if it fits into the embedding model's window.

    Args:
        text: the whole text.
        chunking: the settings of the knowledge base.
        skipped: kinds of flaws that no chunk covers.
        embed_texts: for chunkers that cut by meaning, see `create_chunker`.
    """
    return [
        replace(chunk, chunk_index=first_index_of(index_type) + chunk.chunk_index)
        for index_type in chunking.index_types
        for chunk in chunks_of(
            _passage_chunker(chunking) if text.is_passage else _chunker(index_type, chunking, embed_texts),
            text,
            skipped,
        )
    ]


def counts_of(chunks: Sequence[Chunk]) -> ChunkCounts:
    """Count the chunks by index type."""
    return ChunkCounts.of(0, Counter(index_type_at(chunk.chunk_index).value for chunk in chunks))


def cuts_by_meaning(chunking: Chunking) -> bool:
    """Return True if texts are cut by comparing sentences, which takes long."""
    return IndexType.PARAGRAPH in chunking.index_types and needs_embeddings(chunking.chunker_type)


def without_last(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks of a text's beginning without the last one of each type, which the end of reading cut short."""
    counts = Counter(index_type_at(chunk.chunk_index) for chunk in chunks)
    for place, chunk in enumerate(chunks):
        index_type = index_type_at(chunk.chunk_index)
        is_last = place + 1 == len(chunks) or index_type_at(chunks[place + 1].chunk_index) is not index_type
        if not is_last or counts[index_type] == 1:
            yield chunk


def _chunker(index_type: IndexType, chunking: Chunking, embed_texts: "EmbedTexts | None") -> Chunker:
    match index_type:
        case IndexType.PARAGRAPH:
            return create_chunker(
                chunking.chunker_type,
                chunk_size=chunking.chunk_size,
                chunk_overlap=chunking.chunk_overlap,
                embed_texts=embed_texts,
                section_level=chunking.section_level,
            )
        case IndexType.SECTION:
            return create_chunker(
                "section",
                chunk_size=min(max(SECTION_TOKENS, chunking.chunk_size), chunking.longest_chunk),
                chunk_overlap=0,
                embed_texts=None,
                section_level=chunking.section_level or DEEPEST_SECTION_LEVEL,
            )
        case IndexType.WEBSITE:
            return _whole_chunker(chunking.longest_chunk)


def _passage_chunker(chunking: Chunking) -> Chunker:
    """Return the chunker of texts that are one chunk; only what the embedding model cannot read at once is cut."""
    return _whole_chunker(max(chunking.chunk_size, chunking.longest_chunk))


def _whole_chunker(most_tokens: int) -> Chunker:
    return create_chunker("page", chunk_size=most_tokens, chunk_overlap=0, embed_texts=None)
