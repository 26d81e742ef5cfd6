"""Files below a directory listing of a web server: Apache, nginx, Caddy, Python's server, or a public bucket."""

import asyncio
import json
import mimetypes
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from email.utils import parsedate_to_datetime
from typing import ClassVar
from urllib.parse import unquote

import httpx
from pydantic import Field, ValidationError, field_validator

from analytiq import clock
from analytiq.errors import AccessDeniedError, NotFoundError, PermanentError, RateLimitedError, TransientError
from analytiq.ingestion.documents.naming import LONGEST_SOURCE_URL
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    KindSchema,
    KnownItem,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.decoding import UnreadableError, decoded
from analytiq.ingestion.sources.connections.service_client import AT_ONCE, ServiceClient
from analytiq.ingestion.sources.kinds.web import WebCredentials
from analytiq.ingestion.sources.systems.buckets.connector import BucketConnector
from analytiq.ingestion.sources.systems.buckets.keys import document_name
from analytiq.ingestion.sources.systems.indexes.page import Entry, folder_address
from analytiq.ingestion.sources.systems.indexes.public_bucket import PublicBucket
from analytiq.ingestion.sources.systems.indexes.walk import FOLDERS_OF_BATCH, NO_LISTING, IndexWalk, Step, WalkPosition
from analytiq.ingestion.sources.systems.web.addresses import absolute, origin_of

BATCH = 100
"""Most files of a batch."""
SETTLED_SECONDS = 2.0
"""Age from which a change of a file is told by its time, which servers give in seconds."""
TRUSTED_AFTER = timedelta(days=2)
"""Age from which the date of a listing tells the next change: listings have minutes, in an unknown time zone."""
ACCEPTED = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_HEAD_BYTES = 4096


class HttpIndexSettings(KindSchema):
    """The settings of a directory listing."""

    url: str = Field(max_length=2000, description="Address of the listing, such as https://www.example.com/reports/")
    skip_folders: tuple[str, ...] = Field(
        default=(), max_length=100, description="Folders below it that are not read, such as archive/old"
    )

    @field_validator("url")
    @classmethod
    def _is_folder(cls, url: str) -> str:
        if folder_address(url) is None:
            raise ValueError("Must be an address such as https://example.com/files/, without user, password and query")
        return url


@dataclass(frozen=True, slots=True)
class _Head:
    """Facts that a server tells about a file without sending it."""

    version: str | None = None
    byte_size: int | None = None
    modified: str | None = None


