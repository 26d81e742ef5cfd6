"""`token`: equal slices of tokens, wherever the cut falls."""

from analytiq.ingestion.chunking.span_chunker import CutRules, SpanChunker


def create(*, chunk_size: int, chunk_overlap: int) -> SpanChunker:
    """Cut at any token, though never inside a character.

    Chonkie's TokenChunker is not used: it decodes slices of tokens, and if a slice ends inside a character
    (CJK, emoji) its text and all offsets after it are wrong.
    """
    return SpanChunker(
        lambda text: [(0, len(text))],
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        rules=CutRules(lookback=0.0, cuts_anywhere=True),
    )
