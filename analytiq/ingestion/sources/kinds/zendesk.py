"""Zendesk: articles of the help center in each language, and tickets with their comments."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import date
from typing import ClassVar, Self

from pydantic import Field, HttpUrl, SecretStr, model_validator

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.systems.zendesk.api import ZendeskApi, basic_authorization
from analytiq.ingestion.sources.systems.zendesk.items import ItemId, article_page, ticket_item, ticket_page
from analytiq.ingestion.sources.systems.zendesk.listing import Choice, Held, HelpCenters, Listing
from analytiq.ingestion.sources.systems.zendesk.wire import Article, Ticket


class ZendeskSettings(KindSchema):
    """The settings of a Zendesk."""

    url: HttpUrl = Field(title="Address", description="Such as https://example.zendesk.com")
    articles: bool = Field(default=True, description="Each article of the help center, in each language")
    locales: tuple[str, ...] = Field(
        default=(), max_length=50, title="Languages", description="Such as en-us; none: all of the help center"
    )
    drafts: bool = Field(default=False, description="Also read articles that are not published")
    tickets: bool = Field(default=False, description="Each ticket with its comments; needs an administrator's token")
    private_comments: bool = Field(default=False, description="Also read internal notes of tickets")
    tickets_since: date | None = Field(default=None, description="Only tickets that changed since this day")

    @model_validator(mode="after")
    def _takes_something(self) -> Self:
        if not (self.articles or self.tickets):
            raise ValueError("Choose articles, tickets or both")
        return self


class ZendeskCredentials(KindSchema):
    """An API token of a person, or an OAuth token; none for a public help center."""

    email: str | None = Field(default=None, max_length=320, title="E-mail address", description="Of the API token")
    api_token: SecretStr | None = Field(default=None, title="API token")
    access_token: SecretStr | None = Field(
        default=None, title="OAuth access token", description="Instead of an API token; with the scope read"
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if (self.email is None) != (self.api_token is None):
            raise ValueError("An API token needs the e-mail address of its person, and the other way round")
        if self.api_token is not None and self.access_token is not None:
            raise ValueError("Give either an API token or an OAuth token")
        return self

    def authorization(self) -> str | None:
        """Return the header of calls; None without credentials."""
        if self.access_token is not None:
            return f"Bearer {self.access_token.get_secret_value().strip()}"
        if self.email is None or self.api_token is None:
            return None
        return basic_authorization(self.email.strip(), self.api_token.get_secret_value().strip())


class ZendeskConnector:
    """A help center and its tickets."""

    title: ClassVar[str] = "Zendesk"
    description: ClassVar[str] = "Articles of a help center, and tickets with their comments."
    settings_schema: ClassVar[type[KindSchema]] = ZendeskSettings
    credentials_schema: ClassVar[type[KindSchema]] = ZendeskCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = ZendeskSettings.model_validate(settings, from_attributes=True)
        self._context = context
        secrets = ZendeskCredentials.model_validate(credentials, from_attributes=True)
        url = str(self._settings.url)
        self._api = ZendeskApi(context.operator, url=url, authorization=secrets.authorization())
        self._centers = HelpCenters(self._api, self._settings.locales)
        self._held = Held()
        self._choice = Choice(
            url=url,
            articles=self._settings.articles,
            drafts=self._settings.drafts,
            tickets=self._settings.tickets,
            private_comments=self._settings.private_comments,
            tickets_since=self._settings.tickets_since,
            accepts=context.accepts,
        )

    async def check(self) -> None:
        """See Connector.

        Raises:
            NotFoundError: the help center has none of the languages.
            CredentialsRefusedError: the credentials may not read it, or not export tickets.
        """
        if self._settings.articles and not await self._centers.locales():
            raise NotFoundError("The help center has none of these languages, or is not activated.")
        if self._settings.tickets:
            await self._api.tickets(start_time=self._choice.start_time, after=None)

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor holds those of Zendesk; an expired one begins its list again."""
        listing = Listing(self._api, self._centers, self._choice, self._held)
        async with aclosing(listing.batches(cursor, self._context.since)) as batches:
            async for batch in batches:
                yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        wanted = ItemId.parsed(external_id)
        item: ListedItem | None = None
        if wanted is not None and wanted.ticket is not None and self._settings.tickets:
            item = await self._found_ticket(wanted.ticket)
        elif wanted is not None and wanted.article is not None and self._settings.articles:
            article = await self._article(wanted)
            item = (await self._centers.of(wanted.locale)).item(article) if article is not None else None
        return item if item is not None and self._context.accepts(item.name) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector.

        Raises:
            ItemGoneError: it was deleted, or is a draft again.
            ItemRefusedError: all comments of the ticket are private.
        """
        wanted = ItemId.parsed(item.external_id)
        if wanted is None:
            raise ItemGoneError("It does not exist any more.")
        if wanted.ticket is not None:
            page = await self._ticket_page(wanted.ticket, self._held.tickets.get(item.external_id))
            return FetchedItem(contents.text(page), "text/html", item.version)
        page = self._held.pages.get(item.external_id)
        if page is None:
            article = await self._article(wanted)
            if article is None:
                raise ItemGoneError("The article was deleted, or is a draft again.")
            page = article_page(article)
        return FetchedItem(contents.text(page), "text/html", item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    async def _article(self, wanted: ItemId) -> Article | None:
        if wanted.article is None or wanted.locale not in await self._centers.locales():
            return None
        article = await self._api.article(wanted.locale, wanted.article)
        if article is None or article.locale.lower() != wanted.locale.lower():
            return None
        return article if self._settings.drafts or not article.draft else None

    async def _found_ticket(self, ticket_id: int) -> ListedItem | None:
        found = await self._api.ticket(ticket_id)
        if found is None:
            return None
        ticket, users = found
        return ticket_item(ticket, users, url=self._choice.url, with_private=self._choice.private_comments)

    async def _ticket_page(self, ticket_id: int, ticket: Ticket | None) -> str:
        try:
            if ticket is None:
                found = await self._api.ticket(ticket_id)
                if found is None:
                    raise ItemGoneError("The ticket was deleted.")
                ticket = found[0]
            comments, users = await self._api.comments(ticket_id)
        except NotFoundError:
            raise ItemGoneError("The ticket was deleted.") from None
        shown = [comment for comment in comments if comment.public or self._settings.private_comments]
        if not shown:
            raise ItemRefusedError("Its comments are private.")
        return ticket_page(ticket, shown, users)
