"""Invisible words of OpenDocument files: white on white, too small, in hidden shapes, or beside the slide.

Styles, pages and shapes state colors and places. What stands on a ground that may be painted counts as seen.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from analytiq.ingestion.parsing.completeness import count_words
from analytiq.ingestion.parsing.odf_styles import attribute, local_name
from analytiq.ingestion.parsing.xml_part import Element

SMALLEST = 1.5
"""Least size of letters that can be read, in points."""
NEARLY_WHITE = 247
_MOST_PARENTS = 20
_FAMILIES = {
    "p": "paragraph", "h": "paragraph", "span": "text", "a": "text", "section": "section", "table": "table",
    "table-row": "table-row", "table-cell": "table-cell",
}  # fmt: skip
_SHAPES = frozenset(
    {"frame", "custom-shape", "rect", "circle", "ellipse", "polygon", "path", "regular-polygon", "caption", "connector"}
)
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?)(cm|mm|in|pt|pc|px)")
_POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}

_Key = tuple[str, str]
_Columns = tuple[list[int], list[str]]
_NO_COLUMNS: _Columns = ([], [])


@dataclass(frozen=True, slots=True)
class _Stated:
    """The colours and size that a style states for its words; None for those that it leaves to others."""

    is_white: bool | None = None
    is_small: bool | None = None
    is_painted: bool | None = None

    def over(self, before: "_Stated") -> "_Stated":
        return _Stated(
            before.is_white if self.is_white is None else self.is_white,
            before.is_small if self.is_small is None else self.is_small,
            before.is_painted if self.is_painted is None else self.is_painted,
        )


_PLAIN = _Stated(is_white=False, is_small=False, is_painted=False)
_PAINTED = _Stated(is_painted=True)


@dataclass(slots=True)
class OdfSight:
    """Tells the visible words of a document from the unseen.

    Attributes:
        hidden_words: the number of words that were removed.
        hidden_slides: the numbers of the slides that a show leaves out.
    """

    hidden_words: int = 0
    hidden_slides: list[int] = field(default_factory=list[int])
    _styles: dict[_Key, _Stated] = field(default_factory=dict[_Key, _Stated])
    _hidden_pages: set[str] = field(default_factory=set[str])
    _hidden_tables: set[str] = field(default_factory=set[str])
    _painted_masters: set[str] = field(default_factory=set[str])
    _sizes: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def read_styles(self, roots: Iterable[Element]) -> None:
        """Read the styles and master pages of the part of styles, then those of the content part."""
        roots = list(roots)
        stated: dict[_Key, _Stated] = {}
        parents: dict[_Key, _Key] = {}
        for style in (style for root in roots for style in root.iter("{*}style", "{*}default-style")):
            key = (attribute(style, "family"), attribute(style, "name"))
            above = attribute(style, "parent-style-name")
            parents[key] = (key[0], above)
            stated[key] = _stated_by(style)
            if key[0] == "drawing-page" and _states(style, "visibility", "hidden"):
                self._hidden_pages.add(key[1])
            if key[0] == "table" and _states(style, "display", "false"):
                self._hidden_tables.add(key[1])
        for key in stated:
            self._styles[key] = _resolved(key, stated, parents)
        for root in roots:
            self._read_masters(root)

    def _read_masters(self, root: Element) -> None:
        layouts: dict[str, tuple[float, float]] = {}
        for layout in root.iter("{*}page-layout"):
            for properties in layout.iterchildren("{*}page-layout-properties"):
                layouts[attribute(layout, "name")] = (
                    _points(attribute(properties, "page-width")) or 0.0,
                    _points(attribute(properties, "page-height")) or 0.0,
                )
                if _is_painting(properties):
                    self._painted_masters.add(attribute(layout, "name"))
        for master in root.iter("{*}master-page"):
            name, layout = attribute(master, "name"), attribute(master, "page-layout-name")
            self._sizes[name] = layouts.get(layout, (0.0, 0.0))
            is_painted = layout in self._painted_masters or next(master.iter("{*}image"), None) is not None
            if is_painted or self._paints("drawing-page", master) or self._has_painted_shape(master):
                self._painted_masters.add(name)

    def remove_unseen(self, content: Element) -> None:
        """Remove the invisible words of a document's content, and count them."""
        if local_name(content) != "presentation":
            is_painted = local_name(content) == "text" and bool(self._painted_masters)
            self._walk(content, replace(_PLAIN, is_painted=is_painted))
            return
        for number, slide in enumerate(content.iterchildren("{*}page"), start=1):
            if attribute(slide, "style-name") in self._hidden_pages:
                self.hidden_slides.append(number)
            master = attribute(slide, "master-page-name")
            self._remove_beside(slide, *self._sizes.get(master, (0.0, 0.0)))
            has_picture = next(slide.iter("{*}image"), None) is not None
            is_painted = has_picture or master in self._painted_masters or self._has_painted_shape(slide)
            self._walk(slide, replace(_PLAIN, is_painted=is_painted or self._paints("drawing-page", slide)))

    def _remove_beside(self, slide: Element, width: float, height: float) -> None:
        for shape in list(slide):
            place = [_points(attribute(shape, name)) for name in ("x", "y", "width", "height")]
            left, top, across, down = (0.0 if length is None else length for length in place)
            is_behind = width > 0 and (left >= width or top >= height)
            if None not in place and (is_behind or left + across <= 0 or top + down <= 0):
                self._remove(shape)

    def _walk(self, root: Element, look: _Stated) -> None:
        for shape in list(root.iter(*(f"{{*}}{name}" for name in _SHAPES))):
            if attribute(shape, "display") == "none":
                self._remove(shape)
        if not any(style.is_white or style.is_small for style in self._styles.values()):
            return
        waiting = [(root, look)]
        columns: dict[Element, _Columns] = {}
        while waiting:
            element, look = waiting.pop()
            name = local_name(element)
            if not name or self._is_left_out(element, name):
                continue
            if name == "table":
                columns[element] = _column_styles(element)
            if name == "table-row":
                waiting += self._cells(element, columns, look)
                continue
            look = self._look(element, name, look)
            if _is_unseen(look):
                self._clear(element)
            waiting += [(child, look) for child in element]

    def _is_left_out(self, element: Element, name: str) -> bool:
        """Return True for what other readers leave out, and count."""
        if name == "table-row":
            return attribute(element, "visibility") in {"collapse", "filter"}
        is_hidden = name == "table" and attribute(element, "style-name") in self._hidden_tables
        return is_hidden or name in {"tracked-changes", "forms"}

    def _look(self, element: Element, name: str, before: _Stated) -> _Stated:
        if name in _SHAPES:
            style = attribute(element, "style-name")
            own = self._styles.get(("graphic", style)) or self._styles.get(("presentation", style)) or _Stated()
            if own.is_painted is None and name != "frame":
                own = replace(own, is_painted=True)
            return own.over(replace(_PLAIN, is_painted=before.is_painted))
        if name in {"note", "annotation"}:
            return _PLAIN
        family = _FAMILIES.get(name)
        return before if family is None else self._styled(family, attribute(element, "style-name"), before)

    def _styled(self, family: str, style: str, before: _Stated) -> _Stated:
        stated = self._styles.get((family, style)) or self._styles.get((family, "")) or _Stated()
        return stated.over(before)

    def _cells(
        self, row: Element, columns: dict[Element, _Columns], before: _Stated
    ) -> Iterator[tuple[Element, _Stated]]:
        """Yield what stands in each cell; a cell without a style has that of its row or its column."""
        look = self._styled("table-row", attribute(row, "style-name"), before)
        table = next(row.iterancestors("{*}table"), None)
        by_column = columns[table] if table is not None and table in columns else _NO_COLUMNS
        of_row = attribute(row, "default-cell-style-name")
        may_hide = _is_unseen(self._styled("paragraph", "", self._styled("table-cell", "", look)))
        place = 0
        for cell in row:
            style = attribute(cell, "style-name") or of_row or _style_of(place, by_column)
            if style or len(cell) != 1 or len(cell[0]) or cell[0].attrib or may_hide:
                inside = self._styled("table-cell", style, look)
                yield from ((child, inside) for child in cell)
            place += _times(cell)

    def _clear(self, element: Element) -> None:
        """Remove the text of an element, but not that of the elements within it."""
        texts = [element.text, *(child.tail for child in element)]
        self.hidden_words += sum(count_words(text) for text in texts if text)
        element.text = None
        for child in element:
            child.tail = None

    def _remove(self, element: Element) -> None:
        parent = element.getparent()
        if parent is not None:
            self.hidden_words += sum(count_words(str(text)) for text in element.itertext())
            before = element.getprevious()
            if element.tail and before is not None:
                before.tail = (before.tail or "") + element.tail
            elif element.tail:
                parent.text = (parent.text or "") + element.tail
            parent.remove(element)

    def _paints(self, family: str, element: Element) -> bool:
        return bool(self._styles.get((family, attribute(element, "style-name")), _Stated()).is_painted)

    def _has_painted_shape(self, page: Element) -> bool:
        return any(
            self._look(shape, local_name(shape), _PLAIN).is_painted
            for shape in page.iter()
            if local_name(shape) in _SHAPES
        )


