"""Plain text: pages at form feeds, and the blocks that its lines show; a passage is one page and one block."""

import codecs
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.registry import PASSAGE_TYPE
from analytiq.ingestion.parsing.sanitize import sanitize_document, sanitize_text
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage

MOST_PAGES = 5_000
"""Most form feeds that begin pages; more of them are no pages."""
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cDEHMNOZ])"
)
_STRUCK_OVER = re.compile(r"[^\n\x08]\x08")
"""A letter under the next: manuals print bold as `a`, backspace, `a`."""
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[^\S\n]*+\S[^\n]*)*")
_ITEM = re.compile(r"(?P<indent>[ \t]{0,40})(?:[-*+\u2022\u2013\u25aa]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]{1,20}(?=\S)")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,}|\*{3,})[ \t]*\Z")
LONGEST_HEADING = 120


class PlainTextParser:
    """The unchanged text; control sequences of terminals are left out."""

    content_types = ("text/plain",)
    extensions = (".txt", ".text", ".log")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Decode the file."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        report_progress(1, 1)
        return ParsedDocument(plain_pages(decoded.text), decoded.warnings)


class PassageParser:
    """The unchanged text as one block, which becomes one chunk."""

    content_types = (PASSAGE_TYPE,)
    extensions = (".passage",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Decode the file."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        report_progress(1, 1)
        return ParsedDocument(passage_pages(decoded.text), decoded.warnings)


def xml_encoding(data: bytes) -> str | None:
    """Return the charset that an XML declaration names."""
    declaration = _XML_ENCODING.match(data)
    return declaration[1].decode("ascii") if declaration else None


def plain_pages(text: str) -> tuple[ParsedPage, ...]:
    """Divide a text at its form feeds; a page keeps its characters, and blocks are ranges of them."""
    text = sanitize_text(without_control_sequences(text))
    pages = text.removesuffix("\f").split("\f") if 0 < text.count("\f") <= MOST_PAGES else [text]
    return tuple(ParsedPage(number, page, blocks=tuple(blocks_of(page))) for number, page in enumerate(pages, 1))


def passage_pages(text: str) -> tuple[ParsedPage, ...]:
    """Return a text as one page of one block."""
    text = sanitize_text(without_control_sequences(text))
    return (ParsedPage(1, text, blocks=tuple(_block(text, 0, len(text), BlockKind.PASSAGE, 0))),)


def parse_utf8(data: bytes, *, divide: Callable[[str], tuple[ParsedPage, ...]] = plain_pages) -> ParsedDocument | None:
    """Parse plain UTF-8 text without the sandbox; return None if the content needs detection.

    `divide` makes the pages: `plain_pages` or `passage_pages`.

    It saves the child process (8 ms of processor time) for the commonest files. It needs no sandbox: strict
    decoding guesses nothing, and takes time and memory in proportion to the length.
    """
    content = data.removeprefix(codecs.BOM_UTF8)
    # Zeros may be UTF-16, an escape sequence may be ISO-2022 or HZ, and all are valid UTF-8 (see `charset`).
    if b"\0" in content or b"\x1b$" in content or b"~{" in content:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return sanitize_document(ParsedDocument(divide(text)))


def without_control_sequences(text: str) -> str:
    """Return a terminal's text as it shows: without colours and moves, bold and underlined letters written once."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _STRUCK_OVER.sub("", text) if "\b" in text else text


def blocks_of(text: str) -> Iterator[Block]:
    """Yield paragraphs between empty lines, items of lists, and headings that are underlined."""
    for paragraph in _PARAGRAPH.finditer(text):
        yield from _blocks_of_paragraph(text, *paragraph.span())


def _blocks_of_paragraph(text: str, start: int, end: int) -> Iterator[Block]:
    line_end = text.find("\n", start, end)
    if line_end >= 0 and line_end - start <= LONGEST_HEADING:
        second_end = text.find("\n", line_end + 1, end)
        second_end = end if second_end < 0 else second_end
        mark = _UNDERLINE.match(text[line_end + 1 : min(second_end, line_end + 1 + 2 * LONGEST_HEADING)].strip())
        if mark:
            level = 1 if mark[0][0] in "=*" else 2
            yield from _block(text, start, line_end, BlockKind.HEADING, level)
            start = second_end
    if start < end:
        yield from _items_or_paragraph(text, start, end)


def _items_or_paragraph(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the items of a paragraph whose lines begin with marks; an item goes on until the next mark."""
    begin, level = start, 0
    position = start
    while position < end:
        match = _ITEM.match(text, position, end)
        # A wrapped line may begin with a number as well.
        if match and (level or position == start or text[position - 2] == ":"):
            yield from _block(text, begin, position, _kind_of(level), level)
            begin, level = match.end(), 1 + min(len(match["indent"].expandtabs(2)) // 2, 8)
        following = text.find("\n", position, end)
        position = end if following < 0 else following + 1
    yield from _block(text, begin, end, _kind_of(level), level)


def _kind_of(level: int) -> BlockKind:
    return BlockKind.LIST_ITEM if level else BlockKind.PARAGRAPH


def _block(text: str, start: int, end: int, kind: BlockKind, level: int) -> Iterator[Block]:
    words = text[start:end]
    start += len(words) - len(words.lstrip())
    end -= len(words) - len(words.rstrip())
    if start < end:
        yield Block(kind, start, end, level=level)
