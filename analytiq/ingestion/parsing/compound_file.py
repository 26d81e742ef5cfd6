"""OLE compound files: the container of the old Office formats and of Outlook messages.

Everything in such a file may be a lie: chains of sectors that loop, a hundred thousand streams over the same sectors,
sizes beyond the file. So chains end at the number of sectors there are, and all streams together are read up to twice
the file's size.
"""

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from analytiq.errors import CorruptFileError, LimitExceededError

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_HEADER_BYTES = 512
_LAST_SECTOR = 0xFFFFFFFA
"""Numbers from here on are marks: end of chain, free sector."""
_ENTRY_BYTES = 128
_ENTRY = struct.Struct("<64sHBx3L36xLQ")
_STORAGE, _STREAM, _ROOT = 1, 2, 5


@dataclass(slots=True)
class Storage:
    """A folder of a compound file; names are in lower case, as they are compared without case."""

    storages: "dict[str, Storage]" = field(default_factory=dict[str, "Storage"])
    streams: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """First sector and size."""


class _Entry(NamedTuple):
    name: bytes
    name_bytes: int
    kind: int
    left: int
    right: int
    child: int
    first: int
    size: int

    @property
    def label(self) -> str:
        length = max(min(self.name_bytes, 64) - 2, 0)
        return self.name[:length].decode("utf-16-le", errors="replace").lower()


class CompoundFile:
    """The storages and streams of a compound file."""

    def __init__(self, source: Path | mmap | bytes, *, noun: str) -> None:
        self._data = data = _mapped(source) if isinstance(source, Path) else source
        self._noun = noun
        if len(data) < _HEADER_BYTES or data[:8] != SIGNATURE:
            raise self._damaged("it has no header")
        shift, mini_shift = struct.unpack_from("<2H", data, 30)
        if not 7 <= shift <= 20 or not 2 <= mini_shift <= shift:
            raise self._damaged("its sectors have an impossible size")
        self._sector, self._mini_sector = 1 << shift, 1 << mini_shift
        first_directory, _, self._mini_below, first_mini, _ = struct.unpack_from("<5L", data, 48)
        self._left = 2 * len(data) + _HEADER_BYTES
        self._table = self._allocation_table()
        self._mini_table = _numbers(self._chain(first_mini))
        self._mini_stream = b""
        self.root = self._tree(self._chain(first_directory))

    def read(self, storage: Storage, name: str) -> bytes | None:
        """Return the bytes of a stream; None if the storage has none of this name."""
        found = storage.streams.get(name.lower())
        if found is None:
            return None
        first, size = found
        size = min(size, len(self._data))
        self._spend(size)
        if size >= self._mini_below:
            return self._chain(first, size)
        return b"".join(self._mini_sectors(first, size))[:size]

    def _allocation_table(self) -> "array[int]":
        sectors = list(struct.unpack_from("<109L", self._data, 76))
        (following,) = struct.unpack_from("<L", self._data, 68)
        for _ in range(len(self._data) // self._sector):
            if following >= _LAST_SECTOR:
                break
            *more, following = _numbers(self._sector_at(following)) or [_LAST_SECTOR]
            sectors += more
        table = array("I")
        # A table names each sector once, so it is not larger than the file.
        for sector in dict.fromkeys(sectors):
            if sector < _LAST_SECTOR:
                table.extend(_numbers(self._sector_at(sector)))
        return table

    def _sector_at(self, number: int) -> bytes:
        start = (number + 1) * self._sector
        return self._data[start : start + self._sector]

    def _chain(self, first: int, size: int | None = None) -> bytes:
        """Return the sectors from `first` on; a chain is not longer than the file."""
        parts: list[bytes] = []
        wanted = len(self._data) if size is None else size
        number = first
        while number < len(self._table) and len(parts) * self._sector < wanted:
            parts.append(self._sector_at(number))
            number = self._table[number]
        return b"".join(parts)[:size]

    def _mini_sectors(self, first: int, size: int) -> Iterator[bytes]:
        number, left = first, size
        while number < len(self._mini_table) and left > 0:
            start = number * self._mini_sector
            yield self._mini_stream[start : start + self._mini_sector]
            left -= self._mini_sector
            number = self._mini_table[number]

    def _tree(self, directory: bytes) -> Storage:
        whole = len(directory) // _ENTRY_BYTES * _ENTRY_BYTES
        entries = [_Entry(*fields) for fields in _ENTRY.iter_unpack(directory[:whole])]
        root = Storage()
        if not entries or entries[0].kind != _ROOT:
            raise self._damaged("it has no directory")
        self._mini_stream = self._chain(entries[0].first, min(entries[0].size, len(self._data)))
        seen, waiting = {0}, [(entries[0].child, root)]
        while waiting:
            index, parent = waiting.pop()
            if index >= len(entries) or index in seen:
                continue
            seen.add(index)
            entry = entries[index]
            waiting += ((entry.left, parent), (entry.right, parent))
            if entry.kind == _STORAGE:
                waiting.append((entry.child, parent.storages.setdefault(entry.label, Storage())))
            elif entry.kind == _STREAM:
                parent.streams.setdefault(entry.label, (entry.first, entry.size & 0xFFFFFFFF))
        return root

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise LimitExceededError(f"The streams of the {self._noun} are larger than the file: save it again.")

    def _damaged(self, reason: str) -> CorruptFileError:
        return CorruptFileError(f"The {self._noun} is damaged ({reason}): save it again, then upload it.")


def _mapped(path: Path) -> "mmap | bytes":
    """Map a file into memory, so that its sectors are read when they are needed; an empty one cannot be mapped."""
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ) if path.stat().st_size else b""


def _numbers(data: bytes) -> "array[int]":
    return array("I", data[: len(data) // 4 * 4])
