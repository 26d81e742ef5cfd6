"""The store that mirrors vectors in the process: as fresh as the epoch, whatever happened meanwhile."""

import asyncio
from typing import Any

import numpy as np
import pytest

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.retrieval.backends.local.vectors.replica import VectorReplica
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    ChunkFilter,
    DocumentSet,
    Outside,
    PageComparison,
    PageIn,
    contains,
)
from analytiq.retrieval.filters.tree import EVERYTHING, BuiltInField, Comparator, In
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id
from analytiq.storage.repositories.index_contents import IndexContentRepository
from tests.integration.vector_stores.conftest import Mirrored
from tests.integration.vector_stores.reading import QUERY, CountsReads, places, search, vectors


@pytest.fixture
def reads(migrated: MongoConnection) -> CountsReads:
    return CountsReads(migrated)


def store_over(reads: IndexContentRepository, *, memory_bytes: int = 2**30, wait: float = 30.0) -> LocalVectorStore:
    return LocalVectorStore(reads, memory_bytes=memory_bytes, load_wait_seconds=wait)


@pytest.fixture
def store(reads: CountsReads) -> LocalVectorStore:
    return store_over(reads)


def only(document_ids: set[str]) -> ChunkFilter:
    return ChunkFilter(In(BuiltInField.DOCUMENT_ID, tuple(document_ids)), DocumentSet(frozenset(document_ids)))


async def test_empty_knowledge_base_finds_nothing(store: LocalVectorStore, mirrored: Mirrored) -> None:
    assert await search(store, mirrored) == []
    assert await store.count(mirrored.knowledge_base, await mirrored.epoch(), chunk_filter=None) == 0


async def test_two_processes_see_each_others_commits_at_once(migrated: MongoConnection, mirrored: Mirrored) -> None:
    """Random commits; after each, both stores answer as a plain scan of the truth does."""
    stores = [store_over(IndexContentRepository(migrated)) for _ in range(2)]
    choices = np.random.default_rng(11)
    for _ in range(40):
        document_id = f"d{choices.integers(6)}"
        if document_id in mirrored.truth and choices.integers(3) == 0:
            await mirrored.take_out(document_id)
        else:
            await mirrored.put(document_id, vectors(int(choices.integers(1, 6))))
        # One of them may miss several commits before it is asked again.
        asked = stores[: int(choices.integers(3))]
        for store in asked:
            limit = int(choices.integers(1, 40))
            assert await places(store, mirrored, limit=limit) == mirrored.expected(QUERY, limit)
            total = sum(len(rows) for rows in mirrored.truth.values())
            assert await store.count(mirrored.knowledge_base, await mirrored.epoch(), chunk_filter=None) == total


async def test_search_whose_vectors_are_let_go_meanwhile_loads_them_anew(
    store: LocalVectorStore, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.put("d0", vectors(4))
    refreshing, real = asyncio.Event(), VectorReplica._refresh

    async def endless(_: VectorReplica) -> None:
        monkeypatch.setattr(VectorReplica, "_refresh", real)
        refreshing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(VectorReplica, "_refresh", endless)
    searching = asyncio.create_task(places(store, mirrored, limit=9))
    await refreshing.wait()
    store._let_go(mirrored.knowledge_base.id)
    assert await searching == mirrored.expected(QUERY, 9)


async def test_search_when_nothing_changed_reads_nothing(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored
) -> None:
    await mirrored.put("d0", vectors(4))
    for _ in range(5):
        await search(store, mirrored)
    assert (reads.loads, reads.refreshes, reads.rows) == (1, 0, 4)


async def test_refresh_reads_only_what_is_missing(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored
) -> None:
    await mirrored.put("d0", vectors(50))
    await search(store, mirrored)
    await mirrored.put("d1", vectors(3))
    await mirrored.put("d1", vectors(2))  # the three vectors in between are read by nobody
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)
    assert (reads.loads, reads.refreshes, reads.rows) == (1, 1, 52)


async def test_gap_in_the_changes_is_seen_and_everything_read_anew(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored, migrated: MongoConnection
) -> None:
    await mirrored.put("d0", vectors(2))
    await search(store, mirrored)
    for number in range(1, 4):
        await mirrored.put(f"d{number}", vectors(2))
    await migrated.database["kb_changes"].delete_one({"epoch": 3})
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)
    assert reads.loads == 2


async def snapshot_of(migrated: MongoConnection) -> dict[str, list[dict[str, Any]]]:
    names = ("kb_epochs", "kb_changes", "document_index")
    return {name: [row async for row in migrated.database[name].find({})] for name in names}


