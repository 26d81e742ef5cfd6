"""Facts that the crawler reads of an HTML page: links, title, and what the page says about itself.

The tree is the parsers' own, which takes linear time and bounded depth for any page. The document's text is read
later, by the parser in its sandbox.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nsmallest
from urllib.parse import unquote

from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html_tree import BLOCKS, Element, html_tree
from analytiq.ingestion.sources.systems.web.addresses import absolute, path_of
from analytiq.ingestion.sources.systems.web.requests import ROBOT

MOST_HTML_BYTES = 2 * 1024 * 1024
"""Bytes of a page that are read for links."""
MOST_LINKS = 2000
MOST_ANCHORS = 20_000
"""Links that are looked at; many may be equal."""
LONGEST_TITLE = 500
FEW_WORDS = 300
SKETCH_SIZE = 64
SAME_SHARE = 0.9
"""Least share of equal words of two pages that are the same but for an address or a time."""
FEED_TYPES = ("application/rss+xml", "application/atom+xml")

_UNREAD = frozenset({"script", "style", "noscript", "template", "title"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{0,300}charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_REFRESH = re.compile(r"\s*[\d.]{1,8}\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"'\s>]+)", re.IGNORECASE)
_NOT_FOUND = re.compile(
    # A number by itself may be that of a room.
    r"^\W*(?:(?:http|error|fehler|erreur)\W+)*404\W*(?:$|[|\u2013-]|error\b|not\b)|[|\u2013-]\s*404\W*$"
    r"|page not found|not found|seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouv)"
    r"|p[aá]gina no encontrada|pagina non trovata|p[aá]gina n[aã]o encontrada|pagina niet gevonden",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts of a page.

    Attributes:
        canonical: the address that the page names as its own.
        feeds: addresses of its feeds.
        text_key: equal for pages with the same words.
        version: equal for pages with the same words and links; scripts, styles and hidden fields do not count.
        sketch: for `is_same_text`.
        is_unlisted: the page asks not to be stored.
        is_dead_end: the page asks not to follow its links.
    """

    title: str = ""
    description: str = ""
    canonical: str | None = None
    links: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    text_key: str = ""
    version: str = ""
    word_count: int = 0
    sketch: frozenset[int] = field(default_factory=frozenset[int])
    has_scripts: bool = False
    is_unlisted: bool = False
    is_dead_end: bool = False

    @property
    def looks_missing(self) -> bool:
        """Return True for a short page whose title says that nothing was found."""
        return self.word_count < FEW_WORDS and _NOT_FOUND.search(self.title) is not None


def page_facts(content: bytes, *, address: str, content_type: str, robots_header: str = "") -> PageFacts:
    """Read a page; call it in a thread, since it takes up to a second.

    Args:
        content: the page; what is behind `MOST_HTML_BYTES` is ignored.
        address: its address, which relative links are resolved against.
        content_type: the Content-Type header.
        robots_header: the X-Robots-Tag header.
    """
    head = content[:MOST_HTML_BYTES]
    told = _CHARSET.search(content_type)
    in_page = _META_CHARSET.search(head[:4096])
    hint = told[1] if told else in_page[1].decode("ascii") if in_page else None
    reader = _PageReader(address, robots_header)
    return reader.read(html_tree(decode_text(head, hint=hint).text))


def is_same_text(one: frozenset[int], other: frozenset[int]) -> bool:
    """Return True if two sketches are of almost the same words."""
    if not one or not other:
        return False
    smallest = nsmallest(SKETCH_SIZE, one | other)
    return sum(each in one and each in other for each in smallest) >= SAME_SHARE * len(smallest)


def sketch_of(words: list[str]) -> frozenset[int]:
    """Return the smallest hashes of a text's words, which tell the share of words that two texts have in common."""
    hashes = {int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()) for word in words}
    return frozenset(nsmallest(SKETCH_SIZE, hashes))


