"""Pages of web sites, with the files that they link to.

Pages are read as the server sends them, or in a browser if they are made by JavaScript. Cookies are not kept between
requests.
"""

import base64
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import ClassVar, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.base import (
    Accepts,
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.decoding import BLOCK_BYTES, UnreadableError
from analytiq.ingestion.sources.patterns import accepting, require_patterns
from analytiq.ingestion.sources.systems.web.addresses import host_of, normalized, origin_of, parameter_pattern
from analytiq.ingestion.sources.systems.web.browser import Browser, find_browser
from analytiq.ingestion.sources.systems.web.crawl import BATCH_BYTES, Crawl, CrawlLimits, require_start
from analytiq.ingestion.sources.systems.web.frontier import Purpose, Visit
from analytiq.ingestion.sources.systems.web.rendering import PageRendering
from analytiq.ingestion.sources.systems.web.requests import Answer, TooLargeError, WebClient
from analytiq.ingestion.sources.systems.web.scope import Scope
from analytiq.ingestion.sources.systems.web.sites import MOST_REDIRECTS, Sites
from analytiq.ingestion.sources.systems.web.visiting import GONE, PATIENCE_SECONDS, Found, Visiting
from analytiq.models.source import ItemFilters

SESSION_PARAMETERS = (
    *("utm_*", "gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "_ga", "_gl"),
    *("phpsessid", "jsessionid", "aspsessionid*", "sessionid", "session_id", "sid", "cfid", "cftoken"),
)
MOST_HEADERS = 20
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OWN_HEADERS = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "accept-encoding", "if-none-match",
    "if-modified-since", "range", "upgrade", "expect", "proxy-authorization",
})  # fmt: skip


