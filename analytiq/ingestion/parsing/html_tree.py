"""A tree of an HTML page, read by one scan in linear time.

The usual libraries compare every attribute of a tag with all others, walk all open elements for every stray end tag,
or cut the tree below a depth. Here both are looked up, and elements below `MAX_DEPTH` hang side by side at that depth.
"""

import re
from collections.abc import Iterator
from html import unescape

from analytiq.ingestion.parsing.figures import figures_wanted

MAX_DEPTH = 100
"""Depth of the tree; readers of it may recurse."""

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_TEXT_ONLY = frozenset({"script", "style", "noscript", "title", "textarea", "iframe", "noembed", "xmp"})
_UNESCAPED = frozenset({"title", "textarea"})
_TRANSPARENT = frozenset({"html", "head", "body", "frameset", "noframes"})
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
    "hr", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre", "search", "section",
    "summary", "table", "ul",
})  # fmt: skip
KNOWN_TAGS = VOID | BLOCKS | {
    "html", "head", "body", "frameset", "noframes", "caption", "tr", "thead", "tbody", "tfoot", "td", "th",
    "script", "style", "noscript", "title", "textarea", "iframe", "a", "abbr", "acronym", "audio", "b", "bdi",
    "bdo", "big", "br", "button", "canvas", "cite", "code", "data", "datalist", "del", "dfn", "em", "font", "i",
    "img", "input", "ins", "kbd", "label", "map", "mark", "math", "meter", "nobr", "object", "output", "picture",
    "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "select", "slot", "small", "span", "strike",
    "strong", "sub", "sup", "svg", "template", "time", "tt", "u", "var", "video", "wbr",
}  # fmt: skip
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
LISTS = ("ul", "ol", "menu", "dir")
_SECTIONS = ("thead", "tbody", "tfoot")
CELLS = ("td", "th")
_TABLE_PARTS = frozenset({"table", "caption", "tr", *_SECTIONS, *CELLS})
_READ_ATTRIBUTES = frozenset({
    "alt", "aria-label", "aria-level", "bgcolor", "checked", "class", "color", "colspan", "content", "data-lang",
    "data-language", "encoding", "epub:type", "hidden", "href", "id", "label", "multiple", "name", "open",
    "property", "rel", "reversed", "role", "rowspan", "selected", "size", "srcdoc", "start", "style", "type",
    "value",
})  # fmt: skip

_MARKUP = re.compile(r"<(?:(!--)|(!\[CDATA\[)|([!?])|(/?)([a-zA-Z][^\s/>]{0,100}))")
_ATTRIBUTE = re.compile(r"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]++)))?""")
_TAG_END = re.compile(r"[\s/]*+>")
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _TEXT_ONLY}


class Element:
    """An element with the attributes that matter to a reader of words."""

    __slots__ = ("attributes", "children", "tag")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []

    def get(self, name: str) -> str:
        """Return an attribute, "" if it is missing."""
        return self.attributes.get(name, "")

    @property
    def classes(self) -> list[str]:
        """Return the names of its classes."""
        return self.get("class").split()

    def elements(self) -> Iterator["Element"]:
        """Yield the elements directly below."""
        return (child for child in self.children if isinstance(child, Element))

    def walk(self) -> Iterator["Element"]:
        """Yield this element and all below, in order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending += [child for child in reversed(element.children) if isinstance(child, Element)]

    def text(self) -> str:
        """Return all text below, as written."""
        parts: list[str] = []
        pending: list[Element | str] = [self]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                parts.append(node)
            else:
                pending += reversed(node.children)
        return "".join(parts)


def html_tree(html: str) -> Element:
    """Return the root of the page's tree."""
    return _TreeBuilder(html).build()


