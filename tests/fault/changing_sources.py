"""Sources whose items change while they are read: folders and servers of a test, with the truth about their content.

Each has the same few acts, so that one driver (`tests.fault.killed_runs`) changes them all.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from tests.fakes.moto_s3 import MotoS3
from tests.fakes.nextcloud_server import PASSWORD, USER, NextcloudServer
from tests.fakes.webdav_server import WebDavServer


class ChangingSource(ABC):
    """The place that a source reads.

    `texts` is the truth: the content of each item by path. `ids` names what an item is: two paths of one id are one
    item that was renamed.
    """

    kind: str
    settings: Mapping[str, JsonValue]
    credentials: Mapping[str, JsonValue]

    def __init__(self) -> None:
        self.settings, self.credentials = {}, {}
        self.texts: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    @abstractmethod
    def _put(self, path: str, text: str) -> None:
        """Write an item."""

    @abstractmethod
    def _drop(self, path: str) -> None:
        """Remove an item."""

    def _move(self, path: str, target: str) -> str:
        """Rename an item; return its id afterwards."""
        text = self.texts[path]
        self._drop(path)
        self._put(target, text)
        return target

    def write(self, path: str, text: str) -> None:
        """Add or edit an item."""
        self._put(path, text)
        self.texts[path] = text
        self.ids.setdefault(path, path)

    def remove(self, path: str) -> None:
        """Remove an item."""
        self._drop(path)
        del self.texts[path], self.ids[path]

    def rename(self, path: str, target: str) -> None:
        """Rename an item, or move it into another folder."""
        moved = self._move(path, target)
        self.texts[target] = self.texts.pop(path)
        del self.ids[path]
        self.ids[target] = moved

    @property
    def settled_at(self) -> float:
        """Seconds since 1970 from which the source tells each further change from the last one."""
        return 0.0


class ChangingFolder(ChangingSource):
    """A folder of this machine."""

    kind = "folder"

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        del stack
        super().__init__()
        self.folder = folder
        self.settings = {"path": str(folder)}

    def _put(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}")  # hidden files are not read
        partial.write_text(text)
        partial.rename(file)

    def _drop(self, path: str) -> None:
        (self.folder / path).unlink()

    def _move(self, path: str, target: str) -> str:
        file = self.folder / target
        file.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).rename(file)
        return target

    @property
    def settled_at(self) -> float:
        return 2.1 + max((self.folder / path).stat().st_ctime for path in self.texts)


class ChangingWebDav(ChangingFolder):
    """A folder behind a real WebDAV server, which identifies a file by its path."""

    kind = "webdav"

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        super().__init__(stack, folder)
        self.settings = {"url": stack.enter_context(WebDavServer(folder)).url}


class ChangingNextcloud(ChangingSource):
    """A stand-in for Nextcloud, which gives each file an id that stays."""

    kind = "webdav"

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        del folder
        super().__init__()
        self._cloud = NextcloudServer()
        stack.enter_context(self._cloud.server)
        self.settings = {"url": self._cloud.url}
        self.credentials = {"user": USER, "password": PASSWORD}
        self._next_id = 1

    def _put(self, path: str, text: str) -> None:
        file_id = self._cloud.files[path][0] if path in self._cloud.files else self._next_id
        self._next_id += 1
        self._cloud.files = {**self._cloud.files, path: (file_id, text.encode())}
        self.ids[path] = f"fileid:{file_id}"

    def _drop(self, path: str) -> None:
        self._cloud.files = {each: file for each, file in self._cloud.files.items() if each != path}

    def _move(self, path: str, target: str) -> str:
        files = dict(self._cloud.files)
        files[target] = files.pop(path)
        self._cloud.files = files
        return self.ids[path]


class ChangingS3(ChangingSource):
    """A bucket of moto's server: the ETag is a hash of the content, so that an edit may bring an old one back."""

    kind = "s3"

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        del folder
        super().__init__()
        self._store = stack.enter_context(MotoS3())
        self.settings = {"bucket": self._store.bucket, "endpoint_url": self._store.url}
        self.credentials = self._store.credentials

    def _put(self, path: str, text: str) -> None:
        self._store.write(path, text.encode())

    def _drop(self, path: str) -> None:
        self._store.remove(path)


SOURCES = {
    "folder": ChangingFolder,
    "webdav": ChangingWebDav,
    "nextcloud": ChangingNextcloud,
    "s3": ChangingS3,
}


def digest_of(text: str) -> str:
    """Return the hash that a document of this text has."""
    return hashlib.sha256(text.encode()).hexdigest()
