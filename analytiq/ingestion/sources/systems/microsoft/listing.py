"""Listings of drives by their delta queries: all files, or those that changed since the last run."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ListedBatch, ListedItem, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.wire import readable
from analytiq.ingestion.sources.systems.drives.folders import Folder, FolderPaths, FolderStates
from analytiq.ingestion.sources.systems.microsoft.graph import MOST_PAGES, SERVICE, Graph, is_id
from analytiq.ingestion.sources.systems.microsoft.wire import Drive, DriveItem, Page
from analytiq.ingestion.sources.texts.item_names import path_name

ACCESS_AT_ONCE = 5


@dataclass(frozen=True, slots=True)
class DriveScope:
    """The part of the drives that is taken; `top` is the first folder of the names, for a source of several drives."""

    folder: tuple[str, ...] = ()
    reads_access: bool = False
    names_drives: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a listing.

    Attributes:
        is_delta: changes are listed, from the links of the last run.
        links: the next page of each drive, or where its changes begin.
        done: links of the drives that are listed, for the next run.
        folders: the written folder states of the drives.
        pages: number of listed pages.
    """

    is_delta: bool = False
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    done: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    pages: int = 0

    def written(self) -> str:
        """Return the position as a cursor."""
        return json.dumps([self.is_delta, self.links, self.done, self.folders, self.pages])

    @classmethod
    def of_cursor(cls, cursor: str) -> "Position":
        """Read a cursor."""
        return cls(*json.loads(cursor))

    @classmethod
    def of_since(cls, since: str | None, drives: Sequence[Drive]) -> "Position":
        """Return the beginning of a run."""
        if since is None:
            return cls()
        links, folders = json.loads(since)
        if links.keys() != {drive.id for drive in drives}:
            return cls()
        return cls(is_delta=True, links=links, folders=folders)

    def since(self) -> str | None:
        """Return the beginning of the next run, if the drives have told it."""
        return json.dumps([self.done, self.folders]) if self.folders.keys() >= self.done.keys() else None


