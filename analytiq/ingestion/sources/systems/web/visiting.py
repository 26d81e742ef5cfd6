"""One visit: requests an address, and tells what is there."""

import asyncio
from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.formats import HTML, OCTETS
from analytiq.ingestion.sources.base import KnownItem, ListedItem
from analytiq.ingestion.sources.connections.decoding import UnreadableError
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.systems.web import link_lists
from analytiq.ingestion.sources.systems.web.addresses import absolute, host_of, path_of
from analytiq.ingestion.sources.systems.web.browser import NoBrowserError
from analytiq.ingestion.sources.systems.web.file_types import XML, name_of, type_of
from analytiq.ingestion.sources.systems.web.frontier import Purpose, Visit
from analytiq.ingestion.sources.systems.web.known_page import KnownPage
from analytiq.ingestion.sources.systems.web.page import MOST_HTML_BYTES, PageFacts, page_facts
from analytiq.ingestion.sources.systems.web.rendering import PageRendering, needs_scripts
from analytiq.ingestion.sources.systems.web.requests import Answer, SlowAnswerError, TooLargeError, WebClient
from analytiq.ingestion.sources.systems.web.sites import SERVER_ERRORS, TOO_MANY_REQUESTS, Site, Sites

log = structlog.get_logger(__name__)

MOST_TRIES = 3
MOST_SLOW_TRIES = 2
"""The crawl takes results in order, so that all pages behind a slow one wait for it."""
UNNAMED_WAIT_SECONDS = 2.0
"""Wait after a failure without a Retry-After."""
PATIENCE_SECONDS = 15.0
"""Longest wait within a batch; for a longer one the run gives its slot back."""
NOT_MODIFIED = 304
GONE = (404, 410)
DENIED = (401, 403, 407)
HEAD_BYTES = 2048


@dataclass(slots=True)
class Found:
    """The result of a visit.

    Attributes:
        item: the document's item; None if there is none.
        answer: its content, which whoever takes the result closes.
        links: addresses of pages.
        lists: addresses of sitemaps and feeds.
        canonical: the address that the page names as its own.
        text_key: equal for pages with the same words.
        word_count: words of the page; few of them do not tell pages apart.
        redirect: the address that the server refers to; "" if it is none of the web.
        reason: the name of the reason why there is no item.
        error: the failure, if the address could not be read.
        wait_seconds: request it again after this time.
        is_complete: False after a failure without links of the last run, which would lead to further pages.
    """

    visit: Visit
    item: ListedItem | None = None
    answer: Answer | None = None
    links: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    canonical: str | None = None
    text_key: str = ""
    word_count: int = 0
    redirect: str | None = None
    reason: str | None = None
    error: AnalytiqError | None = None
    wait_seconds: float | None = None
    is_complete: bool = True

    def close(self) -> None:
        """Free the content."""
        if self.answer is not None:
            self.answer.close()
            self.answer = None


@dataclass(frozen=True, slots=True)
class _Known:
    """The item of the last run, with its note read."""

    item: KnownItem | None = None
    page: KnownPage | None = None


