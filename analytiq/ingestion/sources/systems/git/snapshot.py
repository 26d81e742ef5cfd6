"""The files of one commit, and their content."""

import asyncio
from collections.abc import Sequence

from dulwich.errors import ObjectFormatException
from dulwich.objects import Commit, parse_tree

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import ItemGoneError, ItemRefusedError
from analytiq.ingestion.sources.systems.git.pack import DamagedPackError, Pack
from analytiq.ingestion.sources.systems.git.smart_http import (
    GitRemote,
    ObjectMissingError,
    PackLimits,
    PackTooLargeError,
)
from analytiq.ingestion.sources.systems.remote_files.walk import EntryKind, RemoteEntry, Segments, segments_of

MOST_PACK_BYTES = 1024 * 1024 * 1024
"""Most bytes of a pack, which is in a temporary file while its connector is open."""
MOST_TREE_BYTES = 32 * 1024 * 1024
BLOBS_AT_ONCE = 50
"""Most files of one request for content."""
MOST_BLOBS_BYTES = 128 * 1024 * 1024
"""Most bytes of the files of one request; of more, each is requested alone."""
MOST_PACKS = 4
"""Most packs of files that are kept."""
EMPTY_FILE = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_TYPE, _FOLDER, _FILE, _LINK, _REPOSITORY = 0o170000, 0o040000, 0o100000, 0o120000, 0o160000
_KINDS = {_FOLDER: EntryKind.FOLDER, _FILE: EntryKind.FILE, _LINK: EntryKind.LINK, _REPOSITORY: EntryKind.REPOSITORY}


class Snapshot:
    """The tree of one commit; an implementation of RemoteFolders."""

    def __init__(self, pack: Pack, commit_id: str, folder: Segments, *, has_files: bool) -> None:
        self._pack = pack
        self._root = _root_of(pack, commit_id)
        self._folder = folder
        self._trees: dict[Segments, str] = {}
        self._lock = asyncio.Lock()
        self.commit_id = commit_id
        self.has_files = has_files
        """The pack has the files' content too."""

    @classmethod
    async def read(cls, remote: GitRemote, commit_id: str, folder: Segments, *, most_item_bytes: int) -> "Snapshot":
        """Read the tree of a commit; where the server has no filter, with the content of all files.

        Raises:
            ObjectMissingError: the server does not have the commit.
            AnalytiqError: it cannot be read.
        """
        trees_only = await remote.has_filter()
        limits = PackLimits(
            most_bytes=MOST_PACK_BYTES,
            most_object_bytes=MOST_TREE_BYTES if trees_only else max(MOST_TREE_BYTES, most_item_bytes),
            depth=1,
            has_files=not trees_only,
        )
        pack = await remote.pack([commit_id], limits)
        try:
            return cls(pack, commit_id, folder, has_files=not trees_only)
        except BaseException:
            pack.close()
            raise

    async def entries(self, folder: Segments) -> Sequence[RemoteEntry]:
        """See RemoteFolders."""
        async with self._lock:
            return await asyncio.to_thread(self._entries, (*self._folder, *folder))

    async def content(self, blob_id: str) -> bytes | None:
        """Return the content of a file; None if the pack does not have it, or it is too large."""
        async with self._lock:
            found = await asyncio.to_thread(self._pack.get, blob_id)
        return found.content if found is not None and found.kind == "blob" else None

    def close(self) -> None:
        """Delete the pack."""
        self._pack.close()

    def _entries(self, folder: Segments) -> list[RemoteEntry]:
        found: list[RemoteEntry] = []
        for name, mode, object_id in self._tree(self._id_of(folder)):
            kind = _KINDS.get(mode & _TYPE, EntryKind.OTHER)
            if kind is EntryKind.FOLDER:
                self._trees[*folder, name] = object_id
            size = 0 if object_id == EMPTY_FILE else None
            found.append(RemoteEntry(name=name, kind=kind, version=object_id, byte_size=size))
        return found

    def _id_of(self, folder: Segments) -> str:
        if not folder:
            return self._root
        known = self._trees.pop(folder, None)
        if known is not None:
            return known
        for name, mode, object_id in self._tree(self._id_of(folder[:-1])):
            if name == folder[-1] and mode & _TYPE == _FOLDER:
                return object_id
        raise NotFoundError(f"The repository has no folder {'/'.join(folder)!r}.")

    def _tree(self, tree_id: str) -> list[tuple[str, int, str]]:
        """Return the entries of a tree, without those whose names could lead elsewhere."""
        found = self._pack.get(tree_id)
        if found is None or found.kind != "tree":
            raise DamagedPackError("The server did not send a folder, or it is too large.")
        entries: list[tuple[str, int, str]] = []
        try:
            for raw, mode, object_id in parse_tree(found.content, 20):
                name = raw.decode("utf-8", "surrogateescape")
                if segments_of(name) == (name,):
                    entries.append((name, mode, object_id.decode()))
        except (ObjectFormatException, ValueError):
            raise DamagedPackError("A folder of the repository cannot be read.") from None
        return entries


