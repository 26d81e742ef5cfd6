"""Facts that the crawler knows of each site: its rules, its pace, and its page for addresses that do not exist."""

import asyncio
from dataclasses import dataclass
from hashlib import blake2b

from analytiq.errors import AnalytiqError
from analytiq.ingestion.sources.connections.decoding import UnreadableError
from analytiq.ingestion.sources.systems.web.addresses import absolute, host_of, origin_of
from analytiq.ingestion.sources.systems.web.file_types import is_html
from analytiq.ingestion.sources.systems.web.pacing import HostPace
from analytiq.ingestion.sources.systems.web.page import MOST_HTML_BYTES, PageFacts, is_same_text, page_facts
from analytiq.ingestion.sources.systems.web.requests import Answer, WebClient
from analytiq.ingestion.sources.systems.web.robots import SiteRules, rules_of

MOST_REDIRECTS = 5
MOST_ROBOTS_BYTES = 4 * 1024 * 1024
SERVER_ERRORS = 500
TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, slots=True)
class Site:
    """A site.

    `missing` has the facts of its page for an address that does not exist; None if it answers with an error.
    """

    rules: SiteRules
    pace: HostPace
    missing: PageFacts | None = None

    def has_as_missing(self, facts: PageFacts) -> bool:
        """Return True if a page is the one for addresses that do not exist."""
        # The menus of a site may be most of the words of all its pages: the title counts too.
        missing = self.missing
        return missing is not None and facts.title == missing.title and is_same_text(facts.sketch, missing.sketch)


class Sites:
    """The sites of a crawl, each read at its first use."""

    def __init__(self, client: WebClient, *, delay_seconds: float, ignores_robots: bool) -> None:
        self._client = client
        self._delay = delay_seconds
        self._ignores_robots = ignores_robots
        self._sites: dict[str, Site] = {}
        self._paces: dict[str, HostPace] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def of(self, address: str) -> Site:
        """Return the site of an address.

        Raises:
            UnreadableError: its rules cannot be read now, so that it may not be visited.
            ForbiddenAddressError: it may not be connected to.
        """
        origin = origin_of(address)
        async with self._locks.setdefault(origin, asyncio.Lock()):
            if origin not in self._sites:
                self._sites[origin] = await self._read(origin)
            return self._sites[origin]

    def pace_of(self, address: str) -> HostPace:
        """Return the pace of requests to an address's host."""
        return self._paces.setdefault(host_of(address), HostPace(self._delay))

    async def _read(self, origin: str) -> Site:
        pace = self.pace_of(f"{origin}/")
        rules = SiteRules() if self._ignores_robots else await self._rules(origin, pace)
        pace.slow_down(rules.delay_seconds)
        return Site(rules, pace, await self._missing(origin, rules, pace))

    async def _rules(self, origin: str, pace: HostPace) -> SiteRules:
        address = f"{origin}/robots.txt"
        await pace.turn()
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._client.get(address, most_bytes=MOST_ROBOTS_BYTES)
            try:
                if answer.status >= SERVER_ERRORS or answer.status == TOO_MANY_REQUESTS:
                    raise UnreadableError(
                        f"Its robots.txt cannot be read now (HTTP {answer.status}).", retry_after=answer.retry_after
                    )
                if answer.location is None:
                    return await asyncio.to_thread(rules_of, answer)
                address = absolute(answer.location, address) or ""
            finally:
                answer.close()
            if not address:
                break
        return SiteRules()

    async def _missing(self, origin: str, rules: SiteRules, pace: HostPace) -> PageFacts | None:
        token = blake2b(origin.encode(), digest_size=8).hexdigest()
        address = f"{origin}/{token}-no-such-page"
        if not rules.allows(address):
            return None
        await pace.turn()
        try:
            answer = await self._client.get(address, most_bytes=MOST_HTML_BYTES, judge=_is_html)
        except AnalytiqError:
            return None
        try:
            if answer.content is None:
                return None
            content = answer.content.read(MOST_HTML_BYTES)
            return await asyncio.to_thread(
                page_facts, content, address=address, content_type=answer.header("content-type")
            )
        finally:
            answer.close()


def _is_html(answer: Answer) -> bool:
    return is_html(answer.content_type)
