"""Pieces packed into the ranges of chunks."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.pieces import Cut, Piece
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.spans import Span, fitted, trimmed

_ENDS = (re.compile(r"\n\s*"), re.compile(r"[.!?؟।]\s+|[。！？]"), re.compile(r"\s+"))


@dataclass(frozen=True, slots=True)
class PackedSpan:
    """A span; `overlaps`: it may share text with the one before; `is_whole`: it is a chunk however small."""

    span: Span
    overlaps: bool = False
    is_whole: bool = False


def packed(text: str, pieces: Iterable[Piece], sizes: Sizes) -> Iterator[PackedSpan]:
    """Fill chunks with pieces, and end one early before a definition or a table."""
    runs: list[list[Piece]] = []
    size = 0
    for piece in pieces:
        limit = sizes.own if runs and len(runs) > 1 and runs[-1][0].overlaps else sizes.chunk
        ends_early = piece.cut is Cut.DEFINITION and size >= sizes.definition
        between = count_tokens(text[runs[-1][-1].end : piece.start]) if runs else 0
        if runs and size + between + piece.token_count <= limit and not ends_early:
            runs[-1].append(piece)
            size += between + piece.token_count
        else:
            runs.append([piece])
            size = piece.token_count
    _fill_last(runs, sizes)
    for index, run in enumerate(runs):
        limit = sizes.own if index and run[0].overlaps else sizes.chunk
        number = 0
        for part in _within(text, run, limit):
            for span in fitted(text, part[0].start, part[-1].end, max_tokens=limit, lookback=0.25):
                yield PackedSpan(span, overlaps=run[0].overlaps and bool(index or number))
                number += 1


def _within(text: str, run: list[Piece], limit: int) -> Iterator[list[Piece]]:
    """Part a run between its pieces if it is too long after all, since blanks between pieces are tokens too."""
    if len(run) > 1 and count_tokens(text[run[0].start : run[-1].end]) > limit:
        middle = len(run) // 2
        yield from _within(text, run[:middle], limit)
        yield from _within(text, run[middle:], limit)
    else:
        yield run


def _fill_last(runs: list[list[Piece]], sizes: Sizes) -> None:
    """Move pieces to the last chunk until it has the minimum size, or the one before would have less."""
    if len(runs) < 2:
        return
    before, last = runs[-2], runs[-1]
    size, size_before = (sum(piece.token_count for piece in run) for run in (last, before))
    while size < sizes.definition and len(before) > 1:
        moved = before[-1].token_count
        if size_before - moved < sizes.definition or size + moved > sizes.own:
            return
        last.insert(0, before.pop())
        size, size_before = size + moved, size_before - moved


def without_tiny(text: str, spans: Iterable[PackedSpan], sizes: Sizes) -> Sequence[PackedSpan]:
    """Join each tiny span with a neighbour; if the two exceed a chunk, cut them in the middle instead."""
    kept: list[PackedSpan] = []
    for packed_span in spans:
        if kept and (_is_tiny(packed_span, sizes) or _is_tiny(kept[-1], sizes)):
            kept[-1:] = _rejoined(text, kept[-1], packed_span, sizes)
        else:
            kept.append(packed_span)
    return kept


def _is_tiny(one: PackedSpan, sizes: Sizes) -> bool:
    return one.span.token_count < sizes.tiny and not one.is_whole


def _rejoined(text: str, before: PackedSpan, after: PackedSpan, sizes: Sizes) -> Iterator[PackedSpan]:
    start, end = before.span.start, after.span.end
    size = sizes.measured(text, start, end)
    limit = sizes.own if before.overlaps else sizes.chunk
    if size <= limit:
        is_whole = before.is_whole or after.is_whole
        yield PackedSpan(Span(start, end, size), before.overlaps, is_whole)
        return
    middle = _middle(text, start, end)
    halves = [_span(text, start, middle), _span(text, middle, end)]
    if all(sizes.tiny <= half.token_count <= sizes.own for half in halves):
        yield PackedSpan(halves[0], before.overlaps, before.is_whole)
        yield PackedSpan(halves[1], after.overlaps, after.is_whole)
    else:
        yield from (before, after)


def _middle(text: str, start: int, end: int) -> int:
    """Return a line's, sentence's or word's start in the second quarter before, or after, the middle."""
    quarter = (end - start) // 4
    for pattern in _ENDS:
        found = pattern.search(text, start + 2 * quarter, end - quarter) or pattern.search(
            text, start + quarter, start + 2 * quarter
        )
        if found:
            return found.end()
    return start + 2 * quarter


def _span(text: str, start: int, end: int) -> Span:
    start, end = trimmed(text, start, end)
    return Span(start, end, count_tokens(text[start:end]))
