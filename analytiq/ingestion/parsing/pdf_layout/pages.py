"""One page's words, rules, tags, fields and comments, read from pdfium in a single pass."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

from collections.abc import Sequence
from dataclasses import dataclass, field

import pypdfium2 as pdfium

from analytiq.ingestion.parsing.pdf_layout.bullets import mark_bullets
from analytiq.ingestion.parsing.pdf_layout.characters import read_characters
from analytiq.ingestion.parsing.pdf_layout.directions import other_directions
from analytiq.ingestion.parsing.pdf_layout.fields import comments_of, field_words
from analytiq.ingestion.parsing.pdf_layout.frames import PageFrame
from analytiq.ingestion.parsing.pdf_layout.hidden import without_hidden
from analytiq.ingestion.parsing.pdf_layout.layers import Layers
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Edge, Row, Word
from analytiq.ingestion.parsing.pdf_layout.right_to_left import arranged
from analytiq.ingestion.parsing.pdf_layout.rows import chunks_of, rows_of
from analytiq.ingestion.parsing.pdf_layout.ruled import RuledTable, ruled_tables
from analytiq.ingestion.parsing.pdf_layout.rules import PageRules, rules_of
from analytiq.ingestion.parsing.pdf_layout.tags import PageTags, Tag, tags_of
from analytiq.ingestion.parsing.pdf_layout.turning import Turning


@dataclass(slots=True)
class RawPage:
    """A page as known before the other pages are read.

    Attributes:
        rows: the words outside of ruled tables, from top to bottom.
        parts: the text of the page in other directions, each laid out by itself.
        stamps: short text in other directions, with its place in upright coordinates.
        hidden: the words that were left out.
        fields: the values of form fields, which are among the rows and tables too.
    """

    page_number: int
    rows: list[Row]
    tables: list[RuledTable]
    edges: list[Edge]
    frame: PageFrame
    tags: PageTags = field(default_factory=dict[int, Tag])
    parts: "list[RawPage]" = field(default_factory=list["RawPage"])
    stamps: list[tuple[str, Bounds]] = field(default_factory=list[tuple[str, Bounds]])
    comments: list[tuple[str, Bounds]] = field(default_factory=list[tuple[str, Bounds]])
    hidden: list[str] = field(default_factory=list[str])
    fields: list[Word] = field(default_factory=list[Word])


def read_page(
    page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, page_number: int, layers: Layers | None = None
) -> RawPage | None:
    """Read a page; return None if it cannot be laid out.

    Args:
        page: of pdfium.
        text_page: the characters of the page.
        page_number: from 1.
        layers: the document's layers that may be off; without, all count as shown.
    """
    characters = read_characters(text_page, layers)
    if characters is None:
        return None
    turning = characters.turning
    frame = PageFrame(Bounds(*page.get_bbox()), turning, page.get_rotation())
    rules = rules_of(page, turning)
    hidden = without_hidden(characters, frame.upright, rules.grounds)
    if characters.has_right_to_left:
        characters.words = arranged(characters.words, is_mirrored=turning.is_mirrored)
    fields = field_words(page, turning)
    others = other_directions(characters)
    raw_page = _laid_out(page_number, frame, rules, characters.words + fields + others.names)
    raw_page.tags = tags_of(page)
    raw_page.comments = [(text, turning.bounds(area)) for text, area in comments_of(page)]
    raw_page.hidden, raw_page.fields = hidden, fields
    raw_page.stamps = [(text, turning.bounds(area)) for text, area in others.stamps]
    for quarters, words in others.parts.items():
        turned = Turning(quarters)
        part_frame = PageFrame(frame.visible, turned, frame.rotation)
        raw_page.parts.append(_laid_out(page_number, part_frame, rules_of(page, turned), words))
    return raw_page


def _laid_out(page_number: int, frame: PageFrame, rules: PageRules, words: Sequence[Word]) -> RawPage:
    """Return the words of one direction as rows and ruled tables."""
    tables = ruled_tables(rules, words)
    used = {index for table in tables for index in table.used}
    free = [word for index, word in enumerate(words) if index not in used]
    rows = [chunks_of(row) for row in rows_of(free)]
    mark_bullets(rows, rules.dots)
    return RawPage(page_number, rows, tables, rules.edges, frame)
