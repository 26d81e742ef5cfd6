"""PDF, read by pdfium and laid out by `pdf_layout`; pikepdf repairs damaged files first, and image pages go to OCR."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types; its answers are given types where they enter this module.

import io
import re
import unicodedata
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.figures import figures_wanted
from analytiq.ingestion.parsing.page_images import RENDER_DOTS_PER_INCH, PageImageReader, scale_to_limit
from analytiq.ingestion.parsing.parts import PartCollector
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.ingestion.parsing.pdf_characters import join_hyphenated, mend_ligatures, mostly_unmapped
from analytiq.ingestion.parsing.pdf_layout.document import DocumentLayout, LaidOutDocument
from analytiq.ingestion.parsing.pdf_layout.fields import has_fields
from analytiq.ingestion.parsing.pdf_layout.figures import FigureFinder
from analytiq.ingestion.parsing.pdf_layout.form_document import FormDocument
from analytiq.ingestion.parsing.pdf_layout.layers import Layers
from analytiq.ingestion.parsing.pdf_layout.lost_lines import with_lost_lines
from analytiq.ingestion.parsing.pdf_layout.outline import outline_of
from analytiq.ingestion.parsing.pdf_layout.pages import read_page
from analytiq.ingestion.parsing.pdf_layout.unicode_strings import texts_of_pages
from analytiq.ingestion.parsing.pdf_layout.writing import written
from analytiq.ingestion.parsing.pdf_layout.xfa import xfa_values
from analytiq.ingestion.parsing.reading_again import RereadPages, read_again
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.page_reading import PageReading
from analytiq.models.text import ParsedDocument, ParsedPage, TextSource

POINTS_PER_INCH = 72

FEW_CHARACTERS = 20
"""A page with fewer characters of text and an image counts as a scan (a scan may have a page number)."""
_BLANKS = re.compile(r"\s+")

MAX_OBJECTS_SEARCHED = 5_000
"""Most objects of a page searched for an image; a drawing may have a million."""


class PdfParser:
    """Reads page by page, and keeps no more than the words of a group of pages."""

    content_types = ("application/pdf",)
    extensions = (".pdf",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read every page, and name the attachments."""
        parts = PartCollector()
        document = self.parse_with_parts(path, options, report_progress, parts)
        return replace(document, warnings=(*document.warnings, *parts.warnings()))

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Read every page, and hand over the attachments; an unreadable page stays empty, with a warning."""
        reader = PageImageReader(options)
        with opened(path) as document, closing(reader):
            total = len(document)
            if total > options.max_pages:
                raise LimitExceededError(
                    f"The PDF has {total} pages; at most {options.max_pages} are read. Split the document."
                )
            if total == 0:
                raise CorruptFileError("The PDF has no pages that can be read: upload an undamaged copy.")
            _hand_over_attachments(document, parts)
            layout = DocumentLayout(outline_of(document))
            pictures = figures_wanted()
            figures = None if pictures is None else FigureFinder(pictures)
            reading = _Reading(document, reader, layout, figures, Layers(path))
            pages: dict[int, ParsedPage] = {}
            raw: dict[int, str] = {}
            unreadable: list[int] = []
            for page_number in range(1, total + 1):
                try:
                    page = _read_page(reading, page_number)
                    if isinstance(page, ParsedPage):
                        pages[page_number] = page
                    else:
                        raw[page_number] = page
                except (pdfium.PdfiumError, UnicodeError):
                    pages[page_number] = ParsedPage(page_number, "")
                    unreadable.append(page_number)
                report_progress(page_number, total)
            if len(unreadable) == total:
                raise CorruptFileError("No page of the PDF can be read: upload an undamaged copy.")
            laid_out = layout.finish()
            laid_out_pages, lost_warnings = _written_pages(laid_out, raw)
            pages |= laid_out_pages
            pages |= _pages_of_unicode_strings(path, pages)
            if figures is not None:
                pages |= figures.placed(document, pages)
            reread = _read_again(document, pages, reader, options, report_progress)
            pages |= reread.pages
            form, form_warnings = _xfa_page(document, path)
            if form is not None:
                pages[total] = _with_form(pages[total], form)
            warnings = (
                *reader.warnings(),
                *reread.warnings(),
                *_warnings_of(unreadable),
                *_hidden_warnings(laid_out.hidden),
                *lost_warnings,
                *form_warnings,
            )
            return ParsedDocument(tuple(pages[number] for number in sorted(pages)), warnings)


def _read_again(
    document: pdfium.PdfDocument,
    pages: Mapping[int, ParsedPage],
    reader: PageImageReader,
    options: ParseOptions,
    report_progress: ReportProgress,
) -> RereadPages:
    """Read the pages by OCR for which it is requested, unless nothing is there to read them."""
    if options.page_reading is PageReading.AUTO or not reader.can_read():
        return RereadPages()

    def read_page(page_number: int) -> ParsedPage:
        try:
            with closing(document[page_number - 1]) as page:
                return reader.read(page_number, rendered(page))
        except (pdfium.PdfiumError, UnicodeError):
            return ParsedPage(page_number, "")

    return read_again(
        pages, options.page_reading, read_page, seconds=options.reread_seconds, report_progress=report_progress
    )


def _hand_over_attachments(document: pdfium.PdfDocument, parts: PartSink) -> None:
    for index in range(document.count_attachments()):
        try:
            attachment = document.get_attachment(index)
            name = str(attachment.get_name())
        except (pdfium.PdfiumError, UnicodeError):
            parts.refuse(f"attachment {index + 1}", "damaged")
            continue
        try:
            content = bytes(attachment.get_data())
        except (pdfium.PdfiumError, ValueError):
            parts.refuse(name, "damaged")
        else:
            parts.add(name, (content,))


def _warnings_of(unreadable: list[int]) -> tuple[str, ...]:
    if not unreadable:
        return ()
    return (f"{len(unreadable)} damaged page(s) could not be read: {_listed(unreadable)}.",)


def _hidden_warnings(hidden: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    if not hidden:
        return ()
    count, pages = sum(map(len, hidden.values())), _listed(sorted(hidden))
    kinds = "white on white, transparent, too small, clipped, in a layer that is off, or off the page"
    return (f"{count} hidden word(s) ({kinds}) were left out on page(s) {pages}.",)


def _written_pages(laid_out: LaidOutDocument, raw: Mapping[int, str]) -> tuple[dict[int, ParsedPage], tuple[str, ...]]:
    """Write the pages, each with the lines that its layout lacks at its end, and a warning with their words."""
    pages: dict[int, ParsedPage] = {}
    lost: dict[int, int] = {}
    for number, layout in laid_out.pages.items():
        pages[number], count = with_lost_lines(written(layout), raw[number], laid_out.hidden.get(number, ()))
        if count:
            lost[number] = count
    if not lost:
        return pages, ()
    listed = _listed(sorted(lost))
    return pages, (f"{sum(lost.values())} word(s) without a place in the layout stand at the end of page(s) {listed}.",)


def _listed(pages: Sequence[int]) -> str:
    return ", ".join(map(str, pages[:20])) + (", …" if len(pages) > 20 else "")


def _pages_of_unicode_strings(path: Path, pages: Mapping[int, ParsedPage]) -> dict[int, ParsedPage]:
    """Return the empty pages whose text pdfium cannot read for want of a font."""
    empty = [number for number, page in pages.items() if not page.text and page.source is TextSource.EMBEDDED]
    texts = texts_of_pages(path, empty) if empty else {}
    return {number: _plain_page(number, unicodedata.normalize("NFKC", text)) for number, text in texts.items()}


def _xfa_page(document: pdfium.PdfDocument, path: Path) -> tuple[ParsedPage | None, tuple[str, ...]]:
    """Return the values of an XFA form as a page, with a warning."""
    if document.get_formtype() not in {pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND}:
        return None, ()
    values = xfa_values(path)
    builder = TextBuilder()
    for value in values:
        builder.paragraph(value)
    found = f"its {len(values)} value(s) follow the last page" if values else "no value was found in it"
    warning = f"The PDF holds an XFA form, which few viewers show: {found}. Print it to a PDF to have it read as shown."
    return (builder.page(0) if values else None), (warning,)


def _with_form(page: ParsedPage, form: ParsedPage) -> ParsedPage:
    """Add the values of an XFA form below the last page."""
    before = f"{page.text}\n\n" if page.text else ""
    blocks = (*page.blocks, *(block.moved(len(before)) for block in form.blocks))
    return replace(page, text=before + form.text, blocks=blocks)


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
        # pdfium's wrapper resolves paths; a decrypted copy has no name to resolve to.
        document = FormDocument(path if path.resolve().exists() else path.read_bytes())
        if _page_count(document) > 0:
            return document
        document.close()
    except pdfium.PdfiumError as error:
        if error.err_code in {pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY}:
            raise needs_password("PDF") from error
    return _mended(path)


def _page_count(document: pdfium.PdfDocument) -> int:
    """Return the number of pages, with the values of form fields loaded: that must come before any page."""
    with suppress(pdfium.PdfiumError):
        document.init_forms()
    return len(document)


def _mended(path: Path) -> pdfium.PdfDocument:
    # pdfium opened 1 of 29 truncated files, pikepdf (qpdf) 26: it rebuilds the table of objects.
    try:
        repaired = io.BytesIO()
        with pikepdf.open(path, suppress_warnings=True) as source:
            source.save(repaired)
        document = FormDocument(repaired.getvalue())
        _page_count(document)
        return document
    except pikepdf.PasswordError as error:
        raise needs_password("PDF") from error
    except (pikepdf.PdfError, pdfium.PdfiumError, ValueError) as error:
        raise CorruptFileError(f"The PDF is damaged beyond repair ({error}): upload an undamaged copy.") from error


@dataclass(frozen=True, slots=True)
class _Reading:
    """The document being read, with its readers and its layout."""

    document: pdfium.PdfDocument
    reader: PageImageReader
    layout: DocumentLayout
    figures: FigureFinder | None
    layers: Layers


def _read_page(reading: _Reading, page_number: int) -> ParsedPage | str:
    """Read a page: give it to the layout and return its characters, unless it is a scan or cannot be laid out."""
    with closing(reading.document[page_number - 1]) as page, closing(page.get_textpage()) as text_page:
        raw = text_page.get_text_range()
        if mostly_unmapped(text_page, raw):
            return _read_scan(page, page_number, reading.reader)
        is_nearly_empty = len(_BLANKS.sub("", join_hyphenated(raw))) < FEW_CHARACTERS
        if is_nearly_empty and not has_fields(page) and _has_image(page):
            return _with_stamp(_read_scan(page, page_number, reading.reader), _plain_text(text_page, raw))
        raw_page = read_page(page, text_page, page_number, reading.layers)
        if raw_page is None:
            return _plain_page(page_number, _plain_text(text_page, raw))
        reading.layout.add(raw_page)
        if reading.figures is not None:
            reading.figures.look_at(page, page_number)
        values = [word.text for word in raw_page.fields]
        comments = (text for text, _ in raw_page.comments)
        return "\n".join([mend_ligatures(text_page, raw), *values, *comments])


def _plain_text(text_page: pdfium.PdfTextPage, raw: str) -> str:
    """Return a page's text in pdfium's own order."""
    text = join_hyphenated(mend_ligatures(text_page, raw))
    # Compatibility forms (ligatures, presentation forms, full width) never match typed text.
    return unicodedata.normalize("NFKC", text)


def _plain_page(page_number: int, text: str) -> ParsedPage:
    """Return a page that is not laid out."""
    builder = TextBuilder()
    builder.paragraph(text)
    return builder.page(page_number)


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
