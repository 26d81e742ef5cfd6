"""Upkeep of the local store beside searches: loads, compaction, graphs, failures; none of it is seen in an answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection

import numpy as np
import pytest

from analytiq.errors import StoreLoadingError, TransientError
from analytiq.retrieval.backends.local.vectors import replica as replica_module
from analytiq.retrieval.backends.local.vectors import store as store_module
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.index_contents import IndexedGeneration, IndexReading, VectorSink
from tests.integration.conftest import EventuallyTrue
from tests.integration.vector_stores.conftest import Mirrored
from tests.integration.vector_stores.reading import QUERY, CountsReads, places, search, vectors

Ids = Collection[str] | None
Vectors = Callable[[IndexReading, Ids, VectorSink], Awaitable[list[IndexedGeneration]]]


@pytest.fixture
async def reads(migrated: MongoConnection) -> CountsReads:
    return CountsReads(migrated)


@pytest.fixture
async def store(reads: CountsReads) -> AsyncIterator[LocalVectorStore]:
    store = LocalVectorStore(reads, memory_bytes=2**30, load_wait_seconds=30.0)
    yield store
    await store.close()


@pytest.fixture
def real() -> Vectors:
    return IndexReading.vectors


async def bases_of(migrated: MongoConnection, count: int) -> list[Mirrored]:
    bases = [Mirrored(migrated) for _ in range(count)]
    for base in bases:
        await base.create()
        await base.put("d0", vectors(5))
    return bases


async def test_search_does_not_wait_for_another_ones_load(
    reads: CountsReads, real: Vectors, monkeypatch: pytest.MonkeyPatch, migrated: MongoConnection
) -> None:
    """Nor does it when as many loads as are allowed at once are under way: what is in memory is refreshed beside."""
    blocked, gate = set[str](), asyncio.Event()

    async def blocks(at: IndexReading, generation_ids: Ids, sink: VectorSink) -> list[IndexedGeneration]:
        if generation_ids is None and at.epoch.kb_id in blocked:
            await gate.wait()
        return await real(at, generation_ids, sink)

    monkeypatch.setattr(IndexReading, "vectors", blocks)
    store = LocalVectorStore(reads, memory_bytes=2**30, load_wait_seconds=0.05)
    ready, *loading = await bases_of(migrated, store_module.LOADS_AT_ONCE + 2)
    store.wait_seconds = 30.0
    await search(store, ready)
    store.wait_seconds = 0.05
    blocked |= {base.kb_id for base in loading}
    for base in loading:
        with pytest.raises(StoreLoadingError):
            await search(store, base)
    store.wait_seconds = 30.0
    for number in range(3):
        await ready.put(f"d{number}", vectors(4))
        assert await places(store, ready) == ready.expected(QUERY, 100)
    # One more than may be loaded at once was asked for: it waits for its turn, and gets it.
    assert reads.loads == 1 + store_module.LOADS_AT_ONCE
    gate.set()
    for base in loading:
        assert await places(store, base) == base.expected(QUERY, 100)
    await store.close()


class Breaks:
    """Breaks off so many readings of vectors at their end: those of everything, or those of changes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, real: Vectors, *, loads: int = 0, changes: int = 0) -> None:
        left = {True: loads, False: changes}

        async def vectors(at: IndexReading, generation_ids: Ids, sink: VectorSink) -> list[IndexedGeneration]:
            indexed = await real(at, generation_ids, sink)
            if left[generation_ids is None]:
                left[generation_ids is None] -= 1
                raise TransientError("the connection broke at the last moment")
            return indexed

        monkeypatch.setattr(IndexReading, "vectors", vectors)


async def test_load_that_fails_is_told_and_tried_again(
    store: LocalVectorStore, mirrored: Mirrored, real: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.put("d0", vectors(3))
    Breaks(monkeypatch, real, loads=1)
    with pytest.raises(TransientError, match="at the last moment"):
        await search(store, mirrored)
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)


async def test_refresh_that_fails_half_way_leaves_no_half_and_no_double_rows(
    store: LocalVectorStore, mirrored: Mirrored, real: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.put("d0", vectors(3))
    Breaks(monkeypatch, real, changes=2)
    before = await mirrored.epoch()
    assert len(await search(store, mirrored)) == 3
    await mirrored.put("d1", vectors(400))
    await mirrored.put("d0", vectors(2))
    for _ in range(2):
        with pytest.raises(TransientError):
            await search(store, mirrored)
        assert len(await search(store, mirrored, epoch=before)) == 3
    # Of 400 random vectors some lie too close together for an order.
    assert sorted(await places(store, mirrored, limit=1000)) == sorted(mirrored.expected(QUERY, 1000))
    assert await store.count(mirrored.knowledge_base, await mirrored.epoch(), chunk_filter=None) == 402


async def test_rows_of_the_dead_are_given_back_while_searches_go_on(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored, eventually: EventuallyTrue
) -> None:
    for number in range(40):
        await mirrored.put(f"d{number}", vectors(50))
    await search(store, mirrored)
    full = store.byte_size
    for number in range(35):
        await mirrored.take_out(f"d{number}")
        assert await places(store, mirrored, limit=30) == mirrored.expected(QUERY, 30)
    await eventually(lambda: store.byte_size < full / 2)
    await mirrored.put("d1", vectors(7))
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)
    assert reads.loads == 1


