"""The few styles that decide whether words are seen: inline styles, and simple rules of the page's own style sheets.

Rules of a class, an id or an element are followed; those inside of @media and longer selectors are not, since what
they hide depends on the screen and on scripts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from analytiq.ingestion.parsing.html_tree import Element

MAX_RULES = 20_000
ALMOST_EQUAL = 8
"""Greatest difference of each of red, green and blue (of 255) between words and ground that nobody sees."""
SMALLEST_POINTS = 2.0
SMALLEST_BOX = 1.0
"""Height or width of a box, in pixels, up to which nothing of its words is seen if it cuts them."""
FAR_AWAY = -900.0
"""Pixels left of the page or above it from which on an element is beyond every screen's edge."""

Color = tuple[int, int, int]
Declarations = dict[str, str]

_WHITE: Color = (255, 255, 255)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SIMPLE = re.compile(r"([a-z][a-z0-9]*)?(?:[.#][\w-]+)?", re.IGNORECASE)
_NUMBER = re.compile(r"(-?[\d.]{1,20})(px|pt|em|rem|%|)", re.IGNORECASE)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*([\d.]{1,10})\s*)?\)")
_CUT_AWAY = re.compile(
    r"rect\(\s*(?:[01](?:px)?|auto)(?:[\s,]+[01](?:px)?){3}\s*\)|inset\(\s*(?:50|100)%|circle\(\s*0|scale(?:[xy3]d?)?\(\s*0(?:\.0+)?\s*[,)]"
)
_HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})")
_NAMED: dict[str, Color] = {
    "white": _WHITE, "black": (0, 0, 0), "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "silver": (192, 192, 192), "snow": (255, 250, 250),
    "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245),
}  # fmt: skip
_READ = frozenset(
    [
        "display",
        "visibility",
        "opacity",
        "font-size",
        "text-indent",
        "clip",
        "clip-path",
        "height",
        "width",
        "max-height",
        "overflow",
        "transform",
        "position",
        "left",
        "top",
        "color",
        "background",
        "background-color",
        "background-image",
        "list-style",
        "list-style-type",
    ]
)


@dataclass(frozen=True, slots=True)
class Look:
    """Inherited style of an element: the colours of its words and of its ground, None if unknown."""

    color: Color | None = None
    ground: Color | None = _WHITE
    is_invisible: bool = False


class StyleSheet:
    """The simple rules of a page."""

    def __init__(self, root: Element) -> None:
        self._rules: dict[str, Declarations] = {}
        self._is_linked = False
        for element in root.walk():
            if element.tag == "style":
                self._read(element.text())
            elif element.tag == "link" and "stylesheet" in element.get("rel").lower():
                self._is_linked = True

    def first_look(self) -> Look:
        """Return the look of the page; the ground is not known where style sheets lie elsewhere."""
        ground = None if self._is_linked else _WHITE
        body = {**self._rules.get("html", {}), **self._rules.get("body", {})}
        return Look(_color(body.get("color", "")), _ground(body, ground))

    def declarations(self, element: Element) -> Declarations:
        """Return what is declared for an element, its own style last."""
        found: Declarations = {}
        if self._rules:
            for selector in _selectors(element):
                found.update(self._rules.get(selector, {}))
        if own := element.get("style"):
            found.update(_declarations(own))
        return found

    def _read(self, css: str) -> None:
        css = _COMMENT.sub("", css).replace("<!--", "").replace("-->", "")
        for selectors, body in _top_rules(css):
            declarations = _declarations(body)
            if declarations and len(self._rules) < MAX_RULES:
                for selector in selectors.split(","):
                    name = selector.strip()
                    if name and _SIMPLE.fullmatch(name):
                        self._rules.setdefault(_normal(name), {}).update(declarations)


def is_hidden(element: Element, declared: Declarations) -> bool:
    """Return True if the element and all below are out of sight."""
    attributes = element.attributes
    if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
        return True
    if not declared:
        return False
    if declared.get("display") == "none" or _number(declared.get("opacity", "1"), "") == 0:
        return True
    size = declared.get("font-size", "")
    if size and (points := _points(size)) is not None and points < SMALLEST_POINTS:
        return True
    if (indent := _number(declared.get("text-indent", ""), "px")) is not None and indent < FAR_AWAY:
        return True
    if _is_cut_away(declared):
        return True
    is_placed = declared.get("position") in {"absolute", "fixed"}
    edges = (_number(declared.get(side, ""), "px") for side in ("left", "top"))
    return is_placed and any(edge is not None and edge < FAR_AWAY for edge in edges)


