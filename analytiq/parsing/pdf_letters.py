"""Where the letters of a PDF's pages stand: by pdfium's boxes of characters, or by OCR's boxes of words."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types; its answers are given types where they enter this module.

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.models.geometry import NO_PLACE, PARTS, PageLetters, Place
from analytiq.parsing.base import ParseOptions, ReportProgress
from analytiq.parsing.letters import LetterGatherer, bare_letters, clusters, place_of
from analytiq.parsing.page_images import PageImageReader
from analytiq.parsing.pdf import PageKind, kind_of, opened, plain_text, rendered
from analytiq.parsing.pdf_characters import join_hyphenated, mend_ligatures

LARGEST_LOOSE_SHARE = 4.0
"""A box of the font's full height that is so many times as high as the letter itself is a font's wrong word on it."""


class PdfLetters:
    """Reads a page as `PdfParser` does, and keeps the places."""

    def read_letters(
        self, path: Path, options: ParseOptions, page_numbers: Sequence[int], report_progress: ReportProgress
    ) -> tuple[PageLetters, ...]:
        """The pages that there are and that can be read."""
        reader = PageImageReader(options)
        found: list[PageLetters] = []
        with opened(path) as document, closing(reader):
            for done, page_number in enumerate(page_numbers, start=1):
                if page_number <= len(document):
                    try:
                        found.append(_read(document, page_number, reader))
                    except (pdfium.PdfiumError, UnicodeError):
                        continue  # it was left empty when the text was extracted
                report_progress(done, len(page_numbers))
        return tuple(found)


def _read(document: pdfium.PdfDocument, page_number: int, reader: PageImageReader) -> PageLetters:
    with closing(document[page_number - 1]) as page, closing(page.get_textpage()) as text_page:
        raw = text_page.get_text_range()
        text = plain_text(text_page, raw)
        kind = kind_of(page, text_page, raw, text)
        gathered = LetterGatherer()
        if kind is not PageKind.TEXT and reader.can_read():
            gathered.add_words(reader.recognize(rendered(page)).words)
        if kind is PageKind.TEXT or (kind is PageKind.STAMPED_PICTURE and bare_letters(text) not in gathered.letters):
            _add_characters(page, text_page, raw, gathered)
        return gathered.page(page_number)


def _add_characters(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, raw: str, gathered: LetterGatherer) -> None:
    # The same letters in another order share one box, so that mending moves no place.
    mended = mend_ligatures(text_page, raw)
    places = list(_places(page, text_page, raw))
    for start, end in clusters(mended):
        gathered.add(join_hyphenated(mended[start:end]), _around(places[start:end]))


def _places(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, raw: str) -> Iterator[Place]:
    """The place of each character of the text; none where pdfium's two ways of counting disagree."""
    unit = 0
    total = text_page.count_chars()
    for character in raw:
        index = pdfium_c.FPDFText_GetCharIndexFromTextIndex(text_page, unit)
        unit += 2 if character > "\uffff" else 1
        if character.isspace() or not 0 <= index < total:
            yield NO_PLACE
        else:
            yield _shown(page, _box(text_page, index, character))


def _box(text_page: pdfium.PdfTextPage, index: int, character: str) -> tuple[float, float, float, float]:
    """Left, bottom, right and top in the page's own points; of the font's height, so that a line is even."""
    tight = cast("tuple[float, float, float, float]", text_page.get_charbox(index))
    loose = cast("tuple[float, float, float, float]", text_page.get_charbox(index, loose=True))
    tight_height, loose_height = tight[3] - tight[1], loose[3] - loose[1]
    is_degenerate = loose[2] <= loose[0] or loose_height <= 0
    if is_degenerate or (character.isalnum() and 0 < tight_height * LARGEST_LOOSE_SHARE < loose_height):
        return tight
    return loose


def _shown(page: pdfium.PdfPage, box: tuple[float, float, float, float]) -> Place:
    """On the page as it is shown: cut to its visible part, and turned by its rotation."""
    first, second = _point(page, box[0], box[1]), _point(page, box[2], box[3])
    left, right = sorted((first[0], second[0]))
    top, bottom = sorted((first[1], second[1]))
    return place_of(left / PARTS, top / PARTS, right / PARTS, bottom / PARTS)


def _point(page: pdfium.PdfPage, x: float, y: float) -> tuple[int, int]:
    shown_x, shown_y = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page, 0, 0, PARTS, PARTS, 0, x, y, ctypes.byref(shown_x), ctypes.byref(shown_y))
    return shown_x.value, shown_y.value


def _around(places: Sequence[Place]) -> Place:
    known = [place for place in places if place != NO_PLACE]
    if not known:
        return NO_PLACE
    lefts, tops, rights, bottoms = zip(*known, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))
