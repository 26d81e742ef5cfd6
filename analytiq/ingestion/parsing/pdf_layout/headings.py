"""Headings and their levels, by size and weight, confirmed by tags and by the document's outline."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from analytiq.ingestion.parsing.pdf_layout.model import ASIDE, COMMENT, Piece, Style
from analytiq.ingestion.parsing.pdf_layout.paragraphs import is_caption
from analytiq.models.blocks import BlockKind

MOST_WORDS = 16
MOST_LINES = 3
SAME_SIZE = 0.5
"""Largest difference, in points, of sizes that are one as meant."""
LARGER = 1.08
"""Least size of a larger heading, in the size of running text."""
MUCH_LARGER = 1.15
SECTION = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_AMOUNT_AT_END = re.compile(r"\d[.,]\d\d\W{0,3}$")
_LETTER = re.compile(r"[^\W\d_]")

Look = tuple[float, bool]
Outline = Mapping[int, Mapping[str, int]]
"""Levels from 1 by page number and title, as `title_key` gives it."""


def title_key(text: str) -> str:
    """Return a title for comparison."""
    return "".join(text.split()).casefold()


def mark_headings(pages: Sequence[tuple[int, Sequence[Piece]]], body: Style, outline: Outline) -> None:
    """Turn the headings among the pieces of a document's pages into blocks of this kind."""
    known: dict[int, int] = {}
    candidates: list[Piece] = []
    is_tagged = any(piece.tag == "heading" for _, pieces in pages for piece in pieces)
    for number, pieces in pages:
        titles = outline.get(number, {})
        for piece in pieces:
            if piece.tag == "heading" and piece.text:
                known[id(piece)] = piece.level
                candidates.append(piece)
            elif not is_tagged and titles and _is_titled(piece, titles):
                known[id(piece)] = titles[title_key(_full_text(piece))]
                candidates.append(piece)
            elif is_heading(piece, body):
                candidates.append(piece)
    if is_tagged:
        looks = {_look(piece) for piece in candidates if id(piece) in known}
        largest = max(size for size, _ in looks)
        candidates = [
            piece
            for piece in candidates
            if id(piece) in known or _look(piece) in looks or piece.style.size > largest + SAME_SIZE
        ]
    _set_levels(candidates, known)


def is_heading(piece: Piece, body: Style) -> bool:
    """Return True if a short paragraph is larger or bolder than running text."""
    text = _full_text(piece)
    if (
        piece.tag in {ASIDE, COMMENT}
        or piece.kind not in {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM}
        or not _LETTER.search(text)
    ):
        return False
    if len(text.split()) > MOST_WORDS or piece.lines > MOST_LINES or is_caption(text):
        return False
    style, is_numbered = piece.style, SECTION.match(text) is not None
    if text.endswith(".") and not is_numbered:
        return False
    if style.size >= LARGER * body.size and (style.bold or style.size >= MUCH_LARGER * body.size or is_numbered):
        return True
    return (
        style.bold
        and not body.bold
        and not _AMOUNT_AT_END.search(text)
        and style.size >= 0.95 * body.size
        and not text.endswith((".", ";", ","))
        and piece.kind is BlockKind.PARAGRAPH
    )


def _is_titled(piece: Piece, titles: Mapping[str, int]) -> bool:
    return (
        piece.kind in {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM}
        and piece.lines <= MOST_LINES
        and title_key(_full_text(piece)) in titles
    )


def _full_text(piece: Piece) -> str:
    return f"{piece.marker} {piece.text}" if piece.marker not in {"", "-"} else piece.text


def _look(piece: Piece) -> Look:
    return piece.style.size, piece.style.bold


def _set_levels(candidates: Sequence[Piece], known: Mapping[int, int]) -> None:
    levels = _levels_of_looks(candidates, known)
    top = min(known.values(), default=0)
    # A title that is larger than all known headings stands above them.
    above = int(any(id(piece) not in known and levels[_look(piece)] < top for piece in candidates))
    for piece in candidates:
        piece.text, piece.marker, piece.kind = _full_text(piece), "", BlockKind.HEADING
        piece.level = known.get(id(piece), levels[_look(piece)]) + above
    if known:
        return
    # Section numbers say the level, where there are some: align the looks with them.
    numbered = [(piece, match[1].count(".") + 1) for piece in candidates if (match := SECTION.match(piece.text))]
    if numbered:
        offset = max(Counter(piece.level - depth for piece, depth in numbered).most_common(1)[0][0], 0)
        for piece, depth in numbered:
            piece.level = depth + offset


def _levels_of_looks(candidates: Sequence[Piece], known: Mapping[int, int]) -> dict[Look, int]:
    """Return the level of each look; looks without a known level follow the next larger one."""
    votes: defaultdict[Look, Counter[int]] = defaultdict(Counter)
    for piece in candidates:
        if id(piece) in known:
            votes[_look(piece)][known[id(piece)]] += 1
    levels: dict[Look, int] = {}
    level = 0 if not known else min(known.values()) - 2
    before: Look | None = None
    for look in sorted({_look(piece) for piece in candidates}, key=lambda look: (-look[0], not look[1])):
        if look in votes:
            level = votes[look].most_common(1)[0][0]
        elif before is None or before[1] != look[1] or before[0] - look[0] > SAME_SIZE:
            level += 1
        levels[look] = level
        before = look
    return levels
