"""The frame of all built-in chunkers: a splitter proposes cuts, and the frame enforces the contract."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from analytiq.inference.tokens import MAX_TOKENS_PER_CHARACTER, count_tokens, without_surrogates
from analytiq.ingestion.chunking.spans import Span, fitted, overlapping, sections, trimmed
from analytiq.models.chunk import Chunk
from analytiq.models.text import DocumentText

Splitter = Callable[[str], Iterable[tuple[int, int]]]
"""Converts a text to (start, end) pairs, in order, that omit only blanks."""

# Some of Chonkie's loops are quadratic in the text; at this length a megabyte of one-letter lines
# takes 1.6 s instead of 4.6 s.
_SECTION_CHARACTERS = 64_000


@dataclass(frozen=True, slots=True)
class CutRules:
    """The treatment of a splitter's proposed cuts.

    Attributes:
        lookback: see `spans.fitted`; for pieces that the splitter left too long.
        keeps_small_text_whole: a text that fits into one chunk becomes one, whatever the splitter proposes.
        cuts_anywhere: the overlap begins at any token instead of at a sentence or word.
    """

    lookback: float = 0.25
    keeps_small_text_whole: bool = True
    cuts_anywhere: bool = False


DEFAULT_RULES = CutRules()


class SpanChunker:
    """Turns a splitter into a chunker that keeps the contract of `analytiq.ingestion.chunking.base.Chunker`.

    `chunk_size` bounds the whole chunk: the text shared with the previous chunk (up to
    `chunk_overlap` tokens) and its own text (up to `chunk_size - chunk_overlap` tokens, or an
    eighth of the size if that is more, so that an overlap of nearly the whole size cannot multiply a text
    without bound).

    Args of the constructor:
        split: proposes the cuts.
        chunk_size, chunk_overlap: in cl100k tokens, valid by `registry.check_chunking`.
        rules: the treatment of the proposed cuts.
    """

    def __init__(
        self, split: Splitter, *, chunk_size: int, chunk_overlap: int, rules: CutRules = DEFAULT_RULES
    ) -> None:
        self._split = split
        self._chunk_size = chunk_size
        self._chunk_overlap = chunk_overlap
        self._own_tokens = own_tokens(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
        self._rules = rules

    def chunk(self, document: DocumentText) -> Sequence[Chunk]:
        """Cut the text; pure CPU work, safe to call from several threads at once."""
        text = document.text
        clean = without_surrogates(text)
        whole = self._whole(clean)
        spans: Iterable[Span] = [whole] if whole is not None else self._own_spans(clean)
        if self._chunk_overlap:
            spans = overlapping(
                clean,
                spans,
                max_tokens=self._chunk_size,
                overlap=self._chunk_overlap,
                exact=self._rules.cuts_anywhere,
            )
        return [
            Chunk(
                chunk_index=index,
                text=text[span.start : span.end],
                start=span.start,
                end=span.end,
                token_count=span.token_count,
            )
            for index, span in enumerate(spans)
        ]

    def _whole(self, text: str) -> Span | None:
        """Return the text as one span, if it fits into a chunk and the splitter proposes no other cut."""
        start, end = trimmed(text, 0, len(text))
        if not self._rules.keeps_small_text_whole or start == end or end - start > self._chunk_size * 16:
            return None
        token_count = count_tokens(text[start:end])
        return Span(start, end, token_count) if token_count <= self._chunk_size else None

    def _own_spans(self, text: str) -> Iterable[Span]:
        return chain.from_iterable(
            fitted(text, begin + start, begin + end, max_tokens=self._own_tokens, lookback=self._rules.lookback)
            for begin, finish in sections(text, _SECTION_CHARACTERS)
            for start, end in self._split(text[begin:finish])
        )


def own_tokens(*, chunk_size: int, chunk_overlap: int) -> int:
    """Return the most tokens of a chunk that it does not share with the previous one."""
    return max(chunk_size - chunk_overlap, chunk_size // 8, min(chunk_size, MAX_TOKENS_PER_CHARACTER))
