"""Where the indexes lie on this process's disk: a cache of MongoDB, which any damage only makes slower.

{root}/{kb_id}/            tantivy's files
{root}/{kb_id}.json        what they hold: whose, at which epoch, at which mark of tantivy's
{root}/{kb_id}.lock        held by the one process that uses them
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
import tantivy

from analytiq.lexical.local.index import Contents
from analytiq.models.knowledge_base import Epoch, KnowledgeBase

log = structlog.get_logger(__name__)

FORMAT = 2
"""Raised when the terms of a text, or the files, change; older ones are then built anew."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What the files of an index held when they were last written."""

    epoch: Epoch
    contents: Contents


class Place:
    """One knowledge base's place on the shelf, locked for this process until it is closed."""

    def __init__(self, root: Path, knowledge_base: KnowledgeBase, lock: int) -> None:
        self._root = root
        self._kb = knowledge_base
        self._lock = lock

    @property
    def directory(self) -> Path:
        """Of tantivy's files."""
        return self._root / self._kb.id

    @property
    def byte_size(self) -> int:
        """Of all files."""
        with contextlib.suppress(OSError):
            return sum(file.stat().st_size for file in self.directory.iterdir())
        return 0

    def load(self) -> Saved | None:
        """What is there, if it is whole, of this release, and of this very knowledge base."""
        try:
            described: dict[str, Any] = json.loads(self._description.read_text())
            if described["format"] != FORMAT or described["vectors_uuid"] != self._kb.vectors_uuid:
                return None
            if described["organization_id"] != self._kb.organization_id:
                return None
            index = tantivy.Index.open(str(self.directory))
            mark = index.writer(heap_size=15_000_000, num_threads=1).commit_opstamp
            if mark != described["mark"]:
                return None  # a process died between the commit and the description
            epoch = Epoch(kb_id=self._kb.id, epoch=described["epoch"], commit_id=described["commit_id"])
            return Saved(epoch, _contents(described))
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a cache, it is made anew
            log.warning("lexical.index_unreadable", kb_id=self._kb.id, reason=type(error).__name__)
            return None

    def describe(self, epoch: Epoch, mark: int, contents: Contents) -> None:
        """Note what the files hold, atomically."""
        described = {
            "format": FORMAT,
            "organization_id": self._kb.organization_id,
            "vectors_uuid": self._kb.vectors_uuid,
            "epoch": epoch.epoch,
            "commit_id": epoch.commit_id,
            "mark": mark,
            "next_number": contents.next_number,
            "generations": [
                [number, generation_id, contents.document_ids[number], contents.languages_of[number]]
                for number, generation_id in contents.generation_ids.items()
            ],
        }
        temporary = self._description.with_suffix(".tmp")
        temporary.write_text(json.dumps(described))
        temporary.replace(self._description)

    def clear(self) -> None:
        """Remove the files: they are about to be made anew."""
        self._description.unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def close(self) -> None:
        """Let another process use it."""
        os.close(self._lock)

    @property
    def _description(self) -> Path:
        return self._root / f"{self._kb.id}.json"


class Shelf:
    """The directory of all indexes of this machine's processes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def take(self, knowledge_base: KnowledgeBase) -> Place | None:
        """The knowledge base's place, locked; None where another process uses it, or nothing can be written."""
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._root / f"{knowledge_base.id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            log.warning("lexical.shelf_not_writable", reason=str(error))
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return Place(self._root, knowledge_base, lock)

    def kb_ids(self) -> list[str]:
        """The knowledge bases that have files."""
        return [file.stem for file in self._root.glob("*.lock")] if self._root.is_dir() else []

    def remove(self, kb_id: str) -> None:
        """Remove the files of a knowledge base that is gone, or that this process has let go.

        Another process may still have them open: they are gone from the disk once it closes them. What it writes to
        them fails, and it finds the knowledge base gone.
        """
        (self._root / f"{kb_id}.json").unlink(missing_ok=True)
        shutil.rmtree(self._root / kb_id, ignore_errors=True)
        (self._root / f"{kb_id}.lock").unlink(missing_ok=True)


def _contents(described: dict[str, Any]) -> Contents:
    contents = Contents(next_number=int(described["next_number"]))
    for number, generation_id, document_id, languages in described["generations"]:
        contents.generation_ids[number] = generation_id
        contents.document_ids[number] = document_id
        contents.languages_of[number] = Counter(languages)
        contents.languages.update(languages)
    return contents
