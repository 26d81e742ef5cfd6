"""Files below a directory of the server.

Only directories that the operator allows are read. Every directory and file is opened from the allowed directory
downwards, one component after the other and without following symbolic links, so that a link that is put in place
between a check and its use leads nowhere.
"""

import asyncio
import errno
import json
import mimetypes
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import Field, field_validator

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, TransientError
from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    NoCredentials,
    SourceContext,
)

BATCH = 200
"""Most files of a batch."""
DEEPEST = 64
"""Most folders within one another."""
MOST_ENTRIES = 200_000
"""Most entries of one folder, whose names are sorted in memory."""
BLOCK_BYTES = 256 * 1024
SETTLED_SECONDS = 2.0
"""Age from which a change of a file is told by its times: two writes within one tick of the clock have the same."""
OF_THE_SYSTEM = ("Thumbs.db", "desktop.ini", ".DS_Store")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SETTING = "ANALYTIQ_SOURCES__FOLDERS"

THREADS = 4

Segments = tuple[str, ...]
Result = TypeVar("Result")


class FolderSettings(KindSchema):
    """The settings of a folder."""

    path: str = Field(min_length=1, max_length=4096, description="Absolute path on the server")
    include_hidden: bool = Field(default=False, description="Also read files and folders that begin with a dot")

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise ValueError("Must be an absolute path without `..`")
        return path


@dataclass(frozen=True, slots=True)
class _Root:
    """An allowed directory, and the path of the source below it."""

    allowed: Path
    below: Segments


