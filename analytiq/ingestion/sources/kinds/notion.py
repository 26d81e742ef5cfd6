"""Pages of Notion, and the rows of its databases."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import Field, JsonValue, SecretStr, field_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemAccess,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.systems.wikis.html_text import html_page
from analytiq.ingestion.sources.systems.wikis.item_names import page_name
from analytiq.ingestion.sources.systems.wikis.json_values import Object, moment_of, object_of, text_of, web_address
from analytiq.ingestion.sources.systems.wikis.notion_api import (
    NotionApi,
    PageOfResults,
    TooLargePageError,
    each_page,
    is_id,
    is_trashed,
)
from analytiq.ingestion.sources.systems.wikis.notion_blocks import blocks_html
from analytiq.ingestion.sources.systems.wikis.notion_places import Above, Places, note_of
from analytiq.ingestion.sources.systems.wikis.notion_text import properties_html, property_values, title_of

TEXT_VERSION = 1
"""Raise it when the text that is made of equal blocks changes: all pages are fetched once more."""
SETTLED = timedelta(minutes=2)
"""Age from which an edit is told by its time, which Notion gives in whole minutes."""
SLOW_SECONDS = 30.0
"""Time after which a part of an answer is handed on: the places of its pages may cost a call each."""
MOST_DATABASES = 10_000
PASSES = 3
"""Most passes over the pages: an edit moves a page, and may hide others from a pass."""
PAGES, ROWS = "pages", "rows"
_ID = re.compile(r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?:$|[?#])", re.IGNORECASE)


class NotionSettings(KindSchema):
    """The settings of a Notion source."""

    roots: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        title="Pages and databases",
        description="Addresses or ids: only these, with all that is below them. Empty: all that the integration sees",
    )
    requests_per_second: float = Field(
        default=3.0, gt=0, le=100, description="Calls a second on average; Notion allows 3, and more in large plans"
    )
    api_url: str = Field(
        default="https://api.notion.com", max_length=500, title="API address", pattern=r"^https?://[^\s/?#]+/?$"
    )

    @field_validator("roots")
    @classmethod
    def _name_pages(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_ID.search(value.strip()) for value in values):
            raise ValueError("Must be addresses of pages or databases, or their ids of 32 characters")
        return values

    @property
    def root_ids(self) -> frozenset[str]:
        """Return the ids of the roots."""
        return frozenset("-".join(found.groups()).lower() for each in self.roots if (found := _ID.search(each.strip())))


class NotionCredentials(KindSchema):
    """The secret of an integration."""

    token: SecretStr = Field(
        title="Integration secret",
        description="Of an internal integration with the right to read content, to which the pages are connected",
        max_length=1000,
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError("Must be the secret alone, without spaces")
        return value


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of a listing.

    Attributes:
        part: the pages, then the rows of each data source.
        source_id: the data source whose rows are listed.
        cursor: Notion's, within the part.
        number: of the pass over the pages, from 0.
        began: the time of this pass in ISO 8601, on Notion's clock.
        is_disturbed: a page was edited during this pass.
        behind: the last page that was handed on of the answer at the cursor, "" before the first.
    """

    part: str = PAGES
    source_id: str = ""
    cursor: str | None = None
    number: int = 0
    began: str = ""
    is_disturbed: bool = False
    behind: str = ""

    @classmethod
    def of(cls, cursor: str | None) -> "_Position":
        return cls(*json.loads(cursor)) if cursor is not None else cls()

    @property
    def stored(self) -> str:
        return json.dumps(astuple(self))

    def after(self, page: PageOfResults) -> "_Position":
        """Return the position behind an answer of the search."""
        if page.next_cursor:
            return replace(self, cursor=page.next_cursor, behind="")
        if self.is_disturbed and self.number + 1 < PASSES:
            return _Position(number=self.number + 1)
        return _Position(ROWS)

    def disturbed_by(self, pages: Sequence[Object]) -> "_Position":
        """Return the position; disturbed if one of the pages was edited since this pass began."""
        edits = [moment for page in pages if (moment := moment_of(page.get("last_edited_time")))]
        began = datetime.fromisoformat(self.began).replace(second=0, microsecond=0)
        return replace(self, is_disturbed=self.is_disturbed or any(moment >= began for moment in edits))