class HttpIndexConnector:
    """A directory listing."""

    title: ClassVar[str] = "Directory listing"
    description: ClassVar[str] = "Files that a web server lists: Apache, nginx, Caddy and others, or a public bucket."
    settings_schema: ClassVar[type[KindSchema]] = HttpIndexSettings
    credentials_schema: ClassVar[type[KindSchema]] = WebCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        given = HttpIndexSettings.model_validate(settings, from_attributes=True)
        self._skipped = tuple(f"{folder.strip('/')}/" for folder in given.skip_folders if folder.strip("/"))
        self._headers = WebCredentials.model_validate(credentials, from_attributes=True).sent
        self._address = folder_address(given.url) or ""
        self._context = context
        self._client = ServiceClient(
            context.operator,
            origin_of(self._address),
            headers={"accept": ACCEPTED, **self._headers},
            service="The server",
        )
        self._bucket: BucketConnector | None = None
        self._is_bucket: bool | None = None

    async def check(self) -> None:
        """See Connector."""
        bucket = await self._bucket_or_none()
        if bucket is not None:
            await bucket.check()
            return
        listing = await self._walk(WalkPosition()).listing(())
        if not listing.is_listing and not listing.entries:
            raise PermanentError(NO_LISTING)

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the path of the last file or folder."""
        bucket = await self._bucket_or_none()
        batches = bucket.list_changes(cursor) if bucket is not None else self._list_index(cursor)
        try:
            async for batch in batches:
                yield batch
        finally:
            await batches.aclose()

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        bucket = await self._bucket_or_none()
        if bucket is not None:
            return await bucket.find(external_id)
        if not external_id or external_id.endswith("/") or external_id.startswith("/") or "//" in external_id:
            return None
        if absolute(external_id, self._address) != self._address + external_id or "?" in external_id:
            return None
        path = tuple(f"{part}/" for part in external_id.split("/")[:-1])
        name = external_id.rpartition("/")[2]
        return await self._item(Step((*path, name), Entry(name)), None) if self._accepts(external_id) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        bucket = await self._bucket_or_none()
        if bucket is not None:
            return await bucket.fetch(item)
        opened = AsyncExitStack()
        try:
            response = await opened.enter_async_context(self._client.stream("GET", self._address + item.external_id))
        except NotFoundError:
            raise ItemGoneError("Deleted while the run was going on.") from None
        told = response.headers.get("content-type", "")
        is_readable = told.isascii() and told.isprintable() and 0 < len(told) <= 200
        guessed = mimetypes.guess_type(item.name)[0] or "application/octet-stream"
        return FetchedItem(
            content=_content(opened, response),
            content_type=told if is_readable and "octet-stream" not in told else guessed,
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        await self._client.close()
        if self._bucket is not None:
            await self._bucket.close()

    async def _bucket_or_none(self) -> BucketConnector | None:
        """Return the connector of a bucket, if the address answers with its list."""
        if self._is_bucket is None:
            head = bytearray()
            async with self._client.stream("GET", self._address) as response:
                async for block in decoded(response):
                    head += block
                    if len(head) >= _HEAD_BYTES:
                        break
            self._is_bucket = b"<ListBucketResult" in head[:_HEAD_BYTES]
        if self._is_bucket and self._bucket is None:
            bucket = PublicBucket(self._address, self._headers, self._context.operator)
            self._bucket = BucketConnector(bucket, prefix="", context=self._context)
        return self._bucket

    async def _list_index(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        try:
            position = WalkPosition.model_validate_json(cursor) if cursor else WalkPosition()
        except ValidationError:
            raise PermanentError("The position of the run cannot be read. Run the source again.") from None
        walk = self._walk(position)
        files: list[Step] = []
        problems: list[str] = []
        folders = 0
        steps = walk.steps()
        try:
            async for step in steps:
                position = WalkPosition(after=step.path, folders=walk.folders)
                if step.problem is not None:
                    problems.append(step.problem)
                elif step.entry.is_folder:
                    folders += 1
                elif self._accepts("".join(step.path)):
                    files.append(step)
                if len(files) >= BATCH or folders >= FOLDERS_OF_BATCH:
                    yield await self._batch(files, position, problems)
                    files, problems, folders = [], [], 0
        finally:
            await steps.aclose()
        yield await self._batch(files, position, problems)

    async def _batch(self, files: Sequence[Step], position: WalkPosition, problems: Sequence[str]) -> ListedBatch:
        known = await self._context.find_known(["".join(step.path) for step in files])
        items = await self._items(files, known)
        return ListedBatch(items=items, cursor=position.model_dump_json(), problems=tuple(problems))

    async def _items(self, files: Sequence[Step], known: Mapping[str, KnownItem]) -> list[ListedItem]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def item(step: Step) -> ListedItem | None:
            async with slots:
                return await self._item(step, known.get("".join(step.path)))

        tasks: list[asyncio.Task[ListedItem | None]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(item(step)) for step in files]
        except* RateLimitedError as errors:
            raise errors.exceptions[0] from None
        return [found for task in tasks if (found := task.result()) is not None]

    async def _item(self, step: Step, known: KnownItem | None) -> ListedItem | None:
        """Return a file as an item; None if it does not exist."""
        path = "".join(step.path)
        shown = "".join(character if character.isprintable() else "?" for character in unquote(path))
        name, url = document_name(unquote(path)), self._address + path
        head = _Head() if known is None else _head_of(step.entry, known)
        if head.version is None:
            try:
                head = await self._head(url)
            except NotFoundError:
                return None
            except RateLimitedError:
                raise
            except (AccessDeniedError, TransientError) as error:
                return ListedItem(external_id=path, name=name, failure=error.detail)
        if head.byte_size == 0:
            return ListedItem(external_id=path, name=name, version=head.version, skip_reason="The file is empty.")
        return ListedItem(
            external_id=path,
            name=name,
            version=head.version,
            byte_size=head.byte_size,
            source_url=url if len(url) <= LONGEST_SOURCE_URL else None,
            fields={
                "address": url,
                "path": shown,
                "folder": shown.rpartition("/")[0],
                "file_name": shown.rpartition("/")[2],
                **({"bytes": head.byte_size} if head.byte_size is not None else {}),
                **({"last_modified": head.modified} if head.modified is not None else {}),
            },
            note=_note_of(step.entry, head),
        )

    async def _head(self, address: str) -> _Head:
        """Ask for version and size; neither is known where the server answers no such question or redirects it."""
        try:
            async with self._client.stream("HEAD", address) as response:
                return _head_of_headers(response.headers)
        except PermanentError:
            return _Head()

    def _walk(self, position: WalkPosition) -> IndexWalk:
        return IndexWalk(self._client, self._address, position, lambda folder: unquote(folder) in self._skipped)

    def _accepts(self, path: str) -> bool:
        shown = unquote(path)
        return not shown.startswith(self._skipped) and self._context.accepts(shown)


async def _content(opened: AsyncExitStack, response: httpx.Response) -> AsyncIterator[bytes]:
    async with opened:
        try:
            async for block in decoded(response):
                yield block
        except UnreadableError as error:
            raise TransientError(error.detail) from None


def _head_of_headers(headers: httpx.Headers) -> _Head:
    told = headers.get("content-length", "")
    size = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else None
    modified = _printable(headers.get("last-modified", ""))
    # A server compresses the same content into another variant, whose ETag it marks.
    mark = _printable(headers.get("etag", "")).removeprefix("W/").strip('"') or modified
    is_settled = not modified or _seconds_between(modified, headers.get("date", "")) >= SETTLED_SECONDS
    return _Head(f"{mark}:{size}" if mark and is_settled else None, size, modified or None)


def _head_of(entry: Entry, known: KnownItem) -> _Head:
    """Return what is known of a file whose listing has the same date and size as then, if that was long after."""
    if entry.told is None or entry.day is None or known.note is None or known.version is None:
        return _Head()
    try:
        note = json.loads(known.note)
        is_same = note["told"] == entry.told and date.fromisoformat(note["on"]) - entry.day >= TRUSTED_AFTER
        return _Head(known.version, note["bytes"], note["modified"]) if is_same else _Head()
    except (ValueError, TypeError, KeyError):
        return _Head()


def _note_of(entry: Entry, head: _Head) -> str | None:
    if entry.told is None:
        return None
    told = {
        "told": entry.told,
        "on": clock.now().date().isoformat(),
        "bytes": head.byte_size,
        "modified": head.modified,
    }
    return json.dumps(told)


def _printable(header: str) -> str:
    return header if len(header) <= 200 and header.isascii() and header.isprintable() else ""


def _seconds_between(modified: str, answered: str) -> float:
    """Return the age of a file on the server's clock, or on ours if it tells none."""
    try:
        now = parsedate_to_datetime(answered) if answered else clock.now()
        return (now - parsedate_to_datetime(modified)).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError):
        return SETTLED_SECONDS
