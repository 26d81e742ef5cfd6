"""`semantic`: cuts where the subject changes, by Chonkie's SemanticChunker with the local embedding model."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from analytiq.ingestion.chunking.chonkie_parts import BaseEmbeddings, SemanticChunker
from analytiq.ingestion.chunking.chonkie_tokenizer import CountingTokenizer, partition
from analytiq.ingestion.chunking.sentence_chunker import SENTENCE_ENDS
from analytiq.ingestion.chunking.span_chunker import CutRules, SpanChunker, own_tokens

EmbedTexts = Callable[[Sequence[str]], NDArray[np.float32]]
"""Converts n texts to n vectors, shape (n, dimensions); blocking, called from the chunking thread."""


# Measured on twelve texts of ten paragraphs each from different documents, with the local model: how well cuts
# and changes of the paragraph agree (F1, within 120 characters). Chonkie's own (0.8, order 3, tolerance 0.2) miss
# sharp changes, since they take only slow ones for a minimum, and cut at noise instead: 0.48. These: 0.83, and
# 0.90 with the second pass of `sdpm`. Thresholds from 0.35 to 0.5 are within 0.05 of that.
_THRESHOLD = 0.4
_POLYNOMIAL_ORDER = 2
_TOLERANCE = 0.5


class _Embeddings(BaseEmbeddings):
    """An adapter from an embedding function to Chonkie's interface."""

    def __init__(self, embed_texts: EmbedTexts) -> None:
        super().__init__()
        self._embed_texts = embed_texts

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text."""
        return self._embed_texts([text])[0]

    def embed_batch(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text."""
        return list(self._embed_texts(texts)) if texts else []

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.embed("dimension").shape[0]

    def get_tokenizer(self) -> CountingTokenizer:
        """Return the tokenizer that counts sizes."""
        return CountingTokenizer()


def create(*, chunk_size: int, chunk_overlap: int, embed_texts: EmbedTexts) -> SpanChunker:
    """Cut at the deepest dips of similarity between a sentence and the three before it.

    Every sentence and every window of three is embedded: about 70 s a megabyte with the local model on
    one core. A part on one subject that exceeds a chunk is cut between sentences.
    """
    return create_with_skip(chunk_size=chunk_size, chunk_overlap=chunk_overlap, embed_texts=embed_texts, skip_window=0)


def create_with_skip(*, chunk_size: int, chunk_overlap: int, embed_texts: EmbedTexts, skip_window: int) -> SpanChunker:
    """Cut like `create`, then join parts on one subject across up to `skip_window` parts on another."""
    semantic = SemanticChunker(
        embedding_model=_Embeddings(embed_texts),
        chunk_size=own_tokens(chunk_size=chunk_size, chunk_overlap=chunk_overlap),
        delim=SENTENCE_ENDS,
        skip_window=skip_window,
        threshold=_THRESHOLD,
        filter_polyorder=_POLYNOMIAL_ORDER,
        filter_tolerance=_TOLERANCE,
    )

    def split(text: str) -> Iterator[tuple[int, int]]:
        return partition(semantic.chunk(text))

    rules = CutRules(keeps_small_text_whole=False)
    return SpanChunker(split, chunk_size=chunk_size, chunk_overlap=chunk_overlap, rules=rules)
