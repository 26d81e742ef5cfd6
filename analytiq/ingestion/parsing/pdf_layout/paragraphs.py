"""Lines into paragraphs and list items, by style, distance, indent and tags."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from analytiq.ingestion.parsing.pdf_layout.cells import clustered, is_mostly_bold
from analytiq.ingestion.parsing.pdf_layout.joining import continued
from analytiq.ingestion.parsing.pdf_layout.model import (
    Bounds,
    Piece,
    Row,
    Style,
    Word,
    bounds_of_words,
    text_of,
    with_text,
    words_of,
)
from analytiq.ingestion.parsing.pdf_layout.reading_order import Item
from analytiq.ingestion.parsing.pdf_layout.shapes import BULLET, CLAUSE_NUMBER, ITEM_NUMBER, LEAST_WORDS_OF_CLAUSE
from analytiq.ingestion.parsing.pdf_layout.tags import PageTags, Tag
from analytiq.models.blocks import BlockKind

LARGEST_LEAD = 1.45
"""Largest distance of lines in a paragraph, in heights of letters."""
SAME_LEAD = 1.15
INDENT = 8.0
LIST_STEP = 6.0
"""Least difference, in points, between the indents of two levels of a list."""
SMALLER = 0.93
"""Largest size of a footnote, in the size of running text."""
FOOT_OF_PAGE = 0.4
LAST_PIECES = 60

_CAPTION = re.compile(
    r"^(figure|fig\.|table|abb\.|abbildung|tabelle|tab\.|tabla|figura|tableau|exhibit|chart)\s*\d+(\.\d+)*\s*(\S?)",
    re.IGNORECASE,
)
_DOTS = re.compile(r"\s*(?:[.·_…]\s?){4,}\s*")
_LEADER = re.compile(r"(?:[.·…]\s?){3,}\s*[\w.-]{1,8}$")
"""The dots between a title and its page, or between a name and its price."""
_FOOTNOTE = re.compile(r"^(\d{1,3}|[*†‡§¶]{1,3})[\s.)]?\s?\S")
_KINDS = {
    "item": BlockKind.LIST_ITEM,
    "caption": BlockKind.CAPTION,
    "note": BlockKind.FOOTNOTE,
    "quote": BlockKind.QUOTE,
}


def pieces_of(items: Sequence[Item], body: Style, tags: PageTags) -> list[Piece]:
    """Return the blocks of a page's lines and tables."""
    builder = _ParagraphBuilder(body, tags)
    for item in items:
        if isinstance(item, list):
            builder.add(item)
        else:
            builder.close()
            table, words = item.table, item.table.words
            builder.pieces.append(Piece(BlockKind.TABLE, "", item.bounds, words, body, table=table))
    builder.close()
    _set_depths(builder.pieces)
    return builder.pieces


class _ParagraphBuilder:
    def __init__(self, body: Style, tags: PageTags) -> None:
        self.pieces: list[Piece] = []
        self._body = body
        self._tags = tags
        self._piece: Piece | None = None
        self._tag: Tag | None = None
        self._base = self._left = 0.0

    def close(self) -> None:
        """End the paragraph."""
        if self._piece is not None:
            if self._piece.kind is BlockKind.PARAGRAPH and is_caption(self._piece.text):
                self._piece.kind = BlockKind.CAPTION
            self.pieces.append(self._piece)
        self._piece = None

    def add(self, row: Row) -> None:
        """Add a line to the open paragraph, or begin another."""
        words = words_of(row)
        style = style_of(words)
        tag = self._tag_of(words)
        marker, rest = _marker_of(words, style, self._body)
        if marker == "" and _LEADER.search(words[-1].text if len(words) == 1 else " ".join(w.text for w in words[-8:])):
            self._add_entry(words, style)
            return
        piece = self._piece
        if piece is not None and self._continues(piece, words, style, tag, is_item=bool(marker)):
            self._extend(piece, row)
        else:
            self.close()
            self._begin(rest, style, tag, marker)
        self._tag = tag
        self._base, self._left = words[-1].base, row[0].x0

    def _add_entry(self, words: list[Word], style: Style) -> None:
        """Add an entry of a table of contents by itself, its leader shortened."""
        self.close()
        text = _DOTS.sub(" … ", " ".join(word.text for word in words))
        self.pieces.append(Piece(BlockKind.PARAGRAPH, text, bounds_of_words(words), words, style))
        self._tag = None

    def _begin(self, words: list[Word], style: Style, tag: Tag | None, marker: str) -> None:
        kind = BlockKind.LIST_ITEM if marker else BlockKind.PARAGRAPH
        level = 0
        if tag is not None and tag.role == "heading":
            level, words = tag.level, words if not marker else [with_text(words[0], marker), *words]
            marker, kind = "", BlockKind.PARAGRAPH
        elif tag is not None:
            kind = _KINDS[tag.role]
        text = " ".join(word.text for word in words)
        self._piece = Piece(
            kind,
            text,
            bounds_of_words(words),
            list(words),
            style,
            level=level,
            marker=marker,
            tag=tag.role if tag else "",
        )

    def _extend(self, piece: Piece, row: Row) -> None:
        words = words_of(row)
        piece.text = continued(piece.text, text_of(row))
        piece.lead = piece.lead or self._base - words[0].base
        piece.lines += 1
        piece.bounds = piece.bounds.joined(bounds_of_words(words))
        piece.words += words

    def _tag_of(self, words: Sequence[Word]) -> Tag | None:
        if not self._tags:
            return None
        counts = Counter(self._tags.get(word.mark) for word in words)
        return counts.most_common(1)[0][0]

    def _continues(self, piece: Piece, words: Sequence[Word], style: Style, tag: Tag | None, *, is_item: bool) -> bool:
        if tag != self._tag:
            return False
        if tag is not None and tag.role in {"heading", "item"}:
            return True
        distance = self._base - words[0].base
        if is_item or (style.size, style.bold) != (piece.style.size, piece.style.bold):
            return False
        if not 0 < distance < LARGEST_LEAD * style.size:
            return False
        left = words[0].x0
        if piece.kind is BlockKind.LIST_ITEM:
            return not (piece.lines >= 2 and left < self._left - INDENT)
        is_indented = left > self._left + INDENT and left > piece.bounds.x0 + INDENT
        return not is_indented and not distance > SAME_LEAD * piece.lead > 0


