"""A crawl: breadth first, several requests at once, and the same order in each run.

Results are taken in the order of their addresses, so that two crawls of the same site are alike, and a crawl goes on
behind any cursor as if it had not been interrupted.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import FindKnown, KnownItem, ListedBatch, ListedItem
from analytiq.ingestion.sources.systems.web.addresses import absolute, host_of, key_of, origin_of, path_of
from analytiq.ingestion.sources.systems.web.file_types import is_never_read
from analytiq.ingestion.sources.systems.web.frontier import Frontier, Purpose, Visit
from analytiq.ingestion.sources.systems.web.requests import AT_ONCE
from analytiq.ingestion.sources.systems.web.scope import Scope
from analytiq.ingestion.sources.systems.web.sites import MOST_REDIRECTS, Sites
from analytiq.ingestion.sources.systems.web.visiting import PATIENCE_SECONDS, Found, Visiting

BATCH = 25
"""Most items of a batch."""
BATCH_SECONDS = 4.0
"""Time after which a batch with at least one result ends."""
BATCH_BYTES = 64 * 1024 * 1024
LOOKED_UP_AT_ONCE = 50
MOST_LONG_WAITS = 20
"""Most waits of a run because a site asked for them."""
FEW_WORDS = 50
"""Words below which pages with equal text are told apart by their links."""
REQUESTS_OF_AN_ITEM = 4
SPARE_REQUESTS = 200
ADDRESSES_OF_AN_ITEM = 20
SPARE_ADDRESSES = 2000
LINKS_AT_ONCE = 50
"""Links after which other tasks get their turn."""

REASONS = {
    "robots": "robots.txt forbids them",
    "gone": "they do not exist (HTTP 404, 410)",
    "soft_404": "they answer with the page for what does not exist",
    "noindex": "they ask not to be stored (noindex)",
    "type": "their type is not taken",
    "empty": "they are empty",
    "forbidden": "their host is not on the public Internet",
    "redirect": "they redirect without end, or out of the source",
    "canonical": "they name another address as their own",
    "same": "they have the text of another page",
    "endless": "their addresses look like those of an endless series",
    "deep": "they are deeper than `max_depth`",
    "full": "more addresses were found than a crawl remembers",
    "no_list": "they are no sitemap or feed",
}
"""Reason → its words in the log of the run."""


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """The beginning and the bounds of a crawl."""

    start: tuple[str, ...]
    max_pages: int
    uses_sitemaps: bool


@dataclass(slots=True)
class _Batch:
    """A batch in the making."""

    deadline: float
    items: list[ListedItem] = field(default_factory=list[ListedItem])
    contents: dict[str, Found] = field(default_factory=dict[str, Found])
    problems: list[str] = field(default_factory=list[str])
    byte_size: int = 0
    results: int = 0
    long_wait: float | None = None

    def is_full(self, now: float) -> bool:
        """Return True if the batch ends here."""
        if self.long_wait is not None or len(self.items) >= BATCH or self.byte_size >= BATCH_BYTES:
            return True
        return bool(self.results) and now >= self.deadline


class Crawl:
    """A crawl of one source; `contents` are those of the last batch, by external id."""

    def __init__(self, *, limits: CrawlLimits, scope: Scope, sites: Sites, visiting: Visiting) -> None:
        self._limits = limits
        self._scope = scope
        self._sites = sites
        self._visiting = visiting
        self._most_addresses = limits.max_pages * ADDRESSES_OF_AN_ITEM + SPARE_ADDRESSES
        self._frontier = Frontier(self._most_addresses)
        self._running: deque[tuple[Visit, asyncio.Task[Found]]] = deque()
        self._known: dict[str, KnownItem | None] = {}
        self.contents: dict[str, Found] = {}

    async def batches(self, cursor: str | None, find_known: FindKnown) -> AsyncGenerator[ListedBatch]:
        """List all pages behind the cursor.

        Raises:
            AnalytiqError: the crawl cannot begin or go on.
        """
        try:
            if cursor is None:
                await self._begin()
            else:
                self._frontier = Frontier.decoded(cursor, self._most_addresses)
                await self._wait()
            while not self._frontier.is_done:
                batch = await self._next_batch(find_known)
                self._frontier.is_done = batch.long_wait is None and self._is_at_end()
                notes = self._closing_notes(batch) if self._frontier.is_done else []
                running = [visit for visit, _ in self._running]
                position = await asyncio.to_thread(self._frontier.encoded, running)
                yield ListedBatch(batch.items, position, batch.problems, notes)
                self.close_contents()
                if batch.long_wait is not None:
                    await self._wait()
        finally:
            await self._stop()

    def close_contents(self) -> None:
        """Free the contents of the last batch."""
        for found in self.contents.values():
            found.close()
        self.contents = {}

    async def _begin(self) -> None:
        frontier = self._frontier
        for address in self._limits.start:
            frontier.add(Visit(address, Purpose.START))
        if self._limits.uses_sitemaps:
            for origin in dict.fromkeys(map(origin_of, self._limits.start)):
                site = await self._sites.of(f"{origin}/")
                named = [absolute(each, f"{origin}/") for each in site.rules.sitemaps]
                for address in [*named, f"{origin}/sitemap.xml"]:
                    if address is not None:
                        frontier.add(Visit(address, Purpose.LIST))

    def _is_at_end(self) -> bool:
        frontier = self._frontier
        is_empty = not self._running and not len(frontier)
        return is_empty or frontier.listed >= self._limits.max_pages or frontier.requests >= self._most_requests

    @property
    def _most_requests(self) -> int:
        return self._limits.max_pages * REQUESTS_OF_AN_ITEM + SPARE_REQUESTS

    async def _next_batch(self, find_known: FindKnown) -> _Batch:
        loop = asyncio.get_running_loop()
        batch = _Batch(loop.time() + BATCH_SECONDS)
        self.contents = batch.contents
        while not batch.is_full(loop.time()) and not self._is_at_end():
            await self._fill(find_known)
            visit, task = self._running[0]
            found = await task
            self._frontier.requests += 1
            batch.results += 1
            if found.wait_seconds is not None:
                self._try_again(visit, found.wait_seconds, batch)
                continue
            self._running.popleft()
            self._known.pop(visit.address, None)
            await self._take(found, batch)
        return batch

    def _try_again(self, visit: Visit, wait_seconds: float, batch: _Batch) -> None:
        """Request the first of the running visits again, in its place: a failure must not change the order."""
        is_long = wait_seconds > PATIENCE_SECONDS
        if is_long:
            batch.long_wait = wait_seconds
            self._frontier.long_waits += 1
            self._frontier.not_before = clock.now().timestamp() + wait_seconds
        # The pace of the host waits for the short ones.
        again = self._visited(visit.again(), wait_seconds if is_long else 0.0)
        self._running[0] = (visit.again(), asyncio.create_task(again))

    async def _visited(self, visit: Visit, wait_seconds: float = 0.0) -> Found:
        await asyncio.sleep(wait_seconds)
        known = None if visit.purpose is Purpose.LIST else self._known.get(visit.address)
        return await self._visiting.visit(visit, known)

    async def _fill(self, find_known: FindKnown) -> None:
        """Begin the next visits, at most as many as there may be further items."""
        frontier = self._frontier
        most = min(AT_ONCE, self._limits.max_pages - frontier.listed)
        while len(self._running) < most and len(frontier):
            if frontier.ahead(1)[0].address not in self._known:
                addresses = [visit.address for visit in frontier.ahead(LOOKED_UP_AT_ONCE)]
                found: Mapping[str, KnownItem] = await find_known(addresses)
                self._known |= {address: found.get(address) for address in addresses}
            visit = frontier.take()
            self._running.append((visit, asyncio.create_task(self._visited(visit))))

    async def _take(self, found: Found, batch: _Batch) -> None:
        """Take a result: its item, and the addresses that it leads to."""
        visit = found.visit
        if visit.purpose is Purpose.START:
            self._require_start(found)
        if found.redirect is not None:
            return self._redirect(found, batch)
        if found.reason is not None:
            is_expected = visit.purpose is Purpose.LIST and found.reason in ("gone", "no_list")
            self._frontier.counts[found.reason] += not is_expected
            self._note_absence(visit)
        if found.error is not None and not isinstance(found.error, AccessDeniedError):
            self._note_failure(found, batch)
        item = self._chosen(found)
        if item is None:
            found.close()
        else:
            batch.items.append(item)
            self._frontier.listed += 1
            if found.answer is not None:
                batch.byte_size += found.answer.byte_size
                batch.contents[item.external_id] = found
        await self._follow(found)
        return None

    def _require_start(self, found: Found) -> None:
        """Check the result of the only start address.

        Raises:
            AnalytiqError: it leads nowhere.
        """
        if len(self._limits.start) == 1 and not self._frontier.listed:
            require_start(found, self._scope)

    def _redirect(self, found: Found, batch: _Batch) -> None:
        visit, target = found.visit, self._scope.cleaned(found.redirect or "")
        is_start = visit.purpose is Purpose.START
        if target is None or visit.redirects >= MOST_REDIRECTS:
            is_covered = False
        elif visit.purpose is Purpose.LIST:
            is_covered = True
        else:
            is_covered = self._scope.has_host(target) if is_start else self._scope.covers(target)
        if target is None or not is_covered:
            self._frontier.counts["redirect"] += 1
            if is_start:
                batch.problems.append(f"{visit.address}: the start address redirects out of the source.")
            return self._note_absence(visit)
        following = Visit(target, visit.purpose, depth=visit.depth, redirects=visit.redirects + 1)
        if not self._frontier.add(following, is_next=True):
            return self._note_absence(visit)
        page = self._frontier.stand_ins.pop(key_of(visit.address), None)
        if page is not None:
            self._frontier.stand_ins[key_of(target)] = page
        return None

    def _note_absence(self, visit: Visit) -> None:
        """Record that an address is no page, and take the page instead that named it as its own."""
        frontier, key = self._frontier, key_of(visit.address)
        frontier.absent.add(key)
        page = frontier.stand_ins.pop(key, None)
        if page is not None:
            frontier.preferred.add(key_of(page))
            frontier.put(Visit(page, Purpose.PAGE, depth=visit.depth))

    def _note_failure(self, found: Found, batch: _Batch) -> None:
        if found.is_complete:
            return
        # Pages that only this one links to are not listed, so that nothing may be removed.
        detail = found.error.detail if found.error else ""
        is_list = found.visit.purpose is Purpose.LIST
        advice = "Switch `use_sitemaps` off" if is_list else "Exclude it by a pattern"
        batch.problems.append(f"{found.visit.address}: {detail} {advice} if it always fails.")

    def _chosen(self, found: Found) -> ListedItem | None:
        """Return the item of a result unless another page stands for it."""
        item, frontier = found.item, self._frontier
        if item is None or not self._scope.accepts(item.external_id):
            return None
        if item.failure is not None or item.skip_reason is not None:
            return item
        if self._has_other_address(found):
            return None
        if found.text_key:
            if found.text_key in frontier.texts:
                frontier.counts["same"] += 1
                if found.word_count >= FEW_WORDS:
                    # A session in the address makes such copies without end.
                    found.links = found.lists = ()
                return None
            frontier.texts.add(found.text_key)
        return item

    def _has_other_address(self, found: Found) -> bool:
        """Return True if the page names another address as its own, which is visited instead."""
        frontier, address = self._frontier, found.visit.address
        canonical = self._scope.cleaned(found.canonical) if found.canonical else None
        if canonical is None or key_of(canonical) == key_of(address) or key_of(address) in frontier.preferred:
            return False
        is_taken = self._scope.has_host(canonical) and self._scope.accepts(canonical)
        if not is_taken or key_of(canonical) in frontier.absent or is_mistaken(canonical, address):
            return False
        frontier.preferred.add(key_of(canonical))
        frontier.stand_ins.setdefault(key_of(canonical), address)
        frontier.add(Visit(canonical, Purpose.PAGE, depth=found.visit.depth))
        frontier.counts["canonical"] += 1
        return True

    async def _follow(self, found: Found) -> None:
        visit, frontier = found.visit, self._frontier
        is_list = visit.purpose is Purpose.LIST
        # Entries of a sitemap are where a crawl begins, like its start addresses.
        is_seed = is_list or (visit.purpose is Purpose.START and found.item is None and found.reason is None)
        for link in found.lists:
            if visit.redirects < MOST_REDIRECTS and (is_list or self._scope.has_host(link)):
                nesting = visit.redirects + 1 if is_list else 0
                frontier.add(Visit(link, Purpose.LIST, depth=visit.depth + (not is_seed), redirects=nesting))
        for index, link in enumerate(found.links):
            if index % LINKS_AT_ONCE == LINKS_AT_ONCE - 1:
                await asyncio.sleep(0)
            address = self._scope.cleaned(link)
            if address is None or is_never_read(address):
                continue
            depth = visit.depth + (not is_seed)
            reason = self._scope.reason_against(address, depth)
            if reason is None:
                frontier.add(Visit(address, Purpose.PAGE, depth=depth))
            elif reason != "outside":
                frontier.counts[reason] += 1

    async def _wait(self) -> None:
        """Wait until a site wants to be asked again; end the turn if that is long.

        Raises:
            RateLimitedError: it is long; the run goes on afterwards.
            PermanentError: sites have asked for it too often.
        """
        seconds = self._frontier.not_before - clock.now().timestamp()
        if self._frontier.long_waits > MOST_LONG_WAITS:
            raise PermanentError(
                "The site asks to wait again and again. Run the source later, with a larger `delay_seconds`.",
                code="source_rate_limited",
            )
        if seconds > PATIENCE_SECONDS:
            raise RateLimitedError(f"The site asks to wait for {seconds:.0f} s.", retry_after=seconds)
        await asyncio.sleep(max(0.0, seconds))

    def _closing_notes(self, batch: _Batch) -> list[str]:
        """Return the notes at the end of the crawl; add a problem if it is incomplete."""
        frontier = self._frontier
        left = len(frontier) + len(self._running)
        notes = [f"Addresses without a document: {count:,}, because {REASONS[reason]}."
                 for reason, count in sorted(frontier.counts.items()) if count and reason in REASONS]  # fmt: skip
        if frontier.listed >= self._limits.max_pages and left:
            notes.append(f"The crawl ended at {frontier.listed:,} pages (`max_pages`); {left:,} addresses are left.")
        elif frontier.counts["full"]:
            batch.problems.append(f"{REASONS['full'].capitalize()}. Leave out some by patterns.")
        elif left:
            batch.problems.append(
                f"The crawl ended after {frontier.requests:,} requests, {left:,} addresses before its end: too many of"
                " them lead to no page. Exclude them by patterns."
            )
        return notes

    async def _stop(self) -> None:
        self.close_contents()
        tasks: Sequence[asyncio.Task[Found]] = [task for _, task in self._running]
        self._running.clear()
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Found):
                result.close()


def require_start(found: Found, scope: Scope) -> None:
    """Check that a start address leads into the source.

    Raises:
        AnalytiqError: it does not; the detail says what to change.
    """
    address = found.visit.address
    if found.redirect is not None:
        target = scope.cleaned(found.redirect)
        if target is None or not scope.has_host(target):
            raise InvalidInputError.of_field(
                "settings.url",
                f"{address} redirects to {host_of(target) if target else 'no web address'!r}. Use the address behind"
                " it, or add its host to `hosts`.",
            )
    elif found.error is not None:
        raise found.error
    elif found.reason == "robots":
        raise AccessDeniedError(
            f"The robots.txt of {host_of(address)} forbids {address}. For a site of your own set `ignore_robots`.",
            code="robots_forbid",
        )
    elif found.reason in ("gone", "type", "empty"):
        raise NotFoundError(f"{address} is no page: {REASONS[found.reason]}. Check the address.")


def is_mistaken(canonical: str, address: str) -> bool:
    """Return True for a canonical address that a template gives to all pages: the site's first page."""
    path = path_of(address).partition("?")[0]
    is_first = path in ("/", "") or (path.rpartition("/")[0] == "" and path.startswith("/index."))
    return path_of(canonical) == "/" and not is_first