def _is_unseen(look: _Stated) -> bool:
    return bool(look.is_small or (look.is_white and not look.is_painted))


def _stated_by(style: Element) -> _Stated:
    stated = _Stated()
    # Conditions and charts of a cell paint by other rules.
    if next(style.iterchildren("{*}map"), None) is not None:
        stated = _PAINTED
    for properties in style.iterchildren():
        if local_name(properties) == "text-properties":
            stated = _text_properties(properties).over(stated)
        painting = _is_painting(properties)
        if painting is not None and stated.is_painted is not True:
            stated = replace(stated, is_painted=painting)
    return stated


def _text_properties(properties: Element) -> _Stated:
    color, size = attribute(properties, "color"), _points(attribute(properties, "font-size"))
    is_white = _is_white(color) if color else None
    if attribute(properties, "use-window-font-color") == "true":
        is_white = False
    return _Stated(is_white=is_white, is_small=None if size is None else size < SMALLEST)


def _is_painting(properties: Element) -> bool | None:
    """Return True if a style paints its ground in another color than white, None if it says nothing."""
    fill, ground = attribute(properties, "fill"), attribute(properties, "background-color")
    if fill:
        return fill != "none" and not (fill == "solid" and _is_white(attribute(properties, "fill-color")))
    if next(properties.iterchildren("{*}background-image"), None) is not None and len(properties[0].attrib):
        return True
    return None if ground in {"", "transparent"} else not _is_white(ground)


