"""The rows of the tables that a process was asked for last, in temporary files of a directory of its own."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from analytiq.models.tables import TablesRead

MOST_BYTES = 512 * 1024 * 1024
"""Most bytes of rows that are kept while no query uses them."""
MOST_DOCUMENTS = 200
IDLE_SECONDS = 300.0
"""Seconds after which unused rows are deleted: those of an erased document do not stay."""
_PREFIX = "analytiq-table-rows-"

Key = tuple[str, str, str, str]
"""Organization, document, file and text: other bytes have another file, another reading another text."""


@dataclass(slots=True, eq=False)
class CachedTables:
    """The tables of a document.

    `page_starts`: of the pages whose stored text is the one that was read, as places of rows count from there.
    """

    key: Key
    read: TablesRead
    rows: Path
    byte_size: int
    page_starts: Mapping[int, int]
    users: int = 0
    idle_since: float = 0.0


class TableCache:
    """Keeps tables by document; bounded by bytes, number and time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, CachedTables] = OrderedDict()
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._directory: Path | None = None
        self._descriptor = -1
        self._timer: asyncio.TimerHandle | None = None

    def lock(self, key: Key) -> asyncio.Lock:
        """Return the lock of a document, so that it is read once for several callers."""
        return self._locks.setdefault(key, asyncio.Lock())

    def acquire(self, key: Key) -> CachedTables | None:
        """Return the tables, held until they are released."""
        cached = self._kept.get(key)
        if cached is not None:
            self._kept.move_to_end(key)
            cached.users += 1
        return cached

    def add(self, key: Key, read: TablesRead, rows: Path, *, page_starts: Mapping[int, int]) -> CachedTables:
        """Keep tables, held until they are released; forget those of the document's former versions."""
        for other in [other for other in self._kept if other[:2] == key[:2] and not self._kept[other].users]:
            self._forget(other)
        cached = CachedTables(key, read, rows, rows.stat().st_size, page_starts, users=1)
        self._kept[key] = cached
        self._shrink()
        return cached

    def add_empty(self, key: Key) -> CachedTables:
        """Return a document without tables, which is not kept."""
        return CachedTables(key, TablesRead(()), Path(os.devnull), 0, {}, users=1)

    def release(self, cached: CachedTables) -> None:
        """End a use."""
        cached.users -= 1
        loop = asyncio.get_running_loop()
        cached.idle_since = loop.time()
        if self._kept.get(cached.key) is not cached:
            return
        self._shrink()
        if self._timer is None:
            self._timer = loop.call_later(IDLE_SECONDS, self._expire)

    def room(self) -> Path:
        """Return an empty file."""
        if self._directory is None:
            self._directory, self._descriptor = _own_directory()
        descriptor, name = tempfile.mkstemp(dir=self._directory)
        os.close(descriptor)
        return Path(name)

    def close(self) -> None:
        """Delete everything."""
        if self._timer is not None:
            self._timer.cancel()
        self._kept.clear()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            os.close(self._descriptor)
            self._directory = None

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        for key, cached in list(self._kept.items()):
            if not cached.users and cached.idle_since + IDLE_SECONDS <= loop.time() + 1:
                self._forget(key)
        self._timer = loop.call_later(IDLE_SECONDS / 5, self._expire) if self._kept else None

    def _shrink(self) -> None:
        total = sum(cached.byte_size for cached in self._kept.values())
        for key, cached in list(self._kept.items()):
            if total <= MOST_BYTES and len(self._kept) <= MOST_DOCUMENTS:
                return
            if not cached.users:
                total -= cached.byte_size
                self._forget(key)

    def _forget(self, key: Key) -> None:
        self._kept.pop(key).rows.unlink(missing_ok=True)


def _own_directory() -> tuple[Path, int]:
    """Make a directory that is locked while this process lives; delete those of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(descriptor)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return directory, descriptor