class Visiting:
    """Visits addresses."""

    def __init__(self, client: WebClient, sites: Sites, rendering: PageRendering, max_item_bytes: int) -> None:
        self._client = client
        self._sites = sites
        self._rendering = rendering
        # A page is read for its links even if it is too large for a document; the engine skips the item by its size.
        self._most_bytes = max(max_item_bytes, MOST_HTML_BYTES)
        self._reads_list = asyncio.Lock()  # the tree of a large list takes much memory: one at a time

    async def visit(self, visit: Visit, known_item: KnownItem | None = None) -> Found:
        """Request an address; failures are told in the result.

        `known_item`: what the last run read there, which makes the request conditional.
        """
        known = _Known(known_item, KnownPage.of_item(known_item))
        try:
            site = await self._sites.of(visit.address)
            if not site.rules.allows(visit.address):
                return Found(visit, reason="robots")
            await site.pace.turn()
            return await self._request(visit, site, known)
        except ForbiddenAddressError as error:
            return Found(visit, reason="forbidden", error=error)
        except TooLargeError as error:
            return _skipped(visit, known, error.detail)
        except UnreadableError as error:
            return self._again_or_failed(visit, known, error, error.retry_after)
        except Exception as error:
            # A stranger's page may find a fault of ours: the other pages do not wait for it.
            log.exception("sources.visit_failed")
            return _failed(visit, known, UnreadableError(f"Reading it failed unexpectedly: {type(error).__name__}."))

    async def _request(self, visit: Visit, site: Site, known: _Known) -> Found:
        is_list = visit.purpose is Purpose.LIST
        answer = await self._client.get(
            visit.address,
            most_bytes=link_lists.MOST_BYTES if is_list else self._most_bytes,
            headers=known.page.conditions if known.page else None,
            judge=None if is_list else _is_wanted,
        )
        if answer.status == NOT_MODIFIED and known.page is not None:
            return _unchanged(visit, known)
        if not answer.is_success:
            return self._refused(visit, known, answer)
        if answer.content is None:
            return Found(visit, reason="type")
        try:
            found = await self._read(visit, site, answer)
        except BaseException:
            answer.close()
            raise
        if found.item is None or found.item.skip_reason is not None:
            answer.close()
        elif found.answer is None:
            found.answer = answer
        return found

    def _refused(self, visit: Visit, known: _Known, answer: Answer) -> Found:
        """Tell a redirect, an absence or a failure."""
        if answer.location is not None:
            return Found(visit, redirect=absolute(answer.location, visit.address) or "")
        if answer.status in GONE:
            return Found(visit, reason="gone")
        if answer.status in DENIED:
            detail = f"HTTP {answer.status}: the site denies the access. Give the source credentials, or exclude it."
            return _failed(visit, known, UnreadableError(detail))
        error = UnreadableError(f"The server answered with HTTP {answer.status}.")
        if answer.status < SERVER_ERRORS and answer.status != TOO_MANY_REQUESTS:
            return _failed(visit, known, error)
        return self._again_or_failed(visit, known, error, answer.retry_after)

    def _again_or_failed(self, visit: Visit, known: _Known, error: AnalytiqError, retry_after: float | None) -> Found:
        if visit.tries + 1 >= (MOST_SLOW_TRIES if isinstance(error, SlowAnswerError) else MOST_TRIES):
            return _failed(visit, known, error)
        # Grows with the tries, since the server named no time.
        wait = UNNAMED_WAIT_SECONDS * (visit.tries + 1) if retry_after is None else retry_after
        if wait <= PATIENCE_SECONDS:
            self._sites.pace_of(visit.address).hold(wait)
        return Found(visit, error=error, wait_seconds=wait)

    async def _read(self, visit: Visit, site: Site, answer: Answer) -> Found:
        if answer.content is None or not answer.byte_size:
            return Found(visit, reason="empty")
        head = answer.content.read(HEAD_BYTES)
        answer.content.seek(0)
        kind = _kind_of(answer, head)
        is_list = visit.purpose is Purpose.LIST or (kind == XML and link_lists.looks_like_link_list(head))
        if is_list:
            return await self._read_list(visit, answer)
        if kind == HTML:
            return await self._read_page(visit, site, answer)
        if kind is None or kind == OCTETS:
            return Found(visit, reason="type")
        return _file(visit, answer, kind)

    async def _read_page(self, visit: Visit, site: Site, answer: Answer) -> Found:
        facts = await _facts_of(answer)
        if not self._rendering.is_wanted(facts):
            return _page(visit, site, answer, facts)
        try:
            rendered = await self._rendering.render(answer)
        except NoBrowserError as error:
            return Found(visit, item=_page_item(visit, answer, facts, (), skip_reason=error.detail))
        if rendered.address != visit.address:
            return Found(visit, redirect=rendered.address)
        found = _page(visit, site, rendered, await _facts_of(rendered))
        if found.item is not None and found.item.skip_reason is None:
            answer.close()
            found.answer = rendered
        return found

    async def _read_list(self, visit: Visit, answer: Answer) -> Found:
        if answer.content is None:
            return Found(visit, reason="empty")
        try:
            async with self._reads_list:
                told = await asyncio.to_thread(link_lists.link_list, answer.content, address=visit.address)
        except link_lists.NoLinkListError:
            return Found(visit, reason="no_list")
        return Found(visit, links=told.pages, lists=told.lists)


async def _facts_of(answer: Answer) -> PageFacts:
    if answer.content is None:
        return PageFacts()
    content = answer.content.read(MOST_HTML_BYTES)
    answer.content.seek(0)
    return await asyncio.to_thread(
        page_facts,
        content,
        address=answer.address,
        content_type=answer.header("content-type"),
        robots_header=answer.header("x-robots-tag"),
    )


