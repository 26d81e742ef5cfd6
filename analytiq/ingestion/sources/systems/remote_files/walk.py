"""The walk through the folders of a file server, which goes on behind every position.

Folders are listed in the order of their names, one after the other, so that a position is a path. A server may be
hostile: the number of folders, of the entries of a folder and the depth are limited.
"""

import json
import mimetypes
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, cast

from pydantic import JsonValue

from analytiq.errors import (
    AnalytiqError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    RateLimitedError,
    TransientError,
)
from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.sources.base import Accepts, ItemAccess, ListedBatch, ListedItem

BATCH = 200
"""Most files of a batch."""
BATCH_SECONDS = 10.0
"""Time after which a batch ends although it is not full: folders without chosen files take time too."""
DEEPEST = 64
"""Most folders within one another."""
MOST_ENTRIES = 50_000
"""Most entries of one folder, which are sorted in memory."""
MOST_FAILURES = 3
"""Folders in a row that cannot be read now before the walk ends: then it is the server that fails."""
MOST_FOLDERS = 100_000
"""Most folders of a walk: a server may have a folder that contains itself."""
OF_THE_SYSTEM = ("Thumbs.db", "desktop.ini", ".DS_Store")

Segments = tuple[str, ...]


class EntryKind(StrEnum):
    """The kind of an entry of a folder."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    REPOSITORY = "repository"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """An entry of a folder.

    Attributes:
        name: without folders.
        external_id: the server's id; None: the path identifies the file.
        note: see ListedItem.
        fields: further fields of the item.
        access: who may read it; None if the server does not say.
    """

    name: str
    kind: EntryKind
    version: str | None = None
    byte_size: int | None = None
    external_id: str | None = None
    source_url: str | None = None
    note: str | None = None
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    access: ItemAccess | None = None


class RemoteFolders(Protocol):
    """Folders of a server."""

    async def entries(self, folder: Segments) -> Sequence[RemoteEntry]:
        """Return the entries of a folder below the source's, in any order.

        Raises:
            NotFoundError: it does not exist any more.
            PermanentError: it cannot be listed; the run goes on without it.
            AnalytiqError: nothing can be listed now.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileChoice:
    """The chosen files of a source."""

    accepts: Accepts
    include_hidden: bool = False

    def takes(self, segments: Segments, *, is_folder: bool) -> bool:
        """Return True if a file is chosen, or a folder may contain chosen files."""
        hidden = any(segment.startswith(".") for segment in segments)
        if segments[-1] in OF_THE_SYSTEM or (hidden and not self.include_hidden):
            return False
        return is_folder or self.accepts("/".join(segments))


