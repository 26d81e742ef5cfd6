"""The state of a crawl between two batches, which is the cursor of its run."""

import base64
import json
import zlib
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.systems.web.addresses import key_of

MOST_ADDRESSES = 50_000
"""Most addresses that a crawl remembers; the cursor stays within about a megabyte for usual ones."""
MOST_PENDING_CHARACTERS = 4_000_000
_MOST_CURSOR_BYTES = 64 * 1024 * 1024


class Purpose(StrEnum):
    """The purpose of a request."""

    PAGE = "page"
    START = "start"
    LIST = "list"
    """A sitemap or feed."""


@dataclass(frozen=True, slots=True)
class Visit:
    """An address to request.

    Attributes:
        depth: links from a start address.
        redirects: redirects that lead here.
        tries: requests so far.
    """

    address: str
    purpose: Purpose
    depth: int = 0
    redirects: int = 0
    tries: int = 0

    def again(self) -> "Visit":
        """Return the next try."""
        return replace(self, tries=self.tries + 1)


class Frontier:
    """The addresses of a crawl: those to visit, in order, and those seen.

    Attributes:
        listed: items so far.
        requests: visits so far.
        long_waits: times that a site wanted the crawl to wait.
        not_before: seconds since 1970 before which no site is asked.
        counts: addresses that are no items, by reason.
        texts: keys of the texts of listed pages.
        preferred: keys of addresses that another page names as its own: they are taken whatever they name.
        absent: keys of addresses that were visited and are no pages.
        stand_ins: key of an address that a page names as its own → the page, which is taken if that one is absent.
        is_done: nothing more is to be listed.
    """

    def __init__(self, most_addresses: int = MOST_ADDRESSES) -> None:
        self._most_addresses = min(most_addresses, MOST_ADDRESSES)
        self._pending: deque[Visit] = deque()
        self._seen: set[str] = set()
        self._pending_characters = 0
        self.listed = 0
        self.requests = 0
        self.long_waits = 0
        self.not_before = 0.0
        self.counts: Counter[str] = Counter()
        self.texts: set[str] = set()
        self.preferred: set[str] = set()
        self.absent: set[str] = set()
        self.stand_ins: dict[str, str] = {}
        self.is_done = False

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, visit: Visit, *, is_next: bool = False) -> bool:
        """Add an address; return False if it was seen, or there is no room.

        `is_next`: visit it before the others.
        """
        key = key_of(visit.address)
        if key in self._seen:
            return False
        if len(self._seen) >= self._most_addresses or self._pending_characters > MOST_PENDING_CHARACTERS:
            self.counts["full"] += 1
            return False
        self._seen.add(key)
        self.put(visit) if is_next else self._pending.append(visit)
        if not is_next:
            self._pending_characters += len(visit.address)
        return True

    def put(self, visit: Visit) -> None:
        """Put an address in front, whether it was seen or not."""
        self._pending.appendleft(visit)
        self._pending_characters += len(visit.address)

    def take(self) -> Visit:
        """Remove and return the next address."""
        visit = self._pending.popleft()
        self._pending_characters -= len(visit.address)
        return visit

    def ahead(self, most: int) -> list[Visit]:
        """Return the next addresses without removing them."""
        return [visit for _, visit in zip(range(most), self._pending, strict=False)]

    def encoded(self, running: Iterable[Visit]) -> str:
        """Return the cursor; `running`: visits that have begun, which a later connection repeats."""
        told = {
            "pending": [
                [visit.address, visit.purpose.value, visit.depth, visit.redirects, visit.tries]
                for visit in (*running, *self._pending)
            ],
            "seen": "".join(sorted(self._seen)),
            "texts": sorted(self.texts),
            "preferred": sorted(self.preferred),
            "absent": sorted(self.absent),
            "stand_ins": self.stand_ins,
            "counts": dict(self.counts),
            "numbers": [self.listed, self.requests, self.long_waits, int(self.is_done), self.not_before],
        }
        return base64.b85encode(zlib.compress(json.dumps(told, separators=(",", ":")).encode(), 6)).decode()

    @classmethod
    def decoded(cls, cursor: str, most_addresses: int = MOST_ADDRESSES) -> "Frontier":
        """Return the state of a cursor.

        Raises:
            PermanentError: it is none of this kind.
        """
        try:
            inflated = zlib.decompressobj().decompress(base64.b85decode(cursor), _MOST_CURSOR_BYTES)
            told = json.loads(inflated)
            made = cls(most_addresses)
            for address, purpose, depth, redirects, tries in told["pending"]:
                made._pending.append(Visit(address, Purpose(purpose), depth, redirects, tries))
                made._pending_characters += len(address)
            seen = told["seen"]
            made._seen = {seen[start : start + 16] for start in range(0, len(seen), 16)}
            made.texts, made.preferred, made.absent = map(set, (told["texts"], told["preferred"], told["absent"]))
            made.stand_ins = dict(told["stand_ins"])
            made.counts = Counter(told["counts"])
            made.listed, made.requests, made.long_waits, done, made.not_before = told["numbers"]
            made.is_done = bool(done)
        except (ValueError, TypeError, KeyError, zlib.error):
            raise PermanentError("The run cannot be continued: its position is damaged. Start another run.") from None
        return made
