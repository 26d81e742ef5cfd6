"""Pages, blog posts and files of Confluence, in the cloud or on a server."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator

from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.wikis.atlassian_login import AtlassianCredentials
from analytiq.ingestion.sources.systems.wikis.confluence_api import (
    CloudApi,
    ServerApi,
    Space,
    each_results,
)
from analytiq.ingestion.sources.systems.wikis.confluence_readers import Readers
from analytiq.ingestion.sources.systems.wikis.confluence_storage import storage_html, user_ids
from analytiq.ingestion.sources.systems.wikis.html_text import html_page
from analytiq.ingestion.sources.systems.wikis.item_names import clean_title, joined_path, page_name
from analytiq.ingestion.sources.systems.wikis.json_values import (
    Object,
    inner,
    object_of,
    objects_of,
    text_of,
    web_address,
)

TEXT_VERSION = 1
"""Raise it when the text that is made of equal pages changes: all pages are fetched once more."""
MOST_MENTIONS = 50
"""Most users of a page whose names are looked up."""
MOST_CHARACTERS = 8_000_000
"""Most characters of a page, whose tree is built in memory."""
PAGE, POST, FILE = "page", "blogpost", "attachment"
_KEY = re.compile(r"~?[A-Za-z0-9_.:-]{1,255}")
_ID = re.compile(r"(att)?[0-9]{1,20}")
_END = "end"


class ConfluenceSettings(KindSchema):
    """The settings of a Confluence source."""

    url: str = Field(
        max_length=500,
        pattern=r"^https?://[^\s?#]+$",
        title="Address",
        description="Such as https://example.atlassian.net/wiki, or https://confluence.example.com",
    )
    deployment: Literal["cloud", "server"] = Field(
        default="cloud", description="Confluence Cloud, or a server (Data Center) of your own"
    )
    spaces: tuple[str, ...] = Field(
        default=(), max_length=200, description="Keys of spaces. Empty: all that the account sees"
    )
    blog_posts: bool = Field(default=True, title="Blog posts", description="Also read blog posts")
    attachments: bool = Field(default=False, description="Also read the files of pages, each as a document")

    @field_validator("spaces")
    @classmethod
    def _are_keys(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_KEY.fullmatch(value) for value in values):
            raise ValueError("Must be keys of spaces, such as DEV")
        return values

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of contents, in the order of a listing."""
        return (PAGE, *((POST,) if self.blog_posts else ()), *((FILE,) if self.attachments else ()))


_Order = tuple[int, str, int]
"""The order of the parts of a listing: length and digits of the space's id, number of the kind."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """The part in which a listing goes on, with Confluence's position in it."""

    order: _Order = (0, "", 0)
    position: str | None = None

    @classmethod
    def of(cls, cursor: str | None) -> "_Begun":
        if cursor is None:
            return cls()
        length, digits, number, position = json.loads(cursor)
        return cls((length, digits, number), position)

    @property
    def stored(self) -> str:
        return json.dumps([*self.order, self.position])


@dataclass(frozen=True, slots=True)
class _Step:
    """The contents of one kind in a space."""

    space: Space
    kind: str
    order: _Order

    def cursor(self, position: str | None) -> str:
        return _Begun(self.order, _END if position is None else position).stored


