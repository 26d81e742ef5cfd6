"""A process that starts again goes on with the files that one before has left; several share a directory."""

import asyncio
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import structlog.testing

from analytiq.errors import StoreLoadingError, TransientError
from analytiq.retrieval.backends.local.keywords import index as index_module
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from tests.integration.conftest import EventuallyTrue
from tests.integration.lexical.conftest import Start, Texts


@pytest.fixture
async def after_a_run(start: Start, kb: Texts) -> Texts:
    """A knowledge base of 20 documents that a process has indexed and left."""
    for number in range(20):
        await kb.write(f"d{number}", "whales", f"number{number}")
    process = start()
    await process.found(kb, "whales")
    await process.end()
    return kb


def events(logs: Sequence[Mapping[str, object]]) -> list[str]:
    return [str(entry["event"]) for entry in logs if str(entry["event"]).startswith("lexical.")]


def files_of(kb: Texts, root: Path, number: int = 0) -> Path:
    return root / "lexical" / kb.kb_id / str(number)


async def test_restart_goes_on_with_what_has_changed(start: Start, after_a_run: Texts) -> None:
    await after_a_run.write("d3", "dolphins")
    await after_a_run.take_out("d4")
    await after_a_run.write("new", "whales")
    with structlog.testing.capture_logs() as logs:
        process = start()
        whales = await process.found(after_a_run, "whales")
    assert whales == sorted([f"d{number}" for number in range(20) if number not in (3, 4)] + ["new"])
    assert await process.found(after_a_run, "dolphins") == ["d3"]
    assert events(logs) == []  # neither ignored nor built


async def test_files_are_for_this_user_alone(start: Start, after_a_run: Texts, tmp_path: Path) -> None:
    root = tmp_path / "lexical"
    for directory in (root, root / after_a_run.kb_id, files_of(after_a_run, tmp_path)):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


