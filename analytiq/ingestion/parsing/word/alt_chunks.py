"""Parts in other formats that a Word document shows in its body: HTML, mail with HTML, plain text, rich text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from typing import cast

from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html import decode_html, write_html
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.rtf import write_rtf
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind

_HTML = re.compile(rb"\s*+(?:\xef\xbb\xbf\s*+)?<", re.IGNORECASE)
_MAIL_NAMES = (".mht", ".mhtml", ".eml")
_TEXT_NAMES = (".txt", ".text")


@dataclass(frozen=True, slots=True)
class AltChunk:
    """A part and its bytes."""

    name: str
    content: bytes


def chunk_blocks(chunk: AltChunk) -> Iterator[tuple[str, int]]:
    """Yield the paragraphs of a chunk, each with its level as a heading, 0 for others."""
    name = chunk.name.lower()
    if chunk.content.startswith(b"{\\rtf"):
        builder = TextBuilder()
        write_rtf(builder, chunk.content)
        yield from _blocks(builder)
    elif name.endswith(_MAIL_NAMES):
        yield from _mail(chunk.content)
    elif name.endswith(_TEXT_NAMES) or not _HTML.match(chunk.content):
        yield from _plain(decode_text(chunk.content, hint=None).text)
    else:
        yield from _html(decode_html(chunk.content, declared=None).text)


def _plain(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        if line.strip():
            yield line, 0


def _mail(content: bytes) -> Iterator[tuple[str, int]]:
    message = message_from_bytes(content, policy=default)
    body = message.get_body(("html", "plain"))
    if body is None:
        return
    data = cast("bytes", body.get_payload(decode=True) or b"")
    if body.get_content_subtype() == "html":
        yield from _html(decode_html(data, declared=body.get_content_charset()).text)
    else:
        yield from _plain(decode_text(data, hint=body.get_content_charset()).text)


def _html(html: str) -> Iterator[tuple[str, int]]:
    builder = TextBuilder()
    write_html(builder, html_tree(html))
    yield from _blocks(builder)


def _blocks(builder: TextBuilder) -> Iterator[tuple[str, int]]:
    page = builder.page(1)
    for block in page.blocks:
        yield page.text[block.start : block.end], block.level if block.kind is BlockKind.HEADING else 0
