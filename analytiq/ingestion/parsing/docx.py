"""Word documents: the body by mammoth, the parts that mammoth omits by a reader of this package."""

import re
from pathlib import Path
from typing import IO, Any, cast

import mammoth

from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.docx_parts import SideTexts, read_side_texts
from analytiq.ingestion.parsing.html_markdown import html_to_markdown
from analytiq.models.text import ParsedDocument, ParsedPage

_BACK_LINK = re.compile(r'\s*<a href="#(?:foot|end)note-ref-\d+">↑</a>')
"""Mammoth ends each note with an arrow back to its place in the text."""


class DocxParser:
    """Headings, lists and tables as Markdown, notes at the end. Word counts pages only in print."""

    content_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)
    extensions = (".docx", ".docm", ".dotx")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read it as one page: headers, body with insertions accepted, text boxes, comments, footers."""
        with open_package(path, noun="Word document") as archive:
            side = read_side_texts(archive)
            body = _read_body(path)
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, _joined(side, body)),))


def _read_body(path: Path) -> str:
    with path.open("rb") as file:
        result = mammoth.convert_to_html(  # pyright: ignore[reportUnknownMemberType] -- mammoth has no types
            cast("IO[bytes]", file), convert_image=_without_image
        )
    html = cast("str", result.value)
    return html_to_markdown(_BACK_LINK.sub("", html))


def _without_image(_image: Any) -> list[Any]:
    """Return nothing for a picture; by default, mammoth writes the whole file as base64."""
    return []


def _joined(side: SideTexts, body: str) -> str:
    parts = [*side.headers, body]
    if side.text_boxes:
        parts += ["## Text boxes", *side.text_boxes]
    if side.comments:
        parts += ["## Comments", *side.comments]
    parts += side.footers
    return "\n\n".join(part for part in parts if part)