class WebSettings(KindSchema):
    """The settings of a web source."""

    url: str = Field(max_length=2000, description="Address where the crawl begins, such as https://example.com/docs/")
    more_urls: tuple[str, ...] = Field(default=(), max_length=50, description="Further addresses, also feeds")
    max_pages: int = Field(default=100, ge=1, le=10_000, description="Most pages and files")
    max_depth: int = Field(default=10, ge=0, le=100, description="Most links from a start address or sitemap")
    hosts: tuple[str, ...] = Field(
        default=(), max_length=50, description="Further hosts whose pages are taken, such as *.example.com"
    )
    follow: tuple[str, ...] = Field(
        default=(), description="Patterns of addresses that are visited for their links only"
    )
    use_sitemaps: bool = Field(default=True, description="Read sitemaps: those of robots.txt, and /sitemap.xml")
    drop_parameters: tuple[str, ...] = Field(
        default=SESSION_PARAMETERS,
        max_length=100,
        description="Parameters that are removed from addresses, such as those of sessions; * is a wildcard",
    )
    delay_seconds: float = Field(default=0.0, ge=0, le=30, description="Least time between two requests to a host")
    javascript: Literal["when_needed", "always", "never"] = Field(
        title="JavaScript",
        default="when_needed",
        description="Open pages in a browser: when they have no text without JavaScript, always (slow), or never",
    )
    ignore_robots: bool = Field(default=False, description="Ignore robots.txt; only for sites of your own")

    @field_validator("url", "more_urls")
    @classmethod
    def _are_addresses(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for address in (value,) if isinstance(value, str) else value:
            if normalized(address.strip()) is None:
                raise ValueError("Must be an address such as https://example.com/docs/, without user and password")
        return value

    @field_validator("hosts", "drop_parameters")
    @classmethod
    def _are_short(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if any(not 1 <= len(value) <= 253 or value.count("*") > 3 for value in values):
            raise ValueError("Must have 1 to 253 characters and at most 3 wildcards each")
        return tuple(value.lower() for value in values)

    @field_validator("follow")
    @classmethod
    def _are_patterns(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        try:
            require_patterns(ItemFilters(include=values))
        except InvalidInputError as error:
            raise ValueError(error.errors[0].reason) from None
        return values

    @property
    def start(self) -> tuple[str, ...]:
        """The start addresses in one spelling."""
        found = (normalized(address.strip()) for address in (self.url, *self.more_urls))
        return tuple(dict.fromkeys(address for address in found if address is not None))


class WebCredentials(KindSchema):
    """Secrets that are sent to the sites of the start addresses only."""

    headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr], max_length=MOST_HEADERS)
    """Headers by name, such as `Authorization`."""
    cookie: SecretStr | None = None
    """The whole Cookie header."""
    user: str | None = Field(default=None, max_length=200)
    password: SecretStr | None = None
    """Of HTTP's basic authentication, with `user`."""

    @model_validator(mode="after")
    def _is_sendable(self) -> "WebCredentials":
        for name in self.headers:
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
                raise ValueError("`headers` holds a name that cannot be sent")
        values = [*self.headers.values(), *(each for each in (self.cookie, self.password) if each is not None)]
        if not all(_is_header_value(value.get_secret_value()) for value in values):
            raise ValueError("A secret is longer than 8,000 characters, or holds characters that cannot be sent")
        if (self.user is None) != (self.password is None):
            raise ValueError("`user` and `password` belong together")
        return self

    @property
    def sent(self) -> dict[str, str]:
        """The headers of a request."""
        headers = {name.lower(): value.get_secret_value() for name, value in self.headers.items()}
        if self.cookie is not None:
            headers["cookie"] = self.cookie.get_secret_value()
        if self.user is not None and self.password is not None:
            pair = f"{self.user}:{self.password.get_secret_value()}".encode()
            headers["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers


class WebConnector:
    """Web sites."""

    title: ClassVar[str] = "Web site"
    description: ClassVar[str] = "Pages of web sites and the files that they link to."
    settings_schema: ClassVar[type[KindSchema]] = WebSettings
    credentials_schema: ClassVar[type[KindSchema]] = WebCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = WebSettings.model_validate(settings, from_attributes=True)
        sent = WebCredentials.model_validate(credentials, from_attributes=True).sent
        self._context = context
        start = self._settings.start
        origins = {origin_of(address) for address in start}
        # A site that moves its visitors to https keeps their credentials.
        origins |= {f"https://{host_of(origin + '/')}" for origin in origins if origin.startswith("http://")}
        self._client = WebClient(context.operator, sent, frozenset(origins), context.note_answer)
        self._sites = Sites(
            self._client, delay_seconds=self._settings.delay_seconds, ignores_robots=self._settings.ignore_robots
        )
        self._browser = Browser(context.operator, sent, frozenset(origins))
        self._visiting = Visiting(
            self._client, self._sites, PageRendering(self._browser, self._settings.javascript), context.max_item_bytes
        )
        self._scope = Scope(
            hosts=(*dict.fromkeys(map(host_of, start)), *self._settings.hosts),
            dropped_parameters=parameter_pattern(self._settings.drop_parameters),
            accepts=context.accepts,
            follows=_following(self._settings.follow),
            max_depth=self._settings.max_depth,
        )
        self._crawl: Crawl | None = None
        self._single: dict[str, Found] = {}
        """Results of `find` whose content has not been fetched."""

    async def check(self) -> None:
        """See Connector.

        Raises:
            AnalytiqError: a start address cannot be read, or leads out of the source.
        """
        if self._settings.javascript == "always":
            find_browser(self._context.operator)
        for address in self._settings.start:
            visit = Visit(address, Purpose.START)
            for _ in range(MOST_REDIRECTS + 1):
                found = await self._visiting.visit(visit)
                found.close()
                require_start(found, self._scope)
                target = self._scope.cleaned(found.redirect) if found.redirect else None
                if target is None:
                    break
                visit = Visit(target, Purpose.START)
            else:
                raise InvalidInputError.of_field("settings.url", f"{address} redirects without end.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the state of the crawl.

        A page is requested here, since its links are needed; its content is kept until the next batch.
        """
        limits = CrawlLimits(self._settings.start, self._settings.max_pages, self._settings.use_sitemaps)
        self._crawl = Crawl(limits=limits, scope=self._scope, sites=self._sites, visiting=self._visiting)
        batches = self._crawl.batches(cursor, self._context.find_known)
        try:
            async for batch in batches:
                yield batch
        finally:
            await batches.aclose()

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        if self._scope.cleaned(external_id) != external_id or not self._scope.has_host(external_id):
            return None
        if not self._context.accepts(external_id):
            return None
        visit = Visit(external_id, Purpose.PAGE)
        found = await self._visiting.visit(visit)
        while found.wait_seconds is not None and found.wait_seconds <= PATIENCE_SECONDS:
            found = await self._visiting.visit(visit := visit.again())
        if found.wait_seconds is not None and found.error is not None:
            return ListedItem(external_id=external_id, name=external_id, failure=found.error.detail)
        if found.answer is not None:
            self._keep(external_id, found)
        return found.item

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        contents = self._crawl.contents if self._crawl is not None else {}
        found = contents.pop(item.external_id, None) or self._single.pop(item.external_id, None)
        answer = found.answer if found is not None else None
        if answer is None:
            answer = await self._requested(item.external_id)
        return FetchedItem(
            content=_blocks(answer),
            content_type=answer.header("content-type") or "application/octet-stream",
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        self._forget_single()
        if self._crawl is not None:
            self._crawl.close_contents()
        await self._browser.close()
        await self._client.close()

    async def _requested(self, address: str) -> Answer:
        """Request the content again: the server said that it is unchanged, but the document is missing.

        Raises:
            ItemGoneError: it does not exist any more.
            ItemRefusedError: it is too large.
            UnreadableError: it cannot be read now.
        """
        site = await self._sites.of(address)
        await site.pace.turn()
        try:
            answer = await self._client.get(address, most_bytes=self._context.max_item_bytes)
        except TooLargeError as error:
            raise ItemRefusedError(error.detail) from None
        if answer.status in GONE:
            raise ItemGoneError(f"HTTP {answer.status}: deleted while the run was going on.")
        if answer.content is None:
            raise UnreadableError(f"The server answered with HTTP {answer.status}.")
        return answer

    def _keep(self, external_id: str, found: Found) -> None:
        """Keep the content of a single item until it is fetched; the oldest ones go where room is needed."""
        self._single[external_id] = found
        while sum(each.answer.byte_size for each in self._single.values() if each.answer) > BATCH_BYTES:
            self._single.pop(next(iter(self._single))).close()

    def _forget_single(self) -> None:
        for found in self._single.values():
            found.close()
        self._single = {}


async def _blocks(answer: Answer) -> AsyncIterator[bytes]:
    try:
        while answer.content is not None and (block := answer.content.read(BLOCK_BYTES)):
            yield block
    finally:
        answer.close()


def _following(patterns: tuple[str, ...]) -> Accepts:
    if not patterns:
        return lambda _: False
    return accepting(ItemFilters(include=patterns))


def _is_header_value(value: str) -> bool:
    return len(value) <= 8000 and value.isprintable() and value.isascii()
