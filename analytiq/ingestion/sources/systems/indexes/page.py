"""Facts of a directory listing: the names of its entries, and for some servers their dates and sizes."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from urllib.parse import urlsplit

from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html_tree import Element, html_tree
from analytiq.ingestion.sources.systems.web.addresses import absolute, normalized

MOST_ENTRIES = 100_000
LONGEST_TOLD = 100
_TITLE = re.compile(r"\s*(?:index of|directory listing|directory:|listing of)\b", re.IGNORECASE)
_ORDER = re.compile(r"\?(?:C=[NMSD]|sort=)")
"""Links of Apache and Caddy that sort the list."""
_DATE_AND_SIZE = re.compile(
    r"(?P<date>\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) +(?P<size>\d+(?:\.\d+)?[KMGTP]?)"
)
"""The text behind a file's link as nginx and Apache write it, and no other: a date that a person wrote says nothing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of a listing.

    Attributes:
        name: percent-encoded; a folder's ends with a slash.
        told: date and size as the listing has them; None if it has none.
        day: the day of that date, in the server's time zone.
        byte_size: None if the listing has no exact size.
    """

    name: str
    told: str | None = None
    day: date | None = None
    byte_size: int | None = None

    @property
    def is_folder(self) -> bool:
        """Return True for a folder."""
        return self.name.endswith("/")


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a page by name; `is_listing` is False for a page that is no directory listing."""

    entries: tuple[Entry, ...]
    is_listing: bool
    is_cut: bool = False
    """There are more entries than are read."""


def read_listing(content: bytes, *, address: str) -> Listing:
    """Read a page; call it in a thread.

    Args:
        content: in HTML.
        address: the normalized address of the folder, which ends with a slash. Only what is directly below it is an
            entry: no parent, no other host, no link that sorts the list.
    """
    reader = _Reader(address)
    reader.read(html_tree(decode_text(content).text))
    entries = [reader.entries[name] for name in sorted(reader.entries)]
    return Listing(tuple(entries[:MOST_ENTRIES]), reader.is_listing, is_cut=len(entries) > MOST_ENTRIES)


class _Reader:
    def __init__(self, address: str) -> None:
        self._folder = address
        self._parent = absolute("../", address)
        self.entries: dict[str, Entry] = {}
        self.is_listing = False
        self._name: str | None = None
        self._behind: list[str] = []

    def read(self, tree: Element) -> None:
        pending: list[Element | str] = [tree]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                self._behind.append(node)
            elif node.tag in ("title", "h1") and _TITLE.match(node.text()):
                self.is_listing = True
            elif node.tag in ("script", "style"):
                continue
            elif node.tag == "a" and node.get("href"):
                self._finish()
                self._begin(node.get("href"))
            else:
                if node.tag in ("tr", "ul", "hr", "table"):
                    self._finish()
                pending += reversed(node.children)
        self._finish()

    def _begin(self, link: str) -> None:
        if _ORDER.match(link.removeprefix("./")):
            self.is_listing = True
            return
        target = absolute(link, self._folder)
        if target is None:
            return
        if target == self._parent and target != self._folder:
            self.is_listing = True
        if target.startswith(self._folder) and "?" not in target:
            name = target[len(self._folder) :]
            if name.removesuffix("/") and "/" not in name.removesuffix("/"):
                self._name = name

    def _finish(self) -> None:
        name, told = self._name, " ".join("".join(self._behind[:20]).split())
        self._name, self._behind = None, []
        if name is None or len(self.entries) > MOST_ENTRIES:
            return
        found = _DATE_AND_SIZE.fullmatch(told) if len(told) <= LONGEST_TOLD else None
        if found is None or name.endswith("/"):
            self.entries.setdefault(name, Entry(name))
            return
        size = found["size"]
        self.entries[name] = Entry(name, told, _day_of(found["date"]), int(size) if size.isdigit() else None)


def _day_of(text: str) -> date | None:
    for form in ("%d-%b-%Y", "%Y-%m-%d"):
        try:
            return datetime.strptime(text.split(" ")[0], form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def folder_address(url: str) -> str | None:
    """Return the normalized address of a folder, with its slash; None if it is no web address without a query."""
    address = normalized(url.strip())
    if address is None or urlsplit(address).query:
        return None
    return address if address.endswith("/") else f"{address}/"