async def test_damaged_files_cost_a_build_and_a_line_in_the_log(
    start: Start, after_a_run: Texts, tmp_path: Path
) -> None:
    file = next(files_of(after_a_run, tmp_path).glob("*.term"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 20
    assert events(logs) == ["lexical.index_ignored", "lexical.built"]


async def test_files_of_another_release_are_built_anew(
    start: Start, after_a_run: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "FORMAT", "another")
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 20
    assert events(logs) == ["lexical.index_ignored", "lexical.built"]


async def test_files_of_a_dropped_and_restored_collection_are_built_anew(start: Start, after_a_run: Texts) -> None:
    """The same id, but other vectors: a restored backup."""
    after_a_run.knowledge_base = after_a_run.knowledge_base.model_copy(update={"vectors_uuid": new_id()})
    with structlog.testing.capture_logs() as logs:
        await start().found(after_a_run, "whales")
    assert events(logs) == ["lexical.index_ignored", "lexical.built"]


async def test_history_that_was_lost_is_not_followed(
    start: Start, after_a_run: Texts, migrated: MongoConnection
) -> None:
    lost = {"kb_id": after_a_run.kb_id, "epoch": 20}
    await migrated.database["kb_changes"].update_one(lost, {"$set": {"commit_id": new_id()}})
    await after_a_run.write("new", "whales")
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 21
    assert events(logs) == ["lexical.building_anew", "lexical.built"]


def fail(*_: object, **__: object) -> None:
    raise index_module.DamagedIndexError("a block of it cannot be read")


async def test_index_that_breaks_while_it_is_searched_is_made_anew(
    start: Start, after_a_run: Texts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    process = start()
    await process.found(after_a_run, "whales")
    file = next(files_of(after_a_run, tmp_path).glob("*.term"))
    content = file.read_bytes()
    file.with_suffix(".other").write_bytes(content[:-50] + bytes(50))
    file.with_suffix(".other").replace(file)
    with monkeypatch.context() as patch:
        patch.setattr("analytiq.retrieval.backends.local.keywords.store.searched", fail)
        with pytest.raises(StoreLoadingError):
            await process.found(after_a_run, "whales")
    with structlog.testing.capture_logs() as logs:
        assert len(await process.found(after_a_run, "whales")) == 20
    assert events(logs) == ["lexical.built"]


async def test_question_that_makes_the_library_fail_costs_no_build(
    start: Start, after_a_run: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    await process.found(after_a_run, "whales")
    with monkeypatch.context() as patch:
        patch.setattr("analytiq.retrieval.backends.local.keywords.store.searched", fail)
        with pytest.raises(TransientError) as failed:
            await process.found(after_a_run, "whales")
    assert failed.value.code == "lexical_search_failed"
    with structlog.testing.capture_logs() as logs:
        assert len(await process.found(after_a_run, "whales")) == 20
    assert events(logs) == []


async def test_processes_have_a_place_each_and_the_first_free_one_is_taken_up(
    start: Start, after_a_run: Texts, tmp_path: Path
) -> None:
    first, second = start(), start()
    for process in (first, second):
        assert len(await process.found(after_a_run, "whales")) == 20
    assert files_of(after_a_run, tmp_path, 0).is_dir()
    assert files_of(after_a_run, tmp_path, 1).is_dir()
    await after_a_run.write("new", "whales")
    for process in (first, second):
        assert len(await process.found(after_a_run, "whales")) == 21
    await first.end()
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 21
    assert events(logs) == []
    assert not files_of(after_a_run, tmp_path, 2).exists()


async def test_place_of_a_killed_process_is_free(start: Start, after_a_run: Texts, tmp_path: Path) -> None:
    """The kernel lets go of a lock with the process that holds it."""
    locked = asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import fcntl, os, sys; lock = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(lock, fcntl.LOCK_EX);"
        "print(flush=True); sys.stdin.read()",
        str(tmp_path / "lexical" / after_a_run.kb_id / "0.lock"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    process = await locked
    assert process.stdout is not None
    await process.stdout.readline()
    beside = start()
    assert len(await beside.found(after_a_run, "whales")) == 20
    assert files_of(after_a_run, tmp_path, 1).is_dir()
    process.kill()
    await process.wait()
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 20
    assert events(logs) == []


async def test_half_written_change_of_a_killed_process_is_not_there(
    start: Start, after_a_run: Texts, tmp_path: Path
) -> None:
    (files_of(after_a_run, tmp_path) / f"{'0' * 32}.idx").write_bytes(b"half")
    with structlog.testing.capture_logs() as logs:
        assert len(await start().found(after_a_run, "whales")) == 20
    assert events(logs) == []


async def test_least_recently_searched_leave_the_disk(
    start: Start, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue, tmp_path: Path
) -> None:
    monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.store.TIDY_SECONDS", 0.0)
    monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.replica.TOUCH_SECONDS", -1.0)
    kbs: list[Texts] = []
    process = start(disk_bytes=1)
    for number in range(3):
        kb = Texts(migrated)
        await kb.create()
        await kb.write("d0", f"whales {number}")
        kbs.append(kb)
        assert await process.found(kb, "whales") == ["d0"]

    def on_disk() -> list[bool]:
        return [files_of(kb, tmp_path).exists() for kb in kbs]

    async def only_the_last_is_left() -> bool:
        await kbs[2].write("d0", "whales again")
        await process.found(kbs[2], "whales")  # looks after the room
        return on_disk() == [False, False, True]

    await eventually(only_the_last_is_left)
    assert await process.found(kbs[0], "whales") == ["d0"]  # built anew


async def test_what_another_process_uses_is_not_removed(
    start: Start, after_a_run: Texts, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.store.TIDY_SECONDS", 0.0)
    using = start()
    await using.found(after_a_run, "whales")
    other = Texts(migrated)
    await other.create()
    await other.write("d0", "whales")
    crowded = start(disk_bytes=1)
    await crowded.found(other, "whales")
    await crowded.end()
    assert files_of(after_a_run, tmp_path).is_dir()
    assert len(await using.found(after_a_run, "whales")) == 20


async def test_files_of_knowledge_bases_that_are_gone_leave_the_disk(
    start: Start, after_a_run: Texts, migrated: MongoConnection, eventually: EventuallyTrue, tmp_path: Path
) -> None:
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(after_a_run.kb_id)})
    other = Texts(migrated)
    await other.create()
    await start().found(other, "whales")
    await eventually(lambda: not (tmp_path / "lexical" / after_a_run.kb_id).exists())


async def test_forgotten_knowledge_base_leaves_the_disk(
    start: Start, after_a_run: Texts, eventually: EventuallyTrue, tmp_path: Path
) -> None:
    process = start()
    await process.found(after_a_run, "whales")
    process.index.forget(after_a_run.kb_id)
    await eventually(lambda: not (tmp_path / "lexical" / after_a_run.kb_id).exists())


async def test_knowledge_base_that_another_process_removed_and_that_is_there_again_is_built_in_a_place_of_its_own(
    start: Start, after_a_run: Texts, migrated: MongoConnection, tmp_path: Path, eventually: EventuallyTrue
) -> None:
    """As after an erasure and a restore under the same ids: what the process holds is gone from the disk."""
    process = start()
    await process.found(after_a_run, "whales")
    start().index.forget(after_a_run.kb_id)
    await eventually(lambda: not (tmp_path / "lexical" / after_a_run.kb_id).exists())
    lost = {"kb_id": after_a_run.kb_id, "epoch": 20}
    await migrated.database["kb_changes"].update_one(lost, {"$set": {"commit_id": new_id()}})
    await after_a_run.write("new", "whales")
    assert len(await process.found(after_a_run, "whales")) == 21
    assert files_of(after_a_run, tmp_path).is_dir()
    other = start()
    assert len(await other.found(after_a_run, "whales")) == 21
    assert files_of(after_a_run, tmp_path, 1).is_dir()


async def test_what_a_process_that_died_was_removing_leaves_the_disk_with_the_next_removal(
    start: Start, after_a_run: Texts, tmp_path: Path, eventually: EventuallyTrue
) -> None:
    left = tmp_path / "lexical" / f".removed.{new_id()}.0"
    left.mkdir()
    (left / "words.term").write_bytes(b"whales")
    start().index.forget(after_a_run.kb_id)
    await eventually(lambda: not left.exists())
    await eventually(lambda: not (tmp_path / "lexical" / after_a_run.kb_id).exists())


async def test_where_nothing_can_be_written_the_index_is_in_memory(start: Start, kb: Texts, tmp_path: Path) -> None:
    (tmp_path / "lexical").write_text("a file where the directory should be")
    await kb.write("d0", "whales")
    with structlog.testing.capture_logs() as logs:
        process = start()
        assert await process.found(kb, "whales") == ["d0"]
        await kb.write("d1", "whales")
        assert await process.found(kb, "whales") == ["d0", "d1"]
    assert "lexical.cannot_be_kept_on_disk" in events(logs)


async def test_failure_to_write_is_told_and_made_up_for(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.replica.RETRY_SECONDS", 0.0)
    await kb.write("d0", "whales")
    process = start()

    def full(*_: object) -> None:
        with index_module._failures_told():
            raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(index_module.WordIndex, "commit", full)
        with pytest.raises(TransientError, match="No space left"):
            await process.found(kb, "whales")
    assert await process.found(kb, "whales") == ["d0"]


async def test_changes_are_found_while_they_cannot_be_written(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RETRY_SECONDS", "REST_SECONDS"):
        monkeypatch.setattr(f"analytiq.retrieval.backends.local.keywords.replica.{name}", 0.0)
    await kb.write("d0", "whales")
    process = start()
    await process.found(kb, "whales")

    def full(*_: object) -> None:
        with index_module._failures_told():
            raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch, structlog.testing.capture_logs() as logs:
        patch.setattr(index_module.WordIndex, "commit", full)
        for number in range(1, 4):
            await kb.write(f"d{number}", "whales")
            assert len(await process.found(kb, "whales")) == number + 1
            replica = process.index._replicas[kb.kb_id]
            assert replica._rest_task is not None
            await replica._rest_task  # it tries to merge
    assert "lexical.cannot_be_written" in events(logs)
    assert await process.found(kb, "whales") == ["d0", "d1", "d2", "d3"]
    await process.index.close()
    assert await start().found(kb, "whales") == ["d0", "d1", "d2", "d3"]
