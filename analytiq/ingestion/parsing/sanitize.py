"""The last step of every parser: removal of characters that storage or JSON cannot represent."""

import re
from dataclasses import replace

from analytiq.models.text import ParsedDocument, ParsedPage

_UNSTORABLE = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
"""Control characters except tab, line feed, form feed and return; and two code points that are no characters."""
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")


def sanitize_text(text: str) -> str:
    """Drop NUL and other controls, replace lone surrogates by U+FFFD, end lines with a line feed."""
    text = _LINE_END.sub("\n", text)
    text = _UNSTORABLE.sub("", text)
    return _LONE_SURROGATE.sub("\ufffd", text)


def sanitize_document(document: ParsedDocument) -> ParsedDocument:
    """Make every text of the document storable."""
    pages = tuple(_sanitize_page(page) for page in document.pages)
    return ParsedDocument(pages, tuple(sanitize_text(warning) for warning in document.warnings))


def _sanitize_page(page: ParsedPage) -> ParsedPage:
    return replace(page, text=sanitize_text(page.text))
