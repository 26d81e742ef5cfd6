"""Plain text and what reads as it: logs, source code, JSON, XML."""

import re
from pathlib import Path

from analytiq.models.text import ParsedDocument, ParsedPage
from analytiq.parsing.base import ParseOptions, ReportProgress
from analytiq.parsing.charset import decode_text

_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")


class PlainTextParser:
    """The text as it is, in one page."""

    content_types = ("text/plain", "application/json", "application/xml")
    extensions = (".txt", ".text", ".log", ".json", ".xml")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Decode the file."""
        data = path.read_bytes()
        declaration = _XML_ENCODING.match(data)
        hint = declaration[1].decode("ascii") if declaration else options.charset_hint
        text = decode_text(data, hint=hint).text
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, text),))
