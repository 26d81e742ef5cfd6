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

DEEPEST = 100
MOST_FOLDERS = 30_000
"""Most folders whose fingerprints are carried; above, every run lists everything."""
_ID_BYTES = 8
_STATE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a drive. `parent_id` is None for the root, whose name is no part of paths."""

    id: str
    name: str
    parent_id: str | None


GetFolder = Callable[[str], Awaitable[Folder]]


class FolderPaths:
    """The paths of a drive's folders, asked for where the listing has not named them."""

    def __init__(self, get_folder: GetFolder) -> None:
        self._get_folder = get_folder
        self._folders: dict[str, Folder | None] = {}

    def note(self, folder: Folder) -> None:
        """Note a folder that the listing names."""
        self._folders[folder.id] = folder

    async def chain(self, folder_id: str | None) -> list[Folder] | None:
        """Return the folders from the root to a folder; None if one does not exist any more, or is not visible."""
        chain: list[Folder] = []
        for _ in range(DEEPEST):
            if folder_id is None:
                return chain[::-1]
            if folder_id not in self._folders:
                try:
                    self._folders[folder_id] = await self._get_folder(folder_id)
                except NotFoundError:
                    self._folders[folder_id] = None
            folder = self._folders[folder_id]
            if folder is None:
                return None
            chain.append(folder)
            folder_id = folder.parent_id
        return None

    async def names(self, folder_id: str | None) -> list[str] | None:
        """Return the names of the folders from the root, without it, to a folder; None as `chain`."""
        chain = await self.chain(folder_id)
        return None if chain is None else [folder.name for folder in chain if folder.parent_id is not None]


class FolderStates:
    """Fingerprints of folders, by a hash of their ids."""

    def __init__(self, states: Mapping[bytes, bytes] | None = None) -> None:
        self._states = dict(states or {})

    def has_changed(self, folder: Folder) -> bool:
        """Note a folder; return True if it was known with another name or place."""
        key, state = _key(folder.id), _state(folder)
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


def _state(folder: Folder) -> bytes:
    return hashlib.sha256(f"{folder.parent_id}/{folder.name}".encode()).digest()[:_STATE_BYTES]
