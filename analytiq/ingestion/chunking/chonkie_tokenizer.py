"""The cl100k tokenizer for Chonkie, and the conversion of Chonkie's answers to spans."""

from collections.abc import Iterable, Iterator, Sequence

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.chonkie_parts import Chunk as ChonkieChunk
from analytiq.ingestion.chunking.chonkie_parts import Tokenizer


class CountingTokenizer(Tokenizer):
    """Counts tokens: the only operation that the chunkers in use need.

    Chonkie's way to cut by tokens (encode, slice, decode) is disabled: a cut inside a character decodes to
    U+FFFD, and the offsets of all later chunks are then wrong. `spans.fitted` cuts by tokens instead.
    """

    def __repr__(self) -> str:
        return "CountingTokenizer(cl100k)"

    def count_tokens(self, text: str) -> int:
        """Return the number of cl100k tokens."""
        return count_tokens(text)

    def count_tokens_batch(self, texts: Sequence[str]) -> Sequence[int]:
        """Return the number of cl100k tokens of each text."""
        return [count_tokens(text) for text in texts]

    def encode(self, text: str) -> Sequence[int]:
        """Raise an error: disabled, see the class."""
        raise NotImplementedError

    def decode(self, tokens: Sequence[int]) -> str:
        """Raise an error: disabled, see the class."""
        raise NotImplementedError

    def tokenize(self, text: str) -> Sequence[str | int]:
        """Raise an error: disabled, see the class."""
        raise NotImplementedError


def partition(chunks: Iterable[ChonkieChunk]) -> Iterator[tuple[int, int]]:
    """Yield the spans of consecutive chunks, without gap or overlap, by their lengths.

    Lengths are used because the offsets of some of Chonkie's chunkers are wrong.
    """
    start = 0
    for chunk in chunks:
        yield start, start + len(chunk.text)
        start += len(chunk.text)
