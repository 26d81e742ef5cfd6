"""Navigation of a web page: menus, trails of links and notices of cookies around the article.

Trafilatura, used before, chose the article by paragraph and lost headings, summaries, captions and rows of tables
within it. Left out are only what states that it is navigation, and dense groups of short links around the words.
"""

import re
from collections.abc import Collection, Iterator

from analytiq.ingestion.parsing.html_tree import BLOCKS, HEADINGS, Element

MIN_ARTICLE_SHARE = 0.25
"""Least share of the page's characters. Where less would be left, the page is a list of links, and is read whole."""
LONG_PARAGRAPH = 60
"""Characters outside of links from which on a paragraph is one of the article."""
MIN_LINKS = 4
MIN_LINKS_IN_ARTICLE = 20
"""Links above the first words of an article from which on they are a menu: an encyclopedia's list of languages."""
LINK_SHARE = 0.8
MAX_LINK_CHARACTERS = 40
"""Greatest mean length of the links of a menu; titles of articles are longer."""

_NAVIGATION_ROLES = frozenset({"navigation", "menu", "menubar"})
_NAVIGATION_NAMES = re.compile(
    r"(?:^|[\s_-])(?:cookie(?:s|[-_]?(?:banner|consent|notice|bar))|gdpr|breadcrumbs?|skip-?(?:link|nav|to-content)"
    r"|navbar|site-?nav|main-?nav|nav-?menu|main-?menu|site-?menu)(?:$|[\s_-])",
    re.IGNORECASE,
)
_GROUPS = frozenset({"ul", "ol", "div", "section", "aside", "header", "footer", "td", "table", "p", "center", "dl"})
_SILENT = frozenset({"script", "style", "noscript", "template", "title"})


class _Measures:
    """Characters, characters of links, and links of every element, counted once."""

    def __init__(self, root: Element) -> None:
        self.order = list(root.walk())
        self.characters: dict[int, int] = {}
        self.linked: dict[int, int] = {}
        self.links: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        """Numbers of elements, each with all below it."""
        for element in reversed(self.order):
            self._count(element)

    def _count(self, element: Element) -> None:
        characters = linked = links = 0
        self.sizes[id(element)] = 1 + sum(self.sizes[id(child)] for child in element.elements())
        if element.tag not in _SILENT:
            for child in element.children:
                if isinstance(child, str):
                    characters += len("".join(child.split()))
                else:
                    characters += self.characters[id(child)]
                    linked += self.linked[id(child)]
                    links += self.links[id(child)]
            if element.tag == "a" and "href" in element.attributes and not element.get("href").startswith("#"):
                linked, links = characters, links + 1
        key = id(element)
        self.characters[key], self.linked[key], self.links[key] = characters, linked, links


def navigation_of(root: Element) -> frozenset[int]:
    """Return the identities of the elements to leave out; none where little else would be left."""
    measures = _Measures(root)
    left_out = {id(element): measures.characters[id(element)] for element in _stated(root)}
    for element in _link_groups(root, measures, frozenset(left_out)):
        left_out[id(element)] = measures.characters[id(element)]
    whole = measures.characters[id(root)]
    if whole - sum(left_out.values()) < MIN_ARTICLE_SHARE * whole:
        return frozenset()
    return frozenset(left_out)


def _stated(root: Element) -> Iterator[Element]:
    """Yield the outermost elements that state that they are navigation."""
    pending = [root]
    while pending:
        element = pending.pop()
        if _is_stated(element):
            yield element
        else:
            pending += element.elements()


def _is_stated(element: Element) -> bool:
    if element.tag == "nav" or element.get("role") in _NAVIGATION_ROLES:
        return True
    if element.tag in HEADINGS or not element.attributes:
        return False
    names = f"{element.get('class')} {element.get('id')}"
    return len(names) > 1 and _NAVIGATION_NAMES.search(names[:500]) is not None


def _link_groups(root: Element, measures: _Measures, stated: Collection[int]) -> Iterator[Element]:
    """Yield dense groups of short links outside of the span from the first to the last words of the article."""
    places = {id(element): place for place, element in enumerate(measures.order)}
    content = [places[id(element)] for element in measures.order if _is_content(element, measures)]
    first, last = (content[0], content[-1]) if content else (len(places), -1)
    pending = [(root, False)]
    while pending:
        element, is_article = pending.pop()
        if id(element) in stated:
            continue
        place = places[id(element)]
        is_article = is_article or element.tag in {"article", "main"}
        is_before = place + measures.sizes[id(element)] <= first
        is_outside = is_before or (place > last and not is_article)
        enough = MIN_LINKS_IN_ARTICLE if is_article else MIN_LINKS
        if is_outside and element.tag in _GROUPS and _is_dense(element, measures, enough):
            yield element
        else:
            pending += [(child, is_article) for child in element.elements()]


def _is_content(element: Element, measures: _Measures) -> bool:
    if element.tag not in BLOCKS or element.tag in {"ul", "ol", "dl"}:
        return False
    own = sum(
        len("".join(child.split())) if isinstance(child, str) else _unlinked(child, measures)
        for child in element.children
        if isinstance(child, str) or child.tag not in BLOCKS
    )
    return own >= LONG_PARAGRAPH


def _unlinked(element: Element, measures: _Measures) -> int:
    return measures.characters[id(element)] - measures.linked[id(element)]


def _is_dense(element: Element, measures: _Measures, enough: int) -> bool:
    links, linked = measures.links[id(element)], measures.linked[id(element)]
    if links < enough or linked < LINK_SHARE * measures.characters[id(element)]:
        return False
    return linked <= MAX_LINK_CHARACTERS * links and not any(inner.tag in HEADINGS for inner in element.walk())