def _is_cut_away(declared: Declarations) -> bool:
    """Return True if a clip, an empty box or a scale of 0 leaves nothing to see."""
    if _CUT_AWAY.search(f"{declared.get('clip', '')} {declared.get('clip-path', '')} {declared.get('transform', '')}"):
        return True
    edges = (_number(declared.get(side, ""), "px") for side in ("height", "width", "max-height"))
    return declared.get("overflow", "") in {"hidden", "clip"} and any(
        edge is not None and edge <= SMALLEST_BOX for edge in edges
    )


def next_look(look: Look, element: Element, declared: Declarations) -> Look:
    """Return the look inside of an element."""
    own_color = declared.get("color") or (element.get("color") if element.tag == "font" else "")
    bgcolor = element.get("bgcolor")
    if not (own_color or bgcolor or declared):
        return look
    ground = _color(bgcolor) if bgcolor else look.ground
    ground = _ground(declared, ground)
    color = _color(own_color) if own_color else look.color
    visibility = declared.get("visibility")
    if own_color and _is_transparent(own_color):
        visibility = "hidden"
    is_invisible = visibility in {"hidden", "collapse"} if visibility else look.is_invisible
    return replace(look, color=color, ground=ground, is_invisible=is_invisible)


def _is_transparent(color: str) -> bool:
    found = _RGB.fullmatch(color)
    return color == "transparent" or (found is not None and found[4] is not None and _float(found[4]) == 0)


def blends(look: Look) -> bool:
    """Return True if words have the color of their ground, or are invisible."""
    if look.is_invisible:
        return True
    if look.color is None or look.ground is None:
        return False
    return all(abs(one - other) <= ALMOST_EQUAL for one, other in zip(look.color, look.ground, strict=True))


def _ground(declared: Declarations, before: Color | None) -> Color | None:
    if "background-image" in declared and declared["background-image"] != "none":
        return None
    stated = declared.get("background-color") or declared.get("background")
    if not stated or stated in {"transparent", "none", "inherit"}:
        return before
    return _color(stated)


def _color(stated: str) -> Color | None:
    stated = stated.strip()
    if stated in _NAMED:
        return _NAMED[stated]
    if (found := _HEX.fullmatch(stated)) is not None:
        digits = found[1] if len(found[1]) == 6 else "".join(digit * 2 for digit in found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if (found := _RGB.fullmatch(stated)) is not None and found[4] in {None, "1", "1.0"}:
        return int(found[1]), int(found[2]), int(found[3])
    return None


def _points(size: str) -> float | None:
    found = _NUMBER.fullmatch(size)
    if found is None:
        return None
    scale = {"px": 0.75, "pt": 1.0, "em": 12.0, "rem": 12.0, "%": 0.12, "": 0.75}[found[2].lower()]
    return scale * _float(found[1])


def _number(stated: str, unit: str) -> float | None:
    found = _NUMBER.fullmatch(stated)
    return _float(found[1]) if found is not None and found[2].lower() in {unit, ""} else None


def _float(digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        return 1.0


def _declarations(body: str) -> Declarations:
    found: Declarations = {}
    for declaration in body.split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip().lower()
        if colon and name in _READ:
            found[name] = value.replace("!important", "").strip().lower()
    return found


def _top_rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and bodies of the rules outside of @-blocks."""
    position, depth, is_skipped = 0, 0, False
    selectors = ""
    for mark in re.finditer(r"[{};]", css):
        kind, text = mark[0], css[position : mark.start()]
        if kind == "{":
            if depth == 0:
                selectors = text
                is_skipped = text.lstrip().startswith("@")
            depth += 1
        elif kind == "}":
            depth = max(depth - 1, 0)
            if depth == 0 and not is_skipped:
                yield selectors, text
        elif depth > 0:
            continue
        position = mark.end()


def _selectors(element: Element) -> Iterator[str]:
    """Yield the selectors of an element, the least specific first."""
    yield element.tag
    classes = list(islice(element.classes, 20))
    yield from (f".{name}" for name in classes)
    yield from (f"{element.tag}.{name}" for name in classes)
    if name := element.get("id"):
        yield f"#{name}"
        yield f"{element.tag}#{name}"


def _normal(selector: str) -> str:
    """Return a selector with its element in lower case."""
    found = re.match(r"[a-zA-Z][a-zA-Z0-9]*", selector)
    return selector if found is None else found[0].lower() + selector[found.end() :]
