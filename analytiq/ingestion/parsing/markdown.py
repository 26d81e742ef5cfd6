"""Markdown: text whose headings and tables stay unchanged for the chunker and the reader."""

import re
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.models.text import ParsedDocument, ParsedPage

_EMBEDDED_IMAGE = re.compile(r"\(data:[\w/+.-]{1,80};base64,[A-Za-z0-9+/=\s]*\)")


class MarkdownParser:
    """The source without HTML comments and pictures written into it, in one page."""

    content_types = ("text/markdown",)
    extensions = (".md", ".markdown")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Decode the file; drop base64 pictures, which would become thousands of meaningless chunks."""
        text = decode_text(path.read_bytes(), hint=options.charset_hint).text
        text = _EMBEDDED_IMAGE.sub("()", _without_comments(text))
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, text),))


def _without_comments(text: str) -> str:
    """Drop HTML comments, except one without an end. A pattern would search to the end from each start."""
    parts: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[position:start])
        position = end + 3
    parts.append(text[position:])
    return "".join(parts)
