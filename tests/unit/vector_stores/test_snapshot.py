"""Snapshots: what was put down comes back, and nothing else ever does."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from analytiq import clock
from analytiq.models.knowledge_base import Epoch, KnowledgeBase, KnowledgeBaseStatus
from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors import segments
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.storage.ids import new_id

DIMENSIONS = 8
random = np.random.default_rng(3)
QUERY = random.standard_normal(DIMENSIONS).astype(np.float32)


def knowledge_base(**changes: object) -> KnowledgeBase:
    now = clock.now()
    made = KnowledgeBase(
        id=new_id(),
        organization_id=new_id(),
        name="KB",
        description="",
        tag_ids=(),
        chunker_type="token",
        chunk_size=16,
        chunk_overlap=0,
        embedding_model="m",
        embedding_dimensions=DIMENSIONS,
        coalesce_neighbors=0,
        status=KnowledgeBaseStatus.ACTIVE,
        vectors_uuid="ab" * 16,
        created_at=now,
        updated_at=now,
    )
    return made.model_copy(update=changes)


def generation(number: int, rows: int = 40) -> GenerationVectors:
    places = np.arange(rows, dtype=np.int32)
    vectors = random.standard_normal((rows, DIMENSIONS)).astype(np.float32)
    return GenerationVectors(f"g{number}", f"document {number}", places, places + 1, places + 2, vectors)


@dataclass
class Filled:
    """A knowledge base with rows, some of them dead, in several segments."""

    snapshots: Snapshots
    directory: Path
    owner: KnowledgeBase
    matrix: VectorMatrix
    epoch: Epoch

    def write(self) -> bool:
        return self.snapshots.write(self.owner, self.matrix.numbering, self.matrix.view(), self.epoch)

    def is_read(self, owner: KnowledgeBase | None = None) -> bool:
        return Snapshots(self.directory.parent, max_bytes=2**30).read(owner or self.owner) is not None

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.directory.iterdir() if path.name != "owner")


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Filled:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 300 * 4 * DIMENSIONS)
    owner = knowledge_base()
    matrix = VectorMatrix(DIMENSIONS)
    for number in range(25):
        matrix.add([generation(number)])
        matrix.publish()
    matrix.publish(["g3", "g17"])
    snapshots = Snapshots(tmp_path / "snapshots", max_bytes=2**30)
    epoch = Epoch(kb_id=owner.id, epoch=27, commit_id=new_id())
    return Filled(snapshots, tmp_path / "snapshots" / owner.id, owner, matrix, epoch)


def test_what_was_written_is_read_and_goes_on(filled: Filled) -> None:
    assert filled.write()
    found = Snapshots(filled.directory.parent, max_bytes=2**30).read(filled.owner)
    assert found is not None
    assert found.epoch == filled.epoch
    before = filled.matrix.view()
    assert len(before.parts) > 2
    assert found.view.nearest(QUERY, limit=2000, selection=None) == before.nearest(QUERY, limit=2000, selection=None)
    assert found.view.live_rows == before.live_rows == 23 * 40
    assert set(found.matrix.generation_ids) == set(filled.matrix.generation_ids)
    for matrix in (found.matrix, filled.matrix):
        fresh = np.random.default_rng(8).standard_normal((50, DIMENSIONS)).astype(np.float32)
        places = np.arange(50, dtype=np.int32)
        matrix.add([GenerationVectors("new", "document 3", places, places, places, fresh)])
        matrix.publish(["g4"])
    after = [matrix.view().nearest(QUERY, limit=2000, selection=None) for matrix in (found.matrix, filled.matrix)]
    assert after[0] == after[1]
    compacted = found.matrix.compacted(found.matrix.view())
    assert compacted is not None
    assert compacted.view().nearest(QUERY, limit=50, selection=None) == after[0][:50]


def test_second_snapshot_writes_only_what_is_new(filled: Filled) -> None:
    filled.write()
    before = {path.name: path.stat().st_ino for path in filled.files if path.suffix == ".rows"}
    filled.matrix.add([generation(100)])
    filled.matrix.publish(["g5"])
    filled.write()
    after = {path.name: path.stat().st_ino for path in filled.files if path.suffix == ".rows"}
    assert sum(after.get(name) == inode for name, inode in before.items()) == len(before) - 1
    assert len(list(filled.directory.glob("*.blocks"))) == 1


def test_snapshot_of_a_view_leaves_out_what_was_added_later(filled: Filled) -> None:
    view = filled.matrix.view()
    filled.matrix.add([generation(100)])
    filled.matrix.publish(["g6"])
    filled.snapshots.write(filled.owner, filled.matrix.numbering, view, filled.epoch)
    found = filled.snapshots.read(filled.owner)
    assert found is not None
    assert "g6" in found.matrix.generation_ids
    assert "g100" not in found.matrix.generation_ids
    assert found.view.live_rows == view.live_rows


def test_file_that_is_mapped_is_never_written_into(filled: Filled) -> None:
    """A process that has read it would end at its next search."""
    filled.write()
    found = Snapshots(filled.directory.parent, max_bytes=2**30).read(filled.owner)
    assert found is not None
    inodes = {path.name: path.stat().st_ino for path in filled.files}
    filled.snapshots.release(filled.owner.id)  # from now on it knows of no file
    assert filled.write()
    assert all(path.stat().st_ino != inodes.get(path.name) for path in filled.files)
    expected = filled.matrix.view().nearest(QUERY, limit=50, selection=None)
    assert found.view.nearest(QUERY, limit=50, selection=None) == expected


@pytest.mark.parametrize("how", ["flip", "cut", "lengthen", "empty", "delete"])
def test_damage_anywhere_is_seen(filled: Filled, how: str) -> None:
    filled.write()
    for path in filled.files:
        whole = path.read_bytes()
        if how == "delete":
            path.unlink()
        else:
            place = len(whole) * 2 // 3
            path.write_bytes(
                {
                    "flip": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
                    "cut": whole[:place],
                    "lengthen": whole + b"\0",
                    "empty": b"",
                }[how]
            )
        assert not filled.is_read(), path.name
        path.write_bytes(whole)
        assert filled.is_read()


def test_manifest_that_names_other_files_or_numbers_is_refused(filled: Filled) -> None:
    filled.write()
    manifest = filled.directory / "manifest.json"
    content = json.loads(manifest.read_bytes())
    for field, value in {"epoch": 1, "commit_id": new_id(), "format": 0, "segments": [], "of": {}}.items():
        manifest.write_text(json.dumps({**content, field: value}))
        assert not filled.is_read()
    for content in ("[]", "null", '{"checksum": 1}', "3"):
        manifest.write_text(content)
        assert not filled.is_read()


@pytest.mark.parametrize(
    "change",
    [{"organization_id": new_id()}, {"vectors_uuid": "cd" * 16}, {"embedding_dimensions": 9}],
    ids=["organization", "collection", "dimensions"],
)
def test_snapshot_of_another_owner_is_not_read(filled: Filled, change: dict[str, object]) -> None:
    filled.write()
    assert not filled.is_read(filled.owner.model_copy(update=change))
    assert filled.is_read()


def test_snapshot_moved_to_another_knowledge_base_is_not_read(filled: Filled) -> None:
    filled.write()
    other = filled.owner.model_copy(update={"id": new_id()})
    filled.directory.rename(filled.directory.with_name(other.id))
    assert not filled.is_read(other)


@pytest.mark.parametrize("kb_id", ["../../etc", "", "a" * 23, "A" * 24, "a" * 24 + "\n"])
def test_id_that_is_none_names_no_directory(filled: Filled, kb_id: str) -> None:
    with pytest.raises(ValueError, match="is not the id of a knowledge base"):
        filled.snapshots.read(filled.owner.model_copy(update={"id": kb_id}))


def test_others_may_not_look_into_it(filled: Filled) -> None:
    previous = os.umask(0)
    try:
        filled.write()
    finally:
        os.umask(previous)
    for path in (filled.directory, filled.directory.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in filled.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.slow
def test_one_process_writes_and_the_next_one_when_it_has_ended(filled: Filled) -> None:
    """The other process is a real one: a lock of one's own would not be in one's way."""
    program = (
        "import sys, pathlib; from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots;"
        "s = Snapshots(pathlib.Path(sys.argv[1]), max_bytes=1);"
        "print(s._own(pathlib.Path(sys.argv[1]) / sys.argv[2]), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(filled.directory.parent), filled.owner.id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        assert not filled.write()
        assert not filled.is_read()
        assert other.stdin is not None
        other.stdin.close()
        other.wait()
    assert filled.write()
    assert filled.is_read()


def test_least_recently_used_leaves_when_the_disk_is_short(filled: Filled) -> None:
    filled.write()
    size = sum(path.stat().st_size for path in filled.files)
    snapshots = Snapshots(filled.directory.parent, max_bytes=int(2.5 * size))
    owners = [knowledge_base() for _ in range(3)]
    for age, owner in enumerate([filled.owner, *owners[:1]]):
        snapshots.write(owner, filled.matrix.numbering, filled.matrix.view(), filled.epoch)
        for path in (filled.directory.parent / owner.id).iterdir():
            os.utime(path, (age, age))
    snapshots.read(filled.owner)  # used just now
    snapshots.write(owners[2], filled.matrix.numbering, filled.matrix.view(), filled.epoch)
    assert set(snapshots.kb_ids()) == {filled.owner.id, owners[2].id}


def test_knowledge_base_larger_than_the_bound_is_not_written(filled: Filled) -> None:
    snapshots = Snapshots(filled.directory.parent, max_bytes=1000)
    assert not snapshots.write(filled.owner, filled.matrix.numbering, filled.matrix.view(), filled.epoch)
    assert snapshots.kb_ids() == []


def test_removed_snapshot_is_gone_and_can_be_written_again(filled: Filled) -> None:
    filled.write()
    filled.snapshots.remove([filled.owner.id, new_id()])
    assert not filled.directory.exists()
    assert filled.write()
    assert filled.is_read()


def test_snapshot_without_rows_is_one_too(tmp_path: Path) -> None:
    owner = knowledge_base()
    snapshots = Snapshots(tmp_path, max_bytes=2**20)
    matrix = VectorMatrix(DIMENSIONS)
    snapshots.write(owner, matrix.numbering, matrix.publish(), Epoch(kb_id=owner.id, epoch=2, commit_id=new_id()))
    found = snapshots.read(owner)
    assert found is not None
    assert found.view.nearest(QUERY, limit=5, selection=None) == []


def mapped(filled: Filled) -> tuple[VectorMatrix, Snapshots]:
    """The same rows in files, except for those at the end."""
    snapshots = Snapshots(filled.directory.parent, max_bytes=2**30, mapped_from_bytes=0)
    matrix = VectorMatrix(DIMENSIONS, files=snapshots.files)
    for number in range(25):
        matrix.add([generation(number)])
        matrix.publish()
    return matrix, snapshots


def test_snapshot_of_mapped_rows_is_links_and_is_mapped_when_read(filled: Filled) -> None:
    matrix, snapshots = mapped(filled)
    assert snapshots.write(filled.owner, matrix.numbering, matrix.view(), filled.epoch)
    links = [path.stat().st_nlink for path in filled.directory.glob("*-sketched.rows")]
    assert links.count(2) == len(links) - 1 > 1
    expected = matrix.view().nearest(QUERY, limit=200, selection=None)
    del matrix
    found = Snapshots(filled.directory.parent, max_bytes=2**30).read(filled.owner)
    assert found is not None
    assert found.view.sketcher is not None
    assert all(part.segment.is_on_disk for part in found.view.parts)
    assert found.view.nearest(QUERY, limit=200, selection=None) == expected
    snapshots.release(filled.owner.id)
    again = Snapshots(filled.directory.parent, max_bytes=2**30)
    assert again.write(filled.owner, found.matrix.numbering, found.view, filled.epoch)
    named = {str(path) for path in filled.directory.glob("*.rows")}
    assert {str(part.segment.file.path) for part in found.view.parts if part.segment.file} == named


def test_snapshot_in_memory_that_is_too_large_for_it_now_is_mapped(filled: Filled) -> None:
    filled.write()
    filled.snapshots.release(filled.owner.id)
    snapshots = Snapshots(filled.directory.parent, max_bytes=2**30, mapped_from_bytes=0)
    found = snapshots.read(filled.owner)
    assert found is not None
    found.matrix.move_to_disk()
    view = found.matrix.view()
    assert all(part.segment.is_on_disk for part in view.parts)
    assert view.nearest(QUERY, limit=50, selection=None) == found.view.nearest(QUERY, limit=50, selection=None)
    assert snapshots.write(filled.owner, found.matrix.numbering, view, filled.epoch)
    read = snapshots.read(filled.owner)
    assert read is not None
    assert read.view.sketcher is not None
    assert read.view.nearest(QUERY, limit=50, selection=None) == view.nearest(QUERY, limit=50, selection=None)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_damage_of_a_mapped_file_is_seen(filled: Filled, place: str) -> None:
    matrix, snapshots = mapped(filled)
    snapshots.write(filled.owner, matrix.numbering, matrix.view(), filled.epoch)
    file = next(filled.directory.glob("*-sketched.rows"))
    content = bytearray(file.read_bytes())
    content[{"first": 0, "middle": len(content) // 2, "last": -1}[place]] ^= 1
    file.write_bytes(content)
    assert not filled.is_read()
