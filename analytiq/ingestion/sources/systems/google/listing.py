"""Listings of Google Drive: all files, or the changes since the last run."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.base import ItemAccess, ListedBatch, ListedItem, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.wire import readable
from analytiq.ingestion.sources.systems.drives.folders import Folder, FolderPaths, FolderStates
from analytiq.ingestion.sources.systems.google.api import FOLDER, SERVICE, DriveApi, GoogleDriveSettings, is_id
from analytiq.ingestion.sources.systems.google.wire import Change, DriveFile, Permission
from analytiq.ingestion.sources.texts.item_names import path_name

MOST_PAGES = 20_000
_EDITORS = "application/vnd.google-apps."
_OFFICE = "application/vnd.openxmlformats-officedocument."
EXPORTS = {
    f"{_EDITORS}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_EDITORS}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_EDITORS}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_EDITORS}drawing": ("application/pdf", ".pdf"),
}
HTML_EXPORT = ("text/html", ".html")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a listing.

    Attributes:
        is_delta: changes are listed.
        start: where the next run's changes begin.
        token: the next page; None: the first one of all files.
        folders: the written folder states.
        pages: number of listed pages.
        is_done: the last page is listed.
    """

    is_delta: bool
    start: str
    token: str | None
    folders: str = ""
    pages: int = 0
    is_done: bool = False

    def written(self) -> str:
        """Return the position as a cursor."""
        return json.dumps([self.is_delta, self.start, self.token, self.folders, self.pages, self.is_done])