class Contents:
    """The content of files, which is requested for many files at once."""

    def __init__(self, remote: GitRemote, *, most_bytes: int) -> None:
        self._remote = remote
        self._most_bytes = most_bytes
        self._wanted: list[str] = []
        self._packs: list[Pack] = []
        self._lock = asyncio.Lock()

    def expect(self, blob_ids: Sequence[str]) -> None:
        """Name the files that are probably read next."""
        self._wanted = list(dict.fromkeys(blob_ids))

    async def read(self, blob_id: str) -> bytes:
        """Return the content of a file.

        Raises:
            ItemGoneError: the server does not have it any more.
            ItemRefusedError: it is too large.
        """
        async with self._lock:
            content = await asyncio.to_thread(self._known, blob_id)
            if content is None:
                await self._request(blob_id)
                content = await asyncio.to_thread(self._known, blob_id)
        if content is None:
            raise ItemRefusedError(f"Larger than {self._most_bytes:,} bytes.")
        return content

    def close(self) -> None:
        """Delete the packs."""
        while self._packs:
            self._packs.pop().close()

    def _known(self, blob_id: str) -> bytes | None:
        for pack in self._packs:
            found = pack.get(blob_id)
            if found is not None and found.kind == "blob":
                return found.content
        return None

    async def _request(self, blob_id: str) -> None:
        at = self._wanted.index(blob_id) if blob_id in self._wanted else len(self._wanted)
        together = [blob_id, *self._wanted[at + 1 : at + BLOBS_AT_ONCE]]
        try:
            pack = await self._remote.pack(together, self._limits(MOST_BLOBS_BYTES))
        except (PackTooLargeError, ObjectMissingError):
            pack = await self._alone(blob_id)
        self._packs.insert(0, pack)
        while len(self._packs) > MOST_PACKS:
            self._packs.pop().close()

    async def _alone(self, blob_id: str) -> Pack:
        try:
            return await self._remote.pack([blob_id], self._limits(2 * self._most_bytes))
        except PackTooLargeError:
            raise ItemRefusedError(f"Larger than {self._most_bytes:,} bytes.") from None
        except ObjectMissingError:
            raise ItemGoneError("The server does not have this version of the file any more.") from None

    def _limits(self, most_bytes: int) -> PackLimits:
        return PackLimits(most_bytes=most_bytes, most_object_bytes=self._most_bytes)


def _root_of(pack: Pack, commit_id: str) -> str:
    found = pack.get(commit_id)
    try:
        if found is not None and found.kind == "commit":
            return Commit.from_string(found.content).tree.decode()
    except (ObjectFormatException, ValueError, AssertionError):
        pass
    raise DamagedPackError("The branch or tag is no commit.")
