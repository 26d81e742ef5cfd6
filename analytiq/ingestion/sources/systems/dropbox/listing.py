"""Listings of Dropbox: all files, or the changes since the last run."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from urllib.parse import quote

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ListedBatch, ListedItem, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.wire import readable
from analytiq.ingestion.sources.systems.dropbox.api import SERVICE, DropboxApi, DropboxSettings, is_id
from analytiq.ingestion.sources.systems.dropbox.wire import Entry
from analytiq.ingestion.sources.texts.item_names import path_name

MOST_PAGES = 20_000
MOST_DELETIONS = 200
"""Most deleted paths of a page that are asked for one by one; for more, everything is listed again."""
EXPORT_ENDINGS = {"markdown": ".md"}
FILE, EXPORT = "file", "export"
"""Notes of items: how the content is read."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a listing.

    Attributes:
        is_delta: changes are listed.
        cursor: of the next page; None: the first one of all files.
        pages: number of listed pages.
        is_done: the last page is listed.
        is_sure: all that was deleted meanwhile is known.
    """

    is_delta: bool
    cursor: str | None
    pages: int = 0
    is_done: bool = False
    is_sure: bool = True

    def written(self) -> str:
        """Return the position as a cursor of the source."""
        return json.dumps([self.is_delta, self.cursor, self.pages, self.is_done, self.is_sure])


class DropboxFiles:
    """Listings of the files of a folder."""

    def __init__(self, api: DropboxApi, settings: DropboxSettings, context: SourceContext) -> None:
        self._api = api
        self._settings = settings
        self._context = context
        self._cursors: set[str] = set()

    async def batches(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """Yield the files behind a cursor.

        Raises:
            PositionExpiredError: Dropbox does not know the position, or deletions are not known one by one.
        """
        since = self._context.since
        position = Position(*json.loads(cursor)) if cursor else Position(is_delta=since is not None, cursor=since)
        while not position.is_done:
            items, removed, position = await self._page(position)
            yield ListedBatch(items=items, removed=removed, cursor=position.written(), is_delta=position.is_delta)
        next_since = position.cursor if position.is_sure else None
        yield ListedBatch(items=(), cursor=position.written(), is_delta=position.is_delta, next_since=next_since)

    def listed(self, entry: Entry) -> ListedItem | None:
        """Return a file as an item; None if it is none, or is not chosen."""
        if entry.tag != "file" or entry.id is None or not is_id(entry.id) or not self._is_inside(entry):
            return None
        *folders, _ = [part for part in (entry.path_display or entry.name).split("/") if part] or [""]
        exported = entry.export_info.export_as if entry.export_info else None
        ending = "" if entry.is_downloadable or not exported else EXPORT_ENDINGS.get(exported, f".{exported[:20]}")
        name = path_name(folders, entry.name, ending=ending)
        if not self._context.accepts(name):
            return None
        fields = {
            "path": name,
            "folder": "/".join(folders),
            "file_name": entry.name,
            "modified": entry.server_modified,
            "bytes": entry.size,
        }
        return ListedItem(
            external_id=entry.id,
            name=name,
            version=entry.rev if ending else entry.content_hash or entry.rev,
            byte_size=None if ending else entry.size,
            source_url=f"https://www.dropbox.com/home/{quote('/'.join(folders))}?preview={quote(entry.name, safe='')}",
            fields={key: value for key, value in fields.items() if value not in (None, "")},
            note=EXPORT if ending else FILE,
            skip_reason=_reason(entry),
        )

    async def _page(self, position: Position) -> tuple[list[ListedItem], list[str], Position]:
        if position.cursor is None:
            page = await self._api.first_page(self._settings.folder)
        else:
            page = await self._api.next_page(position.cursor)
        if page.has_more and (page.cursor in self._cursors or position.pages >= MOST_PAGES):
            raise PermanentError(f"{SERVICE} names pages of a list without end.")
        self._cursors.add(page.cursor)
        # The last entry of a path tells its state.
        entries = {entry.path_lower or entry.id: entry for entry in readable(Entry, page.entries)[0]}
        items = {item.external_id: item for entry in entries.values() if (item := self.listed(entry)) is not None}
        left = {entry.id for entry in entries.values() if entry.tag == "file" and entry.id} - items.keys()
        gone = [entry.path_lower for entry in entries.values() if entry.tag == "deleted" and entry.path_lower]
        after = replace(position, cursor=page.cursor, pages=position.pages + 1, is_done=not page.has_more)
        try:
            removed = await self._removed(gone, items)
        except PositionExpiredError:
            if position.is_delta:
                raise
            # The next run lists everything, and misses what is gone.
            removed, after = [], replace(after, is_sure=False)
        return list(items.values()), sorted({*removed, *left}), after

    async def _removed(self, paths: list[str], items: dict[str, ListedItem]) -> list[str]:
        """Return the ids of files that are gone from paths; files that are elsewhere now are added to the items.

        Raises:
            PositionExpiredError: a folder is gone, or so many files that listing everything is cheaper.
        """
        if len(paths) > MOST_DELETIONS:
            raise PositionExpiredError("Many files were deleted.")
        removed: list[str] = []
        for path in paths:
            file_id = await self._api.deleted_id(path)
            if file_id is None:
                raise PositionExpiredError("A folder was deleted or renamed, with files that are not named.")
            if file_id in items:
                continue
            # A moved file is deleted at its old path; the new one may be on a later page.
            try:
                item = self.listed(await self._api.entry(file_id))
            except NotFoundError:
                item = None
            if item is None:
                removed.append(file_id)
            else:
                items[file_id] = item
        return removed

    def _is_inside(self, entry: Entry) -> bool:
        folder = self._settings.folder.lower()
        return not folder or (entry.path_lower or "").startswith(f"{folder}/")


def _reason(entry: Entry) -> str | None:
    if not entry.is_downloadable and (entry.export_info is None or not entry.export_info.export_as):
        return "Dropbox exports no text of such a file."
    return "The file is empty." if entry.size == 0 and entry.is_downloadable else None
