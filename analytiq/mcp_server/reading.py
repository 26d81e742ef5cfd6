"""Size limit of a document in one answer. Pure."""

from collections.abc import Sequence

from analytiq.client import DocumentText
from analytiq.mcp_server.shapes import ReadDocument, ReadPage

MOST_CHARACTERS = 40_000
"""About 10,000 tokens of English; clients cut longer answers off, or refuse them (Claude: 25,000 tokens)."""


def read(text: DocumentText, *, offset: int, most_characters: int = MOST_CHARACTERS) -> ReadDocument:
    """Select the pages that fit one answer.

    Args:
        text: the requested pages, in order.
        offset: characters to skip in the first one.
        most_characters: of all pages together.
    """
    pages: list[ReadPage] = []
    left = most_characters
    for page in text.pages:
        start = offset if not pages else 0
        shown = page.text[start : start + left]
        if not shown and page.text[start:]:
            return _whole(text, pages, next_page=page.page_number, next_offset=start)
        pages.append(ReadPage(page_number=page.page_number, offset=start, text=shown))
        left -= len(shown)
        if start + len(shown) < len(page.text):
            return _whole(text, pages, next_page=page.page_number, next_offset=start + len(shown))
    after = pages[-1].page_number + 1 if pages else None
    return _whole(text, pages, next_page=after if after is not None and after <= text.page_count else None)


def _whole(
    text: DocumentText, pages: Sequence[ReadPage], *, next_page: int | None, next_offset: int = 0
) -> ReadDocument:
    return ReadDocument(
        document_id=text.document_id,
        document_name=text.document_name,
        page_count=text.page_count,
        pages=list(pages),
        next_page=next_page,
        next_offset=next_offset,
    )
