"""The sizes that chunks by structure keep to."""

from dataclasses import dataclass

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.span_chunker import own_tokens

_LONGEST_TOKEN = 16
"""Characters of a token at most, but for runs of blanks; a longer slice is not counted to find that it is too long."""
_MINIMUM = 160
_SMALL_CHUNK_SIZE = 256
_MINIMUM_OF_SMALL = 64
_TINY = 16


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in cl100k tokens.

    Attributes:
        chunk: the most of a chunk, its overlap included.
        overlap: the most that a chunk shares with the one before.
        own: the most of a chunk that continues the one before, without the overlap.
        minimum: smaller sections are merged with a section beside them. Measured with context: 160 keeps questions
            about one section from finding its neighbours; 64 for chunks of at most 256 tokens.
        tiny: smaller chunks are merged whatever stands beside them.
    """

    chunk: int
    overlap: int
    own: int
    minimum: int
    tiny: int

    @classmethod
    def of(cls, *, chunk_size: int, chunk_overlap: int) -> "Sizes":
        """Return the sizes that follow from the settings of a knowledge base."""
        minimum = _MINIMUM if chunk_size > _SMALL_CHUNK_SIZE else _MINIMUM_OF_SMALL
        return cls(
            chunk=chunk_size,
            overlap=chunk_overlap,
            own=own_tokens(chunk_size=chunk_size, chunk_overlap=chunk_overlap),
            minimum=min(minimum, chunk_size // 2),
            tiny=min(_TINY, chunk_size // 4),
        )

    def measured(self, text: str, start: int, end: int) -> int:
        """Return the tokens of a slice; more than `chunk` of one that is clearly too long."""
        return count_tokens(text[start:end]) if end - start <= self.chunk * _LONGEST_TOKEN else self.chunk + 1
