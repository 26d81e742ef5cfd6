"""A process that starts again goes on from its snapshot: with what has changed since, and nothing of anybody else."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import structlog.testing

from analytiq.errors import NotFoundError
from analytiq.retrieval.backends.local.vectors import replica as replica_module
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from tests.integration.conftest import EventuallyTrue
from tests.integration.vector_stores.conftest import Mirrored
from tests.integration.vector_stores.reading import QUERY, CountsReads, places, search, vectors


class Process:
    """A store as one process has it; closing it ends the process."""

    def __init__(self, migrated: MongoConnection, root: Path) -> None:
        self.reads = CountsReads(migrated)
        self.store = LocalVectorStore(
            self.reads, memory_bytes=2**30, load_wait_seconds=30.0, snapshots=Snapshots(root, max_bytes=2**30)
        )
        self.root = root

    async def end(self) -> None:
        await self.store.close()

    def has_written(self, mirrored: Mirrored, epoch: int) -> bool:
        return bool(list((self.root / mirrored.kb_id).glob(f"*-{epoch}.blocks")))


@pytest.fixture
async def start(
    migrated: MongoConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[[], Process]]:
    monkeypatch.setattr(replica_module, "SNAPSHOT_ROWS", 1)
    monkeypatch.setattr(replica_module, "SNAPSHOT_SECONDS", 0.0)
    async with AsyncExitStack() as stack:

        def started() -> Process:
            process = Process(migrated, tmp_path / "snapshots")
            stack.push_async_callback(process.end)
            return process

        yield started


@pytest.fixture
async def after_a_run(start: Callable[[], Process], mirrored: Mirrored, eventually: EventuallyTrue) -> Mirrored:
    """A knowledge base of 20 documents, 60 chunks, whose snapshot a process has left behind."""
    for number in range(20):
        await mirrored.put(f"d{number}", vectors(3))
    process = start()
    await search(process.store, mirrored)
    await eventually(lambda: process.has_written(mirrored, 20))
    await process.end()
    return mirrored


async def test_restart_reads_only_what_has_changed(start: Callable[[], Process], after_a_run: Mirrored) -> None:
    await after_a_run.put("d3", vectors(2))
    await after_a_run.put("new", vectors(4))
    await after_a_run.take_out("d7")
    process = start()
    assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert (process.reads.loads, process.reads.refreshes, process.reads.rows) == (0, 1, 6)


async def test_restart_with_nothing_changed_reads_no_vector(
    start: Callable[[], Process], after_a_run: Mirrored
) -> None:
    process = start()
    assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert (process.reads.loads, process.reads.rows) == (0, 0)


async def test_snapshot_follows_the_changes(
    start: Callable[[], Process], after_a_run: Mirrored, eventually: EventuallyTrue
) -> None:
    process = start()
    for number in range(3):
        await after_a_run.put(f"later {number}", vectors(5))
        await search(process.store, after_a_run)
    await eventually(lambda: process.has_written(after_a_run, 23))
    await process.end()
    following = start()
    assert await places(following.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert (following.reads.loads, following.reads.rows) == (0, 0)


async def test_changes_that_are_no_longer_all_there_cost_a_load(
    start: Callable[[], Process], after_a_run: Mirrored, migrated: MongoConnection
) -> None:
    for number in range(3):
        await after_a_run.put(f"later {number}", vectors(1))
    await migrated.database["kb_changes"].delete_one({"kb_id": after_a_run.kb_id, "epoch": 21})
    process = start()
    assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert process.reads.loads == 1


async def test_snapshot_of_a_history_that_was_lost_is_not_followed(
    start: Callable[[], Process], after_a_run: Mirrored, migrated: MongoConnection
) -> None:
    """The database was restored from a backup and written to since: the same epoch, made by another commit."""
    lost = {"kb_id": after_a_run.kb_id, "epoch": 20}
    await migrated.database["kb_changes"].update_one(lost, {"$set": {"commit_id": new_id()}})
    await after_a_run.put("new", vectors(1))
    process = start()
    assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert process.reads.loads == 1


async def test_damaged_snapshot_costs_a_load_and_a_line_in_the_log(
    start: Callable[[], Process], after_a_run: Mirrored
) -> None:
    process = start()
    file = next((process.root / after_a_run.kb_id).glob("*.rows"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    with structlog.testing.capture_logs() as logs:
        assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert process.reads.loads == 1
    ignored = [entry for entry in logs if entry["event"] == "local_store.snapshot_ignored"]
    assert [entry["kb_id"] for entry in ignored] == [after_a_run.kb_id]
    assert "is damaged" in ignored[0]["reason"]


async def test_two_processes_share_a_directory(
    start: Callable[[], Process], after_a_run: Mirrored, eventually: EventuallyTrue
) -> None:
    """Each is another operating system process to the lock, since each opens the file by itself."""
    first, second = start(), start()
    await search(first.store, after_a_run)
    await search(second.store, after_a_run)
    for number in range(4):
        await after_a_run.put(f"later {number}", vectors(2))
        for process in (first, second):
            assert await places(process.store, after_a_run) == after_a_run.expected(QUERY, 100)
    await eventually(lambda: first.has_written(after_a_run, 24))
    for process in (first, second):
        await process.end()
    third = start()
    assert await places(third.store, after_a_run) == after_a_run.expected(QUERY, 100)
    assert third.reads.loads == 0


async def test_snapshot_of_a_deleted_knowledge_base_leaves_the_disk(
    start: Callable[[], Process], after_a_run: Mirrored, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    process = start()
    epoch = await after_a_run.epoch()
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(after_a_run.kb_id)})
    with pytest.raises(NotFoundError):
        await search(process.store, after_a_run, epoch=epoch)
    await eventually(lambda: not (process.root / after_a_run.kb_id).exists())


async def test_snapshot_of_one_that_was_deleted_while_no_process_ran_leaves_the_disk(
    start: Callable[[], Process], after_a_run: Mirrored, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(after_a_run.kb_id)})
    other = Mirrored(migrated)
    await other.create()
    process = start()
    await search(process.store, other)
    await eventually(lambda: not (process.root / after_a_run.kb_id).exists())


async def test_forgotten_knowledge_base_leaves_the_disk(
    start: Callable[[], Process], after_a_run: Mirrored, eventually: EventuallyTrue
) -> None:
    process = start()
    await search(process.store, after_a_run)
    process.store.forget(after_a_run.kb_id)
    await eventually(lambda: not (process.root / after_a_run.kb_id).exists())


async def test_directory_that_cannot_be_written_does_not_disturb_searches(
    start: Callable[[], Process], mirrored: Mirrored, eventually: EventuallyTrue
) -> None:
    process = start()
    process.root.write_text("a file where the directory should be")
    await mirrored.put("d0", vectors(3))
    with structlog.testing.capture_logs() as logs:
        for number in range(3):
            await mirrored.put(f"d{number}", vectors(3))
            assert await places(process.store, mirrored) == mirrored.expected(QUERY, 100)
        await eventually(lambda: any(entry.get("work") == "snapshot" for entry in logs))
