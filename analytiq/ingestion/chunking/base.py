"""The port that every chunker implements."""

from collections.abc import Sequence
from typing import Protocol

from analytiq.models.chunk import Chunk
from analytiq.models.text import DocumentText


class Chunker(Protocol):
    """Cuts a document's text into chunks.

    Contract (tests/contract/test_chunkers.py): chunks are in order of `start`; `text[start:end] ==
    chunk.text`; no chunk is blank or longer than `chunk_size` tokens; every non-blank character of the text
    is in some chunk, but for blocks of furniture; `chunk_index` counts from 0; a blank text gives none. Any
    text is accepted: CJK, emoji, NUL, a megabyte without a space. A text of an older release has no blocks,
    and one with blocks may have text in none of them.
    """

    def chunk(self, document: DocumentText) -> Sequence[Chunk]:
        """Cut `document.text`; pure CPU work, safe to call from a thread."""
        ...
