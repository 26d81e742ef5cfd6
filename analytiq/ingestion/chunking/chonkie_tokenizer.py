"""cl100k as Chonkie's tokenizer, and Chonkie's answers as spans."""

from collections.abc import Iterable, Iterator, Sequence

from chonkie import Chunk as ChonkieChunk
from chonkie import Tokenizer

from analytiq.inference.tokens import count_tokens


class CountingTokenizer(Tokenizer):
    """Counts tokens, which is all that the chunkers in use ask for.

    Chonkie's way to cut by tokens (encode, slice, decode) is not offered: a cut inside a character decodes to
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
        """Not offered; see the class."""
        raise NotImplementedError

    def decode(self, tokens: Sequence[int]) -> str:
        """Not offered; see the class."""
        raise NotImplementedError

    def tokenize(self, text: str) -> Sequence[str | int]:
        """Not offered; see the class."""
        raise NotImplementedError


def partition(chunks: Iterable[ChonkieChunk]) -> Iterator[tuple[int, int]]:
    """Spans of chunks that follow each other without gap or overlap, by their lengths.

    Lengths, since some of Chonkie's chunkers give offsets of their own making.
    """
    start = 0
    for chunk in chunks:
        yield start, start + len(chunk.text)
        start += len(chunk.text)
