"""Ruling lines, and the shades of rows, from a page's paths."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.ingestion.parsing.pdf_layout.colors import is_painted_white
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Edge
from analytiq.ingestion.parsing.pdf_layout.turning import Turning

MAX_PATHS = 20_000
"""Most paths of a page that are looked at; a map has a million."""
MAX_SEGMENTS = 4_000
THIN = 3.0
"""Widest path, in points, that counts as a line."""
STRAIGHT = 1.5
"""Largest deviation of a straight line, in points."""
TOUCHING = 3.0
DOT = (1.5, 8.0)
"""Least and greatest width and height, in points, of a bullet that is drawn as a shape."""
MAX_DOTS = 500
"""Most bullets of a page; a page with more dots is a plot."""

Point = tuple[float, float]


@dataclass(slots=True)
class PageRules:
    """The lines and shades of a page, with the text upright.

    Attributes:
        across: horizontal lines.
        down: vertical lines, as edges whose `y` is the x of the line.
        edges: horizontal lines, and the upper and lower edges of shades.
        grounds: areas that are not white, on which white letters are visible.
        dots: small round or square shapes, which may be the bullets of a list.
    """

    across: list[Edge] = field(default_factory=list[Edge])
    down: list[Edge] = field(default_factory=list[Edge])
    edges: list[Edge] = field(default_factory=list[Edge])
    grounds: list[Bounds] = field(default_factory=list[Bounds])
    dots: list[Bounds] = field(default_factory=list[Bounds])


def rules_of(page: pdfium.PdfPage, turning: Turning) -> PageRules:
    """Read the lines and shades of a page."""
    reader = _RulesReader(turning)
    kinds = [pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_SHADING]
    objects = cast("Iterator[Any]", page.get_objects(filter=kinds, max_depth=2))
    for page_object in islice(objects, MAX_PATHS):
        reader.read(page_object)
    rules = reader.rules
    rules.across, rules.down = joined(rules.across), joined(rules.down)
    rules.edges = joined(rules.edges + rules.across)
    return rules


def joined(edges: Sequence[Edge]) -> list[Edge]:
    """Join touching edges at one height: lines and shades are often drawn cell by cell."""
    out: list[Edge] = []
    for edge in sorted((Edge(round(edge.y), edge.x0, edge.x1) for edge in edges), key=lambda e: (e.y, e.x0, e.x1)):
        if out and out[-1].y == edge.y and edge.x0 - out[-1].x1 < TOUCHING:
            out[-1] = Edge(edge.y, out[-1].x0, max(edge.x1, out[-1].x1))
        else:
            out.append(edge)
    return out


class _RulesReader:
    """Collects lines and shades, one page object after the other."""

    def __init__(self, turning: Turning) -> None:
        self._turning = turning
        self.rules = PageRules()
        self._x, self._y = ctypes.c_float(), ctypes.c_float()

    def read(self, page_object: Any) -> None:
        raw = page_object.raw
        edges = [ctypes.c_float() for _ in range(4)]
        if not pdfium_c.FPDFPageObj_GetBounds(raw, *map(ctypes.byref, edges)):
            return
        form = _matrix_of(page_object.container.raw) if page_object.container is not None else None
        area = _mapped(form, Bounds(*(edge.value for edge in edges)))
        if page_object.type != pdfium_c.FPDF_PAGEOBJ_PATH:
            self.rules.grounds.append(self._turning.bounds(area))
            return
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDFPath_GetDrawMode(raw, ctypes.byref(fill), ctypes.byref(stroke))
        if not fill.value and not stroke.value:
            return
        width, height = area.x1 - area.x0, area.y1 - area.y0
        if _is_dot(width, height) and len(self.rules.dots) < MAX_DOTS:
            self.rules.dots.append(self._turning.bounds(area))
        if height < THIN < width:
            self._line((area.x0, (area.y0 + area.y1) / 2), (area.x1, (area.y0 + area.y1) / 2))
        elif width < THIN < height:
            self._line(((area.x0 + area.x1) / 2, area.y0), ((area.x0 + area.x1) / 2, area.y1))
        else:
            if fill.value and height > THIN and width > THIN:
                self._shade(raw, self._turning.bounds(area))
            if stroke.value:
                self._outline(raw, form)

    def _shade(self, raw: Any, area: Bounds) -> None:
        self.rules.edges += (Edge(area.y0, area.x0, area.x1), Edge(area.y1, area.x0, area.x1))
        if not is_painted_white(raw):
            self.rules.grounds.append(area)

    def _outline(self, raw: Any, form: Any) -> None:
        matrix = _matrix_of(raw)
        before: Point | None = None
        start: Point | None = None
        for index in range(min(pdfium_c.FPDFPath_CountSegments(raw), MAX_SEGMENTS)):
            segment = pdfium_c.FPDFPath_GetPathSegment(raw, index)
            pdfium_c.FPDFPathSegment_GetPoint(segment, ctypes.byref(self._x), ctypes.byref(self._y))
            point = _moved(form, *_moved(matrix, self._x.value, self._y.value))
            kind = pdfium_c.FPDFPathSegment_GetType(segment)
            if kind == pdfium_c.FPDF_SEGMENT_MOVETO:
                start = point
            elif kind == pdfium_c.FPDF_SEGMENT_LINETO and before is not None:
                self._line(before, point)
            if start is not None and pdfium_c.FPDFPathSegment_GetClose(segment):
                self._line(point, start)
            before = point

    def _line(self, one: Point, other: Point) -> None:
        (x0, y0), (x1, y1) = self._turning.point(*one), self._turning.point(*other)
        if abs(y1 - y0) < STRAIGHT and abs(x1 - x0) > THIN:
            self.rules.across.append(Edge((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif abs(x1 - x0) < STRAIGHT and abs(y1 - y0) > THIN:
            self.rules.down.append(Edge((x0 + x1) / 2, min(y0, y1), max(y0, y1)))


def _is_dot(width: float, height: float) -> bool:
    return DOT[0] <= width <= DOT[1] and DOT[0] <= height <= DOT[1] and abs(width - height) <= 0.3 * max(width, height)


def _matrix_of(raw: Any) -> Any:
    matrix = pdfium_c.FS_MATRIX()
    return matrix if pdfium_c.FPDFPageObj_GetMatrix(raw, ctypes.byref(matrix)) else None


def _moved(matrix: Any, x: float, y: float) -> Point:
    if matrix is None:
        return x, y
    return matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f


def _mapped(matrix: Any, area: Bounds) -> Bounds:
    """Return a rectangle of a form on its page."""
    if matrix is None:
        return area
    corners = [_moved(matrix, x, y) for x in (area.x0, area.x1) for y in (area.y0, area.y1)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return Bounds(min(xs), min(ys), max(xs), max(ys))
