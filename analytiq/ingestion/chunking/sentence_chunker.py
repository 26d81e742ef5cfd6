"""`sentence`: fills chunks with whole sentences, by Chonkie's SentenceChunker."""

from collections.abc import Iterator

from analytiq.ingestion.chunking.chonkie_parts import SentenceChunker
from analytiq.ingestion.chunking.chonkie_tokenizer import CountingTokenizer, partition
from analytiq.ingestion.chunking.span_chunker import SpanChunker, own_tokens

SENTENCE_ENDS = [". ", "! ", "? ", "\n", "。", "！", "？", "؟ ", "। "]
"""Chonkie's own list, and the ends of sentences in Chinese, Japanese, Arabic and Hindi."""


def create(*, chunk_size: int, chunk_overlap: int) -> SpanChunker:
    """Cut between sentences; a sentence longer than a chunk is cut between words.

    Chonkie's `chunk_size` does not hold for a long sentence, so its chunks are cut again; with its default of
    at least 12 characters for a sentence even short ones exceeded it.
    """
    sentences = SentenceChunker(
        tokenizer=CountingTokenizer(),
        chunk_size=own_tokens(chunk_size=chunk_size, chunk_overlap=chunk_overlap),
        chunk_overlap=0,
        min_characters_per_sentence=1,
        delim=SENTENCE_ENDS,
    )

    def split(text: str) -> Iterator[tuple[int, int]]:
        return partition(sentences.chunk(text))

    return SpanChunker(split, chunk_size=chunk_size, chunk_overlap=chunk_overlap)