async def restore(migrated: MongoConnection, backup: dict[str, list[dict[str, Any]]]) -> None:
    for name, rows in backup.items():
        await migrated.database[name].delete_many({})
        if rows:
            await migrated.database[name].insert_many(rows)


@pytest.mark.parametrize("commits_after", [0, 1, 2, 3], ids=["lower", "lower by one", "equal", "higher"])
async def test_database_restored_from_a_backup_is_followed_back_in_time(
    store: LocalVectorStore, mirrored: Mirrored, migrated: MongoConnection, commits_after: int
) -> None:
    """Its epoch beside the replica's: lower, the same with another commit, or higher."""
    await mirrored.put("d0", vectors(2))
    backup, truth = await snapshot_of(migrated), dict(mirrored.truth)
    for number in (1, 2):
        await mirrored.put(f"d{number}", vectors(2))
    await search(store, mirrored)
    await restore(migrated, backup)
    mirrored.truth = truth
    for number in range(commits_after):
        await mirrored.put(f"new {number}", vectors(2))
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)


async def test_database_restored_to_before_the_first_commit_is_followed_too(
    store: LocalVectorStore, mirrored: Mirrored, migrated: MongoConnection
) -> None:
    backup = await snapshot_of(migrated)
    await mirrored.put("d0", vectors(2))
    await search(store, mirrored)
    await restore(migrated, backup)
    assert await places(store, mirrored) == []


async def test_epoch_read_before_the_mirror_moved_on_is_answered_from_the_later_one(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored
) -> None:
    await mirrored.put("d0", vectors(2))
    earlier = await mirrored.epoch()
    await mirrored.put("d1", vectors(2))
    await search(store, mirrored)
    assert len(await search(store, mirrored, epoch=earlier)) == 4
    assert reads.loads == 1


async def test_hollow_generation_is_found_as_far_as_it_is_there_and_not_read_again_and_again(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored
) -> None:
    await mirrored.put("d0", vectors(2), claimed=5)
    await mirrored.put("d1", vectors(0), claimed=3)
    for _ in range(3):
        assert len(await search(store, mirrored)) == 2
    await mirrored.put("d2", vectors(1))
    for _ in range(3):
        assert len(await search(store, mirrored)) == 3
    assert (reads.loads, reads.refreshes) == (1, 1)


async def test_vectors_staged_but_not_committed_are_not_found(store: LocalVectorStore, mirrored: Mirrored) -> None:
    await mirrored.stage("d0", vectors(3))
    assert await search(store, mirrored) == []
    await mirrored.put("d1", vectors(1))
    await mirrored.stage("d1", vectors(3))
    assert len(await search(store, mirrored)) == 1


async def test_searches_go_on_while_the_mirror_is_refreshed(store: LocalVectorStore, mirrored: Mirrored) -> None:
    """Each sees the documents in pairs, as every commit left them: both, or neither."""
    is_over = False

    async def searching() -> int:
        count = 0
        while not is_over:
            hits = await search(store, mirrored)
            chunks: dict[str, int] = {}
            for hit in hits:
                chunks[hit.generation_id] = chunks.get(hit.generation_id, 0) + 1
            assert set(chunks.values()) <= {7}
            assert len({hit.document_id for hit in hits}) == len(chunks)
            count += 1
        return count

    async def writing() -> None:
        nonlocal is_over
        try:
            for number in range(30):
                await mirrored.put(f"d{number % 5}", vectors(7))
        finally:
            is_over = True

    async with asyncio.TaskGroup() as group:
        searches = [group.create_task(searching()) for _ in range(4)]
        group.create_task(writing())
    assert all(task.result() for task in searches)
    assert await places(store, mirrored) == mirrored.expected(QUERY, 100)


async def test_twenty_searches_at_once_load_a_knowledge_base_once(
    store: LocalVectorStore, reads: CountsReads, mirrored: Mirrored
) -> None:
    await mirrored.put("d0", vectors(3))
    answers = await asyncio.gather(*(search(store, mirrored) for _ in range(20)))
    assert all(len(answer) == 3 for answer in answers)
    assert reads.loads == 1


