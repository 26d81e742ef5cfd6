"""Listing and fetching the objects of a bucket, for all kinds of stores."""

import mimetypes
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.documents.naming import is_control
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject, folder_of, listed_object
from analytiq.ingestion.sources.systems.buckets.requests import BucketClient

BATCH = 200
"""Most objects of a batch."""
PAGE = 1000
"""Most objects of a page, which is the most of all stores."""
MOST_EMPTY_PAGES = 100
"""Most pages without objects one after the other; stores answer so while they search."""
LONGEST_KEY = 4096
"""Most characters of a key; stores allow 1,024 bytes or characters."""
LONGEST_TYPE = 200
UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded"})
"""Types of objects that were stored without one."""
_UNORDERED = "The store does not list its objects in the order of their keys, so that an interrupted run may miss some."


class Position(BaseModel):
    """The position of a listing: behind the key `after`, on the page of `token`; at the beginning both are None."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """A page of a listing; `next_token` leads to the next page, None at the end."""

    objects: Sequence[BucketObject]
    next_token: str | None


class Bucket(Protocol):
    """A bucket of some store, whose keys begin with the source's prefix.

    Attributes:
        continues_by_key: the store lists by key, and a listing may begin behind any key. Otherwise it continues by
            tokens only, and a page is listed again for the rest of it.
    """

    client: BucketClient
    continues_by_key: bool

    async def page(self, position: Position, most: int) -> ObjectPage:
        """List the page of the token, or without one the objects behind the key."""
        ...

    async def head(self, key: str) -> BucketObject | None:
        """Return one object; None if it does not exist."""
        ...

    async def open(self, key: str) -> httpx.Response:
        """Open the content of an object.

        Raises:
            NotFoundError: it does not exist.
        """
        ...

    def opened_version(self, headers: httpx.Headers) -> str | None:
        """Return the version of an opened object; None if each write of an object has another one."""
        ...


class BucketConnector:
    """The connector of a bucket."""

    def __init__(self, bucket: Bucket, *, prefix: str, context: SourceContext) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._folder = folder_of(prefix)
        self._context = context

    async def check(self) -> None:
        """See Connector."""
        await self._bucket.page(Position(), 1)

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the key of the last object, or the token of its page besides."""
        position = _position_of(cursor)
        skipped_to = None if self._bucket.continues_by_key else position.after
        empty_pages, first_keys = 0, set[str]()
        while True:
            page = await self._bucket.page(position, PAGE)
            if len(page.objects) > PAGE:
                raise PermanentError(f"The store answers with more than the {PAGE:,} objects that it was asked for.")
            if any(len(found.key) > LONGEST_KEY for found in page.objects):
                raise PermanentError(f"The store lists a key of more than {LONGEST_KEY:,} characters.")
            objects = _behind(page.objects, skipped_to)
            problems = self._problems_of(page.objects, position.after)
            batches = [objects[start : start + BATCH] for start in range(0, len(objects), BATCH)] or [()]
            for number, batch in enumerate(batches):
                after = batch[-1].key if batch else position.after
                position = Position(token=position.token, after=after)
                yield ListedBatch(
                    items=[item for found in batch if (item := self._item(found)) is not None],
                    cursor=self._cursor(position),
                    problems=problems if number == 0 else (),
                )
            if page.next_token is None:
                return
            empty_pages = 0 if page.objects else empty_pages + 1
            is_repeated = bool(page.objects) and page.objects[0].key in first_keys
            if page.next_token == position.token or is_repeated or empty_pages > MOST_EMPTY_PAGES:
                raise PermanentError("The store continues its list without end. The run cannot list it.")
            first_keys.update(found.key for found in page.objects[:1])
            position = Position(token=page.next_token, after=position.after)
            skipped_to = None

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        if not external_id or not external_id.startswith(self._prefix):
            return None
        if any(map(is_control, external_id)) or len(external_id) > LONGEST_KEY:
            return None
        found = await self._bucket.head(external_id)
        return self._item(found) if found is not None else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        try:
            response = await self._bucket.open(item.external_id)
        except NotFoundError:
            raise ItemGoneError("Deleted while the run was going on.") from None
        return FetchedItem(
            content=self._bucket.client.content(response),
            content_type=_type_of(response.headers.get("content-type", ""), item.name),
            # It may have changed since it was listed; later its old content may come back, with the old version.
            version=self._bucket.opened_version(response.headers) or item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        await self._bucket.client.close()

    def _item(self, found: BucketObject) -> ListedItem | None:
        """Return an object as an item; None for one that is no content, or that the source's patterns refuse."""
        if not found.key.startswith(self._prefix) or found.is_folder_marker:
            return None
        return (
            listed_object(found, self._folder) if self._context.accepts(found.key.removeprefix(self._folder)) else None
        )

    def _cursor(self, position: Position) -> str:
        kept = Position(after=position.after) if self._bucket.continues_by_key else position
        return kept.model_dump_json(exclude_none=True)

    def _problems_of(self, objects: Sequence[BucketObject], after: str | None) -> tuple[str, ...]:
        if not self._bucket.continues_by_key:
            return ()
        keys = [found.key.encode("utf-8", "surrogatepass") for found in objects]
        before = [after.encode("utf-8", "surrogatepass")] if after is not None else []
        return () if all(former < later for former, later in pairwise((*before, *keys))) else (_UNORDERED,)


def _behind(objects: Sequence[BucketObject], key: str | None) -> Sequence[BucketObject]:
    """Return the objects behind a key of a page; all if the key is not on it any more: double ones do no harm."""
    if key is None:
        return objects
    places = [index for index, found in enumerate(objects) if found.key == key]
    return objects[places[0] + 1 :] if places else objects


def _type_of(told: str, name: str) -> str:
    """Return the type that the store has, or the one by the name's ending where it has none."""
    is_type = told.isascii() and told.isprintable() and len(told) <= LONGEST_TYPE
    if is_type and told.partition(";")[0].strip().lower() not in UNKNOWN_TYPES:
        return told
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _position_of(cursor: str | None) -> Position:
    try:
        return Position.model_validate_json(cursor) if cursor else Position()
    except ValidationError:
        raise PermanentError("The position of the run cannot be read. Run the source again.") from None
