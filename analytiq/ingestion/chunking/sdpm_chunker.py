"""`sdpm`, semantic double-pass merging: in Chonkie 1.7 the semantic chunker with a skip window."""

from analytiq.ingestion.chunking.semantic_chunker import EmbedTexts, create_with_skip
from analytiq.ingestion.chunking.span_chunker import SpanChunker

_SKIP_WINDOW = 1


def create(*, chunk_size: int, chunk_overlap: int, embed_texts: EmbedTexts) -> SpanChunker:
    """Cut semantically, then join parts on one subject across an aside of one part between them."""
    return create_with_skip(
        chunk_size=chunk_size, chunk_overlap=chunk_overlap, embed_texts=embed_texts, skip_window=_SKIP_WINDOW
    )
