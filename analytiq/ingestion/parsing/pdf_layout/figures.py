"""Figures of a PDF: its pictures as displayed, each with whatever is drawn over it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.ingestion.parsing.figures import Pictures
from analytiq.ingestion.parsing.pdf_layout.frames import PageFrame
from analytiq.ingestion.parsing.pdf_layout.model import Bounds
from analytiq.ingestion.parsing.pdf_layout.turning import Turning
from analytiq.models.boxes import Box
from analytiq.models.pictures import Figure
from analytiq.models.text import ParsedPage

MOST_OBJECTS = 60
"""Most pictures of a page that are looked at; a map may be made of thousands."""
MOST_FIGURES = 300
"""Most figures of a document that are remembered; fewer are drawn."""
LEAST_POINTS = 36
"""Least side of a figure, half an inch."""
LEAST_SHARE = 0.008
"""Least share of the page."""
BACKGROUND_SHARE = 0.85
"""A picture this large lies behind the words of its page: a scan with a layer of text, or a slide's background."""
REPEATS = 3
"""A picture at one place of this many pages is a logo."""
TOUCHING = 0.004
"""Gap between the pieces of one picture, as a share of the page."""
DOTS_PER_INCH = 200
LONGEST_SIDE_PIXELS = 1_568


@dataclass(frozen=True, slots=True)
class _Found:
    page_number: int
    box: Box
    signature: tuple[object, ...]


class FigureFinder:
    """Looks at the pages of a document one after the other, then draws what it has found."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._found: list[_Found] = []
        self._pages_with: Counter[tuple[object, ...]] = Counter()

    def look_at(self, page: pdfium.PdfPage, page_number: int) -> None:
        """Note the figures of a page."""
        frame = PageFrame(Bounds(*page.get_bbox()), Turning(), page.get_rotation())
        width, height = page.get_size()
        objects = cast("Iterator[Any]", page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=2))
        clusters: list[tuple[Box, tuple[object, ...]]] = []
        for image in islice(objects, MOST_OBJECTS):
            box = frame.box_of_page(_bounds_of(image))
            if box is not None and _share(box) < BACKGROUND_SHARE:
                _join(clusters, box, _signature(image, box))
        signatures: set[tuple[object, ...]] = set()
        for box, signature in clusters:
            sides = (box.right - box.left) * width, (box.bottom - box.top) * height
            if min(sides) >= LEAST_POINTS and _share(box) >= LEAST_SHARE:
                signatures.add(signature)
                if len(self._found) < MOST_FIGURES:
                    self._found.append(_Found(page_number, box, signature))
        self._pages_with.update(signatures)

    def placed(self, document: pdfium.PdfDocument, pages: Mapping[int, ParsedPage]) -> dict[int, ParsedPage]:
        """Return the pages that have figures, with these."""
        placed: dict[int, ParsedPage] = {}
        for found in self._found:
            if self._pages_with[found.signature] >= REPEATS:
                continue
            number = found.page_number
            key = self._pictures.add_figure(f"page {number}: {found.box}", _drawing(document, found))
            if key is not None:
                page = placed.get(number, pages[number])
                figures = (*page.figures, Figure(key, position_of(page, found.box)))
                placed[number] = replace(page, figures=figures)
        return placed


def position_of(page: ParsedPage, box: Box) -> int:
    """Return the place for a figure in a page's text: behind the last block above it in its column."""
    middle = (box.top + box.bottom) / 2
    position = 0
    for block in page.blocks:
        above = block.box
        if above is None or not (above.left < box.right and box.left < above.right):
            continue
        if (above.top + above.bottom) / 2 < middle and above.top <= box.top:
            position = block.end
    return position


def _drawing(document: pdfium.PdfDocument, found: _Found) -> Callable[[], bytes]:
    def draw() -> bytes:
        with closing(document[found.page_number - 1]) as page:
            width, height = page.get_size()
            box = found.box
            crop = (box.left * width, (1 - box.bottom) * height, (1 - box.right) * width, box.top * height)
            longest = max((box.right - box.left) * width, (box.bottom - box.top) * height)
            scale = min(DOTS_PER_INCH / 72, LONGEST_SIDE_PIXELS / longest)
            render = cast("Callable[..., pdfium.PdfBitmap]", page.render)
            with closing(render(scale=scale, crop=crop)) as bitmap:
                target = io.BytesIO()
                bitmap.to_pil().save(target, "BMP")
                return target.getvalue()

    return draw


def _bounds_of(image: Any) -> Bounds:
    """Return the place of a picture in the page's own coordinates, also within a form."""
    left, bottom, right, top = image.get_bounds()
    if image.container is not None:
        left, bottom, right, top = image.container.get_matrix().on_rect(left, bottom, right, top)
    return Bounds(left, bottom, right, top)


def _signature(image: Any, box: Box) -> tuple[object, ...]:
    """Return what tells a picture apart cheaply: the length of its data, its size, its place."""
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium_c.FPDFImageObj_GetImagePixelSize(image.raw, ctypes.byref(width), ctypes.byref(height))
    length = pdfium_c.FPDFImageObj_GetImageDataRaw(image.raw, None, 0)
    place = tuple(round(side, 2) for side in (box.left, box.top, box.right, box.bottom))
    return (length, width.value, height.value, place)


def _join(clusters: list[tuple[Box, tuple[object, ...]]], box: Box, signature: tuple[object, ...]) -> None:
    """Add a picture to the clusters, as one with all that it touches: pictures are often stored in strips."""
    apart: list[tuple[Box, tuple[object, ...]]] = []
    for other, others in clusters:
        if _touch(box, other):
            box = Box(
                min(box.left, other.left),
                min(box.top, other.top),
                max(box.right, other.right),
                max(box.bottom, other.bottom),
            )
            signature = (*others, *signature)
        else:
            apart.append((other, others))
    clusters[:] = [*apart, (box, signature)]


def _touch(one: Box, other: Box) -> bool:
    return (
        one.left - TOUCHING < other.right
        and other.left - TOUCHING < one.right
        and one.top - TOUCHING < other.bottom
        and other.top - TOUCHING < one.bottom
    )


def _share(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)
