"""The index of words is as fresh as the epoch, in every process, whatever happened meanwhile."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from analytiq.errors import NotFoundError, StoreLoadingError
from analytiq.retrieval.backends.local.keywords import layers as layers_module
from analytiq.retrieval.backends.local.keywords.index_cache import Place, Shelf
from analytiq.retrieval.backends.local.keywords.replica import KeywordReplica
from analytiq.retrieval.filters.selection import ChunkFilter, DocumentSet
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id
from analytiq.storage.repositories.index_contents import ChunkText, IndexReading
from tests.integration.conftest import EventuallyTrue
from tests.integration.lexical.conftest import Start, Texts, generations


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of chunks of each reading of texts; the reading itself is the real one."""
    counts: list[int] = []
    real = IndexReading.texts

    async def counted(at: IndexReading, generation_ids: set[str] | None) -> AsyncIterator[list[ChunkText]]:
        counts.append(0)
        async for chunks in real(at, generation_ids):
            counts[-1] += len(chunks)
            yield chunks

    monkeypatch.setattr(IndexReading, "texts", counted)
    return counts


async def test_empty_knowledge_base_finds_nothing(start: Start, kb: Texts) -> None:
    assert await start().hits(kb, "whales") == []


async def test_hits_name_generation_document_and_chunk(start: Start, kb: Texts) -> None:
    generation_id = await kb.write("d0", "nothing of the kind", "whales and dolphins")
    (hit,) = await start().hits(kb, "whale")
    assert (hit.generation_id, hit.document_id, hit.chunk_index) == (generation_id, "d0", 1)
    assert hit.score > 0


async def test_processes_see_each_others_commits_at_once(start: Start, kb: Texts) -> None:
    """Random commits; after each, every process that is asked knows just what is there."""
    processes = [start(), start(), start(in_memory=True)]
    choices = random.Random(11)
    words: dict[str, str] = {}
    for number in range(40):
        document_id = f"d{choices.randrange(6)}"
        if document_id in words and choices.randrange(3) == 0:
            await kb.take_out(document_id)
            del words[document_id]
        else:
            words[document_id] = f"word{number}"
            await kb.write(document_id, *[f"common {words[document_id]}"] * choices.randrange(1, 4))
        for process in choices.sample(processes, choices.randrange(4)):
            assert await process.found(kb, "common") == sorted(words)
            for name, word in words.items():
                assert await process.found(kb, word) == [name]


