"""PDF, read by pdfium; pikepdf repairs damaged files first, and image pages go to OCR."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types; its answers are given types where they enter this module.

import io
import re
import unicodedata
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.page_images import RENDER_DOTS_PER_INCH, PageImageReader, scale_to_limit
from analytiq.ingestion.parsing.pdf_characters import join_hyphenated, mend_ligatures, mostly_unmapped
from analytiq.models.text import ParsedDocument, ParsedPage

POINTS_PER_INCH = 72

FEW_CHARACTERS = 20
"""A page with fewer characters of text and an image counts as a scan (a scan may have a page number)."""
_BLANKS = re.compile(r"\s+")

MAX_OBJECTS_SEARCHED = 5_000
"""Most objects of a page searched for an image; a drawing may have a million."""

ENCRYPTED_DETAIL = "The PDF opens only with a password: remove its password, then upload it again."


class PdfParser:
    """Reads page by page, so that memory does not grow with the document."""

    content_types = ("application/pdf",)
    extensions = (".pdf",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read every page; an unreadable page stays empty, with a warning."""
        reader = PageImageReader(options)
        with opened(path) as document, closing(reader):
            total = len(document)
            if total > options.max_pages:
                raise LimitExceededError(
                    f"The PDF has {total} pages; at most {options.max_pages} are read. Split the document."
                )
            if total == 0:
                raise CorruptFileError("The PDF has no pages that can be read: upload an undamaged copy.")
            pages: list[ParsedPage] = []
            unreadable: list[int] = []
            for page_number in range(1, total + 1):
                try:
                    pages.append(_read_page(document, page_number, reader))
                except (pdfium.PdfiumError, UnicodeError):
                    pages.append(ParsedPage(page_number, ""))
                    unreadable.append(page_number)
                report_progress(page_number, total)
            if len(unreadable) == total:
                raise CorruptFileError("No page of the PDF can be read: upload an undamaged copy.")
            return ParsedDocument(tuple(pages), (*reader.warnings(), *_warnings_of(unreadable)))


def _warnings_of(unreadable: list[int]) -> tuple[str, ...]:
    if not unreadable:
        return ()
    listed = ", ".join(map(str, unreadable[:20])) + (", …" if len(unreadable) > 20 else "")
    return (f"{len(unreadable)} damaged page(s) could not be read: {listed}.",)


@contextmanager
def opened(path: Path) -> Generator[pdfium.PdfDocument]:
    """Open a PDF, repaired if damaged, within the block."""
    document = _open_or_mend(path)
    try:
        yield document
    finally:
        document.close()


def _open_or_mend(path: Path) -> pdfium.PdfDocument:
    try:
        document = pdfium.PdfDocument(path)
        if len(document) > 0:
            return document
        document.close()
    except pdfium.PdfiumError as error:
        if error.err_code in {pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY}:
            raise EncryptedFileError(ENCRYPTED_DETAIL) from error
    return _mended(path)


def _mended(path: Path) -> pdfium.PdfDocument:
    # pdfium opened 1 of 29 truncated files, pikepdf (qpdf) 26: it rebuilds the table of objects.
    try:
        repaired = io.BytesIO()
        with pikepdf.open(path, suppress_warnings=True) as source:
            source.save(repaired)
        return pdfium.PdfDocument(repaired.getvalue())
    except pikepdf.PasswordError as error:
        raise EncryptedFileError(ENCRYPTED_DETAIL) from error
    except (pikepdf.PdfError, pdfium.PdfiumError, ValueError) as error:
        raise CorruptFileError(f"The PDF is damaged beyond repair ({error}): upload an undamaged copy.") from error


def _read_page(document: pdfium.PdfDocument, page_number: int, reader: PageImageReader) -> ParsedPage:
    with closing(document[page_number - 1]) as page, closing(page.get_textpage()) as text_page:
        raw = text_page.get_text_range()
        text = join_hyphenated(mend_ligatures(text_page, raw))
        # Compatibility forms (ligatures, presentation forms, full width) never match typed text.
        text = unicodedata.normalize("NFKC", text)
        if mostly_unmapped(text_page, raw):
            return _read_scan(page, page_number, reader)
        if len(_BLANKS.sub("", text)) < FEW_CHARACTERS and _has_image(page):
            return _with_stamp(_read_scan(page, page_number, reader), text)
        return ParsedPage(page_number, text)


def _with_stamp(scan: ParsedPage, stamp: str) -> ParsedPage:
    """Keep a scan's own little text, such as a stamped number, if OCR has missed it."""
    if _BLANKS.sub("", stamp) in _BLANKS.sub("", scan.text):
        return scan
    return replace(scan, text=f"{scan.text}\n{stamp}".strip())


def _has_image(page: pdfium.PdfPage) -> bool:
    objects = cast("Iterator[Any]", islice(page.get_objects(), MAX_OBJECTS_SEARCHED))
    return any(page_object.type == pdfium_c.FPDF_PAGEOBJ_IMAGE for page_object in objects)


def _read_scan(page: pdfium.PdfPage, page_number: int, reader: PageImageReader) -> ParsedPage:
    if not reader.can_read():
        return reader.skip(page_number)
    return reader.read(page_number, rendered(page))


def rendered(page: pdfium.PdfPage) -> GreyImage:
    """Return a page as displayed, with its rotation."""
    width, height = page.get_size()
    scale = scale_to_limit(width, height, RENDER_DOTS_PER_INCH / POINTS_PER_INCH)
    render = cast("Callable[..., pdfium.PdfBitmap]", page.render)
    with closing(render(scale=scale, grayscale=True)) as bitmap:
        # A row of the bitmap may be padded; Pillow drops the padding.
        pixels = bitmap.to_pil().tobytes()
        return GreyImage(pixels, bitmap.width, bitmap.height, round(scale * POINTS_PER_INCH))
