"""Snapshots of replicas on disk: a restart reads files, and from the database only the changes since.

`{data_dir}/snapshots/{kb_id}/`, readable by this user only:

manifest.json   the knowledge base and epoch; the other files with their checksums; its own checksum
    *.rows          the arrays of one segment, mapped into memory when read; never changed once written. A segment that
                    is mapped from disk already gets a second name (a hard link) instead of a second copy
    *.blocks        the generation and document of the live rows
    owner           locked by the one process that writes here

The manifest is replaced last and in one step; files that it does not name are removed. So a reader finds the snapshot
before or the one after. A damaged, half-written or missing file fails its checksum: then there is no snapshot. A
segment on disk is not written again: a snapshot costs only the additions since the last one.

`process-*` beside them are the files of running processes (`segment_file`).
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import structlog
from numpy.typing import NDArray

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.segment_file import SegmentFile, SegmentFiles, write_file
from analytiq.retrieval.backends.local.vectors.segments import Part, Segment, segment_in
from analytiq.retrieval.backends.local.vectors.sketch import Sketcher
from analytiq.retrieval.backends.local.vectors.view import Block, View

log = structlog.get_logger(__name__)

FORMAT = 2
"""Raised when the format of the files changes, including the conversion of vectors to codes."""
_MANIFEST = "manifest.json"
_OWNER = "owner"
_KB_ID = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A replica's rows at one epoch."""

    matrix: VectorMatrix
    view: View
    epoch: Epoch


