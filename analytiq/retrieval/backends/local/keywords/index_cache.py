"""Where the indexes lie on this machine's disk, for this user's eyes only: a cache of MongoDB.

    {root}/{kb_id}/{number}/         tantivy's files
    {root}/{kb_id}/{number}.lock     held by the one process that uses them; touched when they were used last

An index has one writer, and readers that are told when to look again; so each process has files of its own. It takes
the first place that is free, and finds there what a process before it has left. Several API processes on a machine have
as many places each, and none ever waits for another.
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
"""Processes of one machine that keep the same knowledge base; one more keeps it in memory."""
_KB_ID = re.compile(r"[0-9a-f]{24}")
_REMOVED = ".removed."
_LOCK = re.compile(r"(\d+)\.lock")


@dataclass(frozen=True, slots=True)
class Place:
    """Locked for this process until it is released. `directory` is there."""

    kb_id: str
    directory: Path
    lock: int

    def touch(self) -> None:
        """Note that it was used just now."""
        os.utime(self.lock)

    def is_there(self) -> bool:
        """Whether it is still this process's; not where its knowledge base was removed, which may be there again."""
        lock_path = self.directory.with_name(f"{self.directory.name}.lock")
        with suppress(FileNotFoundError, NotADirectoryError):
            return os.path.samestat(os.fstat(self.lock), lock_path.stat())
        return False

    def clear(self) -> None:
        """Remove the files: they are about to be made anew."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(mode=0o700)

    def release(self) -> None:
        """Leave it to the next process."""
        os.close(self.lock)


@dataclass(frozen=True, slots=True)
class Holding:
    """A place as it is seen from outside: `used_at` in seconds of the epoch."""

    kb_id: str
    lock_path: Path
    byte_size: int
    used_at: float


class Shelf:
    """The directory of all indexes. Its methods block: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def take(self, kb_id: str) -> Place | None:
        """The first free place; None where nothing can be written, or there are too many processes."""
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
        """The knowledge bases that have a directory here."""
        if not self._root.is_dir():
            return []
        return [path.name for path in self._root.iterdir() if _KB_ID.fullmatch(path.name)]

    def holdings(self) -> list[Holding]:
        """All places, those that were used longest ago first."""
        found = [holding for kb_id in self.kb_ids() for holding in self._holdings_of(kb_id)]
        return sorted(found, key=lambda holding: holding.used_at)

    def remove(self, kb_id: str) -> None:
        """Remove the files of a knowledge base that is gone.

        Another process may still have them open: they are gone from the disk once it closes them. What it writes to
        them fails, and it finds the knowledge base gone.
        """
        with suppress(FileNotFoundError, NotADirectoryError):
            # Out of the way first: a merge that is still running would put new files into what is being removed.
            (self._root / kb_id).rename(self._root / f"{_REMOVED}{kb_id}.{uuid4().hex}")
        for path in self._root.glob(f"{_REMOVED}*"):  # also what a process that died has left
            shutil.rmtree(path, ignore_errors=True)

    def remove_one(self, holding: Holding) -> bool:
        """Remove the files of one place; False where a process uses it."""
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
    """The descriptor of a file that this process has locked; None where another has."""
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