class FolderConnector:
    """A directory of the server."""

    title: ClassVar[str] = "Folder"
    description: ClassVar[str] = "Files below a directory of the server, where the operator allows it."
    settings_schema: ClassVar[type[KindSchema]] = FolderSettings
    credentials_schema: ClassVar[type[KindSchema]] = NoCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        del credentials
        self._settings = FolderSettings.model_validate(settings, from_attributes=True)
        self._context = context
        # Threads of its own: a file system that hangs holds up nothing else.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="folder-source")

    async def check(self) -> None:
        """See Connector.

        Raises:
            AccessDeniedError: the operator does not allow the directory.
            NotFoundError: it is no directory.
        """
        await self._in_thread(self._check)

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the path of the last listed file."""
        await self.check()
        walk = _Walk(self, tuple(json.loads(cursor)) if cursor else ())
        files = walk.files()
        while batch := await self._in_thread(_take, files, BATCH):
            problems, walk.problems = walk.problems, []
            yield ListedBatch(
                items=[item for _, item in batch], cursor=json.dumps(batch[-1][0]), problems=tuple(problems)
            )
        if walk.problems:
            yield ListedBatch(items=(), cursor=cursor or "[]", problems=tuple(walk.problems))

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        segments = tuple(external_id.split("/"))
        if any(segment in ("", ".", "..") or "\0" in segment for segment in segments):
            return None
        if not self.accepts(segments, is_folder=False):
            return None
        return await self._in_thread(self._find, segments)

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector. The file is opened with its first block: it may have changed since it was listed.

        Then it is read again by the next run, which finds another version.
        """
        return FetchedItem(
            content=self._blocks(tuple(item.external_id.split("/"))),
            content_type=_type_of(item.name),
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def accepts(self, segments: Segments, *, is_folder: bool) -> bool:
        """Return True if a file is chosen, or a folder may contain chosen files."""
        hidden = any(segment.startswith(".") for segment in segments)
        if segments[-1] in OF_THE_SYSTEM or (hidden and not self._settings.include_hidden):
            return False
        return is_folder or self._context.accepts("/".join(segments))

    @contextmanager
    def opened_folder(self, segments: Segments) -> Generator[int]:
        """Open a folder below the source's directory."""
        root = self._root()
        descriptor = _open_below(root.allowed, (*root.below, *segments))
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    async def _in_thread(self, work: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _root(self) -> _Root:
        """Find the allowed directory that contains the source's.

        Raises:
            AccessDeniedError: the operator allows none.
        """
        path = Path(os.path.normpath(self._settings.path))
        for folder in self._context.operator.folders:
            allowed = Path(str(folder).replace("{organization_id}", self._context.organization_id))
            if path.is_relative_to(allowed):
                return _Root(allowed, path.relative_to(allowed).parts)
        raise AccessDeniedError(
            f"The operator does not allow sources to read {str(path)!r}. Choose a directory below one of those in"
            f" {SETTING}, or ask the operator to add it.",
            code="folder_not_allowed",
        )

    def _check(self) -> None:
        path = self._settings.path
        try:
            with self.opened_folder(()):
                return
        except PermissionError:
            raise InvalidInputError.of_field(
                "settings.path", f"The server may not read {path!r}. Give the workers' user the right to read it."
            ) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                reason = f"{path!r} is no directory, or leads through a symbolic link. Use the path behind the link."
                raise InvalidInputError.of_field("settings.path", reason) from None
            if error.errno == errno.ENOENT:
                raise NotFoundError(f"The directory {path!r} does not exist on the server. Check the path.") from None
            raise TransientError(f"The directory {path!r} cannot be read now: {error.strerror}.") from error

    def _find(self, segments: Segments) -> ListedItem | None:
        try:
            with self.opened_folder(segments[:-1]) as folder:
                found = os.stat(segments[-1], dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise TransientError(f"The file {'/'.join(segments)!r} cannot be read now: {error.strerror}.") from error
        return listed(segments, found) if not stat.S_ISDIR(found.st_mode) else None

    async def _blocks(self, segments: Segments) -> AsyncIterator[bytes]:
        descriptor = await self._in_thread(self._open_file, segments)
        try:
            before = os.fstat(descriptor)
            while block := await self._in_thread(os.read, descriptor, BLOCK_BYTES):
                yield block
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise TransientError("The file was changed while it was read. The next run reads it again.")

    def _open_file(self, segments: Segments) -> int:
        """Open a regular file.

        Raises:
            ItemGoneError: it does not exist any more.
            ItemRefusedError: it is no regular file any more.
            TransientError: it cannot be read now.
        """
        try:
            with self.opened_folder(segments[:-1]) as folder:
                descriptor = os.open(segments[-1], _FILE_FLAGS, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            raise ItemGoneError("Deleted while the run was going on.") from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise ItemRefusedError("Not a regular file.") from None
            raise TransientError(f"Cannot be read: {error.strerror}.") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ItemRefusedError("Not a regular file.")
        return descriptor


class _Walk:
    """A walk over all files of a directory, sorted by their components, behind a position."""

    def __init__(self, connector: FolderConnector, after: Segments) -> None:
        self._connector = connector
        self._after = after
        self.problems: list[str] = []
        """Folders that could not be listed since the last batch."""

    def files(self) -> Iterator[tuple[Segments, ListedItem]]:
        """Yield the files with their paths."""
        return self._below((), self._after)

    def _below(self, folder: Segments, after: Segments) -> Iterator[tuple[Segments, ListedItem]]:
        try:
            entries = self._entries(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(f"{'/'.join(folder) or '.'}: cannot be listed: {error.strerror}.")
            return
        for name, found in entries:
            if after and name < after[0]:
                continue
            path = (*folder, name)
            is_position = bool(after) and name == after[0]
            if stat.S_ISDIR(found.st_mode):
                if len(path) > DEEPEST:
                    self.problems.append(f"{'/'.join(path[:3])}/…: more than {DEEPEST} folders within one another.")
                elif self._connector.accepts(path, is_folder=True):
                    yield from self._below(path, after[1:] if is_position else ())
            elif not (is_position and len(after) == 1) and self._connector.accepts(path, is_folder=False):
                yield path, listed(path, found)

    def _entries(self, folder: Segments) -> list[tuple[str, os.stat_result]]:
        """Return a folder's entries by name, links as links."""
        entries: list[tuple[str, os.stat_result]] = []
        with self._connector.opened_folder(folder) as descriptor, os.scandir(descriptor) as found:
            for entry in found:
                if len(entries) == MOST_ENTRIES:
                    raise OSError(errno.E2BIG, f"more than {MOST_ENTRIES:,} entries")
                try:
                    entries.append((entry.name, entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
        return sorted(entries, key=lambda entry: entry[0])


def listed(segments: Segments, found: os.stat_result) -> ListedItem:
    """Return a file as an item, with the reason if it is not taken in."""
    path = "/".join(segments)
    shown = path.encode("utf-8", "replace").decode()
    if shown != path:
        return ListedItem(external_id=shown, name=shown, skip_reason="The name is not UTF-8.")
    try:
        name = validated_path(path)
    except InvalidInputError as error:
        clean = "".join(character if character.isprintable() else "?" for character in path)
        return ListedItem(external_id=clean[:2048], name=clean[:1024], skip_reason=f"Not a document's name: {error}")
    if stat.S_ISLNK(found.st_mode):
        return ListedItem(external_id=path, name=name, skip_reason="A symbolic link, which is never followed.")
    if not stat.S_ISREG(found.st_mode):
        return ListedItem(external_id=path, name=name, skip_reason="Not a regular file.")
    if found.st_size == 0:
        return ListedItem(external_id=path, name=name, version=version_of(found), skip_reason="The file is empty.")
    return ListedItem(
        external_id=path,
        name=name,
        version=version_of(found),
        byte_size=found.st_size,
        fields={"path": path, "folder": "/".join(segments[:-1]), "file_name": segments[-1], "bytes": found.st_size},
    )


def version_of(found: os.stat_result) -> str | None:
    """Return size and times of a file; None if it changed so recently that they may not tell the next change."""
    if clock.now().timestamp() - max(found.st_mtime, found.st_ctime) < SETTLED_SECONDS:
        return None
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _open_below(allowed: Path, segments: Sequence[str]) -> int:
    """Open a folder component by component; the caller closes it."""
    # The operator's own path may lead through links.
    descriptor = os.open(allowed, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for segment in segments:
        try:
            inner = os.open(segment, _FOLDER_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _take(files: Iterator[tuple[Segments, ListedItem]], most: int) -> list[tuple[Segments, ListedItem]]:
    return [file for _, file in zip(range(most), files, strict=False)]


def _type_of(name: str) -> str:
    """Return the type by the name's ending; extraction looks at the bytes too."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
