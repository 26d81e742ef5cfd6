"""Listings of Zendesk: the articles of each language, then tickets by their incremental export."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from pydantic import BaseModel, ValidationError

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.base import ListedBatch, ListedItem
from analytiq.ingestion.sources.connections.service_client import PositionExpiredError
from analytiq.ingestion.sources.systems.zendesk.api import MOST_PAGES, TicketPage, ZendeskApi
from analytiq.ingestion.sources.systems.zendesk.items import HelpCenter, article_page, ticket_item
from analytiq.ingestion.sources.systems.zendesk.wire import Ticket

MOST_TICKET_PAGES = 20_000


class Since(BaseModel):
    """The position of a complete run: the cursor of the export of tickets."""

    tickets: str


class Position(BaseModel):
    """The position within a run."""

    is_delta: bool
    locale: str = ""
    after: str | None = None
    """The cursor within the articles of the language."""
    is_locale_done: bool = False
    are_articles_done: bool = False
    tickets: str | None = None
    """The cursor of the export of tickets."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts that a source takes from Zendesk."""

    url: str
    articles: bool
    drafts: bool
    tickets: bool
    private_comments: bool
    tickets_since: date | None
    accepts: Callable[[str], bool]

    @property
    def start_time(self) -> int:
        """Return the time since which tickets are exported, in seconds of Unix."""
        first = self.tickets_since
        return max(1, int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp())) if first else 1


@dataclass(slots=True)
class Held:
    """Content of the items of the present batch, by external id."""

    pages: dict[str, str] = field(default_factory=dict[str, str])
    tickets: dict[str, Ticket] = field(default_factory=dict[str, Ticket])

    def clear(self) -> None:
        """Forget all."""
        self.pages.clear()
        self.tickets.clear()


class HelpCenters:
    """The order of the help center in each language, read once."""

    def __init__(self, api: ZendeskApi, wanted: Sequence[str]) -> None:
        self._api = api
        self._wanted = wanted
        self._locales: tuple[str, ...] | None = None
        self._read: dict[str, HelpCenter] = {}
        self._lock = asyncio.Lock()

    async def locales(self) -> tuple[str, ...]:
        """Return the chosen languages that the help center has."""
        if self._locales is None:
            found = {locale.lower(): locale for locale in await self._api.locales()}
            names = self._wanted or tuple(found)
            self._locales = tuple(sorted(found[name.lower()] for name in names if name.lower() in found))
        return self._locales

    async def of(self, locale: str) -> HelpCenter:
        """Return the order in a language."""
        async with self._lock:
            if locale not in self._read:
                sections, categories = await self._api.sections(locale)
                segments = next(iter(self._read.values())).segments if self._read else await self._api.segments()
                is_only = len(await self.locales()) == 1
                self._read[locale] = HelpCenter(locale, is_only, sections, categories, segments)
            return self._read[locale]


class Listing:
    """One listing of a Zendesk."""

    def __init__(self, api: ZendeskApi, centers: HelpCenters, choice: Choice, held: Held) -> None:
        self._api = api
        self._centers = centers
        self._choice = choice
        self._held = held
        self._first: TicketPage | None = None

    async def batches(self, cursor: str | None, since: str | None) -> AsyncGenerator[ListedBatch]:
        """Yield the batches behind a cursor: of all, or with the tickets that changed since a position."""
        position = _parsed(cursor) or await self._begin(since)
        if self._choice.articles and not position.are_articles_done:
            for locale in await self._centers.locales():
                if locale < position.locale or (locale == position.locale and position.is_locale_done):
                    continue
                async for following, batch in self._articles(locale, position):
                    position = following
                    yield batch
        position = position.model_copy(update={"are_articles_done": True})
        if not self._choice.tickets:
            return
        for _ in range(MOST_TICKET_PAGES):
            page = await self._ticket_page(position)
            position = position.model_copy(update={"tickets": page.after})
            yield self._tickets_of(page, position)
            if page.is_end:
                return
        raise PermanentError("Zendesk exports tickets without end. Run again later.")

    async def _begin(self, since: str | None) -> Position:
        """Return the first position: changes only, if Zendesk still knows the last one."""
        try:
            known = Since.model_validate_json(since) if since and self._choice.tickets else None
        except ValidationError:
            known = None
        if known is None:
            return Position(is_delta=False)
        try:
            self._first = await self._api.tickets(start_time=self._choice.start_time, after=known.tickets)
        except PositionExpiredError:
            return Position(is_delta=False)
        return Position(is_delta=True, tickets=known.tickets)

    async def _articles(self, locale: str, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the articles in a language, with the position behind them."""
        if locale != position.locale:
            position = position.model_copy(update={"locale": locale, "after": None, "is_locale_done": False})
        center = await self._centers.of(locale)
        after = position.after
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            try:
                page = await self._api.articles(locale, after)
            except PositionExpiredError:
                if after is None:
                    raise
                after = None  # what was taken in is recognized
                continue
            self._held.clear()
            items: list[ListedItem] = []
            for article in page.articles:
                if article.locale.lower() != locale.lower() or (article.draft and not self._choice.drafts):
                    continue
                item = center.item(article)
                if self._choice.accepts(item.name):
                    items.append(item)
                    self._held.pages[item.external_id] = article_page(article)
            following = position.model_copy(update={"after": page.after, "is_locale_done": page.after is None})
            yield following, ListedBatch(items, following.model_dump_json(), is_delta=position.is_delta)
            if page.after is None:
                return
            if page.after in seen:
                break
            seen.add(page.after)
            after = page.after
        raise PermanentError("Zendesk lists articles without end. Run again later.")

    async def _ticket_page(self, position: Position) -> TicketPage:
        first, self._first = self._first, None
        if first is not None:
            return first
        return await self._api.tickets(start_time=self._choice.start_time, after=position.tickets)

    def _tickets_of(self, page: TicketPage, position: Position) -> ListedBatch:
        self._held.clear()
        items: dict[str, ListedItem] = {}
        removed: list[str] = []
        for ticket in page.tickets:
            external_id = f"ticket:{ticket.id}"
            if ticket.status == "deleted":
                removed.append(external_id)
                items.pop(external_id, None)
                continue
            with_private = self._choice.private_comments
            item = ticket_item(ticket, page.users, url=self._choice.url, with_private=with_private)
            if self._choice.accepts(item.name):
                items[external_id] = item
                self._held.tickets[external_id] = ticket
        since = Since(tickets=page.after).model_dump_json() if page.is_end else None
        return ListedBatch(
            list(items.values()),
            position.model_dump_json(),
            removed=tuple(removed),
            is_delta=position.is_delta,
            next_since=since,
        )


def _parsed(cursor: str | None) -> Position | None:
    try:
        return Position.model_validate_json(cursor) if cursor else None
    except ValidationError:
        return None
