"""Pieces: the smallest ranges by which a section is cut, each with the strength of the cut before it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from analytiq.ingestion.chunking.code_cuts import code_cuts
from analytiq.ingestion.chunking.parts import Part
from analytiq.ingestion.chunking.sizes import Sizes
from analytiq.ingestion.chunking.spans import fitted, trimmed
from analytiq.models.blocks import BlockKind

_SENTENCE_END = re.compile(r"[.!?؟।][\"'”’)\]]*\s+|[。！？]|[\n\r\u2029]\s*")
_CELL_END = re.compile(r"; | \| |\t|\n")
_LINE_END = re.compile(r"\n")


class Cut(IntEnum):
    """The strength of a cut."""

    WORD = 0
    SENTENCE = 1
    PARAGRAPH = 2
    """Also between rows, and between statements."""
    DEFINITION = 3
    """Also before and after a table."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of at most a chunk's size, and the strength of the cut before it.

    `overlaps`: a chunk that begins with the piece may share text with the one before; rows and code do not.
    """

    start: int
    end: int
    token_count: int
    cut: Cut = Cut.PARAGRAPH
    overlaps: bool = True


@dataclass(frozen=True, slots=True)
class PieceRules:
    """The structure by which parts are cut: rows of tables, definitions of code."""

    rows: bool = False
    code: bool = False


def pieces_of(text: str, parts: Sequence[Part], sizes: Sizes, rules: PieceRules) -> Iterator[Piece]:
    """Yield the pieces of parts in order; headings and captions are joined with what follows them."""
    leading: Piece | None = None
    after_table = False
    for part in parts:
        for index, piece in enumerate(_pieces_of_part(text, part, sizes, rules)):
            if after_table and index == 0:
                piece = replace(piece, cut=Cut.DEFINITION)
            if leading is not None:
                start, cut, leading = leading.start, leading.cut, None
                joined = sizes.measured(text, start, piece.end)
                if joined > sizes.chunk:
                    yield from _fitted(text, start, piece.end, sizes, cut=cut)
                    continue
                piece = Piece(start, piece.end, joined, cut, overlaps=False)
            if part.leads and piece.token_count <= sizes.own // 2:
                leading = piece
            else:
                yield piece
        after_table = part.kind is BlockKind.TABLE and rules.rows
    if leading is not None:
        yield leading


def _pieces_of_part(text: str, part: Part, sizes: Sizes, rules: PieceRules) -> Iterator[Piece]:
    if part.kind is BlockKind.TABLE and rules.rows and part.rows:
        yield from _row_pieces(text, part, sizes)
        return
    size = sizes.measured(text, part.start, part.end)
    if size <= sizes.own:
        yield Piece(part.start, part.end, size)
    elif part.code is not None and rules.code:
        yield from _code_pieces(text, part, part.code, sizes)
    else:
        ends = _LINE_END if part.kind is BlockKind.CODE else _SENTENCE_END
        yield from _split(text, part.start, part.end, ends, sizes, first=Cut.PARAGRAPH)


def _row_pieces(text: str, part: Part, sizes: Sizes) -> Iterator[Piece]:
    """Yield each row; the header's line goes with the first."""
    starts = [part.start, *(start for start, _ in part.rows[1:]), part.end]
    cut = Cut.DEFINITION
    for start, end in pairwise(starts):
        first, last = trimmed(text, start, end)
        if first == last:
            continue
        size = sizes.measured(text, first, last)
        if size <= sizes.chunk:
            yield Piece(first, last, size, cut, overlaps=False)
        else:
            pieces = _split(text, first, last, _CELL_END, sizes, first=cut)
            yield from (replace(piece, overlaps=False) for piece in pieces)
        cut = Cut.PARAGRAPH


def _code_pieces(text: str, part: Part, code: tuple[int, int, str], sizes: Sizes) -> Iterator[Piece]:
    """Yield definitions and statements; the fences go with the first and the last."""
    start, end, language = code
    cuts = [
        (start + at, Cut.DEFINITION if is_definition else Cut.PARAGRAPH)
        for at, is_definition in code_cuts(text[start:end], language, most_tokens=sizes.chunk)
        if at
    ]
    begin, strength = part.start, Cut.DEFINITION
    for at, cut in (*cuts, (part.end, Cut.DEFINITION)):
        first, last = trimmed(text, begin, at)
        if first < last:
            size = sizes.measured(text, first, last)
            if size <= sizes.chunk:
                yield Piece(first, last, size, strength, overlaps=False)
            else:
                pieces = _split(text, first, last, _LINE_END, sizes, first=strength)
                yield from (replace(piece, overlaps=False) for piece in pieces)
            begin, strength = at, cut


def _split(
    text: str, start: int, end: int, ends: re.Pattern[str], sizes: Sizes, *, first: Cut
) -> Iterator[Piece]:  # fmt: skip
    """Yield the sentences, cells or lines of a range; one that is too long is cut between words."""
    cut = first
    for begin, stop in _between(text, start, end, ends):
        begin, stop = trimmed(text, begin, stop)
        if begin == stop:
            continue
        size = sizes.measured(text, begin, stop)
        if size <= sizes.own:
            yield Piece(begin, stop, size, cut)
        else:
            yield from _fitted(text, begin, stop, sizes, cut=cut)
        cut = Cut.SENTENCE


def _between(text: str, start: int, end: int, ends: re.Pattern[str]) -> Iterable[tuple[int, int]]:
    for found in ends.finditer(text, start, end):
        if found.end() > start:
            yield start, found.end()
            start = found.end()
    if start < end:
        yield start, end


def _fitted(text: str, start: int, end: int, sizes: Sizes, *, cut: Cut) -> Iterator[Piece]:
    for span in fitted(text, start, end, max_tokens=sizes.own, lookback=0.25):
        yield Piece(span.start, span.end, span.token_count, cut)
        cut = Cut.WORD
