"""Word documents of the old format (DOC), read by their pieces, as one page."""

import struct
from collections.abc import Iterable
from pathlib import Path

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.doc_text import CELL_END, NOUN, DocText, Paragraph
from analytiq.ingestion.parsing.html import hidden_warnings
from analytiq.ingestion.parsing.sheet_text import one_line, sheet_lines
from analytiq.ingestion.parsing.summary_information import stated_title
from analytiq.ingestion.parsing.table_lines import lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument


class DocParser:
    """The text with its headings, lists and tables; then text boxes, notes, comments, and heads and feet."""

    content_types = ("application/msword",)
    extensions = (".doc", ".dot")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the document; hidden words are left out and counted in a warning."""
        file = CompoundFile(path, noun=NOUN)
        try:
            text = DocText(file, shows_deleted=options.word_changes != "accepted")
            parts = text.parts()
        except (struct.error, IndexError) as error:
            raise CorruptFileError(f"The {NOUN} is damaged ({error}): save it again, then upload it.") from error
        builder = TextBuilder()
        for name in ("text", "text_boxes"):
            _write_blocks(builder, parts[name])
        for name in ("footnotes", "endnotes"):
            _write_paragraphs(builder, parts[name], BlockKind.FOOTNOTE)
        if options.word_comments and any(paragraph.text.strip() for paragraph in parts["comments"]):
            builder.heading("Comments", 2)
            _write_paragraphs(builder, parts["comments"], BlockKind.PARAGRAPH)
        for name in ("headers", "header_text_boxes"):
            _write_paragraphs(builder, parts[name], BlockKind.FURNITURE)
        report_progress(1, 1)
        warnings = hidden_warnings(text.hidden_words)
        return ParsedDocument((builder.page(1),), tuple(warnings), telling_title(stated_title(file)))


def _write_paragraphs(builder: TextBuilder, paragraphs: Iterable[Paragraph], kind: BlockKind) -> None:
    """Write each text once: a document holds a head for each of its sections."""
    for text in dict.fromkeys(paragraph.text.strip() for paragraph in paragraphs):
        builder.paragraph(text, kind=kind)


def _write_blocks(builder: TextBuilder, paragraphs: Iterable[Paragraph]) -> None:
    table = _Table()
    for paragraph in paragraphs:
        properties = paragraph.properties
        if table.takes(paragraph):
            continue
        table.write(builder)
        words = paragraph.text.strip()
        if properties.heading_level and words:
            builder.heading(words, properties.heading_level)
        elif properties.list_depth:
            builder.list_item(words, depth=properties.list_depth)
        else:
            builder.paragraph(words)
    table.write(builder)


class _Table:
    """The rows of the table around a paragraph."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._header_rows = 0
        self._cells: list[str] = []
        self._words: list[str] = []

    def takes(self, paragraph: Paragraph) -> bool:
        """Take a paragraph of a table; return False for any other."""
        properties, ends_cell = paragraph.properties, paragraph.end == CELL_END
        if not properties.is_in_table and not ends_cell:
            return False
        # Without properties (Word 6, or damaged): a row ends with one more mark behind its last cell.
        is_bare_end = not properties.is_in_table and self._cells and not paragraph.text and not self._words
        if properties.ends_row or is_bare_end:
            self._end_row(is_header=properties.is_header_row)
            return True
        self._words.append(paragraph.text)
        if ends_cell:
            self._cells.append(one_line(" ".join(self._words)))
            self._words = []
        return True

    def write(self, builder: TextBuilder) -> None:
        """Write the rows so far as a table."""
        if self._words:
            self._cells.append(one_line(" ".join(self._words)))
        if self._cells:
            self._end_row(is_header=False)
        if self._rows:
            header, rows = self._rows[: self._header_rows], self._rows[self._header_rows :]
            builder.table(lines_below_header(header, rows) if header and rows else sheet_lines(self._rows))
        self.__init__()

    def _end_row(self, *, is_header: bool) -> None:
        if is_header and self._header_rows == len(self._rows):
            self._header_rows += 1
        self._rows.append(self._cells)
        self._cells, self._words = [], []