class DriveListing:
    """Listings of some drives."""

    def __init__(self, graph: Graph, scope: DriveScope, context: SourceContext) -> None:
        self._graph = graph
        self._scope = scope
        self._context = context
        self._paths: dict[str, FolderPaths] = {}
        self._seen: set[bytes] = set()

    async def batches(self, drives: Sequence[Drive], cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """Yield the files behind a cursor.

        Raises:
            PositionExpiredError: the service does not know the position, or a known folder was renamed or deleted.
        """
        position = Position.of_cursor(cursor) if cursor else Position.of_since(self._context.since, drives)
        for drive in drives:
            states = FolderStates.read(position.folders.get(drive.id, ""))
            while drive.id not in position.done:
                link = position.links.get(drive.id)
                page = await self._graph.changes(drive.id, link)
                items, removed = await self._read(drive, page, states, is_delta=position.is_delta)
                position = self._after(position, drive, page, states)
                yield ListedBatch(items=items, removed=removed, cursor=position.written(), is_delta=position.is_delta)
        yield ListedBatch(items=(), cursor=position.written(), is_delta=position.is_delta, next_since=position.since())

    async def found(self, drive: Drive, item: DriveItem) -> ListedItem | None:
        """Return a single file as a listing has it; None if it is none, or is not chosen."""
        found = await self._listed(drive, item)
        if found is None or not self._scope.reads_access:
            return found
        return (await self._with_access(drive, [found]))[0]

    async def _listed(self, drive: Drive, item: DriveItem) -> ListedItem | None:
        if item.folder is not None or item.root is not None or item.deleted is not None or not is_id(item.id):
            return None
        folders = await self._folders_of(drive).names(item.parent.id)
        wanted = self._scope.folder
        if folders is None or tuple(name.casefold() for name in folders[: len(wanted)]) != wanted:
            return None
        shown = [drive.name or drive.id, *folders] if self._scope.names_drives else folders
        name = path_name(shown, item.name)
        if not self._context.accepts(name):
            return None
        fields = {
            "path": name,
            "folder": "/".join(folders),
            "file_name": item.name,
            "drive": drive.name,
            "modified": item.modified,
            "bytes": item.size,
        }
        return ListedItem(
            external_id=f"{drive.id}/{item.id}",
            name=name,
            version=item.tag or (f"{item.modified}:{item.size}" if item.modified else None),
            byte_size=item.size,
            source_url=item.web_url if item.web_url and item.web_url.startswith("https://") else None,
            fields={key: value for key, value in fields.items() if value not in (None, "")},
            skip_reason=_reason(item),
        )

    async def _read(
        self, drive: Drive, page: Page, states: FolderStates, *, is_delta: bool
    ) -> tuple[list[ListedItem], list[str]]:
        items: dict[str, DriveItem] = {}
        for item in readable(DriveItem, page.value)[0]:
            if item.folder is not None and item.deleted is None:
                self._folders_of(drive).note(_folder(item))
                if states.has_changed(_folder(item)) and is_delta:
                    raise PositionExpiredError("A folder was renamed or moved, so all its files have other names.")
            elif item.deleted is not None and is_delta and states.knows(item.id):
                raise PositionExpiredError("A folder was deleted, with files that are not named.")
            items.pop(item.id, None)  # the last of several is the present one
            items[item.id] = item
        found = [await self._listed(drive, item) for item in items.values()]
        kept = [item for item in found if item is not None]
        if self._scope.reads_access:
            kept = await self._with_access(drive, kept)
        listed_ids = {item.external_id for item in kept}
        files = (item for item in items.values() if item.folder is None and item.root is None)
        removed = [f"{drive.id}/{item.id}" for item in files if f"{drive.id}/{item.id}" not in listed_ids]
        return kept, removed if is_delta else []

    async def _with_access(self, drive: Drive, items: Sequence[ListedItem]) -> list[ListedItem]:
        slots = asyncio.Semaphore(ACCESS_AT_ONCE)

        async def read(item: ListedItem) -> ListedItem:
            async with slots:
                try:
                    return replace(item, access=await self._graph.access(drive.id, item.external_id.partition("/")[2]))
                except NotFoundError:
                    return item  # deleted meanwhile

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(item)) for item in items]
        return [task.result() for task in tasks]

    def _after(self, position: Position, drive: Drive, page: Page, states: FolderStates) -> Position:
        link = page.next_link or page.delta_link
        if link is None:
            raise PermanentError(f"{SERVICE} names neither a next page nor an end of the list.")
        mark = hashlib.sha256(link.encode()).digest()
        if page.next_link is not None and (mark in self._seen or position.pages >= MOST_PAGES):
            raise PermanentError(f"{SERVICE} names pages of a list without end.")
        self._seen.add(mark)
        folders = {**position.folders, drive.id: states.written()}
        if not states.is_complete:
            folders.pop(drive.id)
        if page.next_link is not None:
            links = {**position.links, drive.id: link}
            return replace(position, links=links, folders=folders, pages=position.pages + 1)
        links = {key: value for key, value in position.links.items() if key != drive.id}
        return replace(position, links=links, folders=folders, done={**position.done, drive.id: link})

    def _folders_of(self, drive: Drive) -> FolderPaths:
        if drive.id not in self._paths:

            async def get_folder(item_id: str) -> Folder:
                return _folder(await self._graph.item(drive.id, item_id))

            self._paths[drive.id] = FolderPaths(get_folder)
        return self._paths[drive.id]


def _folder(item: DriveItem) -> Folder:
    return Folder(item.id, item.name, None if item.root is not None else item.parent.id)


def _reason(item: DriveItem) -> str | None:
    if item.malware is not None:
        return "The service found malware in it."
    if item.file is None:
        return "A notebook or another thing without content of its own."
    return "The file is empty." if item.size == 0 else None
