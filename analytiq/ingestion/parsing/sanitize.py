"""The last step of every parser: removal of characters that storage or JSON cannot represent."""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

from analytiq.models.blocks import Block
from analytiq.models.text import ParsedDocument, ParsedPage

_UNSTORABLE = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
"""Control characters except tab, line feed, form feed and return; and two code points that are no characters."""
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
_DROPPED = re.compile(rf"\r(?=\n)|{_UNSTORABLE.pattern}")
"""The characters without one in their place."""


def sanitize_text(text: str) -> str:
    """Drop NUL and other controls, replace lone surrogates by U+FFFD, end lines with a line feed."""
    text = _LINE_END.sub("\n", text)
    text = _UNSTORABLE.sub("", text)
    return _LONE_SURROGATE.sub("\ufffd", text)


def sanitize_document(document: ParsedDocument) -> ParsedDocument:
    """Make every text of the document storable; its blocks keep their words."""
    pages = tuple(_sanitize_page(page) for page in document.pages)
    warnings = tuple(sanitize_text(warning) for warning in document.warnings)
    return replace(document, pages=pages, warnings=warnings, title=sanitize_text(document.title))


def _sanitize_page(page: ParsedPage) -> ParsedPage:
    text, name = sanitize_text(page.text), sanitize_text(page.name)
    if len(text) == len(page.text):
        return replace(page, text=text, name=name)
    return replace(_moved(page), text=text, name=name)


def _moved(page: ParsedPage) -> ParsedPage:
    dropped = [match.start() for match in _DROPPED.finditer(page.text)]

    def moved(position: int) -> int:
        return position - bisect_left(dropped, position)

    blocks = tuple(_with_positions(block, moved) for block in page.blocks)
    figures = tuple(replace(figure, position=moved(figure.position)) for figure in page.figures)
    return replace(page, blocks=blocks, figures=figures)


def _with_positions(block: Block, moved: Callable[[int], int]) -> Block:
    table = block.table
    if table is not None:
        table = replace(table, rows=tuple((moved(start), moved(end)) for start, end in table.rows))
    return replace(block, start=moved(block.start), end=moved(block.end), table=table)