class _PageReader:
    def __init__(self, address: str, robots_header: str) -> None:
        self._base = address
        # A page for missing addresses often names the address: no two of them have all words in common.
        path = unquote(path_of(address))
        self._echo = path if len(path) > 1 else ""
        self._title = ""
        self._description = ""
        self._canonical: str | None = None
        self._anchor_count = 0
        self._links: dict[str, None] = {}
        self._feeds: dict[str, None] = {}
        self._robots = _own_directives(robots_header.lower())
        self._has_scripts = False
        self._texts: list[str] = []
        self._marks: list[str] = []

    def read(self, tree: Element) -> PageFacts:
        for element in _readable(tree, self._texts.append):
            self._read_element(element)
        words = "".join(self._texts).split()
        text = " ".join(words)
        directives = {part.strip() for part in self._robots.split(",")}
        return PageFacts(
            title=" ".join(self._title.split())[:LONGEST_TITLE],
            description=" ".join(self._description.split())[:LONGEST_TITLE],
            canonical=self._canonical,
            links=tuple(self._links),
            feeds=tuple(self._feeds),
            text_key=_digest(text),
            version=_digest("\0".join([self._title, text, *self._marks])),
            word_count=len(words),
            sketch=sketch_of([word for word in words if not self._echo or self._echo not in word]),
            has_scripts=self._has_scripts,
            is_unlisted=bool(directives & {"noindex", "none"}),
            is_dead_end=bool(directives & {"nofollow", "none"}),
        )

    def _read_element(self, element: Element) -> None:
        match element.tag:
            case "a" | "area":
                self._add_link(element)
            case "title" if not self._title:
                self._title = element.text()
            case "base" if element.get("href"):
                self._base = absolute(element.get("href"), self._base) or self._base
            case "link":
                self._read_relation(element)
            case "meta":
                self._read_meta(element)
            case "script":
                kind = element.get("type").lower()
                self._has_scripts = True
                if kind.startswith("math/"):
                    self._marks.append(element.text())
            case "img" | "input":
                self._marks.append(element.get("alt"))
            case _:
                pass

    def _add_link(self, element: Element) -> None:
        link = element.get("href")
        if not link:
            return
        self._marks.append(link)
        self._anchor_count += 1
        if "nofollow" in element.get("rel").lower().split():
            return
        if self._anchor_count > MOST_ANCHORS or len(self._links) >= MOST_LINKS:
            return
        address = absolute(link, self._base)
        if address is not None:
            self._links[address] = None

    def _read_relation(self, element: Element) -> None:
        relations = element.get("rel").lower().split()
        address = absolute(element.get("href"), self._base) if element.get("href") else None
        if address is None:
            return
        if "canonical" in relations and self._canonical is None:
            self._canonical = address
        elif "alternate" in relations and element.get("type").lower() in FEED_TYPES and len(self._feeds) < 10:
            self._feeds[address] = None
        elif relations and relations[0] in ("next", "prev"):
            self._links.setdefault(address, None)

    def _read_meta(self, element: Element) -> None:
        name, content = element.get("name").lower(), element.get("content")
        if name == "description":
            self._description = self._description or content
        elif name in ("robots", "analytiq"):
            self._robots += "," + content.lower()
        elif not name and (found := _REFRESH.match(content[:3000])) is not None:
            address = absolute(found[1], self._base)
            if address is not None:
                self._links.setdefault(address, None)


def _readable(tree: Element, add_text: Callable[[str], None]) -> Iterator[Element]:
    """Yield all elements in order, and hand over the texts that a reader of the page sees."""
    pending: list[Element | str] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            add_text(node)
            continue
        yield node
        if node.tag in BLOCKS or node.tag == "br":
            add_text(" ")
        if node.tag not in _UNREAD:
            pending += reversed(node.children)


def _own_directives(header: str) -> str:
    """Return the directives of an X-Robots-Tag header without those for other robots."""
    kept: list[str] = []
    is_own = True
    for part in header.split(","):
        name, mark, directive = part.partition(":")
        if mark and name.strip() != "unavailable_after":
            is_own = name.strip() == ROBOT.lower()
            part = directive
        if is_own:
            kept.append(part)
    return ",".join(kept)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=20).hexdigest()
