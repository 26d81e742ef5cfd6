"""Web sources on a made site: the engine's part in a few words."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analytiq.ingestion.sources.base import KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.kinds.web import WebConnector, WebCredentials, WebSettings
from analytiq.settings import SourceSettings
from tests.fakes.web_site import WebSite


@dataclass(slots=True)
class Crawled:
    """The result of a listing."""

    items: list[ListedItem] = field(default_factory=list[ListedItem])
    problems: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    cursor: str = ""
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def paths(self, site: WebSite) -> list[str]:
        """The addresses of the items that are taken in, without the site's."""
        taken = [each for each in self.items if each.skip_reason is None and each.failure is None]
        return [each.external_id.removeprefix(site.url) for each in taken]

    def of(self, site: WebSite, path: str) -> ListedItem:
        (item,) = [each for each in self.items if each.external_id == site.url + path]
        return item


@dataclass(slots=True)
class Crawler:
    """A source whose crawls know what the last one has listed."""

    site: WebSite
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    credentials: dict[str, Any] = field(default_factory=dict[str, Any])
    accepts: Callable[[str], bool] = lambda _: True
    private_hosts: tuple[str, ...] = ("127.0.0.1",)
    max_item_bytes: int = 3_000_000
    call_seconds: float = 120.0
    browser: Path | None = None
    known: dict[str, KnownItem] = field(default_factory=dict[str, KnownItem])

    def open(self) -> WebConnector:
        """Connect anew."""
        context = SourceContext(
            organization_id="f" * 24,
            operator=SourceSettings(
                private_hosts=self.private_hosts,
                call_seconds=self.call_seconds,
                browser=self.browser,
                browser_sandbox=os.geteuid() != 0,  # as root Chromium starts only without
            ),
            find_known=self._find_known,
            accepts=self.accepts,
            max_item_bytes=self.max_item_bytes,
        )
        settings = WebSettings.model_validate({"url": f"{self.site.url}/", **self.settings})
        credentials = WebCredentials.model_validate(self.credentials)
        return WebConnector(settings=settings, credentials=credentials, context=context)

    async def crawl(self, cursor: str | None = None) -> Crawled:
        """List to the end, fetch what has changed, and remember it as a run does."""
        connector, crawled = self.open(), Crawled()
        try:
            async for batch in connector.list_changes(cursor):
                await self._take(connector, crawled, batch)
        finally:
            await connector.close()
        return crawled

    async def _take(self, connector: WebConnector, crawled: Crawled, batch: ListedBatch) -> None:
        crawled.items += batch.items
        crawled.problems += batch.problems
        crawled.notes += batch.notes
        crawled.cursor = batch.cursor
        for item in batch.items:
            if item.skip_reason or item.failure:
                continue
            known = self.known.get(item.external_id)
            if known is None or known.version != item.version:
                fetched = await connector.fetch(item)
                crawled.contents[item.external_id] = b"".join([block async for block in fetched.content])
                self.known[item.external_id] = KnownItem(version=item.version, note=item.note)

    async def _find_known(self, addresses: Sequence[str]) -> Mapping[str, KnownItem]:
        return {address: self.known[address] for address in addresses if address in self.known}
