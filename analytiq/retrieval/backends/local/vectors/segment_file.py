"""Files of the rows of a knowledge base: written once, mapped into memory, never changed.

The kernel keeps what is read of a mapped file in its page cache as long as it has room, and shares it among processes.
A search reads single rows at random. So the kernel is told not to read their neighbours, and the rows of all candidates
are requested at once: 300 rows of a cold file took 3.4 ms instead of 17 (measured on a virtual disk).
"""

import contextlib
import fcntl
import mmap
import os
import shutil
import threading
import weakref
import zlib
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytiq.storage.ids import new_id

_PROCESS = "process-"
_OWNER = "owner"
_READ_AHEAD_ROWS = 4096
"""Most rows of a segment requested one by one; more are read in order."""


class SegmentFile:
    """A file's content, mapped for reading, and its CRC-32."""

    def __init__(self, path: Path, crc32: int) -> None:
        self.path = path
        self.crc32 = crc32
        with path.open("rb") as source:
            self.content = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        self._vectors_at = 0
        self._codes_at = 0

    def verify(self) -> None:
        """Read the whole file.

        Raises:
            ValueError: the file is damaged.
        """
        if zlib.crc32(self.content) != self.crc32:
            raise ValueError(f"{self.path.name} is damaged")

    def expect_candidates_behind(self, vectors_at: int, codes_at: int) -> None:
        """Prepare for reading single rows behind `vectors_at`; the bytes before it are read by each search."""
        self._vectors_at, self._codes_at = vectors_at, codes_at
        if not hasattr(mmap, "MADV_RANDOM"):
            return  # not on Linux: the kernel reads as it sees fit
        self.content.madvise(mmap.MADV_DONTNEED)  # checked or just written: this process need not hold all of it
        hot = vectors_at // mmap.PAGESIZE * mmap.PAGESIZE
        if hot:
            self.content.madvise(mmap.MADV_WILLNEED, 0, hot)
        self.content.madvise(mmap.MADV_RANDOM, hot, len(self.content) - hot)

    def read_ahead(self, numbers: NDArray[np.int64], row_bytes: int, *, codes: bool) -> None:
        """Request rows of this width from disk, without waiting for them."""
        if len(numbers) > _READ_AHEAD_ROWS or not hasattr(mmap, "MADV_WILLNEED"):
            return
        begin = self._codes_at if codes else self._vectors_at
        page = mmap.PAGESIZE
        starts = begin + numbers * row_bytes
        pages = starts // page * page
        lengths = starts + row_bytes - pages
        for start, length in zip(pages.tolist(), lengths.tolist(), strict=True):
            self.content.madvise(mmap.MADV_WILLNEED, start, length)


class SegmentFiles:
    """The files of this process, in a directory of its own that a later process removes.

    `max_bytes` bounds their sum. A knowledge base is mapped from disk if its rows take more memory than `from_bytes`.
    The methods block: call them in a thread.
    """

    def __init__(self, root: Path, *, max_bytes: int, from_bytes: int) -> None:
        self.from_bytes = from_bytes
        self._root = root
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._sizes: dict[Path, int] = {}
        self._directory: Path | None = None
        self._owner = -1

    @property
    def byte_size(self) -> int:
        """The bytes of the files whose rows are in use."""
        return sum(list(self._sizes.values()))

    def put(self, arrays: Sequence[NDArray[Any]]) -> SegmentFile | None:
        """Write a file and map it; it is removed with its last reference. None without room, or if the disk fails."""
        size = sum(array.nbytes for array in arrays)
        path = self._own_directory() / f"{new_id()}.rows"
        with self._lock:
            if not self.has_room_for(size):
                return None
            self._sizes[path] = size
        try:
            file = SegmentFile(path, write_file(path, [array.data.cast("B") for array in arrays]))
        except OSError:
            self._remove(path)
            return None
        weakref.finalize(file, self._remove, path)
        return file

    def has_room_for(self, size: int) -> bool:
        """Return whether files of this many bytes fit beside the present ones."""
        return self.byte_size + size <= self._max_bytes

    def remove_ended(self) -> None:
        """Remove what processes have left behind that were killed."""
        if self._root.is_dir():
            with _changing(self._root):
                pass

    def close(self) -> None:
        """Remove the directory; rows in use stay readable."""
        with self._lock:
            directory, self._directory = self._directory, None
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
                os.close(self._owner)

    def _remove(self, path: Path) -> None:
        # No lock: the collector may call this in a thread that holds it.
        self._sizes.pop(path, None)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            path.with_name(f"{path.name}.part").unlink(missing_ok=True)

    def _own_directory(self) -> Path:
        with self._lock:
            if self._directory is None or not self._directory.is_dir():
                self._directory, self._owner = _made_in(self._root)
            return self._directory


def _made_in(root: Path) -> tuple[Path, int]:
    """Make and lock a directory."""
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o700)
    with _changing(root):
        directory = root / f"{_PROCESS}{new_id()}"
        directory.mkdir(mode=0o700)
        owner = os.open(directory / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(owner, fcntl.LOCK_EX)
        return directory, owner


@contextlib.contextmanager
def _changing(root: Path) -> Generator[None]:
    """Remove the directories of processes that have ended; until the end, no other process makes or removes one."""
    changing = os.open(root / "processes", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(changing, fcntl.LOCK_EX)  # a directory that is not locked yet must not look left behind
        for other in root.glob(f"{_PROCESS}*"):
            _remove_if_ended(other)
        yield
    finally:
        os.close(changing)


def _remove_if_ended(directory: Path) -> None:
    try:
        owner = os.open(directory / _OWNER, os.O_RDWR)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        return
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(owner)


def write_file(path: Path, pieces: Iterable[bytes | memoryview]) -> int:
    """Write a file, replacing an earlier one, readable by this user only; return its CRC-32.

    Never write into an existing file: it may be mapped into the memory of this process or of another, and reading from
    a mapped file that has become shorter ends the process.
    """
    crc32 = 0
    temporary = path.with_name(f"{path.name}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        for piece in pieces:
            target.write(piece)
            crc32 = zlib.crc32(piece, crc32)
    temporary.replace(path)
    return crc32
