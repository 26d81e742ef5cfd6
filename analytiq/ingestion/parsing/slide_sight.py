"""Invisible words of slides: white on a white slide, too small, transparent, or beside the slide."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from zipfile import ZipFile

from analytiq.ingestion.parsing.completeness import count_words
from analytiq.ingestion.parsing.open_xml import relations
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

SMALLEST = 150
"""Least size of letters that can be read, in hundredths of a point."""
NEARLY_WHITE = 247
LEAST_ALPHA = 5_000
"""Least opacity, in thousandths of a per cent."""
_FILLS = ("{*}solidFill", "{*}gradFill", "{*}pattFill", "{*}blipFill")
_SHAPES = ("{*}sp", "{*}pic", "{*}graphicFrame", "{*}cxnSp")
_WHITE_NAMES = frozenset({"bg1", "lt1"})
_TITLES = frozenset({"title", "ctrTitle"})

Area = tuple[int, int, int, int]
"""Left, top, right and bottom."""


@dataclass(slots=True)
class SlideSight:
    """Tell the visible words of a presentation's slides from the unseen.

    Attributes:
        width: of a slide, 0 if unknown.
        height: likewise.
        hidden_words: the number of words that were removed.
    """

    width: int = 0
    height: int = 0
    hidden_words: int = 0
    _layouts: dict[str, list[Element]] = field(default_factory=dict[str, list[Element]])

    def remove_unseen(self, archive: ZipFile, part: str, root: Element) -> None:
        """Remove the invisible words of a slide, and count them."""
        behind = [root, *self._behind(archive, part)]
        is_white = all(map(_has_white_ground, behind))
        grounds = [area for one in behind for area in _painted(one)] if is_white else []
        for shape in list(root.iter(*_SHAPES)):
            area = _area_of(shape)
            if area is not None and self._is_beside(area) and not _is_title(shape):
                self._remove(shape)
                continue
            is_on_white = is_white and _has_tag(shape, "sp") and not _is_filled(shape) and not _is_on(area, grounds)
            self._remove_runs(shape, is_on_white=is_on_white)

    def _remove_runs(self, shape: Element, *, is_on_white: bool) -> None:
        for run in list(shape.iter("{*}r", "{*}fld")):
            properties = run.find("{*}rPr")
            if properties is not None and _is_unseen(properties, is_on_white=is_on_white):
                self._remove(run)

    def _remove(self, element: Element) -> None:
        parent = element.getparent()
        if parent is not None:
            self.hidden_words += sum(count_words(text.text or "") for text in element.iter("{*}t"))
            parent.remove(element)

    def _is_beside(self, area: Area) -> bool:
        left, top, right, bottom = area
        return self.width > 0 and (left >= self.width or top >= self.height or right <= 0 or bottom <= 0)

    def _behind(self, archive: ZipFile, part: str) -> list[Element]:
        """Return the layout and the master of a slide."""
        layout = next((one.part for one in relations(archive, part) if one.kind == "slideLayout"), None)
        if layout is None:
            return []
        if layout not in self._layouts:
            masters = [one.part for one in relations(archive, layout) if one.kind == "slideMaster"]
            self._layouts[layout] = [parsed_xml(archive.read(name)) for name in (layout, *masters)]
        return self._layouts[layout]


def _is_unseen(properties: Element, *, is_on_white: bool) -> bool:
    size = properties.get("sz", "")
    if size.isdecimal() and int(size) < SMALLEST:
        return True
    if properties.find("{*}noFill") is not None and properties.find("{*}ln") is None:
        return True
    fill = properties.find("{*}solidFill")
    if fill is None:
        return False
    alpha = next((one.get("val", "") for one in fill.iter("{*}alpha")), "")
    return (alpha.isdecimal() and int(alpha) < LEAST_ALPHA) or (is_on_white and _is_white(fill))


def _is_white(fill: Element) -> bool:
    """Return True for a plain white; names of colors mean white unless they are changed."""
    color = next(iter(fill), None)
    if color is None or any(True for _ in color.iterchildren("{*}lumMod", "{*}shade", "{*}lumOff")):
        return False
    value = color.get("lastClr") or color.get("val", "")
    if len(value) == 6 and all(letter in "0123456789ABCDEFabcdef" for letter in value):
        return all(int(value[at : at + 2], 16) >= NEARLY_WHITE for at in (0, 2, 4))
    return value in _WHITE_NAMES or value == "white"


def _has_white_ground(root: Element) -> bool:
    """Return True unless a slide, its layout or its master states another ground, or other meanings of colors."""
    colors = root.find("{*}clrMap")
    if colors is not None and colors.get("bg1") != "lt1":
        return False
    if root.find("{*}clrMapOvr/{*}overrideClrMapping") is not None:
        return False
    ground = root.find("{*}cSld/{*}bg")
    if ground is None:
        return True
    stated = ground.find("{*}bgRef")
    if stated is None:
        stated = ground.find("{*}bgPr/{*}solidFill")
    return stated is not None and _is_white(stated)


def _painted(root: Element) -> Iterator[Area | None]:
    """Yield the areas of pictures and of shapes with a fill; None for an area that is not stated."""
    for shape in root.iter(*_SHAPES):
        if not _has_tag(shape, "sp") or _is_filled(shape):
            yield _area_of(shape)


def _is_filled(shape: Element) -> bool:
    properties = shape.find("{*}spPr")
    if properties is not None:
        if any(True for _ in properties.iterchildren(*_FILLS)):
            return True
        if properties.find("{*}noFill") is not None:
            return False
    reference = shape.find("{*}style/{*}fillRef")
    return reference is not None and reference.get("idx", "0") != "0"


def _is_on(area: Area | None, grounds: list[Area | None]) -> bool:
    if area is None:
        return bool(grounds)
    left, top, right, bottom = area
    return any(
        ground is None or (ground[0] < right and ground[2] > left and ground[1] < bottom and ground[3] > top)
        for ground in grounds
    )


def _area_of(shape: Element) -> Area | None:
    """Return the place of a shape; None within a group, which has measures of its own."""
    parent = shape.getparent()
    place = shape.find("{*}spPr/{*}xfrm")
    if place is None:
        place = shape.find("{*}xfrm")
    if place is None or parent is None or not _has_tag(parent, "spTree"):
        return None
    offset, extent = place.find("{*}off"), place.find("{*}ext")
    if offset is None or extent is None:
        return None
    try:
        left, top = int(offset.get("x", "")), int(offset.get("y", ""))
        return left, top, left + int(extent.get("cx", "")), top + int(extent.get("cy", ""))
    except ValueError:
        return None


def _has_tag(element: Element, name: str) -> bool:
    return isinstance(element.tag, str) and element.tag.endswith(f"}}{name}")


def _is_title(shape: Element) -> bool:
    """Return True for a title: one above the slide names it for screen readers."""
    place = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return place is not None and place.get("type") in _TITLES
