"""Lists of addresses: sitemaps (XML, gzip, text) and feeds (RSS, Atom)."""

from dataclasses import dataclass
from typing import IO

from lxml import etree

from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.ingestion.sources.connections.decoding import Inflater, UnreadableError
from analytiq.ingestion.sources.systems.web.addresses import absolute

MOST_BYTES = 12 * 1024 * 1024
"""Most bytes of a list, decompressed. Its tree takes about ten times as much memory, and 50,000 addresses fit."""
MOST_ADDRESSES = 50_000
MOST_LISTS = 100
ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "RDF"})


@dataclass(frozen=True, slots=True)
class LinkList:
    """The addresses of a list: of pages, and of further lists."""

    pages: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


class NoLinkListError(Exception):
    """The content is neither a sitemap nor a feed."""


def looks_like_link_list(head: bytes) -> bool:
    """Return True if XML begins like a sitemap or a feed."""
    return any(f"<{root}".encode() in head or f":{root}".encode() in head for root in ROOTS)


def link_list(file: IO[bytes], *, address: str) -> LinkList:
    """Read a list; call it in a thread.

    Raises:
        NoLinkListError: it is none, or its XML is damaged.
        UnreadableError: it is too large, or cut off.
    """
    content = file.read(MOST_BYTES + 1)
    if content.startswith(b"\x1f\x8b"):
        content = _inflated(content)
    if len(content) > MOST_BYTES:
        raise UnreadableError(f"The list of addresses is larger than {MOST_BYTES:,} bytes.")
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _text_list(content, address)
    try:
        root = parsed_xml(content.lstrip(b" \t\r\n"))
    except etree.XMLSyntaxError:
        raise NoLinkListError from None
    if _local(root) not in ROOTS:
        raise NoLinkListError
    return _xml_list(root, address)


def _inflated(content: bytes) -> bytes:
    inflater, parts, count = Inflater(), list[bytes](), 0
    for block in inflater.blocks(content):
        parts.append(block)
        count += len(block)
        if count > MOST_BYTES:
            raise UnreadableError(f"The list of addresses is larger than {MOST_BYTES:,} bytes.")
    return b"".join(parts)


def _text_list(content: bytes, base: str) -> LinkList:
    lines = content.decode("utf-8-sig", errors="replace").splitlines()[:MOST_ADDRESSES]
    told = [line.strip() for line in lines if line.strip().lower().startswith(("http://", "https://"))]
    if not told:
        raise NoLinkListError
    return LinkList(pages=_addresses(told, base))


def _xml_list(root: Element, base: str) -> LinkList:
    if _local(root) == "sitemapindex":
        return LinkList(lists=_addresses(_texts(root, "sitemap", "loc"), base)[:MOST_LISTS])
    if _local(root) == "urlset":
        return LinkList(pages=_addresses(_texts(root, "url", "loc"), base))
    return LinkList(pages=_addresses(_entries(root), base))


def _texts(root: Element, outer: str, inner: str) -> list[str]:
    found: list[str] = []
    for entry in root:
        if _local(entry) != outer:
            continue
        found += [child.text or "" for child in entry if _local(child) == inner]
        if len(found) >= MOST_ADDRESSES:
            break
    return found


def _entries(root: Element) -> list[str]:
    """Return the links of a feed's entries: `link` of RSS, `link href` of Atom."""
    found: list[str] = []
    for entry in root.iter():
        if _local(entry) not in ("item", "entry"):
            continue
        for child in entry:
            if _local(child) != "link" or child.get("rel", "alternate") != "alternate":
                continue
            found.append(child.get("href") or child.text or "")
        if len(found) >= MOST_ADDRESSES:
            break
    return found


def _addresses(links: list[str], base: str) -> tuple[str, ...]:
    resolved = (absolute(link, base) for link in links[:MOST_ADDRESSES] if link.strip())
    return tuple(dict.fromkeys(address for address in resolved if address is not None))


def _local(element: Element) -> str:
    """Return an element's name without its namespace; "" for comments and instructions."""
    # Comments and instructions have a function in place of a name.
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