class TreeWalk:
    """One walk over all files, sorted by their components, behind a cursor."""

    def __init__(self, folders: RemoteFolders, choice: FileChoice, *, cursor: str | None) -> None:
        self._folders = folders
        self._choice = choice
        self._count, self._position = _read(cursor)
        self._items: list[ListedItem] = []
        self._problems: list[str] = []
        self._ends_at = 0.0
        self._failures = 0

    async def batches(self) -> AsyncGenerator[ListedBatch]:
        """Yield the files in batches."""
        self._ends_at = time.monotonic() + BATCH_SECONDS
        async for _ in self._below((), self._position):
            if len(self._items) >= BATCH or time.monotonic() >= self._ends_at:
                yield self._batch()
        if self._items or self._problems:
            yield self._batch()

    def _batch(self) -> ListedBatch:
        batch = ListedBatch(
            items=tuple(self._items),
            cursor=json.dumps([self._count, *self._position]),
            problems=tuple(self._problems),
        )
        self._items, self._problems = [], []
        self._ends_at = time.monotonic() + BATCH_SECONDS
        return batch

    async def _below(self, folder: Segments, after: Segments) -> AsyncGenerator[None]:
        """Walk a folder; yield after each entry, when a batch may end."""
        for entry in await self._entries(folder):
            if after and entry.name < after[0]:
                continue
            path = (*folder, entry.name)
            is_position = bool(after) and entry.name == after[0]
            if entry.kind is EntryKind.FOLDER:
                if not self._choice.takes(path, is_folder=True):
                    continue
                if len(path) > DEEPEST:
                    self._problems.append(f"{'/'.join(path[:3])}/…: more than {DEEPEST} folders within one another.")
                    continue
                if not is_position:
                    self._position = path
                inner = self._below(path, after[1:] if is_position else ())
                try:
                    async for _ in inner:
                        yield
                finally:
                    await inner.aclose()
            elif not (is_position and len(after) == 1) and self._choice.takes(path, is_folder=False):
                self._items.append(listed_file(path, entry))
                self._position = path
            yield

    async def _entries(self, folder: Segments) -> list[RemoteEntry]:
        shown = "/".join(folder) or "."
        if self._count >= MOST_FOLDERS:
            raise PermanentError(f"The source has more than {MOST_FOLDERS:,} folders. Choose a folder with fewer.")
        self._count += 1
        try:
            entries = await self._folders.entries(folder)
        except NotFoundError:
            if not folder:
                raise
            return []  # deleted since its parent was listed
        except AnalytiqError as error:
            self._failures += isinstance(error, TransientError)
            if not folder or isinstance(error, RateLimitedError) or self._failures > MOST_FAILURES:
                raise
            self._problems.append(f"{shown}: cannot be listed: {error.detail}")
            return []
        self._failures = 0
        if len(entries) > MOST_ENTRIES:
            self._problems.append(f"{shown}: more than {MOST_ENTRIES:,} entries.")
            return []
        return sorted({entry.name: entry for entry in entries}.values(), key=lambda entry: entry.name)


def listed_file(segments: Segments, entry: RemoteEntry) -> ListedItem:
    """Return an entry that is no folder as an item, with the reason if it is not taken in."""
    path = "/".join(segments)
    shown = path.encode("utf-8", "replace").decode()
    if shown != path:
        return ListedItem(external_id=shown[:2048], name=shown[:1024], skip_reason="The name is not UTF-8.")
    external_id = entry.external_id or path
    try:
        name = validated_path(path)
    except InvalidInputError as error:
        clean = "".join(character if character.isprintable() else "?" for character in path)
        external_id = entry.external_id or clean[:2048]
        return ListedItem(
            external_id=external_id, name=clean[:1024], skip_reason=f"Not a document's name: {error.detail}"
        )
    reason = None
    if entry.kind is EntryKind.LINK:
        reason = "A symbolic link, which is never followed."
    elif entry.kind is EntryKind.REPOSITORY:
        reason = "A submodule. Add its repository as a source of its own."
    elif entry.kind is not EntryKind.FILE:
        reason = "Not a regular file."
    elif entry.byte_size == 0:
        reason = "The file is empty."
    fields: dict[str, JsonValue] = {
        "path": path,
        "folder": "/".join(segments[:-1]),
        "file_name": segments[-1],
        "bytes": entry.byte_size,
        **entry.fields,
    }
    return ListedItem(
        external_id=external_id,
        name=name,
        version=entry.version,
        byte_size=entry.byte_size,
        source_url=entry.source_url,
        fields=fields,
        note=entry.note,
        skip_reason=reason,
        access=entry.access,
    )


def _read(cursor: str | None) -> tuple[int, Segments]:
    """Return the number of listed folders, and the path of the last file or folder."""
    count, *position = cast("tuple[int, *Segments]", json.loads(cursor)) if cursor else (0,)
    return count, tuple(position)


def segments_of(path: str) -> Segments | None:
    """Return the components of a relative path; None if it could lead elsewhere."""
    segments = tuple(path.split("/"))
    if any(segment in ("", ".", "..") or "\0" in segment for segment in segments):
        return None
    return segments


def type_of(name: str) -> str:
    """Return the type by the name's ending; extraction looks at the bytes too."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
