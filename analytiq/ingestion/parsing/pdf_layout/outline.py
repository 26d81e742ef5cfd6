"""The outline (bookmarks) of a document, which confirms headings; it never makes one of a title that no page shows."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

from itertools import islice

import pypdfium2 as pdfium

from analytiq.ingestion.parsing.pdf_layout.headings import Outline, title_key

MAX_TITLES = 5_000


def outline_of(document: pdfium.PdfDocument) -> Outline:
    """Return the levels of the outline's titles by page number and title."""
    outline: dict[int, dict[str, int]] = {}
    try:
        for entry in islice(document.get_toc(), MAX_TITLES):
            destination = entry.get_dest()
            index = destination.get_index() if destination is not None else None
            if index is not None and index >= 0:
                outline.setdefault(index + 1, {}).setdefault(title_key(entry.get_title()), entry.level + 1)
    except (pdfium.PdfiumError, UnicodeError, RecursionError):
        return outline
    return outline