async def test_large_knowledge_base_gets_a_graph_beside_its_searches(
    store: LocalVectorStore, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    monkeypatch.setattr(replica_module, "GRAPH_CELLS", 8 * 4000)
    monkeypatch.setattr(replica_module, "GRAPH_LAG_ROWS", 100)
    for number in range(10):
        await mirrored.put(f"d{number}", vectors(500))
    await search(store, mirrored)
    replica = store._replicas[mirrored.kb_id]
    before = store.byte_size

    def graph_rows() -> int:
        graph = replica.latest.view.graph if replica.latest else None
        return graph.rows if graph else 0

    await eventually(lambda: graph_rows() == 5000)
    assert store.byte_size > before
    assert await places(store, mirrored, limit=10) == mirrored.expected(QUERY, 10)
    await mirrored.put("d1", vectors(450))  # the graph follows
    assert await places(store, mirrored, limit=10) == mirrored.expected(QUERY, 10)
    await eventually(lambda: graph_rows() == 5450)
    for number in range(5):  # so few are left that it goes
        await mirrored.take_out(f"d{number}")
        assert await places(store, mirrored, limit=10) == mirrored.expected(QUERY, 10)
    await eventually(lambda: replica.latest is not None and replica.latest.view.rows < 4000)
    assert graph_rows() == 0
    assert await places(store, mirrored, limit=10) == mirrored.expected(QUERY, 10)


async def test_graph_is_not_built_where_it_has_no_room(
    reads: CountsReads, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_module, "GRAPH_CELLS", 1)
    monkeypatch.setattr(replica_module, "GRAPH_LAG_ROWS", 0)
    store = LocalVectorStore(reads, memory_bytes=1000, load_wait_seconds=30.0)
    await mirrored.put("d0", vectors(500))
    await search(store, mirrored)
    assert "graph" not in store._replicas[mirrored.kb_id]._upkeep
    await store.close()


async def test_searches_beside_a_writer_are_never_behind_what_it_has_acknowledged(
    store: LocalVectorStore, mirrored: Mirrored
) -> None:
    """Readers note the epoch, search, and compare with the truth at an epoch between the noted one and the present."""
    history: dict[int, dict[str, int]] = {0: {}}
    is_over = asyncio.Event()
    choices = np.random.default_rng(13)

    async def write() -> None:
        for number in range(120):
            document_id = f"d{choices.integers(12)}"
            if document_id in mirrored.truth and choices.integers(4) == 0:
                await mirrored.take_out(document_id)
            else:
                await mirrored.put(document_id, vectors(int(choices.integers(1, 9))))
            history[number + 1] = {document: len(rows) for document, rows in mirrored.truth.items()}
        is_over.set()

    async def read() -> int:
        count = 0
        while not is_over.is_set():
            acknowledged = max(history)
            hits = await search(store, mirrored)
            found: dict[str, int] = {}
            for hit in hits:
                found[hit.document_id] = found.get(hit.document_id, 0) + 1
            # A commit may be searchable a moment before its writer has heard of it.
            while (await mirrored.epoch()).epoch not in history:
                await asyncio.sleep(0)
            possible = [history[epoch] for epoch in range(acknowledged, max(history) + 1)]
            assert found in possible, (acknowledged, max(history), found)
            count += 1
        return count

    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(read()) for _ in range(3)]
        group.create_task(write())
    assert all(reader.result() for reader in readers)
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)


async def test_filter_is_answered_alike_inside_the_loop_and_in_a_thread(
    store: LocalVectorStore, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await mirrored.put(f"d{number}", vectors(5))
    epoch = await mirrored.epoch()
    wanted = frozenset(["d1", "d4"])
    chunk_filter = ChunkFilter(In(BuiltInField.DOCUMENT_ID, tuple(wanted)), DocumentSet(wanted))
    answers = []
    for cells in (0, 10**9):
        monkeypatch.setattr(store_module, "INLINE_CELLS", cells)
        monkeypatch.setattr(store_module, "INLINE_FILTERED_CELLS", cells)
        for limit, asked in ((100, None), (7, chunk_filter)):
            answers.append(await store.search(mirrored.knowledge_base, epoch, QUERY, limit=limit, chunk_filter=asked))
        assert await store.count(mirrored.knowledge_base, epoch, chunk_filter=chunk_filter) == 10
    assert answers[:2] == answers[2:]
    assert {hit.document_id for hit in answers[1]} == wanted