class NotionConnector:
    """A workspace, as one integration sees it."""

    title: ClassVar[str] = "Notion"
    description: ClassVar[str] = "Pages of a Notion workspace and the rows of its databases."
    settings_schema: ClassVar[type[KindSchema]] = NotionSettings
    credentials_schema: ClassVar[type[KindSchema]] = NotionCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = NotionSettings.model_validate(settings, from_attributes=True)
        token = NotionCredentials.model_validate(credentials, from_attributes=True).token.get_secret_value()
        self._context = context
        self._api = NotionApi(
            context.operator, self._settings.api_url, token, per_second=self._settings.requests_per_second
        )
        self._places = Places(self._api, context.find_known)
        self._pages: dict[str, Object] = {}
        """Pages of the last batch, and those that `find` returned."""

    async def check(self) -> None:
        """See Connector."""
        await self._api.check()
        for root_id in sorted(self._settings.root_ids):
            kinds = ("page_id", "database_id", "data_source_id")
            found = [await self._api.parent_of({"type": kind, kind: root_id}) for kind in kinds[:1]]
            found += [await self._api.parent_of({"type": kind, kind: root_id}) for kind in kinds[1:] if not any(found)]
            if not any(found):
                raise InvalidInputError.of_field(
                    "settings.roots", f"The integration sees no page or database {root_id}. Connect it in Notion."
                )

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. First pages, then the rows of each data source, which the search may miss."""
        position = _Position.of(cursor)
        sources = await self._data_sources()
        while position.part == PAGES:
            position = replace(position, began=position.began or self._now().isoformat())
            async for page in each_page(lambda at: self._api.search("page", at), position.cursor):
                position = position.disturbed_by(page.results)
                others = [each for each in page.results if _source_of(each) not in sources]
                after = position.after(page)
                async for items, last_id in self._listed(_behind(others, position.behind)):
                    # Behind a part of an answer that took long, the next turn asks for the answer again.
                    reached = replace(position, behind=last_id) if last_id else after
                    yield ListedBatch(items=items, cursor=reached.stored)
                position = after
        for source_id in sorted(each for each in sources if each >= position.source_id):
            begin = position if source_id == position.source_id else _Position(ROWS, source_id)
            async for batch in self._rows(begin):
                yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        if not is_id(external_id):
            return None
        try:
            page = await self._api.page(external_id)
        except NotFoundError:
            return None
        items = [item async for some, _ in self._listed([page]) for item in some]
        return items[0] if items else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        try:
            page = self._pages.pop(item.external_id, None) or await self._api.page(item.external_id)
            blocks = await self._api.blocks(item.external_id)
        except NotFoundError:
            raise ItemGoneError("Deleted, or no longer shared with the integration.") from None
        except TooLargePageError as error:
            raise ItemRefusedError(error.detail) from None
        body = properties_html(property_values(page)) + blocks_html(blocks)
        return FetchedItem(
            content=_whole(html_page(title_of(page) or "Untitled", body)),
            content_type="text/html; charset=utf-8",
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    async def _data_sources(self) -> dict[str, Object]:
        """Return the data sources that the integration sees, by id."""
        found: dict[str, Object] = {}
        async for page in each_page(lambda at: self._api.search("data_source", at), None):
            found |= {text_of(each.get("id")): each for each in page.results if _is_source(each)}
            if len(found) > MOST_DATABASES:
                break
        self._places.learn(list(found.values()))
        return found

    async def _rows(self, position: _Position) -> AsyncGenerator[ListedBatch]:
        async def rows(at: str | None) -> PageOfResults:
            return await self._api.rows(position.source_id, at)

        # The ids of data sources have one length, so a text behind this one begins the next.
        at_end = _Position(ROWS, f"{position.source_id}~")
        try:
            async for page in each_page(rows, position.cursor):
                after = _Position(ROWS, position.source_id, page.next_cursor) if page.next_cursor else at_end
                async for items, last_id in self._listed(_behind(page.results, position.behind)):
                    reached = replace(position, behind=last_id) if last_id else after
                    yield ListedBatch(items=items, cursor=reached.stored)
                position = after
        except NotFoundError:
            problem = f"The database {position.source_id} could not be read: deleted, or no longer shared."
            yield ListedBatch(items=[], cursor=at_end.stored, problems=[problem])

    async def _listed(self, pages: Sequence[Object]) -> AsyncGenerator[tuple[list[ListedItem], str]]:
        """Yield the items of pages that the source wants.

        Where that takes long, they come in parts. All but the last one have the id of their last page.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        whole = [each if "last_edited_time" in each else await self._whole_page(each) for each in pages]
        kept = [each for each in whole if _is_page(each)]
        self._places.learn(kept)
        await self._places.recall(kept)
        self._pages = {}
        items: list[ListedItem] = []
        last_id = ""
        for page in kept:
            if last_id and loop.time() - begun > SLOW_SECONDS:
                yield items, last_id
                items, self._pages, begun = [], {}, loop.time()
            above = await self._places.above(page)
            item = self._item(page, above)
            last_id = item.external_id
            roots = self._settings.root_ids
            is_below = not roots or item.external_id in roots or bool(above.ids & roots)
            if is_below and self._context.accepts(item.name):
                self._pages[item.external_id] = page
                items.append(item)
        yield items, ""

    async def _whole_page(self, page: Object) -> Object:
        """Return a page that was listed by its id only."""
        try:
            return await self._api.page(text_of(page.get("id")))
        except NotFoundError:
            return {}

    def _item(self, page: Object, above: Above) -> ListedItem:
        title = title_of(page)
        parent = object_of(page.get("parent"))
        fields: dict[str, JsonValue] = {
            **property_values(page),
            "title": title,
            "folder": "/".join(above.folders),
            "parent_id": text_of(parent.get(text_of(parent.get("type")))),
            "created": text_of(page.get("created_time")),
            "last_edited": text_of(page.get("last_edited_time")),
        }
        if parent.get("type") == "data_source_id" and above.folders:
            fields["database"] = above.folders[-1]
        return ListedItem(
            external_id=text_of(page.get("id")),
            name=page_name(above.folders, title),
            version=self._version(page),
            source_url=web_address(page.get("url")),
            fields=fields,
            note=note_of(page, above),
            access=ItemAccess(is_public=True) if text_of(page.get("public_url")) else None,
        )

    def _now(self) -> datetime:
        """Return the time of Notion's clock, which ours may differ from."""
        return self._api.service.server_time or clock.now()

    def _version(self, page: Object) -> str:
        edited = text_of(page.get("last_edited_time"))
        now = self._now()
        moment = moment_of(edited)
        if moment is None or now - moment < SETTLED:
            # Another edit within the minute would have the same time: the next run compares the text.
            return f"{TEXT_VERSION} {edited} {now.isoformat()}"
        return f"{TEXT_VERSION} {edited}"


def _behind(pages: Sequence[Object], page_id: str) -> Sequence[Object]:
    """Return the pages behind one of an answer; all, if it is not there any more."""
    ids = [text_of(page.get("id")) for page in pages]
    return pages[ids.index(page_id) + 1 :] if page_id in ids else pages


def _is_page(page: Object) -> bool:
    return page.get("object") == "page" and is_id(text_of(page.get("id"))) and not is_trashed(page)


def _is_source(thing: Object) -> bool:
    return thing.get("object") == "data_source" and is_id(text_of(thing.get("id"))) and not is_trashed(thing)


def _source_of(page: Object) -> str:
    return text_of(object_of(page.get("parent")).get("data_source_id"))


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content