@pytest.mark.parametrize("merged", ["later", "at once", "directly"])
async def test_replaced_document_is_found_in_every_search_while_it_is_replaced(
    merged: str, start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search at an epoch finds one whole generation: the one of that epoch or a later one."""
    if merged == "at once":
        monkeypatch.setattr(layers_module, "FEWEST_FRESH_ROWS", 0)
        monkeypatch.setattr(layers_module, "FRESH_SHARE", 0)
    if merged == "directly":
        monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.replica.DIRECT_ROWS", 0)
    process = start()
    sizes: dict[str, int] = {}
    generation_id = await kb.write("d0", "whales")
    sizes[generation_id] = 1
    is_over = False

    async def search_on() -> int:
        count = 0
        while not is_over:
            hits = await process.hits(kb, "whales")
            (found,) = generations(hits)
            assert len(hits) == sizes.get(found, len(hits))
            count += 1
        return count

    searching = [asyncio.create_task(search_on()) for _ in range(3)]
    for number in range(15):
        texts = ["whales"] * (number % 4 + 1)
        sizes[await kb.write("d0", *texts)] = len(texts)
    is_over = True
    assert all(await asyncio.gather(*searching))


async def test_search_when_nothing_changed_reads_nothing(start: Start, kb: Texts, reads: list[int]) -> None:
    await kb.write("d0", "whales", "dolphins")
    process = start()
    for _ in range(4):
        assert await process.found(kb, "whales") == ["d0"]
    assert reads == [2]


async def test_refresh_reads_only_what_is_missing(start: Start, kb: Texts, reads: list[int]) -> None:
    await kb.write("d0", *["whales"] * 20)
    process = start()
    await process.found(kb, "whales")
    await kb.write("d1", *["whales"] * 3)
    await kb.write("d1", *["whales"] * 2)  # the three chunks in between are read by nobody
    assert len(await process.hits(kb, "whales")) == 22
    assert reads == [20, 2]


async def test_gap_in_the_changes_is_seen_and_everything_indexed_anew(
    start: Start, kb: Texts, migrated: MongoConnection, reads: list[int]
) -> None:
    process = start()
    await kb.write("d0", "whales")
    await process.found(kb, "whales")
    for number in range(1, 4):
        await kb.write(f"d{number}", "whales")
    await migrated.database["kb_changes"].delete_one({"kb_id": kb.kb_id, "epoch": 3})
    assert await process.found(kb, "whales") == ["d0", "d1", "d2", "d3"]
    assert reads == [1, 4]


@pytest.mark.parametrize("commits_after", [0, 1, 2, 3], ids=["lower", "lower by one", "equal", "higher"])
async def test_database_restored_from_a_backup_is_followed_back_in_time(
    start: Start, kb: Texts, migrated: MongoConnection, commits_after: int
) -> None:
    names = ("kb_epochs", "kb_changes", "document_index")
    await kb.write("d0", "whales")
    backup = {name: [row async for row in migrated.database[name].find({})] for name in names}
    for number in (1, 2):
        await kb.write(f"d{number}", "whales")
    process = start()
    await process.found(kb, "whales")
    for name, rows in backup.items():
        await migrated.database[name].delete_many({})
        await migrated.database[name].insert_many(rows)
    for number in range(commits_after):
        await kb.write(f"new {number}", "whales")
    assert await process.found(kb, "whales") == ["d0", *(f"new {number}" for number in range(commits_after))]


async def test_epoch_read_before_the_index_moved_on_is_answered_from_the_later_one(start: Start, kb: Texts) -> None:
    process = start()
    await kb.write("d0", "whales")
    earlier = await kb.epoch()
    await kb.write("d1", "whales")
    await process.found(kb, "whales")
    assert len(await process.hits(kb, "whales", epoch=earlier)) == 2


async def test_search_during_a_long_build_is_told_to_come_back_and_the_build_goes_on(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    await kb.write("d0", "whales")
    gate = asyncio.Event()
    real = IndexReading.texts

    async def held(at: IndexReading, generation_ids: set[str] | None) -> AsyncIterator[list[ChunkText]]:
        if at.epoch.kb_id == kb.kb_id:
            await gate.wait()
        async for chunks in real(at, generation_ids):
            yield chunks

    monkeypatch.setattr(IndexReading, "texts", held)
    other = Texts(kb.connection)
    await other.create()
    await other.write("d1", "whales")
    process = start(wait=0.05)
    with pytest.raises(StoreLoadingError) as refused:
        await process.found(kb, "whales")
    assert refused.value.retry_after == 0.05

    async def is_found(texts: Texts, document_id: str) -> bool:
        try:
            return await process.found(texts, "whales") == [document_id]
        except StoreLoadingError:
            return False

    await eventually(lambda: is_found(other, "d1"))  # which never waits for the first one
    gate.set()
    await eventually(lambda: is_found(kb, "d0"))


async def test_cancelled_build_leaves_nothing_half_done(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is asked to end while an index is built; the next one builds it."""
    await kb.write("d0", "whales")
    is_reading = asyncio.Event()
    real = IndexReading.texts

    async def endless(at: IndexReading, generation_ids: set[str] | None) -> AsyncIterator[list[ChunkText]]:
        async for chunks in real(at, generation_ids):
            yield chunks
        is_reading.set()
        await asyncio.Event().wait()

    process = start()
    with monkeypatch.context() as patch:
        patch.setattr(IndexReading, "texts", endless)
        searching = asyncio.create_task(process.found(kb, "whales"))
        await is_reading.wait()
        await process.end()
        with pytest.raises(StoreLoadingError):
            await searching
    assert await start().found(kb, "whales") == ["d0"]


async def test_failed_refresh_is_made_up_for_by_the_next(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kb.write("d0", "whales")
    process = start()
    await process.found(kb, "whales")
    await kb.write("d1", "whales")
    await kb.take_out("d0")
    real = IndexReading.texts

    async def broken(at: IndexReading, generation_ids: set[str] | None) -> AsyncIterator[list[ChunkText]]:
        async for chunks in real(at, generation_ids):
            yield chunks
        raise ConnectionError("the network is gone")

    with monkeypatch.context() as patch:
        patch.setattr(IndexReading, "texts", broken)
        with pytest.raises(ConnectionError):
            await process.found(kb, "whales")
    assert len(await process.hits(kb, "whales")) == 1
    assert await process.found(kb, "whales") == ["d1"]


async def test_filter_counts_within_the_search(start: Start, kb: Texts) -> None:
    for number in range(30):
        await kb.write(f"d{number}", "whales")
    ids = ("d7", "d19")
    chunk_filter = ChunkFilter(In(BuiltInField.DOCUMENT_ID, ids), DocumentSet(frozenset(ids)))
    hits = await start().hits(kb, "whales", limit=5, chunk_filter=chunk_filter)
    assert [hit.document_id for hit in hits] == ["d19", "d7"]


async def test_deleted_knowledge_base_is_not_found_and_leaves_the_disk(
    start: Start, kb: Texts, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    await kb.write("d0", "whales")
    process = start()
    await process.found(kb, "whales")
    epoch = await kb.epoch()
    assert process.root is not None
    directory = process.root / kb.kb_id
    assert directory.exists()
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(kb.kb_id)})
    changed = epoch.model_copy(update={"epoch": epoch.epoch + 1, "commit_id": new_id()})
    with pytest.raises(NotFoundError):
        await process.hits(kb, "whales", epoch=changed)
    await eventually(lambda: not directory.exists())


async def test_knowledge_base_removed_while_its_place_is_opened_is_not_found(
    start: Start, kb: Texts, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kb.write("d0", "whales")
    epoch = await kb.epoch()
    await migrated.database["kb_epochs"].delete_one({"_id": object_id(kb.kb_id)})
    real = Shelf.take

    def taken_and_removed(shelf: Shelf, kb_id: str) -> Place | None:
        place = real(shelf, kb_id)
        shelf.remove(kb_id)
        return place

    monkeypatch.setattr(Shelf, "take", taken_and_removed)
    with pytest.raises(NotFoundError):
        await start().hits(kb, "whales", epoch=epoch)


async def test_search_whose_index_is_let_go_meanwhile_makes_it_anew(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kb.write("d0", "whales")
    process, refreshing = start(), asyncio.Event()
    real = KeywordReplica._refresh

    async def endless(_: KeywordReplica) -> None:
        monkeypatch.setattr(KeywordReplica, "_refresh", real)
        refreshing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(KeywordReplica, "_refresh", endless)
    searching = asyncio.create_task(process.found(kb, "whales"))
    await refreshing.wait()
    await process.index._let_go(kb.kb_id)
    assert await searching == ["d0"]


async def test_index_of_another_organization_is_not_read(start: Start, kb: Texts) -> None:
    """Every query on chunks and entries has the organization."""
    await kb.write("d0", "whales")
    stranger = kb.knowledge_base.model_copy(update={"organization_id": new_id()})
    process = start()
    assert await process.index.search(stranger, await kb.epoch(), "whales", limit=9, chunk_filter=None) == []


async def test_writer_rests_after_the_last_change_and_goes_on_with_the_next(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.retrieval.backends.local.keywords.replica.REST_SECONDS", 0.0)
    rested = asyncio.Event()
    real = KeywordReplica._rest

    async def told(mirror: KeywordReplica) -> None:
        await real(mirror)
        rested.set()

    monkeypatch.setattr(KeywordReplica, "_rest", told)
    process = start()
    for number in range(3):
        await kb.write(f"d{number}", "whales")
        assert len(await process.hits(kb, "whales")) == number + 1
        await asyncio.wait_for(rested.wait(), 60)
        rested.clear()