def style_of(words: Sequence[Word]) -> Style:
    """Return the looks of most letters."""
    font = Counter(word.font for word in words).most_common(1)[0][0]
    return Style(half_points(median(word.size for word in words)), is_mostly_bold(words), font)


def half_points(size: float) -> float:
    """Round to half points."""
    return round(size * 2) / 2


def _marker_of(words: list[Word], style: Style, body: Style) -> tuple[str, list[Word]]:
    """Return the marker of a list item, and the words behind it."""
    first = words[0].text
    if len(words) > 1:
        if BULLET.match(first) and len(first) == 1:
            return "-", words[1:]
        is_plain = not style.bold
        blank = words[1].x0 - words[0].x1
        is_number = ITEM_NUMBER.match(first) is not None and style.size <= 1.1 * body.size
        is_clause = CLAUSE_NUMBER.match(first) is not None and len(words) >= LEAST_WORDS_OF_CLAUSE
        if is_plain and is_clause and blank > 0.5 * words[0].size and style.size <= body.size + 0.5:
            return first, words[1:]
        if is_plain and (
            is_number or (first.isdecimal() and len(first) < 3 and len(words) > 2 and blank > 0.6 * words[0].size)
        ):
            return first, words[1:]
    if BULLET.match(first) and len(first) > 1:
        return "-", [with_text(words[0], first[1:]), *words[1:]]
    return "", words


def is_caption(text: str) -> bool:
    """Return True for the caption of a figure or a table."""
    match = _CAPTION.match(text)
    return match is not None and (match[3] in set(".:|–—-") or len(text.split()) <= 12)


def _set_depths(pieces: Sequence[Piece]) -> None:
    """Set the depth of list items by their indents."""
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        if kind is BlockKind.LIST_ITEM:
            items = list(run)
            indents = clustered([item.bounds.x0 for item in items], LIST_STEP)
            for item in items:
                item.level = 1 + min(range(len(indents)), key=lambda index: abs(indents[index] - item.bounds.x0))


def mark_footnotes(pieces: Sequence[Piece], body: Style, area: Bounds) -> None:
    """Mark small numbered paragraphs at the foot of a page as footnotes."""
    highest = area.y0 + FOOT_OF_PAGE * (area.y1 - area.y0)
    for piece in pieces[-LAST_PIECES:]:
        is_small = piece.kind in {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM} and piece.style.size <= SMALLER * body.size
        if not is_small or piece.bounds.y1 > highest:
            continue
        text = f"{piece.marker} {piece.text}" if piece.marker not in {"", "-"} else piece.text
        if _FOOTNOTE.match(text) and not _has_text_below(piece, pieces[-LAST_PIECES:], body):
            piece.kind, piece.text, piece.marker, piece.level = BlockKind.FOOTNOTE, text, "", 0


def _has_text_below(piece: Piece, others: Sequence[Piece], body: Style) -> bool:
    return any(
        other.style.size > SMALLER * body.size
        and other.kind is not BlockKind.FURNITURE
        and other.bounds.y1 < piece.bounds.y0
        and other.bounds.x0 < piece.bounds.x1
        and other.bounds.x1 > piece.bounds.x0
        for other in others
    )
