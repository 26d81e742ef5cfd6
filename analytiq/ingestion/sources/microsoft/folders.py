"""Folders of drives: the paths of items, and which folders have changed.

The list of changes names an item's folder by its id only. A renamed or deleted folder is a change of its own, and the
items in it are not named. So a fingerprint of each folder is carried from run to run: if a known folder has another
name or place, everything is listed again.
"""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.microsoft.wire import DriveItem

DEEPEST = 100
MOST_FOLDERS = 30_000
"""Most folders whose fingerprints are carried; above, every run lists everything."""
_ID_BYTES = 8
_STATE_BYTES = 4

GetItem = Callable[[str], Awaitable[DriveItem]]


@dataclass(frozen=True, slots=True)
class _Folder:
    name: str
    parent_id: str | None


class FolderPaths:
    """The paths of a drive's folders, asked for where the listing has not named them."""

    def __init__(self, get_item: GetItem) -> None:
        self._get_item = get_item
        self._folders: dict[str, _Folder] = {}

    def note(self, item: DriveItem) -> None:
        """Note a folder that the listing names."""
        self._folders[item.id] = _Folder(item.name, None if item.root is not None else item.parent.id)

    async def names(self, folder_id: str | None) -> list[str] | None:
        """Return the names of the folders from the root to a folder; None if it does not exist any more."""
        names: list[str] = []
        for _ in range(DEEPEST):
            if folder_id is None:
                return names[::-1]
            folder = self._folders.get(folder_id)
            if folder is None:
                try:
                    self.note(await self._get_item(folder_id))
                except NotFoundError:
                    return None
                folder = self._folders.get(folder_id)
            if folder is None:
                return None
            if folder.parent_id is not None:
                names.append(folder.name)
            folder_id = folder.parent_id
        return None


class FolderStates:
    """Fingerprints of folders, by a hash of their ids."""

    def __init__(self, states: Mapping[bytes, bytes] | None = None) -> None:
        self._states = dict(states or {})

    def has_changed(self, item: DriveItem) -> bool:
        """Note a folder; return True if it was known with another name or place."""
        key, state = _key(item.id), _state(item)
        known = self._states.get(key)
        if len(self._states) <= MOST_FOLDERS:
            self._states[key] = state
        return known is not None and known != state

    def knows(self, item_id: str) -> bool:
        """Return True if an item is a known folder."""
        return _key(item_id) in self._states

    @property
    def is_complete(self) -> bool:
        """Return True if all folders are known."""
        return len(self._states) <= MOST_FOLDERS

    def written(self) -> str:
        """Return the fingerprints as text."""
        return base64.b85encode(b"".join(key + state for key, state in self._states.items())).decode()

    @classmethod
    def read(cls, text: str) -> "FolderStates":
        """Read what was written."""
        content = base64.b85decode(text)
        step = _ID_BYTES + _STATE_BYTES
        pieces = [content[start : start + step] for start in range(0, len(content), step)]
        return cls({piece[:_ID_BYTES]: piece[_ID_BYTES:] for piece in pieces})


def _key(item_id: str) -> bytes:
    return hashlib.sha256(item_id.encode()).digest()[:_ID_BYTES]


def _state(item: DriveItem) -> bytes:
    return hashlib.sha256(f"{item.parent.id}/{item.name}".encode()).digest()[:_STATE_BYTES]
