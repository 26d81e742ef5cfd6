"""Pages that are images: conversion to a ParsedPage by OCR, if its data is installed."""

from collections.abc import Sequence

from analytiq.ingestion.ocr.base import GreyImage, OcrEngine
from analytiq.ingestion.ocr.registry import load_engine
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.figures import scans_wanted
from analytiq.models.boxes import PlacedText
from analytiq.models.text import ParsedPage, TextSource

RENDER_DOTS_PER_INCH = 200
"""100 to 300 dpi are read equally well (0.2 % wrong characters), 72 dpi far worse (5.4 %)."""
LOW_CONFIDENCE = 60
"""Of 100: upright pages that were read well scored 69 up, pages on their side 32."""
MAX_PAGE_PIXELS = 40_000_000
"""A grey page of this size is 40 MB and costs Tesseract several times that; A2 at 200 dpi has 15 million."""


class PageImageReader:
    """Reads the image pages of one document; the engine is created at the first of them."""

    def __init__(self, options: ParseOptions) -> None:
        self._options = options
        self._engine: OcrEngine | None = None
        self._unread: list[int] = []
        self._doubtful: list[int] = []

    def read(self, page_number: int, image: GreyImage) -> ParsedPage:
        """Recognize one page; without language data, return it empty and marked NEEDS_OCR."""
        engine = self._opened()
        if not engine.languages:
            scan = _scan_of(image)
            if not scan:
                self._unread.append(page_number)
            return ParsedPage(page_number, "", TextSource.NEEDS_OCR, scan=scan)
        read = engine.recognize(image)
        scan = "" if read.text and read.confidence >= LOW_CONFIDENCE else _scan_of(image)
        if read.text and read.confidence < LOW_CONFIDENCE and not scan:
            self._doubtful.append(page_number)
        return ParsedPage(page_number, read.text, TextSource.OCR, scan=scan)

    def place(self, image: GreyImage) -> tuple[PlacedText, ...]:
        """Return the words of one page with their positions; none without language data."""
        engine = self._opened()
        return engine.recognize(image, with_words=True).words if engine.languages else ()

    def can_read(self) -> bool:
        """Return True if rendering a page is worthwhile: a requested language has data, or a vision model reads it."""
        return bool(self._opened().languages) or scans_wanted() is not None

    def skip(self, page_number: int) -> ParsedPage:
        """Mark an image page that was not worth rendering."""
        self._unread.append(page_number)
        return ParsedPage(page_number, "", TextSource.NEEDS_OCR)

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings about the pages read so far."""
        doubts: tuple[str, ...] = ()
        if self._doubtful:
            doubts = (f"{describe_pages(self._doubtful)} read badly: compare the words with the page.",)
        if self._engine is None or self._engine.missing_data is None:
            return doubts
        if not self._unread:
            return (*doubts, self._engine.missing_data)
        return (*doubts, f"{describe_pages(self._unread)} not read. {self._engine.missing_data}")

    def close(self) -> None:
        """Free the engine."""
        if self._engine is not None:
            self._engine.close()

    def _opened(self) -> OcrEngine:
        if self._engine is None:
            make_engine = load_engine(self._options.ocr_engine)
            self._engine = make_engine(self._options.ocr_languages, data_dir=self._options.ocr_data_dir)
        return self._engine


def _scan_of(image: GreyImage) -> str:
    """Return the key of a page's picture for a vision model, "" if none reads it."""
    pictures = scans_wanted()
    return "" if pictures is None else pictures.add_scan(image)


def describe_pages(page_numbers: Sequence[int]) -> str:
    """Return `Page 3 is an image and was`, or `Pages 3-5, 9 are images and were`."""
    runs: list[tuple[int, int]] = []
    for number in page_numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    if len(page_numbers) == 1:
        return f"Page {listed} is an image and was"
    return f"Pages {listed} are images and were"


def scale_to_limit(width: float, height: float, scale: float) -> float:
    """Return the largest scale up to `scale` at which a page stays within MAX_PAGE_PIXELS."""
    pixels = width * height * scale * scale
    return scale if pixels <= MAX_PAGE_PIXELS else scale * (MAX_PAGE_PIXELS / pixels) ** 0.5
