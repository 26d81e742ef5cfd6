"""The frame of the chunkers by structure: parts, groups of them, pieces of large groups, chunks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from analytiq.inference.tokens import without_surrogates
from analytiq.ingestion.chunking.groups import Group
from analytiq.ingestion.chunking.packing import PackedSpan, packed, without_tiny
from analytiq.ingestion.chunking.parts import Part, parts_of
from analytiq.ingestion.chunking.pieces import PieceRules, pieces_of
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.spans import Span, overlapping
from analytiq.models.chunk import Chunk
from analytiq.models.text import DocumentText

Grouping = Callable[[DocumentText, Sequence[Part], Sizes], Iterable[Group]]
"""Puts the parts of a text into groups, in order; each part is in one."""


class StructureChunker:
    """Keeps the contract of `analytiq.ingestion.chunking.base.Chunker`, but leaves furniture out.

    A group that fits is one chunk. The pieces of a larger one are packed; only its later chunks overlap.
    """

    def __init__(self, grouping: Grouping, sizes: Sizes, rules: PieceRules) -> None:
        self._grouping = grouping
        self._sizes = sizes
        self._rules = rules

    def chunk(self, document: DocumentText) -> Sequence[Chunk]:
        """Cut the text; pure CPU work, safe to call from several threads at once."""
        clean = replace(document, text=without_surrogates(document.text))
        spans = without_tiny(clean.text, self._spans(clean), self._sizes)
        return [
            Chunk(index, document.text[span.start : span.end], span.start, span.end, span.token_count)
            for index, span in enumerate(self._overlapping(clean.text, spans))
        ]

    def _spans(self, document: DocumentText) -> Iterator[PackedSpan]:
        text = document.text
        for group in self._grouping(document, list(parts_of(document)), self._sizes):
            size = self._sizes.measured(text, group.start, group.end)
            if size <= self._sizes.chunk:
                yield PackedSpan(Span(group.start, group.end, size), is_whole=group.is_whole)
            else:
                yield from packed(text, pieces_of(text, group.parts, self._sizes, self._rules), self._sizes)

    def _overlapping(self, text: str, spans: Sequence[PackedSpan]) -> Iterator[Span]:
        """Let the chunks that continue a section begin earlier, in the chunk before."""
        sizes = self._sizes
        previous: Span | None = None
        for one in spans:
            if previous is not None and one.overlaps and sizes.overlap:
                pair = overlapping(
                    text, (previous, one.span), max_tokens=sizes.chunk, overlap=sizes.overlap, exact=False
                )
                _, span = pair
                yield span
            else:
                yield one.span
            previous = one.span
