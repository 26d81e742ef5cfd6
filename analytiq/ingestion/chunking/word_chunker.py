"""`word`: fills chunks with whole words. Chonkie 1.7 no longer has such a class."""

from analytiq.ingestion.chunking.span_chunker import CutRules, SpanChunker


def create(*, chunk_size: int, chunk_overlap: int) -> SpanChunker:
    """Cut between words; a word longer than a chunk is cut at tokens."""
    rules = CutRules(lookback=1.0)
    return SpanChunker(lambda text: [(0, len(text))], chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=rules)
