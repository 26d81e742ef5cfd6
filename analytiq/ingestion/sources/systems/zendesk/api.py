"""Zendesk's APIs: reading calls and their pages by cursor."""

import base64
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.connections.service_client import (
    CredentialsRefusedError,
    Parameters,
    PositionExpiredError,
    ServiceClient,
)
from analytiq.ingestion.sources.connections.wire import WireModel, read_as, readable
from analytiq.ingestion.sources.systems.zendesk.wire import (
    Article,
    Comment,
    Export,
    Locales,
    Paged,
    Section,
    Segment,
    Ticket,
    User,
)
from analytiq.settings import SourceSettings

SERVICE = "Zendesk"
PAGE = 100
MOST_PAGES = 1000
"""Most pages of one list."""
MOST_COMMENTS = 5000
"""Most comments of a ticket, as Zendesk limits them."""

Model = TypeVar("Model", bound=WireModel)


class _OneArticle(WireModel):
    article: Article


class _OneTicket(WireModel):
    ticket: Ticket


@dataclass(frozen=True, slots=True)
class ArticlePage:
    """Articles, and the cursor behind them; None at the end."""

    articles: list[Article]
    after: str | None


@dataclass(frozen=True, slots=True)
class TicketPage:
    """Changed tickets with the people in them, and the cursor behind them."""

    tickets: list[Ticket]
    users: Mapping[int, User]
    after: str
    is_end: bool


class ZendeskApi:
    """Reading calls to Zendesk."""

    def __init__(self, operator: SourceSettings, *, url: str, authorization: str | None) -> None:
        headers = {"authorization": authorization} if authorization else {}
        self._client = ServiceClient(operator, f"{url.rstrip('/')}/api/v2", headers=headers, service=SERVICE)

    async def locales(self) -> tuple[str, ...]:
        """Return the languages of the help center."""
        return read_as(Locales, await self._client.get("/help_center/locales"), service=SERVICE).locales

    async def articles(self, locale: str, after: str | None) -> ArticlePage:
        """Return a page of the articles in a language.

        Raises:
            PositionExpiredError: the cursor is not known any more.
        """
        parameters: dict[str, str | int] = {"page[size]": PAGE, "sort_by": "created_at", "sort_order": "asc"}
        if after is not None:
            parameters["page[after]"] = after
        try:
            content = await self._client.get(f"/help_center/{locale}/articles", parameters)
        except PermanentError as error:
            raise _as_expired(error, after) from None
        meta = read_as(Paged, content, service=SERVICE).meta
        articles = readable(Article, _listed(content, "articles"))[0]
        return ArticlePage(articles, meta.after_cursor if meta.has_more else None)

    async def article(self, locale: str, article_id: int) -> Article | None:
        """Return an article in a language; None if it does not exist."""
        try:
            content = await self._client.get(f"/help_center/{locale}/articles/{article_id}")
        except NotFoundError:
            return None
        return read_as(_OneArticle, content, service=SERVICE).article

    async def sections(self, locale: str) -> tuple[dict[int, Section], dict[int, Section]]:
        """Return the sections and the categories in a language, by id."""
        sections = await self._all(Section, f"/help_center/{locale}/sections", "sections")
        categories = await self._all(Section, f"/help_center/{locale}/categories", "categories")
        return {each.id: each for each in sections}, {each.id: each for each in categories}

    async def segments(self) -> dict[int, Segment]:
        """Return the user segments by id; none if the credentials may not see them."""
        try:
            found = await self._all(Segment, "/help_center/user_segments", "user_segments")
        except (CredentialsRefusedError, NotFoundError):
            return {}
        return {each.id: each for each in found}

    async def tickets(self, *, start_time: int, after: str | None) -> TicketPage:
        """Return a page of the tickets that changed, behind a cursor or since a time, deleted ones too.

        Raises:
            PositionExpiredError: the cursor is not known any more.
            PermanentError: Zendesk names no next position.
        """
        parameters: dict[str, str | int] = {"per_page": PAGE, "include": "users"}
        parameters |= {"cursor": after} if after is not None else {"start_time": start_time}
        try:
            content = await self._client.get("/incremental/tickets/cursor", parameters)
        except PermanentError as error:
            raise _as_expired(error, after) from None
        frame = read_as(Export, content, service=SERVICE)
        tickets = readable(Ticket, _listed(content, "tickets"))[0]
        position = frame.after_cursor or after
        if position is None or (not frame.end_of_stream and position == after):
            raise PermanentError("Zendesk exports tickets without a next position. Run again later.")
        return TicketPage(tickets, _people(content), position, frame.end_of_stream)

    async def ticket(self, ticket_id: int) -> tuple[Ticket, Mapping[int, User]] | None:
        """Return a ticket with the people in it; None if it does not exist."""
        try:
            content = await self._client.get(f"/tickets/{ticket_id}", {"include": "users"})
        except NotFoundError:
            return None
        ticket = read_as(_OneTicket, content, service=SERVICE).ticket
        return (ticket, _people(content)) if ticket.status != "deleted" else None

    async def comments(self, ticket_id: int) -> tuple[list[Comment], dict[int, User]]:
        """Return the comments of a ticket, oldest first, with their authors.

        Raises:
            NotFoundError: the ticket does not exist any more.
        """
        comments: list[Comment] = []
        users: dict[int, User] = {}
        async for content in self._pages(f"/tickets/{ticket_id}/comments", {"include": "users"}):
            comments += readable(Comment, _listed(content, "comments"))[0]
            users.update(_people(content))
            if len(comments) >= MOST_COMMENTS:
                break
        return comments, users

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _all(self, model: type[Model], path: str, name: str) -> list[Model]:
        found: list[Model] = []
        async for content in self._pages(path, {}):
            found += readable(model, _listed(content, name))[0]
        return found

    async def _pages(self, path: str, parameters: Parameters) -> AsyncGenerator[JsonValue]:
        """Yield the pages of a list.

        Raises:
            PermanentError: it has no end.
        """
        asked: dict[str, str | int] = {**parameters, "page[size]": PAGE}
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            content = await self._client.get(path, asked)
            yield content
            meta = read_as(Paged, content, service=SERVICE).meta
            if not meta.has_more or meta.after_cursor is None:
                return
            if meta.after_cursor in seen:
                break
            seen.add(meta.after_cursor)
            asked["page[after]"] = meta.after_cursor
        raise PermanentError("Zendesk lists pages without end. Run again later.")


def basic_authorization(email: str, api_token: str) -> str:
    """Return the header of a person's API token."""
    return f"Basic {base64.b64encode(f'{email}/token:{api_token}'.encode()).decode()}"


def _listed(content: JsonValue, name: str) -> JsonValue:
    return content.get(name) if isinstance(content, dict) else None


def _people(content: JsonValue) -> dict[int, User]:
    return {user.id: user for user in readable(User, _listed(content, "users"))[0]}


def _as_expired(error: PermanentError, after: str | None) -> PermanentError:
    """Return the error of a call with a cursor: a refused one is an old one."""
    if after is None or isinstance(error, PositionExpiredError):
        return error
    return PositionExpiredError("Zendesk does not know that position any more.")
