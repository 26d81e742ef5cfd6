"""Web pages: what a browser shows, block by block, without the navigation around the article."""

import re
from dataclasses import replace
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import DecodedText, decode_text
from analytiq.ingestion.parsing.html_article import navigation_of
from analytiq.ingestion.parsing.html_blocks import HtmlBlocks
from analytiq.ingestion.parsing.html_pictures import PictureFiles, data_uris_only
from analytiq.ingestion.parsing.html_silent import hidden_words_of
from analytiq.ingestion.parsing.html_tree import Element, html_tree
from analytiq.ingestion.parsing.html_words import append_lost_html
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage

MAX_TITLE_CHARACTERS = 500
_META_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*+=\s*+["']?\s*+([\w.:-]{1,40})""", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")


class HtmlParser:
    """The article of a page; the whole page if it is little but links."""

    content_types = ("text/html",)
    extensions = (".html", ".htm", ".xhtml")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file as one page."""
        decoded = decode_html(path.read_bytes(), declared=options.charset_hint)
        document = html_document(decoded.text)
        report_progress(1, 1)
        return replace(document, warnings=(*decoded.warnings, *document.warnings))


def decode_html(data: bytes, *, declared: str | None) -> DecodedText:
    """Decode by BOM, then UTF-8, HTTP charset and declared charset; strip the XML declaration."""
    meta = _META_CHARSET.search(data, 0, 8192)
    own = meta[1].decode("ascii") if meta else None
    if own and own.lower().startswith(("utf-16", "utf-32")):
        own = None  # the declared charset is not compatible with ASCII, in which the declaration was found
    decoded = decode_text(data, hint=declared or own)
    return replace(decoded, text=_XML_DECLARATION.sub("", decoded.text))


def html_document(html: str) -> ParsedDocument:
    """Return a web page, its title as a heading where the page shows no main heading."""
    root = html_tree(html)
    title = page_title(root)
    left_out = navigation_of(root)
    page, hidden = _article_page(root, left_out, title="")
    if title and page.text and title not in page.text and not has_main_heading(root):
        page, hidden = _article_page(root, left_out, title=title)
    warnings = (*hidden_warnings(hidden), *_navigation_warnings(root, left_out))
    return ParsedDocument((page,), warnings, title)


def _article_page(root: Element, left_out: frozenset[int], *, title: str) -> tuple[ParsedPage, int]:
    builder = TextBuilder()
    if title:
        builder.heading(title, 1)
    hidden = write_html(builder, root, left_out=left_out)
    return builder.page(1), hidden


def _navigation_warnings(root: Element, left_out: frozenset[int]) -> tuple[str, ...]:
    words = sum(hidden_words_of(element) for element in root.walk() if id(element) in left_out)
    noun = "word" if words == 1 else "words"
    return (f"{words} {noun} of menus and other navigation not read",) if words else ()


def write_html(
    builder: TextBuilder,
    root: Element,
    *,
    left_out: frozenset[int] = frozenset(),
    files: PictureFiles = data_uris_only,
) -> int:
    """Write the blocks of a tree, and what they lack; return the number of hidden words that were left out."""
    page = TextBuilder()
    blocks = HtmlBlocks(page, root, left_out=left_out, files=files)
    blocks.write()
    append_lost_html(page, root, left_out=left_out)
    builder.include(page.page(1))
    return blocks.hidden_words


def hidden_warnings(words: int) -> tuple[str, ...]:
    """Return the warning about hidden words, if there are any."""
    noun = "word" if words == 1 else "words"
    return (f"{words} hidden {noun} not read: readers of the document do not see such text",) if words else ()


def page_title(root: Element) -> str:
    """Return the title that the page states, on one line."""
    shared = ""
    for element in root.walk():
        if element.tag == "title" and (title := " ".join(element.text().split())):
            return title[:MAX_TITLE_CHARACTERS]
        if element.tag == "meta" and element.get("property") == "og:title":
            shared = shared or " ".join(element.get("content").split())
        if element.tag == "svg":
            break
    return shared[:MAX_TITLE_CHARACTERS]


def has_main_heading(root: Element) -> bool:
    """Return True if a heading of the first level holds words."""
    return any(element.tag == "h1" and element.text().strip() for element in root.walk())


def first_heading(page: ParsedPage) -> str:
    """Return the words of a page's first heading, "" if it has none."""
    heading = next((block for block in page.blocks if block.kind is BlockKind.HEADING), None)
    return page.text[heading.start : heading.end] if heading else ""
