"""Packs: the objects of a git repository as servers send them, read with limits.

dulwich applies the deltas and reads trees and commits. Its own reader of packs inflates an object as large as the pack
says; this one skips what is larger than is wanted, and stops at a pack that inflates without end.
"""

import hashlib
import mmap
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, cast

from dulwich.errors import ApplyDeltaError
from dulwich.pack import apply_delta as _apply_delta  # pyright: ignore[reportUnknownVariableType]

from analytiq.errors import PermanentError

_apply = cast("Callable[[bytes, bytes], list[bytes]]", _apply_delta)
MOST_OBJECTS = 500_000
MOST_WORK_BYTES = 8 * 1024**3
"""Most bytes that are inflated and put together for one pack: a small pack may stand for terabytes."""
CACHE_BYTES = 64 * 1024 * 1024
"""Most bytes of objects in memory, since the same object is the base of others."""
MOST_PASSES = 50
"""Passes over objects that are deltas of an object which comes later in the pack."""
MOST_CHAIN = 4096
"""Most deltas between an object and its base, as git has it."""
_BLOCK = 16 * 1024
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_BY_OFFSET, _BY_ID = 6, 7


class DamagedPackError(PermanentError):
    """The server sent a pack that cannot be read, or that is beyond the limits."""

    code = "repository_unreadable"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An object in the pack. `base` is the offset or the id of the object that it is a delta of."""

    kind: int
    size: int
    start: int
    base: int | str | None = None


@dataclass(frozen=True, slots=True)
class GitObject:
    """The kind and the content of an object."""

    kind: str
    content: bytes


class Pack:
    """The objects of a pack by id; call its methods in a thread."""

    def __init__(self, file: IO[bytes], *, most_bytes: int) -> None:
        """Read a pack.

        Args:
            file: a file with a descriptor; closed with the pack.
            most_bytes: objects that are larger are left out.

        Raises:
            DamagedPackError: it cannot be read.
        """
        self._file = file
        self._most_bytes = most_bytes
        self._work = 0
        self._entries: dict[int, _Entry] = {}
        self._offsets: dict[str, int] = {}
        self._cache: OrderedDict[int, GitObject] = OrderedDict()
        self._cached_bytes = 0
        try:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._read()
        except (zlib.error, IndexError, ValueError, ApplyDeltaError) as error:
            self.close()
            raise DamagedPackError(f"The repository's objects cannot be read ({type(error).__name__}).") from None
        except BaseException:
            self.close()
            raise

    def get(self, object_id: str) -> GitObject | None:
        """Return an object; None if the pack does not have it, or it is too large."""
        offset = self._offsets.get(object_id)
        try:
            return self._object(offset) if offset is not None else None
        except (zlib.error, IndexError, ValueError, ApplyDeltaError):
            raise DamagedPackError("The repository's objects cannot be read.") from None

    def close(self) -> None:
        """Delete the pack."""
        self._cache.clear()
        if hasattr(self, "_data"):
            self._data.close()
        self._file.close()

    def _read(self) -> None:
        if self._data[:8] != b"PACK\0\0\0\2":
            raise DamagedPackError("The server did not send a pack of a known version.")
        count = int.from_bytes(self._data[8:12], "big")
        if count > MOST_OBJECTS:
            raise DamagedPackError(f"The repository has more than {MOST_OBJECTS:,} objects. Name a folder or a branch.")
        offset = 12
        for _ in range(count):
            entry = self._header(offset)
            self._entries[offset] = entry
            offset = self._skip(offset, entry)
        pending = [offset for offset, entry in self._entries.items() if entry.base is not None]
        for _ in range(MOST_PASSES):
            rest = [offset for offset in pending if not self._name(offset)]
            if not rest or len(rest) == len(pending):
                break
            pending = rest

    def _header(self, offset: int) -> _Entry:
        at = offset
        byte = self._data[at]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            if shift > 70:
                raise ValueError("size")
        at += 1
        if kind in _KINDS:
            return _Entry(kind, size, at)
        if kind == _BY_ID:
            return _Entry(kind, size, at + 20, self._data[at : at + 20].hex())
        if kind != _BY_OFFSET:
            raise ValueError("kind")
        byte = self._data[at]
        back = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            back = (back + 1 << 7) | (byte & 0x7F)
            if back > offset:
                raise ValueError("base")
        if offset - back not in self._entries:
            raise ValueError("base")
        return _Entry(kind, size, at + 1, offset - back)

    def _skip(self, offset: int, entry: _Entry) -> int:
        """Name an object that is no delta, and return the offset behind it."""
        digest = hashlib.sha1(usedforsecurity=False)
        if entry.base is None:
            digest.update(f"{_KINDS[entry.kind]} {entry.size}\0".encode())
        blocks = _Inflated(self._data, entry)
        for block in blocks:
            self._count(len(block))
            if entry.base is None:
                digest.update(block)
        if entry.base is None:
            self._offsets[digest.hexdigest()] = offset
        return blocks.end

    def _name(self, offset: int) -> bool:
        """Name an object that is a delta; False if its base has no name yet."""
        if not self._has_base(offset):
            return False
        found = self._object(offset)
        if found is not None:
            whole = f"{found.kind} {len(found.content)}\0".encode() + found.content
            self._offsets[hashlib.sha1(whole, usedforsecurity=False).hexdigest()] = offset
        return True

    def _has_base(self, offset: int) -> bool:
        base = self._entries[offset].base
        return not isinstance(base, str) or base in self._offsets

    def _object(self, offset: int) -> GitObject | None:
        """Return an object of the pack; None if it, or one that it is made of, is too large."""
        deltas: list[int] = []
        while (found := self._cache.get(offset)) is None:
            entry = self._entries[offset]
            if entry.size > self._most_bytes:
                return None
            if entry.base is None:
                found = GitObject(_KINDS[entry.kind], self._inflated(entry))
                self._keep(offset, found)
                break
            deltas.append(offset)
            if len(deltas) > MOST_CHAIN:
                raise ValueError("chain")
            base = self._offsets.get(entry.base) if isinstance(entry.base, str) else entry.base
            if base is None:
                return None
            offset = base
        for each in reversed(deltas):
            delta = self._inflated(self._entries[each])
            size = _result_size(delta)
            if size > self._most_bytes:
                return None
            self._count(size)
            found = GitObject(found.kind, b"".join(_apply(found.content, delta)))
            self._keep(each, found)
        return found

    def _inflated(self, entry: _Entry) -> bytes:
        self._count(entry.size)
        return b"".join(_Inflated(self._data, entry))

    def _keep(self, offset: int, found: GitObject) -> None:
        if len(found.content) > CACHE_BYTES // 4:
            return
        self._cache[offset] = found
        self._cached_bytes += len(found.content)
        while self._cached_bytes > CACHE_BYTES:
            _, oldest = self._cache.popitem(last=False)
            self._cached_bytes -= len(oldest.content)

    def _count(self, size: int) -> None:
        self._work += size
        if self._work > MOST_WORK_BYTES:
            raise DamagedPackError("The repository's objects inflate to more bytes than are read.")


class _Inflated:
    """The inflated blocks of an object; afterwards `end` is the offset behind it."""

    def __init__(self, data: mmap.mmap, entry: _Entry) -> None:
        self._data = data
        self._entry = entry
        self.end = entry.start

    def __iter__(self) -> Iterator[bytes]:
        """Inflate.

        Raises:
            ValueError: the object has another size than it says.
            zlib.error: it is damaged.
        """
        inflate = zlib.decompressobj()
        size, rest, at = 0, b"", self._entry.start
        while not inflate.eof:
            if not rest:
                rest = self._data[at : at + _BLOCK]
                at += len(rest)
                if not rest:
                    raise ValueError("cut off")
            block = inflate.decompress(rest, _BLOCK * 16)
            rest = inflate.unconsumed_tail
            size += len(block)
            if size > self._entry.size:
                raise ValueError("longer than it says")
            yield block
        if size != self._entry.size:
            raise ValueError("shorter than it says")
        self.end = at - len(inflate.unused_data)


def _result_size(delta: bytes) -> int:
    """Return the size of what a delta makes, which its head tells behind the size of the base."""
    at, size = 0, 0
    for _ in range(2):
        size, shift = 0, 0
        while True:
            byte = delta[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
            if shift > 70:
                raise ValueError("size")
    return size