class Snapshots:
    """The directory of all snapshots. Its methods block: call them in a thread.

    `max_bytes` bounds the files on disk: the least recently used knowledge bases leave first. It also bounds the files
    of this process, from which larger knowledge bases than `mapped_from_bytes` are mapped; None: no knowledge base is.
    """

    def __init__(self, root: Path, *, max_bytes: int, mapped_from_bytes: int | None = None) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self.files: SegmentFiles | None = None
        if mapped_from_bytes is not None:
            self.files = SegmentFiles(root, max_bytes=max_bytes, from_bytes=mapped_from_bytes)
        self._written: dict[str, dict[str, int]] = {}
        self._owned: dict[str, int] = {}

    def read(self, knowledge_base: KnowledgeBase) -> Snapshot | None:
        """Read the knowledge base's snapshot, if it is intact and belongs to this very knowledge base."""
        directory = self._directory(knowledge_base.id)
        try:
            manifest = _manifest_in(directory)
            if manifest is None:
                return None
            if manifest["of"] != _owner_of(knowledge_base):
                raise ValueError("it is of another knowledge base, organization or model")
            snapshot = _load(directory, manifest, knowledge_base)
            snapshot.matrix.files = self.files
            os.utime(directory / _MANIFEST)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            log.warning("local_store.snapshot_ignored", kb_id=knowledge_base.id, reason=str(error))
            return None
        self._written[knowledge_base.id] = {file["name"]: file["crc32"] for file in manifest["segments"]}
        return snapshot

    def write(self, knowledge_base: KnowledgeBase, numbering: str, view: View, epoch: Epoch) -> bool:
        """Save a view; return False if another process writes this snapshot, or the view exceeds the bound."""
        directory = self._directory(knowledge_base.id)
        size = sum(part.segment.file_bytes(part.rows) for part in view.parts)
        if size > self._max_bytes or not self._own(directory):
            return False
        before = self._written.get(knowledge_base.id, {})
        segments: list[dict[str, Any]] = []
        for part in view.parts:
            # Named by the arrays within, too: a knowledge base that grows gets sketches.
            name = f"{numbering}-{part.start}-{part.rows}{'' if view.sketcher is None else '-sketched'}.rows"
            crc32 = before[name] if name in before else _put_segment(directory / name, part)
            segments.append({"name": name, "rows": part.rows, "crc32": crc32})
        blocks_name = f"{numbering}-{epoch.epoch}.blocks"
        live = [block for block in view.blocks[: view.block_count] if view.alive[block.start]]
        columns = _columns_of(live)
        manifest = {
            "format": FORMAT,
            "of": _owner_of(knowledge_base),
            "epoch": epoch.epoch,
            "commit_id": epoch.commit_id,
            "numbering": numbering,
            "mean": None if view.sketcher is None else view.sketcher.mean.tolist(),
            "segments": segments,
            "blocks": {
                "name": blocks_name,
                "count": len(live),
                "types": [column.dtype.str for column in columns],
                "crc32": write_file(directory / blocks_name, [column.tobytes() for column in columns]),
            },
        }
        _put_manifest(directory, manifest)
        named = {_MANIFEST, _OWNER, blocks_name, *(segment["name"] for segment in segments)}
        for path in directory.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)
        self._written[knowledge_base.id] = {segment["name"]: segment["crc32"] for segment in segments}
        self._make_room(knowledge_base.id)
        return True

    def kb_ids(self) -> list[str]:
        """Return the ids of the knowledge bases with a directory here."""
        if not self._root.is_dir():
            return []
        return [path.name for path in self._root.iterdir() if _KB_ID.fullmatch(path.name)]

    def remove(self, kb_ids: Iterable[str]) -> None:
        """Delete snapshots; missing ones are ignored."""
        for kb_id in kb_ids:
            shutil.rmtree(self._directory(kb_id), ignore_errors=True)
            self.release(kb_id)

    def release(self, kb_id: str) -> None:
        """Let other processes write this snapshot."""
        self._written.pop(kb_id, None)
        self._unlock(kb_id)

    def _unlock(self, kb_id: str) -> None:
        descriptor = self._owned.pop(kb_id, None)
        if descriptor is not None:
            os.close(descriptor)

    def _directory(self, kb_id: str) -> Path:
        if not _KB_ID.fullmatch(kb_id):
            raise ValueError(f"{kb_id!r} is not the id of a knowledge base")
        return self._root / kb_id

    def _own(self, directory: Path) -> bool:
        """Return True if this process may write here: from the first call on, for its lifetime."""
        if directory.name in self._owned and directory.is_dir():
            return True
        self._unlock(directory.name)
        self._root.mkdir(parents=True, exist_ok=True)
        self._root.chmod(0o700)
        directory.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(directory / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._owned[directory.name] = descriptor
        return True

    def _make_room(self, kept: str) -> None:
        sizes = {kb_id: _size_of(self._root / kb_id) for kb_id in self.kb_ids()}
        total = sum(size for size, _ in sizes.values())
        for kb_id in sorted(sizes, key=lambda kb_id: sizes[kb_id][1]):
            if total <= self._max_bytes:
                return
            if kb_id != kept:
                self.remove([kb_id])
                total -= sizes[kb_id][0]


def _owner_of(knowledge_base: KnowledgeBase) -> dict[str, Any]:
    return {
        "organization_id": knowledge_base.organization_id,
        "kb_id": knowledge_base.id,
        "vectors_uuid": knowledge_base.vectors_uuid,
        "dimensions": knowledge_base.embedding_dimensions,
    }


def _manifest_in(directory: Path) -> dict[str, Any] | None:
    try:
        manifest: Any = json.loads((directory / _MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    content = cast("dict[str, Any]", manifest) if isinstance(manifest, dict) else {}
    if content.pop("checksum", None) != _checksum_of(content):
        raise ValueError("its manifest is damaged")
    return content if content["format"] == FORMAT else None


def _put_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    content = json.dumps({**manifest, "checksum": _checksum_of(manifest)}).encode()
    write_file(directory / _MANIFEST, [content])


def _checksum_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _load(directory: Path, manifest: dict[str, Any], knowledge_base: KnowledgeBase) -> Snapshot:
    dimensions = knowledge_base.embedding_dimensions
    sketcher = None if manifest["mean"] is None else Sketcher(np.asarray(manifest["mean"], np.float32))
    segments: list[Segment] = []
    for named in manifest["segments"]:
        file = _mapped(directory, named)
        segments.append(segment_in(file, int(named["rows"]), dimensions, with_sketches=sketcher is not None))
    matrix = VectorMatrix(dimensions, numbering=manifest["numbering"])
    view = matrix.adopt(segments, _blocks_in(directory, manifest["blocks"]), sketcher)
    epoch = Epoch(kb_id=knowledge_base.id, epoch=manifest["epoch"], commit_id=manifest["commit_id"])
    return Snapshot(matrix, view, epoch)


def _blocks_in(directory: Path, file: dict[str, Any]) -> list[Block]:
    content = _mapped(directory, file).content if file["count"] else b""
    columns: list[list[Any]] = []
    position = 0
    for kind in file["types"]:
        column = np.frombuffer(content, kind, file["count"], position)
        columns.append(column.tolist())
        position += column.nbytes
    return [
        Block(generation_id.decode(), document_id.decode(), start, stop)
        for generation_id, document_id, start, stop in zip(*columns, strict=True)
    ]


def _columns_of(blocks: Collection[Block]) -> list[NDArray[Any]]:
    return [
        np.asarray([block.generation_id.encode() for block in blocks], dtype=np.bytes_),
        np.asarray([block.document_id.encode() for block in blocks], dtype=np.bytes_),
        np.asarray([block.start for block in blocks], dtype="<i8"),
        np.asarray([block.stop for block in blocks], dtype="<i8"),
    ]


def _put_segment(path: Path, part: Part) -> int:
    """Write a segment's rows, or link to the file that has them; return the CRC-32."""
    file = part.segment.file
    if file is not None and part.rows == part.segment.capacity:
        try:
            path.unlink(missing_ok=True)
            os.link(file.path, path)
        except OSError:
            pass  # the file has been removed meanwhile, or the file system has no links
        else:
            return file.crc32
    return write_file(path, (array.data.cast("B") for array in part.segment.stored(part.rows)))


def _mapped(directory: Path, named: dict[str, Any]) -> SegmentFile:
    file = SegmentFile(directory / named["name"], int(named["crc32"]))
    file.verify()
    return file


def _size_of(directory: Path) -> tuple[int, float]:
    """Return the bytes and the time of the last use."""
    size, used = 0, 0.0
    for path in directory.glob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        size += status.st_size
        used = max(used, status.st_mtime)
    return size, used
