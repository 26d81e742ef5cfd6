"""Web pages: the article without the surrounding navigation, if an article is found."""

import re
from collections.abc import Iterator
from pathlib import Path

import trafilatura

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html_markdown import html_to_markdown
from analytiq.ingestion.parsing.visible_text import visible_text
from analytiq.models.text import ParsedDocument, ParsedPage

MIN_ARTICLE_SHARE = 0.25
"""Least share of the visible characters. A shorter article counts as a miss: of six pages one was, at 0.245."""

_META_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")
_HEADING = re.compile(r"<(title|h1)\b[^>]{0,1000}>(.{1,2000}?)</\1", re.IGNORECASE | re.DOTALL)
_LEFT_OVER_TAG = re.compile(r"</?(?:u|sub|sup|del)>")
_LONG_TAG = re.compile(r"<([a-zA-Z][\w:-]{0,50}+)(?![\w:-])[^<>]{16384,}+>")
_BLANKS = re.compile(r"\s+")


class HtmlParser:
    """The article as Markdown, by trafilatura; the whole page if it finds too little."""

    content_types = ("text/html",)
    extensions = (".html", ".htm", ".xhtml")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file as one page."""
        html = decode_html(path.read_bytes(), declared=options.charset_hint)
        text = readable_text(html)
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, text),))


def _without_long_tags(html: str) -> str:
    """Drop the attributes of implausibly long tags: HTML parsers compare each attribute with all others.

    A tag of 300,000 attributes (2.8 MB) took more than 200 s.
    """
    return _LONG_TAG.sub(r"<\1>", html)


def decode_html(data: bytes, *, declared: str | None) -> str:
    """Decode by BOM, then UTF-8, HTTP charset and declared charset; strip the XML declaration."""
    meta = _META_CHARSET.search(data, 0, 8192)
    own = meta[1].decode("ascii") if meta else None
    if own and own.lower().startswith(("utf-16", "utf-32")):
        own = None  # the declared charset is not compatible with ASCII, in which the declaration was found
    return _without_long_tags(_XML_DECLARATION.sub("", decode_text(data, hint=declared or own).text))


def readable_text(html: str) -> str:
    """Return the article, else the page as Markdown, else its visible text: the first with enough text."""
    visible = visible_text(html)
    enough = MIN_ARTICLE_SHARE * len(visible)
    article = _article(html)
    if article and len(article) >= enough:
        return _with_headings(html, article)
    page = html_to_markdown(html)
    return page if len(page) >= enough and page else visible


def _article(html: str) -> str:
    found = trafilatura.extract(html, output_format="markdown", favor_recall=True)
    return _LEFT_OVER_TAG.sub("", found or "").strip()


def _with_headings(html: str, article: str) -> str:
    """Prepend title and main heading if the article has lost them: they name its subject."""
    missing: list[str] = []
    for heading in _headings(html):
        if heading and heading not in missing and heading not in article:
            missing.append(heading)
    return "\n\n".join([*(f"# {heading}" for heading in missing), article])


def _headings(html: str) -> Iterator[str]:
    for match in _HEADING.finditer(html, 0, 200_000):
        yield _BLANKS.sub(" ", visible_text(match[2])).strip()