def _is_white(color: str) -> bool:
    digits = color.removeprefix("#")
    if len(digits) != 6 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return color == "white"
    return all(int(digits[at : at + 2], 16) >= NEARLY_WHITE for at in (0, 2, 4))


def _resolved(key: _Key, stated: dict[_Key, _Stated], parents: dict[_Key, _Key]) -> _Stated:
    """Return a style with what its parents say, at last the default style of its family, whose name is empty."""
    found, above = stated[key], key
    for _ in range(_MOST_PARENTS):
        above = parents.get(above, ("", ""))
        if above not in stated:
            break
        found = found.over(stated[above])
    return found.over(stated.get((key[0], ""), _Stated()))


def _states(style: Element, name: str, value: str) -> bool:
    return any(attribute(properties, name) == value for properties in style.iterchildren())


def _column_styles(table: Element) -> _Columns:
    """Return the runs of columns with one default style: where each ends, and its style."""
    ends: list[int] = []
    styles: list[str] = []
    for column in table.iterfind(".//{*}table-column"):
        ends.append((ends[-1] if ends else 0) + _times(column))
        styles.append(attribute(column, "default-cell-style-name"))
    return ends, styles


def _style_of(column: int, runs: _Columns) -> str:
    place = bisect_right(runs[0], column)
    return runs[1][place] if place < len(runs[1]) else ""


def _times(element: Element) -> int:
    repeated = attribute(element, "number-columns-repeated")
    return int(repeated) if repeated.isdecimal() and len(repeated) < 6 else 1


def _points(length: str) -> float | None:
    found = _LENGTH.fullmatch(length)
    return float(found[1]) * _POINTS[found[2]] if found else None
