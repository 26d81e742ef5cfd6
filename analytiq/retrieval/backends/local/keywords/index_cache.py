"""A cache of keyword indexes on this machine's disk, readable by this user only.

{root}/{kb_id}/{number}/         tantivy's files
    {root}/{kb_id}/{number}.lock     locked by the one process that uses the files; its mtime is the last use

An index has one writer, which tells its readers when to reload, so each process has files of its own. A process
takes the first free place, with the files left there by an earlier process. Several API processes on a machine have
one place each, and none waits for another.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import structlog

log = structlog.get_logger(__name__)

MOST_PLACES = 64
"""Most processes of one machine that keep the same knowledge base on disk; others keep it in memory."""
_KB_ID = re.compile(r"[0-9a-f]{24}")
_REMOVED = ".removed."
_LOCK = re.compile(r"(\d+)\.lock")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory locked for this process until `release`."""

    kb_id: str
    directory: Path
    lock: int

    def touch(self) -> None:
        """Record the current time as the last use."""
        os.utime(self.lock)

    def is_there(self) -> bool:
        """Return False once the knowledge base was removed, even if it was created again since."""
        lock_path = self.directory.with_name(f"{self.directory.name}.lock")
        with suppress(FileNotFoundError, NotADirectoryError):
            return os.path.samestat(os.fstat(self.lock), lock_path.stat())
        return False

    def has_files(self) -> bool:
        """Return whether an earlier process left an index; False also once the knowledge base was removed."""
        return bool(_files_in(self.directory))

    def clear(self) -> None:
        """Remove the files before a rebuild."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(mode=0o700)

    def release(self) -> None:
        """Release the lock for the next process."""
        os.close(self.lock)


@dataclass(frozen=True, slots=True)
class Holding:
    """A place as listed for eviction: `used_at` in seconds of the epoch."""

    kb_id: str
    lock_path: Path
    byte_size: int
    used_at: float


class Shelf:
    """The cache's directory. Its methods block: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def take(self, kb_id: str) -> Place | None:
        """Lock and return the first free place; None if the disk is not writable, or too many processes hold places."""
        if not _KB_ID.fullmatch(kb_id):
            raise ValueError(f"{kb_id!r} is not the id of a knowledge base")
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self._root.chmod(0o700)
            for number in range(MOST_PLACES):
                lock = _locked(self._root / kb_id / f"{number}.lock")
                if lock is not None:
                    directory = self._root / kb_id / str(number)
                    directory.mkdir(mode=0o700, exist_ok=True)
                    return Place(kb_id, directory, lock)
        except OSError as error:
            log.warning("lexical.cannot_be_kept_on_disk", kb_id=kb_id, reason=str(error))
            return None
        log.warning("lexical.no_place_left", kb_id=kb_id, places=MOST_PLACES)
        return None

    def kb_ids(self) -> list[str]:
        """Return the ids of the knowledge bases with a directory here."""
        if not self._root.is_dir():
            return []
        return [path.name for path in self._root.iterdir() if _KB_ID.fullmatch(path.name)]

    def holdings(self) -> list[Holding]:
        """Return all places, the least recently used first."""
        found = [holding for kb_id in self.kb_ids() for holding in self._holdings_of(kb_id)]
        return sorted(found, key=lambda holding: holding.used_at)

    def remove(self, kb_id: str) -> None:
        """Remove the files of a deleted knowledge base.

        Files open in another process leave the disk when that process closes them. Its writes to them fail, and it
        finds the knowledge base deleted.
        """
        with suppress(FileNotFoundError, NotADirectoryError):
            # Out of the way first: a merge that is still running would put new files into what is being removed.
            (self._root / kb_id).rename(self._root / f"{_REMOVED}{kb_id}.{uuid4().hex}")
        for path in self._root.glob(f"{_REMOVED}*"):  # also what a process that died has left
            shutil.rmtree(path, ignore_errors=True)

    def remove_one(self, holding: Holding) -> bool:
        """Remove the files of one place; return False if a process uses it."""
        lock = _locked(holding.lock_path)
        if lock is None:
            return False
        try:
            shutil.rmtree(holding.lock_path.with_suffix(""), ignore_errors=True)
            holding.lock_path.unlink(missing_ok=True)
            with suppress(OSError):
                holding.lock_path.parent.rmdir()  # only where it was the last
        finally:
            os.close(lock)
        return True

    def _holdings_of(self, kb_id: str) -> Iterator[Holding]:
        for lock_path in _files_in(self._root / kb_id):
            if _LOCK.fullmatch(lock_path.name):
                with suppress(FileNotFoundError):
                    used_at = lock_path.stat().st_mtime
                    yield Holding(kb_id, lock_path, _byte_size(lock_path.with_suffix("")), used_at)


def _locked(path: Path) -> int | None:
    """Return the descriptor of the file locked by this process; None if another process holds the lock."""
    while True:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # another has just removed the directory with its last place
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        # Between opening and locking, another may have removed the file with its place: then it is another one's lock.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _files_in(directory: Path) -> Collection[Path]:
    try:
        return list(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _byte_size(directory: Path) -> int:
    size = 0
    for path in _files_in(directory):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size