async def test_knowledge_base_that_takes_long_to_load_asks_for_patience_and_loads_on(
    reads: CountsReads, mirrored: Mirrored
) -> None:
    store = store_over(reads, wait=0.05)
    reads.gate = asyncio.Event()
    await mirrored.put("d0", vectors(3))
    for _ in range(2):
        with pytest.raises(StoreLoadingError) as caught:
            await search(store, mirrored)
        assert caught.value.retry_after == 0.05
    reads.gate.set()
    async with asyncio.timeout(30):
        while True:
            try:
                assert len(await search(store, mirrored)) == 3
            except StoreLoadingError:
                continue
            break
    assert reads.loads == 1


async def test_least_recently_searched_knowledge_base_leaves_when_memory_is_short(
    migrated: MongoConnection, reads: CountsReads
) -> None:
    bases = [Mirrored(migrated) for _ in range(3)]
    for base in bases:
        await base.create()
        await base.put("d0", vectors(100))
    await search(sizing := store_over(IndexContentRepository(migrated)), bases[0])
    one = sizing.byte_size
    store = store_over(reads, memory_bytes=int(2.5 * one))
    for number in (0, 1, 0, 2):
        await search(store, bases[number])
    assert store.byte_size == 2 * one
    assert reads.loads == 3
    await search(store, bases[0])
    assert reads.loads == 3  # it was used after 1, so 1 had to go
    await search(store, bases[1])
    assert reads.loads == 4


async def test_knowledge_base_larger_than_all_the_memory_is_held_alone(reads: CountsReads, mirrored: Mirrored) -> None:
    store = store_over(reads, memory_bytes=1)
    await mirrored.put("d0", vectors(10))
    for _ in range(2):
        assert len(await search(store, mirrored)) == 10
    assert reads.loads == 1


async def test_knowledge_base_deleted_meanwhile_is_not_found(
    store: LocalVectorStore, mirrored: Mirrored, migrated: MongoConnection
) -> None:
    await mirrored.put("d0", vectors(1))
    await search(store, mirrored)
    await mirrored.put("d0", vectors(1))
    epoch = await mirrored.epoch()
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(mirrored.kb_id)})
    with pytest.raises(NotFoundError):
        await search(store, mirrored, epoch=epoch)


async def test_resolve_filter_is_applied_inside(store: LocalVectorStore, mirrored: Mirrored) -> None:
    for number in range(20):
        await mirrored.put(f"d{number:02}", vectors(5))
    epoch = await mirrored.epoch()
    for wanted in ({"d07"}, {"d03", "d11", "unknown"}, set[str]()):
        hits = await store.search(mirrored.knowledge_base, epoch, QUERY, limit=50, chunk_filter=only(wanted))
        expected = [place for place in mirrored.expected(QUERY, 1000) if place[0] in wanted]
        assert [(hit.document_id, hit.chunk_index) for hit in hits] == expected
        assert await store.count(mirrored.knowledge_base, epoch, chunk_filter=only(wanted)) == len(expected)


async def test_filter_of_pages_is_applied_inside(store: LocalVectorStore, mirrored: Mirrored) -> None:
    for number in range(6):
        await mirrored.put(f"d{number}", vectors(9))
    epoch = await mirrored.epoch()
    document = DocumentSet(frozenset(["d1", "d4"]))
    late = PageComparison(Comparator.GREATER, 3)
    for selection in (late, AllOf((late, document)), AnyOf((PageIn((1, 5)), document)), Outside(late)):
        expected = [
            (document_id, index)
            for document_id, index in mirrored.expected(QUERY, 1000)
            if contains(selection, document_id, 1 + index // 2, 1 + (index + 1) // 2, chunk_index=index)
        ]
        chunk_filter = ChunkFilter(EVERYTHING, selection)  # this store reads the selection alone
        hits = await store.search(mirrored.knowledge_base, epoch, QUERY, limit=100, chunk_filter=chunk_filter)
        assert [(hit.document_id, hit.chunk_index) for hit in hits] == expected
        assert await store.count(mirrored.knowledge_base, epoch, chunk_filter=chunk_filter) == len(expected)


async def test_relevance_of_neighbours_is_that_of_a_search(store: LocalVectorStore, mirrored: Mirrored) -> None:
    await mirrored.put("d0", vectors(5))
    hits = await search(store, mirrored)
    asked = [(hit.generation_id, hit.chunk_index) for hit in hits]
    view = (await store.fresh(mirrored.knowledge_base, await mirrored.epoch())).view
    found = await store.scores_in(view, QUERY, [*asked, ("unknown", 0)])
    assert found == {(hit.generation_id, hit.chunk_index): pytest.approx(hit.relevance) for hit in hits}
    assert all(0 <= hit.relevance <= 1 for hit in hits)