class _TreeBuilder:
    def __init__(self, html: str) -> None:
        self._html = html
        self._root = Element("html", {})
        self._stack = [self._root]
        self._places: dict[str, list[int]] = {}
        """Indices in the stack of the open elements, by tag."""
        self._never_closed: set[str] = set()
        self._reads_sources = figures_wanted() is not None

    def build(self) -> Element:
        html, position = self._html, 0
        while (markup := _MARKUP.search(html, position)) is not None:
            self._add_text(html[position : markup.start()])
            position = self._read(markup)
        self._add_text(html[position:])
        return self._root

    def _read(self, markup: re.Match[str]) -> int:
        """Read a piece of markup and return the offset behind it."""
        html = self._html
        comment, cdata, declaration, closing, name = markup.groups()
        if comment:
            return _past(html, "-->", markup.end() - 2 if html.startswith(">", markup.end()) else markup.end())
        if cdata:
            end = html.find("]]>", markup.end())
            self._add(html[markup.end() : len(html) if end < 0 else end])
            return _past(html, "]]>", markup.end())
        if declaration:
            return _past(html, ">", markup.end())
        tag = name.lower()
        if closing:
            self._end(tag)
            return _past(html, ">", markup.end())
        attributes, is_empty, position = self._attributes(markup.end())
        self._start(tag, attributes)
        if is_empty and tag not in VOID and tag not in _TRANSPARENT:
            self._close_to(len(self._stack) - 1)
        elif tag in _TEXT_ONLY:
            position = self._read_text_of(tag, position)
        return position

    def _attributes(self, position: int) -> tuple[dict[str, str], bool, int]:
        """Return the attributes of a tag, if it closes itself, and the offset behind it."""
        html = self._html
        attributes: dict[str, str] = {}
        while (end := _TAG_END.match(html, position)) is None:
            found = _ATTRIBUTE.match(html, position)
            if found is None:
                return attributes, False, len(html)
            name = found[1].lower()
            if name in _READ_ATTRIBUTES or (name == "src" and self._reads_sources):
                attributes.setdefault(name, unescape(found[2] or found[3] or found[4] or ""))
            position = found.end()
        return attributes, "/" in end[0], end.end()

    def _read_text_of(self, tag: str, position: int) -> int:
        """Add the text of an element that holds no markup; an element without an end is taken as empty."""
        closing = None if tag in self._never_closed else _ENDS[tag].search(self._html, position)
        if closing is None:
            self._never_closed.add(tag)
            self._close_to(len(self._stack) - 1)
            return position
        text = self._html[position : closing.start()]
        self._add(unescape(text) if tag in _UNESCAPED else text)
        self._close_to(len(self._stack) - 1)
        return _past(self._html, ">", closing.end())

    def _add_text(self, text: str) -> None:
        self._add(unescape(text) if "&" in text else text)

    def _add(self, child: Element | str) -> None:
        if child:
            self._stack[min(len(self._stack), MAX_DEPTH) - 1].children.append(child)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _TRANSPARENT:
            return
        self._close_implied(tag)
        element = Element(tag, attributes)
        self._add(element)
        if tag not in VOID:
            self._places.setdefault(tag, []).append(len(self._stack))
            self._stack.append(element)

    def _close_implied(self, tag: str) -> None:
        """Close the elements that the start of another ends."""
        table = self._last("table")
        if tag in _TABLE_PARTS and tag != "table":
            ended = (*CELLS, "caption") if tag in CELLS else (*CELLS, "caption", "tr")
            ended += _SECTIONS if tag in _SECTIONS else ()
            self._close_first_of(ended, above=table)
            return
        cell = max(table, self._last("td"), self._last("th"), self._last("caption"))
        if tag in BLOCKS:
            self._close_first_of(("p",), above=cell)
        if tag in HEADINGS and self._stack[-1].tag in HEADINGS:
            self._close_to(len(self._stack) - 1)
        if tag == "li":
            self._close_first_of(("li",), above=max(cell, *map(self._last, LISTS)))
        elif tag in {"dt", "dd"}:
            self._close_first_of(("dt", "dd"), above=max(cell, self._last("dl")))
        elif tag in {"option", "optgroup"}:
            self._close_first_of(("option",), above=self._last("select"))
        elif tag in {"rt", "rp", "rb", "rtc"}:
            self._close_first_of(("rt", "rp", "rb"), above=self._last("ruby"))

    def _close_first_of(self, tags: tuple[str, ...], *, above: int) -> None:
        """Close the outermost among the last open elements of these tags within a scope."""
        places = [place for place in map(self._last, tags) if place > above]
        if places:
            self._close_to(min(places))

    def _end(self, tag: str) -> None:
        if tag == "br":
            self._add(Element("br", {}))
        elif tag == "p" and self._last("p") < 0:
            self._add(Element("p", {}))
        place = self._last(tag)
        table = self._last("table")
        scope = table if tag in _TABLE_PARTS else max(table, self._last("td"), self._last("th"), self._last("caption"))
        if place >= scope and place > 0:
            self._close_to(place)

    def _last(self, tag: str) -> int:
        places = self._places.get(tag)
        return places[-1] if places else -1

    def _close_to(self, size: int) -> None:
        while len(self._stack) > max(size, 1):
            self._places[self._stack.pop().tag].pop()


def _past(html: str, mark: str, start: int) -> int:
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)
