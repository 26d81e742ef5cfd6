"""`recursive`, the default: paragraphs, lines, sentences, clauses, words, by Chonkie's RecursiveChunker."""

from collections.abc import Iterator

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.chonkie_parts import RecursiveChunker, RecursiveLevel, RecursiveRules
from analytiq.ingestion.chunking.chonkie_tokenizer import CountingTokenizer, partition
from analytiq.ingestion.chunking.span_chunker import SpanChunker, own_tokens

_LEVELS = [
    RecursiveLevel(delimiters=["\n\n", "\r\n\r\n", "\u2029"]),
    RecursiveLevel(delimiters=["\n", "\r"]),
    RecursiveLevel(delimiters=[". ", "! ", "? ", "。", "！", "？", "؟ ", "। "]),
    RecursiveLevel(delimiters=["; ", ": ", ", ", " — ", "；", "：", "，", "、", "، "]),
    RecursiveLevel(whitespace=True),
]
"""Coarsest first. Chonkie's last level, tokens, is omitted: see `CountingTokenizer`."""


class _Recursive(RecursiveChunker):
    def __init__(self, *, chunk_size: int) -> None:
        super().__init__(
            tokenizer=CountingTokenizer(),
            chunk_size=chunk_size,
            rules=RecursiveRules(levels=_LEVELS),
            min_characters_per_chunk=1,
        )
        self._counts: dict[str, int] = {}

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Cut a text; a piece without the next level's delimiter is counted once, not at each level."""
        self._counts = {}
        yield from partition(self.chunk(text))
        self._counts = {}

    def _estimate_token_count(  # pyright: ignore[reportIncompatibleVariableOverride]  # a method, undecorated
        self, text: str
    ) -> int:
        # Chonkie's method keeps the last 4,096 texts of the process in a cache: pieces of documents, some as
        # long as a document, of all organizations. These counts live as long as their document is cut.
        counts = self._counts
        count = counts.get(text)
        if count is None:
            count = counts[text] = count_tokens(text)
        return count


def create(*, chunk_size: int, chunk_overlap: int) -> SpanChunker:
    """Cut at the coarsest boundary that makes the pieces fit, then join neighbours while they fit.

    Chonkie's RecursiveChunker has no overlap, and its OverlapRefinery changes the text of chunks, so that
    they are no longer slices; `spans.overlapping` makes the overlap of real slices.
    """
    recursive = _Recursive(chunk_size=own_tokens(chunk_size=chunk_size, chunk_overlap=chunk_overlap))
    return SpanChunker(recursive.spans, chunk_size=chunk_size, chunk_overlap=chunk_overlap)
