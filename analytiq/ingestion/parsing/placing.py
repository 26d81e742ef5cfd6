"""Positions of a page's words: runs in the child, beside the parsers of the same page.

The letters come in the parser's reading order, so that they can be aligned with the stored text.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import Image, ImageSequence

from analytiq.errors import CorruptFileError, UnsupportedFormatError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.image import ImageParser, grey_image, guarded
from analytiq.ingestion.parsing.page_images import PageImageReader
from analytiq.ingestion.parsing.pdf import opened, rendered
from analytiq.ingestion.parsing.pdf_layout.document import DocumentLayout
from analytiq.ingestion.parsing.pdf_layout.frames import clipped
from analytiq.ingestion.parsing.pdf_layout.layers import Layers
from analytiq.ingestion.parsing.pdf_layout.pages import RawPage, read_page
from analytiq.models.boxes import Box, PageWords, PlacedText

MAX_LETTERS = 100_000
"""Most letters of a page; a newspaper's page has 30,000."""
DEVICE_UNITS = 1_000_000
"""Units of a page's width and height, for pdfium's conversion of coordinates on rotated pages."""


def place_words(path: Path, content_type: str, page_number: int, options: ParseOptions, *, is_image: bool) -> PageWords:
    """Return the words of a page of a PDF or of an image.

    Args:
        path: of the file.
        content_type: as detected.
        page_number: from 1.
        options: languages and engine of the stored text's extraction.
        is_image: True if the page's text was read by OCR.

    Raises:
        UnsupportedFormatError: files of this type have no pages with positions.
        CorruptFileError: the file has no such page.
    """
    with closing(PageImageReader(options)) as reader:
        if content_type == "application/pdf":
            return _of_pdf(path, page_number, reader, is_image=is_image)
        if content_type in ImageParser.content_types:
            with guarded():
                return _of_picture(path, page_number, reader)
    raise UnsupportedFormatError(f"Files of type {content_type!r} have no pages on which a passage has a place.")


def _of_pdf(path: Path, page_number: int, reader: PageImageReader, *, is_image: bool) -> PageWords:
    with opened(path) as document:
        if page_number > len(document):
            raise CorruptFileError(f"The PDF has no page {page_number}.")
        with closing(document[page_number - 1]) as page:
            if is_image:
                return PageWords(page_number, reader.place(rendered(page)))
            with closing(page.get_textpage()) as text_page:
                raw_page = read_page(page, text_page, page_number, Layers(path))
                if raw_page is None:
                    return PageWords(page_number, tuple(_letters(page, text_page)))
                return PageWords(page_number, tuple(_words(raw_page)))


def _of_picture(path: Path, page_number: int, reader: PageImageReader) -> PageWords:
    with Image.open(path) as image:
        for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
            if number == page_number:
                return PageWords(page_number, reader.place(grey_image(frame)))
    raise CorruptFileError(f"The image has no page {page_number}.")


def _words(raw_page: RawPage) -> Iterator[PlacedText]:
    """Yield the words of a page in the order of its layout, which is that of its text."""
    layout = DocumentLayout({}, keeps_words=True)
    layout.add(raw_page)
    for page in layout.finish().pages.values():
        for piece in page.pieces:
            for word in piece.words:
                box = page.frame.box_of(word.bounds)
                if box is not None:
                    yield PlacedText(word.text, box)


def _letters(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> list[PlacedText]:
    letters: list[PlacedText] = []
    rectangle = pdfium_c.FS_RECTF()
    for index in range(min(text_page.count_chars(), MAX_LETTERS)):
        code = int(pdfium_c.FPDFText_GetUnicode(text_page, index))
        # Half of a surrogate pair, an unmapped glyph, or pdfium's mark of a hyphen at a line's end.
        if code in (0, 2, 0xFFFE) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            continue
        letter = chr(code)
        if letter.isspace() or not pdfium_c.FPDFText_GetLooseCharBox(text_page, index, rectangle):
            continue
        box = _box_of(page, rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
        if box is not None:
            letters.append(PlacedText(letter, box))
    return letters


def _box_of(page: pdfium.PdfPage, left: float, top: float, right: float, bottom: float) -> Box | None:
    """Return fractions of the page as displayed; None for a box outside of it."""
    xs: list[float] = []
    ys: list[float] = []
    for x, y in ((left, top), (right, bottom)):
        device_x, device_y = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDF_PageToDevice(page, 0, 0, DEVICE_UNITS, DEVICE_UNITS, 0, x, y, device_x, device_y)
        xs.append(device_x.value / DEVICE_UNITS)
        ys.append(device_y.value / DEVICE_UNITS)
    return clipped(min(xs), min(ys), max(xs), max(ys))