class ConfluenceConnector:
    """Spaces of one Confluence."""

    title: ClassVar[str] = "Confluence"
    description: ClassVar[str] = "Pages, blog posts and attachments of Confluence spaces, in the cloud or on a server."
    settings_schema: ClassVar[type[KindSchema]] = ConfluenceSettings
    credentials_schema: ClassVar[type[KindSchema]] = AtlassianCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = ConfluenceSettings.model_validate(settings, from_attributes=True)
        login = AtlassianCredentials.model_validate(credentials, from_attributes=True)
        self._context = context
        self._url = self._settings.url.rstrip("/")
        headers = {"authorization": login.authorization}
        client = ServiceClient(context.operator, self._url, headers=headers, service="Confluence")
        self._api = CloudApi(client) if self._settings.deployment == "cloud" else ServerApi(client)
        self._readers = Readers(self._api)
        self._downloads: dict[str, str] = {}
        """Addresses of the files of the last batch, and of those that `find` returned."""

    async def check(self) -> None:
        """See Connector."""
        try:
            found = await self._spaces()
        except NotFoundError:
            raise InvalidInputError.of_field(
                "settings.url", "Confluence has no interface there. Check the address and `deployment`."
            ) from None
        missing = self._missing(found)
        if missing:
            raise InvalidInputError.of_field(
                "settings.spaces", f"The account sees no space {', '.join(missing)}. Check the key and its rights."
            )
        if not found:
            raise InvalidInputError.of_field("credentials", "The account sees no space. Check its rights.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. Space by space: pages, blog posts, then files."""
        begun = _Begun.of(cursor)
        spaces = await self._spaces()
        missing = self._missing(spaces)
        if missing:
            problem = f"The account sees no space {', '.join(missing)}."
            yield ListedBatch(items=[], cursor=begun.stored, problems=[problem])
        for step in self._steps(spaces):
            is_begun = step.order == begun.order
            if step.order < begun.order or (is_begun and begun.position == _END):
                continue
            try:
                async for page in each_results(self._api, step.space, step.kind, begun.position if is_begun else None):
                    batch = await self._batch(step, page.contents)
                    yield ListedBatch(items=batch, cursor=step.cursor(page.position))
            except NotFoundError:
                problem = f"The space {step.space.key} could not be read: deleted, or no longer visible."
                yield ListedBatch(items=[], cursor=step.cursor(None), problems=[problem])

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        if not _ID.fullmatch(external_id):
            return None
        try:
            content = (await self._api.details([external_id])).get(external_id)
        except (NotFoundError, PermanentError):
            return None
        space = object_of(inner(content, "space"))
        key, kind = text_of(space.get("key")), text_of(inner(content, "type"))
        is_wanted = kind in self._settings.kinds and (not self._settings.spaces or key in self._settings.spaces)
        if content is None or not is_wanted or inner(content, "status") not in (None, "current"):
            return None
        found = Space(text_of(space.get("id")), key, text_of(space.get("name")))
        items = await self._items(_Step(found, kind, (0, "", 0)), [content], {external_id: content})
        return items[0] if items else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        try:
            if item.fields.get("type") == FILE:
                return await self._file(item)
            storage = await self._api.storage_of(item.external_id, text_of(item.fields.get("type")))
        except NotFoundError:
            raise ItemGoneError("Deleted, moved to the trash, or no longer visible to the account.") from None
        if len(storage) > MOST_CHARACTERS:
            raise ItemRefusedError(f"It has more than {MOST_CHARACTERS:,} characters.")
        mentioned = await asyncio.to_thread(user_ids, storage)
        names = {value: await self._api.user_name(kind, value) for kind, value in mentioned[:MOST_MENTIONS]}
        body = await asyncio.to_thread(storage_html, storage, names)
        return FetchedItem(
            content=_whole(html_page(text_of(item.fields.get("title")) or "Untitled", body)),
            content_type="text/html; charset=utf-8",
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    async def _spaces(self) -> list[Space]:
        found = await self._api.spaces(self._settings.spaces)
        return [each for each in found if _KEY.fullmatch(each.key) and each.id.isascii() and each.id.isdigit()]

    def _missing(self, found: Sequence[Space]) -> list[str]:
        return sorted({*self._settings.spaces} - {space.key for space in found})

    def _steps(self, spaces: Sequence[Space]) -> list[_Step]:
        steps = [
            _Step(space, kind, (len(space.id), space.id, number))
            for space in spaces
            for number, kind in enumerate(self._settings.kinds)
        ]
        return sorted(steps, key=lambda step: step.order)

    async def _batch(self, step: _Step, contents: Sequence[Object]) -> list[ListedItem]:
        self._downloads = {}
        if isinstance(self._api, ServerApi) or step.kind == FILE:
            return await self._items(step, contents, {text_of(each.get("id")): each for each in contents})
        ids = [found for each in contents if _ID.fullmatch(found := text_of(each.get("id")))]
        details = await self._api.details_if_told(ids)
        if details is None:
            return await self._items(step, contents, {each: {} for each in ids})
        return await self._items(step, contents, details)

    async def _items(self, step: _Step, contents: Sequence[Object], details: dict[str, Object]) -> list[ListedItem]:
        """Return the items of contents; without details a content fails, since it may be restricted."""
        await self._readers.learn({each: detail for each, detail in details.items() if detail})
        items: list[ListedItem] = []
        for content in contents:
            content_id = text_of(content.get("id"))
            if not _ID.fullmatch(content_id):
                continue
            item = await self._item(step, content, details.get(content_id, {}))
            if content_id not in details:
                item = replace(item, failure="Confluence's search does not know it yet. The next run tries it again.")
            if self._context.accepts(item.name):
                items.append(item)
        return items

    async def _item(self, step: _Step, content: Object, detail: Object) -> ListedItem:
        content_id, title = text_of(content.get("id")), text_of(content.get("title"))
        space, above = step.space, objects_of(detail.get("ancestors"))
        folders = [space.name or space.key, *(text_of(each.get("title")) for each in above)]
        holder = object_of(detail.get("container"))
        if step.kind == FILE:
            folders.append(text_of(holder.get("title")))
            self._downloads[content_id] = text_of(inner(detail, "_links", "download"))
        page_id = text_of(holder.get("id")) if step.kind == FILE else content_id
        fields: dict[str, JsonValue] = {
            "type": step.kind,
            "title": title,
            "space": space.key,
            "space_name": space.name,
            "folder": "/".join(folders),
            "labels": [
                text_of(each.get("name")) for each in objects_of(inner(detail, "metadata", "labels", "results"))
            ],
            "parent_id": text_of(above[-1].get("id")) if above else "",
            "created": text_of(inner(detail, "history", "createdDate")),
            "last_edited": text_of(inner(detail, "version", "when")),
        }
        size = inner(detail, "extensions", "fileSize")
        return ListedItem(
            external_id=content_id,
            name=joined_path(folders, clean_title(title)) if step.kind == FILE else page_name(folders, title),
            version=f"{TEXT_VERSION} {text_of(inner(content, 'version', 'number'))}",
            byte_size=size if isinstance(size, int) and step.kind == FILE else None,
            source_url=self._address(space, page_id),
            fields={name: value for name, value in fields.items() if value not in ("", [])},
            access=await self._readers.of(space, page_id),
        )

    def _address(self, space: Space, page_id: str) -> str | None:
        if self._settings.deployment == "cloud":
            return web_address(f"{self._url}/spaces/{space.key}/pages/{page_id}")
        return web_address(f"{self._url}/pages/viewpage.action?pageId={page_id}")

    async def _file(self, item: ListedItem) -> FetchedItem:
        path = self._downloads.pop(item.external_id, "")
        if not path:
            content = (await self._api.details([item.external_id])).get(item.external_id)
            path = text_of(inner(content, "_links", "download"))
        if not path.startswith("/"):
            raise NotFoundError("It has no address.")
        return FetchedItem(
            content=self._api.download(path, most_bytes=self._context.max_item_bytes),
            content_type="application/octet-stream",
            version=item.version,
        )


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content