class DriveFiles:
    """Listings of the chosen files."""

    def __init__(self, api: DriveApi, settings: GoogleDriveSettings, context: SourceContext) -> None:
        self._api = api
        self._settings = settings
        self._context = context
        self._paths = FolderPaths(self._folder)
        self._tokens: set[str] = set()

    async def batches(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """Yield the files behind a cursor.

        Raises:
            PositionExpiredError: the service does not know the position, or a known folder was renamed or removed.
        """
        position = Position(*json.loads(cursor)) if cursor else await self._begun()
        states = FolderStates.read(position.folders)
        while not position.is_done:
            if position.is_delta:
                items, removed, position = await self._changes(position, states)
            else:
                items, removed, position = await self._all(position, states)
            yield ListedBatch(items=items, removed=removed, cursor=position.written(), is_delta=position.is_delta)
        since = json.dumps([position.start, position.folders]) if states.is_complete else None
        yield ListedBatch(items=(), cursor=position.written(), is_delta=position.is_delta, next_since=since)

    async def listed(self, file: DriveFile) -> ListedItem | None:
        """Return a file as an item; None if it is none, or is not chosen."""
        if file.mime_type == FOLDER or file.trashed or not is_id(file.id):
            return None
        chain = await self._paths.chain(file.parents[0] if file.parents else None)
        if self._settings.folder is not None and self._settings.folder not in {folder.id for folder in chain or ()}:
            return None
        # What others share has no folder that this account sees.
        folders = [folder.name for folder in chain or () if folder.parent_id is not None]
        content_type, ending = self.export_of(file.mime_type) or (file.mime_type, "")
        name = path_name(folders, file.name, ending=ending)
        if not self._context.accepts(name):
            return None
        fields = {
            "path": name,
            "folder": "/".join(folders),
            "file_name": file.name,
            "content_type": file.mime_type,
            "modified": file.modified,
            "bytes": file.size,
        }
        return ListedItem(
            external_id=file.id,
            name=name,
            version=file.md5 or (f"{file.modified}:{content_type}" if file.modified else None),
            byte_size=file.size if not ending else None,
            source_url=file.web_url if file.web_url and file.web_url.startswith("https://") else None,
            fields={key: value for key, value in fields.items() if value not in (None, "")},
            note=file.mime_type,
            skip_reason=self._reason(file),
            access=_access(file.permissions),
        )

    def export_of(self, mime_type: str) -> tuple[str, str] | None:
        """Return the type and the ending that a document of Google's editors is exported with; None for a file."""
        if mime_type == f"{_EDITORS}document" and self._settings.documents_as == "html":
            return HTML_EXPORT
        return EXPORTS.get(mime_type)

    async def _begun(self) -> Position:
        if self._context.since is not None:
            start, folders = json.loads(self._context.since)
            return Position(is_delta=True, start=start, token=start, folders=folders)
        # Before the listing, so that what changes meanwhile is among the next run's changes.
        return Position(is_delta=False, start=await self._api.start_token(), token=None)

    async def _all(self, position: Position, states: FolderStates) -> tuple[list[ListedItem], list[str], Position]:
        page = await self._api.files(position.token)
        if page.is_incomplete:
            raise PermanentError(f"{SERVICE} could not search all drives. Choose one shared drive, or a folder.")
        files = readable(DriveFile, page.files)[0]
        for file in files:
            self._note(file, states, is_delta=False)
        items = [item for file in files if (item := await self.listed(file)) is not None]
        return items, [], self._after(position, states, token=page.next_token)

    async def _changes(self, position: Position, states: FolderStates) -> tuple[list[ListedItem], list[str], Position]:
        page = await self._api.changes(position.token or position.start)
        items: dict[str, ListedItem] = {}
        removed: dict[str, None] = {}
        for change in readable(Change, page.changes)[0]:
            file_id = change.file_id
            if file_id is None:
                continue
            is_gone = change.removed or change.file is None or change.file.trashed
            if is_gone and states.knows(file_id):
                raise PositionExpiredError("A folder was removed, with files that are not named.")
            items.pop(file_id, None)
            if change.file is not None and not is_gone:
                self._note(change.file, states, is_delta=True)
                item = await self.listed(change.file)
                if item is not None:
                    items[file_id] = item
            removed[file_id] = None
        if page.next_token is None and page.new_start is None:
            raise PermanentError(f"{SERVICE} names neither a next page nor an end of the changes.")
        after = self._after(position, states, token=page.next_token)
        if page.next_token is None and page.new_start is not None:
            after = replace(after, start=page.new_start)
        return list(items.values()), [each for each in removed if each not in items], after

    def _note(self, file: DriveFile, states: FolderStates, *, is_delta: bool) -> None:
        if file.mime_type != FOLDER:
            return
        folder = _as_folder(file)
        self._paths.note(folder)
        if states.has_changed(folder) and is_delta:
            raise PositionExpiredError("A folder was renamed or moved, so all its files have other names.")

    def _after(self, position: Position, states: FolderStates, *, token: str | None) -> Position:
        if token is not None and (token in self._tokens or position.pages >= MOST_PAGES):
            raise PermanentError(f"{SERVICE} names pages of a list without end.")
        if token is not None:
            self._tokens.add(token)
        return replace(position, token=token, folders=states.written(), pages=position.pages + 1, is_done=token is None)

    async def _folder(self, folder_id: str) -> Folder:
        return _as_folder(await self._api.file(folder_id))

    def _reason(self, file: DriveFile) -> str | None:
        if file.mime_type == f"{_EDITORS}shortcut":
            return "A shortcut. Its target is read where it is."
        if file.mime_type.startswith(_EDITORS) and self.export_of(file.mime_type) is None:
            return "Google exports no text of such a file."
        if not file.capabilities.can_download:
            return "Its owner does not allow downloads."
        return "The file is empty." if file.size == 0 else None


def _as_folder(file: DriveFile) -> Folder:
    return Folder(file.id, file.name, file.parents[0] if file.parents else None)


def _access(permissions: Sequence[Permission] | None) -> ItemAccess | None:
    """Return who may read a file; None if the account may not see it."""
    if not permissions:
        return None
    present = [permission for permission in permissions if not permission.deleted]
    groups = [each.email for each in present if each.type == "group" and each.email]
    domains = [each.domain for each in present if each.type == "domain" and each.domain]
    return ItemAccess(
        people=tuple(sorted(each.email for each in present if each.type == "user" and each.email)),
        groups=tuple(sorted([*groups, *domains])),
        is_public=any(each.type == "anyone" for each in present),
    )
