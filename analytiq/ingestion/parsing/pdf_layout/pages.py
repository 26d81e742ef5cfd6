"""One page's words, rules, tags, fields and comments, read from pdfium in a single pass."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

from dataclasses import dataclass, field

import pypdfium2 as pdfium

from analytiq.ingestion.parsing.pdf_layout.characters import read_characters
from analytiq.ingestion.parsing.pdf_layout.fields import comments_of, field_words
from analytiq.ingestion.parsing.pdf_layout.frames import PageFrame
from analytiq.ingestion.parsing.pdf_layout.hidden import without_hidden
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Edge, Row, Word
from analytiq.ingestion.parsing.pdf_layout.rows import chunks_of, rows_of
from analytiq.ingestion.parsing.pdf_layout.ruled import RuledTable, ruled_tables
from analytiq.ingestion.parsing.pdf_layout.rules import rules_of
from analytiq.ingestion.parsing.pdf_layout.tags import PageTags, Tag, tags_of


@dataclass(slots=True)
class RawPage:
    """A page as known before the other pages are read.

    Attributes:
        rows: the words outside of ruled tables, from top to bottom.
        aside: words in other directions.
        hidden: the words that were left out.
        fields: the values of form fields, which are among the rows and tables too.
    """

    page_number: int
    rows: list[Row]
    tables: list[RuledTable]
    edges: list[Edge]
    frame: PageFrame
    tags: PageTags = field(default_factory=dict[int, Tag])
    aside: list[Word] = field(default_factory=list[Word])
    comments: list[tuple[str, Bounds]] = field(default_factory=list[tuple[str, Bounds]])
    hidden: list[str] = field(default_factory=list[str])
    fields: list[Word] = field(default_factory=list[Word])


def read_page(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, page_number: int) -> RawPage | None:
    """Read a page; return None if it cannot be laid out."""
    characters = read_characters(text_page)
    if characters is None:
        return None
    turn = characters.turn
    frame = PageFrame(Bounds(*page.get_bbox()), turn, page.get_rotation())
    rules = rules_of(page, turn)
    hidden = without_hidden(characters, frame.upright, rules.grounds)
    fields = field_words(page, turn)
    words = characters.words + fields
    tables = ruled_tables(rules, words)
    used = {index for table in tables for index in table.used}
    free = [word for index, word in enumerate(words) if index not in used]
    rows = [chunks_of(row) for row in rows_of(free)]
    return RawPage(
        page_number,
        rows,
        tables,
        rules.edges,
        frame,
        tags_of(page),
        characters.aside,
        comments_of(page),
        hidden,
        fields,
    )
