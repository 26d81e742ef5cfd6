"""Rich text: paragraphs, headings, lists, tables and notes, without its formatting, in one page."""

import codecs
import re
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.html import hidden_warnings
from analytiq.ingestion.parsing.rtf_reader import USUAL_CODE_PAGE, RtfReader, fonts_and_styles
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")


class RtfParser:
    """The words of the text in their order, notes at its end."""

    content_types = ("application/rtf",)
    extensions = (".rtf",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file in the code pages that it names; each font may have its own."""
        data = path.read_bytes()
        builder = TextBuilder()
        written = write_rtf(builder, data)
        report_progress(1, 1)
        appended = f"{written.appended_words} words stand in unusual places; they are at the end of the text"
        warnings = (*hidden_warnings(written.hidden_words), *((appended,) if written.appended_words else ()))
        return ParsedDocument((builder.page(1),), warnings)


def write_rtf(builder: TextBuilder, data: bytes) -> RtfReader:
    """Write the blocks of rich text; return its reader, which counts what was left out and what was appended."""
    code_page = _code_page(data)
    source = data.decode("latin-1")
    fonts, styles = fonts_and_styles(source, code_page)
    reader = RtfReader(builder, code_page, fonts, styles)
    reader.read(source)
    return reader


def _code_page(data: bytes) -> str:
    named = _CODE_PAGE.search(data, 0, 4096)
    code_page = f"cp{named[1].decode('ascii')}" if named else USUAL_CODE_PAGE
    try:
        codecs.lookup(code_page)
    except LookupError:
        return USUAL_CODE_PAGE
    return code_page
