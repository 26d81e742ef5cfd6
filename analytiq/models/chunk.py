"""Chunks: slices of a text that are embedded and searched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document's text: `text == document_text[start:end]`, exactly.

    `token_count` is in tokens of the tokenizer that measures chunk sizes.
    """

    chunk_index: int
    text: str
    start: int
    end: int
    token_count: int
