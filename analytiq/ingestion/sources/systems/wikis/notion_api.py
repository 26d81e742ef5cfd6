"""Notion's API through its client library, whose calls go out through `ServiceClient`.

The library knows paths, parameters and the API's version. It opens no connection: its HTTP client has a transport that
hands each call to ours, which checks addresses, bounds answers, repeats and waits.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import cast

import httpx
import orjson
from notion_client import AsyncClient
from notion_client.client import ClientOptions
from pydantic import JsonValue, TypeAdapter

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.wikis.json_values import Object, object_of, objects_of, text_of
from analytiq.ingestion.sources.systems.wikis.notion_blocks import Block
from analytiq.ingestion.sources.systems.wikis.pacing import Pace
from analytiq.ingestion.sources.systems.wikis.positions import pages_behind
from analytiq.settings import SourceSettings

VERSION = "2025-09-03"
PAGE_SIZE = 100
"""Most results of a call, as Notion allows."""
DEEPEST = 20
"""Most blocks within one another."""
MOST_CALLS = 300
"""Most calls for the blocks of a page."""
MOST_BYTES = 32 * 1024 * 1024
"""Most bytes of the blocks of a page."""
SERVICE = "Notion"
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_SILENT = logging.getLogger("analytiq.notion_client")


class TooLargePageError(PermanentError):
    """A page has more blocks than are read."""


class PageOfResults:
    """Some results of a listing, with the position of the next ones; None at the end."""

    def __init__(self, answer: Object) -> None:
        self.results = objects_of(answer.get("results"))
        has_more = answer.get("has_more") is True
        self.next_cursor = text_of(answer.get("next_cursor")) or None if has_more else None


FetchPage = Callable[[str | None], Awaitable[PageOfResults]]
"""Returns the results behind a cursor."""


class NotionApi:
    """The calls that a source makes."""

    def __init__(self, operator: SourceSettings, api_url: str, token: str, *, per_second: float) -> None:
        headers = {"authorization": f"Bearer {token}", "notion-version": VERSION}
        self.service = ServiceClient(operator, api_url, headers=headers, service=SERVICE)
        transport = _ServiceTransport(self.service, Pace(per_second))
        # Without a logger of ours the library adds a handler that writes to the console.
        options = ClientOptions(
            base_url=api_url.rstrip("/"),
            notion_version=VERSION,
            retry=False,
            logger=_SILENT,
            log_level=logging.CRITICAL,
        )
        self._client = AsyncClient(options, httpx.AsyncClient(transport=transport, trust_env=False))

    async def search(self, kind: str, cursor: str | None) -> PageOfResults:
        """Return pages or data sources (`kind`) that are shared with the integration, the oldest edit first.

        Notion knows no other order: an object that is edited meanwhile moves to the end.
        """
        answer = self._client.search(
            filter={"property": "object", "value": kind},
            sort={"timestamp": "last_edited_time", "direction": "ascending"},
            start_cursor=cursor,
            page_size=PAGE_SIZE,
        )
        return PageOfResults(await _answered(answer))

    async def rows(self, data_source_id: str, cursor: str | None) -> PageOfResults:
        """Return rows of a data source, the oldest first: an order that no edit changes."""
        answer = self._client.data_sources.query(
            data_source_id,
            sorts=[{"timestamp": "created_time", "direction": "ascending"}],
            start_cursor=cursor,
            page_size=PAGE_SIZE,
        )
        return PageOfResults(await _answered(answer))

    async def check(self) -> None:
        """Check the token."""
        await _answered(self._client.users.me())

    async def page(self, page_id: str) -> Object:
        """Return a page."""
        return await _answered(self._client.pages.retrieve(page_id))

    async def parent_of(self, parent: Object) -> Object | None:
        """Return the page, database, data source or block that a parent names; None if it is not shared."""
        kind = text_of(parent.get("type"))
        parent_id = text_of(parent.get(kind))
        calls = {
            "page_id": self._client.pages.retrieve,
            "block_id": self._client.blocks.retrieve,
            "data_source_id": self._client.data_sources.retrieve,
            "database_id": self._client.databases.retrieve,
        }
        if kind not in calls or not is_id(parent_id):
            return None
        try:
            return await _answered(calls[kind](parent_id))
        except NotFoundError:
            return None

    async def blocks(self, page_id: str) -> tuple[Block, ...]:
        """Return the blocks of a page.

        Raises:
            TooLargePageError: it needs more calls, or nests deeper, than is read.
        """
        calls = byte_size = 0

        async def children(block_id: str, depth: int) -> tuple[Block, ...]:
            nonlocal calls, byte_size
            if depth > DEEPEST:
                raise TooLargePageError(f"Its blocks nest deeper than {DEEPEST} levels.")
            found: list[Object] = []
            cursor: str | None = None
            while True:
                calls += 1
                if calls > MOST_CALLS:
                    raise TooLargePageError(f"It needs more than {MOST_CALLS} calls: too many nested blocks.")
                answer = self._client.blocks.children.list(block_id, start_cursor=cursor, page_size=PAGE_SIZE)
                page = PageOfResults(await _answered(answer))
                byte_size += len(orjson.dumps(page.results))
                if byte_size > MOST_BYTES:
                    raise TooLargePageError(f"Its blocks have more than {MOST_BYTES:,} bytes.")
                found += [each for each in page.results if not is_trashed(each)]
                if (cursor := page.next_cursor) is None:
                    break
            return tuple([Block(each, await below(each, depth)) for each in found])

        async def below(block: Object, depth: int) -> tuple[Block, ...]:
            is_other_page = block.get("type") in ("child_page", "child_database", "unsupported")
            block_id = text_of(block.get("id"))
            if block.get("has_children") is not True or is_other_page or not is_id(block_id):
                return ()
            try:
                return await children(block_id, depth + 1)
            except NotFoundError:
                return ()  # a synced block whose original is not shared

        return await children(page_id, 0)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        await self.service.close()


class _ServiceTransport(httpx.AsyncBaseTransport):
    """A transport that makes each call of the library through ours."""

    def __init__(self, service: ServiceClient, pace: Pace) -> None:
        self._service = service
        self._pace = pace

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make the call; a failure raises an `AnalytiqError`."""
        await self._pace.turn()
        content = await request.aread()
        body = _JSON.validate_json(content) if content else None
        answer = await self._service.call(request.method, str(request.url), body=body)
        return httpx.Response(200, json=answer)


async def each_page(fetch: FetchPage, cursor: str | None) -> AsyncGenerator[PageOfResults]:
    """Yield the pages of a listing behind a cursor; an expired one begins again.

    Raises:
        PermanentError: the listing repeats itself, or has no end.
    """
    async for page in pages_behind(cursor, fetch, next_of=lambda page: page.next_cursor, service=SERVICE):
        yield page


def is_id(text: str) -> bool:
    """Return True for an id of Notion, a UUID with dashes."""
    return len(text) == 36 and text.replace("-", "").isalnum() and text.isascii() and text.count("-") == 4


def is_trashed(thing: Object) -> bool:
    """Return True if a page or block is in the trash."""
    return thing.get("in_trash") is True or thing.get("archived") is True


async def _answered(call: object) -> Object:
    return object_of(cast("JsonValue", await cast("Awaitable[object]", call)))