def _page(visit: Visit, site: Site, answer: Answer, facts: PageFacts) -> Found:
    links = () if facts.is_dead_end else facts.links
    if visit.purpose is not Purpose.START and site.has_as_missing(facts):
        return Found(visit, reason="soft_404")
    if facts.is_unlisted:
        return Found(visit, reason="noindex", links=links, lists=facts.feeds)
    return Found(
        visit,
        item=_page_item(visit, answer, facts, links, skip_reason=_skip_reason(visit, facts)),
        links=links,
        lists=facts.feeds,
        canonical=facts.canonical,
        text_key=facts.text_key,
        word_count=facts.word_count,
    )


def _skip_reason(visit: Visit, facts: PageFacts) -> str | None:
    if needs_scripts(facts):
        return "The page has no text, or makes it by JavaScript in a way that could not be read."
    if facts.looks_missing and visit.purpose is not Purpose.START:
        return f"Its title says that the page does not exist: {facts.title[:100]!r}."
    return None


def _page_item(
    visit: Visit, answer: Answer, facts: PageFacts, links: tuple[str, ...], *, skip_reason: str | None
) -> ListedItem:
    fields: dict[str, JsonValue] = {"title": facts.title, "description": facts.description}
    page = KnownPage(
        fields=_fields(answer, HTML) | fields,
        name=name_of(visit.address, HTML),
        links=links,
        feeds=facts.feeds,
        text_key=facts.text_key,
        word_count=facts.word_count,
        # Of a longer page only the beginning was read.
        version=f"page:{facts.version}" if answer.byte_size <= MOST_HTML_BYTES else f"sha256:{answer.sha256}",
        etag=answer.header("etag"),
        last_modified=answer.header("last-modified"),
    )
    return _item(visit, page, page.encoded(), byte_size=answer.byte_size, skip_reason=skip_reason)


def _file(visit: Visit, answer: Answer, kind: str) -> Found:
    page = KnownPage(
        fields=_fields(answer, kind),
        name=name_of(visit.address, kind),
        version=f"sha256:{answer.sha256}",
        etag=answer.header("etag"),
        last_modified=answer.header("last-modified"),
    )
    return Found(visit, item=_item(visit, page, page.encoded(), byte_size=answer.byte_size))


def _unchanged(visit: Visit, known: _Known) -> Found:
    """Tell a page that the server has not sent, since it has not changed."""
    if known.page is None or known.item is None:
        return Found(visit, reason="empty")
    return Found(
        visit,
        item=_item(visit, known.page, known.item.note),
        links=known.page.links,
        lists=known.page.feeds,
        text_key=known.page.text_key,
        word_count=known.page.word_count,
    )


def _item(
    visit: Visit, page: KnownPage, note: str | None, *, byte_size: int | None = None, skip_reason: str | None = None
) -> ListedItem:
    return ListedItem(
        external_id=visit.address,
        name=page.name,
        version=page.version,
        byte_size=byte_size,
        source_url=visit.address,
        fields=page.fields,
        note=note,
        skip_reason=skip_reason,
    )


def _failed(visit: Visit, known: _Known, error: AnalytiqError) -> Found:
    """Tell a failure; the links of the last run stand for those that could not be read."""
    found = _with_links_of_last_run(visit, known)
    found.error = error
    if visit.purpose is not Purpose.LIST:
        found.item = ListedItem(
            external_id=visit.address,
            name=known.page.name if known.page else name_of(visit.address, HTML),
            source_url=visit.address,
            failure=error.detail,
        )
    return found


def _skipped(visit: Visit, known: _Known, reason: str) -> Found:
    found = _with_links_of_last_run(visit, known)
    if visit.purpose is Purpose.LIST:
        found.error = UnreadableError(reason)
        return found
    name = known.page.name if known.page else name_of(visit.address, HTML)
    found.item = ListedItem(external_id=visit.address, name=name, source_url=visit.address, skip_reason=reason)
    return found


def _with_links_of_last_run(visit: Visit, known: _Known) -> Found:
    if known.page is None:
        return Found(visit, is_complete=False)
    return Found(visit, links=known.page.links, lists=known.page.feeds)


def _kind_of(answer: Answer, head: bytes) -> str | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].lower()
    if not answer.content_type and start.startswith((b"<!doctype html", b"<html")):
        return HTML
    return type_of(answer.address, answer.content_type)


def _is_wanted(answer: Answer) -> bool:
    return type_of(answer.address, answer.content_type) is not None


def _fields(answer: Answer, kind: str) -> dict[str, JsonValue]:
    path = path_of(answer.address)
    return {
        "address": answer.address,
        "host": host_of(answer.address),
        "path": path,
        "folder": path.partition("?")[0].rpartition("/")[0].strip("/"),
        "content_type": kind,
        "last_modified": answer.header("last-modified"),
    }
