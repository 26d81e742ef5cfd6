"""A knowledge base whose vectors are mapped from disk, over MongoDB: as fresh as in memory, in every process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from analytiq.retrieval.backends.local.vectors import replica as replica_module
from analytiq.retrieval.backends.local.vectors import segments
from analytiq.retrieval.backends.local.vectors.snapshot import Snapshots
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.storage.client import MongoConnection
from tests.integration.conftest import EventuallyTrue
from tests.integration.vector_stores.conftest import DIMENSIONS, Mirrored
from tests.integration.vector_stores.reading import QUERY, CountsReads, places, search, vectors


class Process:
    """A store as one process has it, which maps everything."""

    def __init__(self, migrated: MongoConnection, root: Path) -> None:
        self.reads = CountsReads(migrated)
        snapshots = Snapshots(root, max_bytes=2**30, mapped_from_bytes=0)
        self.store = LocalVectorStore(self.reads, memory_bytes=2**30, load_wait_seconds=30.0, snapshots=snapshots)

    def segments_on_disk(self, mirrored: Mirrored) -> int:
        latest = self.store._replicas[mirrored.kb_id].latest
        return sum(part.segment.is_on_disk for part in latest.view.parts) if latest else 0


@asynccontextmanager
async def started(migrated: MongoConnection, root: Path) -> AsyncGenerator[Process]:
    process = Process(migrated, root)
    try:
        yield process
    finally:
        await process.store.close()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(replica_module, "SNAPSHOT_ROWS", 1)
    monkeypatch.setattr(replica_module, "SNAPSHOT_SECONDS", 0.0)
    monkeypatch.setattr(segments, "SMALLEST_ROWS", 20)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 20 * 4 * DIMENSIONS)
    return tmp_path / "snapshots"


async def test_every_acknowledged_write_is_found_by_processes_that_share_a_directory_and_after_a_restart(
    root: Path, migrated: MongoConnection, mirrored: Mirrored, eventually: EventuallyTrue
) -> None:
    for number in range(20):
        await mirrored.put(f"d{number}", vectors(10))
    async with started(migrated, root) as first, started(migrated, root) as second:
        for number in range(6):
            await mirrored.put(f"d{number}", vectors(11))
            await mirrored.put(f"later {number}", vectors(1))
            await mirrored.take_out(f"d{10 + number}")
            for process in (first, second):
                assert await places(process.store, mirrored) == mirrored.expected(QUERY, 100)
        assert first.segments_on_disk(mirrored) > 3
        assert second.segments_on_disk(mirrored) > 3
        epoch = (await mirrored.epoch()).epoch
        await eventually(lambda: bool(list((root / mirrored.kb_id).glob(f"*-{epoch}.blocks"))))
    assert list(root.glob("process-*")) == []
    await mirrored.put("d0", vectors(2))
    async with started(migrated, root) as third:
        assert await places(third.store, mirrored) == mirrored.expected(QUERY, 100)
        assert (third.reads.loads, third.reads.rows) == (0, 2)
        assert third.segments_on_disk(mirrored) > 3
        hits = await search(third.store, mirrored)
        view = (await third.store.fresh(mirrored.knowledge_base, await mirrored.epoch())).view
        asked = [(hit.generation_id, hit.chunk_index) for hit in hits]
        found = await third.store.scores_in(view, QUERY, asked)
        assert found == {chunk: pytest.approx(hit.relevance) for chunk, hit in zip(asked, hits, strict=True)}


async def test_rewriting_beside_commits_loses_none(
    root: Path, migrated: MongoConnection, mirrored: Mirrored, eventually: EventuallyTrue
) -> None:
    for number in range(30):
        await mirrored.put(f"d{number}", vectors(10))
    async with started(migrated, root) as process:
        await search(process.store, mirrored)
        replica = process.store._replicas[mirrored.kb_id]
        before = replica._matrix
        for number in range(20):
            await mirrored.take_out(f"d{number}")
            await mirrored.put(f"later {number}", vectors(2))
            assert await places(process.store, mirrored) == mirrored.expected(QUERY, 100)
        await eventually(lambda: replica._matrix is not before)
        assert await places(process.store, mirrored) == mirrored.expected(QUERY, 100)
        assert process.segments_on_disk(mirrored) > 1
        assert process.reads.loads == 1
