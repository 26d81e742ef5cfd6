"""One reading of the change log feeds the vectors and the keyword index; both searches of a reader see one version."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

import numpy as np
import pytest

from analytiq.errors import StoreLoadingError
from analytiq.models.index_entry import IndexChange
from analytiq.retrieval.backends.base import KeywordHit, VectorHit
from analytiq.retrieval.backends.local.backend import LocalBackend
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.backends.local.reader import LocalReader
from analytiq.retrieval.backends.local.vectors.store import LocalVectorStore
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.index_contents import (
    ChunkText,
    IndexContentRepository,
    IndexedGeneration,
    IndexReading,
    VectorSink,
)
from tests.integration.conftest import EventuallyTrue
from tests.integration.lexical.conftest import Texts
from tests.integration.vector_stores.conftest import DIMENSIONS

QUERY = np.ones(DIMENSIONS, dtype=np.float32)
Found = tuple[list[VectorHit], list[KeywordHit]]
Ids = Collection[str] | None


class Process:
    """Both indexes of one process."""

    def __init__(self, connection: MongoConnection, root: Path, *, wait: float) -> None:
        contents = IndexContentRepository(connection)
        self.vectors = LocalVectorStore(contents, memory_bytes=2**30, load_wait_seconds=wait)
        self.keywords = LocalLexicalIndex(contents, root, disk_bytes=2**30, build_wait_seconds=wait)
        self.backend = LocalBackend(self.vectors, self.keywords, has_keywords=True)

    async def reader(self, kb: Texts) -> LocalReader:
        return self.backend.reader(kb.knowledge_base, await kb.epoch())

    async def both(self, kb: Texts) -> Found:
        reader = await self.reader(kb)
        return await asyncio.gather(by_vector(reader), by_keyword(reader))

    async def documents(self, kb: Texts) -> tuple[set[str], set[str]]:
        by_vectors, by_keywords = await self.both(kb)
        return {hit.document_id for hit in by_vectors}, {hit.document_id for hit in by_keywords}


async def by_vector(reader: LocalReader) -> list[VectorHit]:
    return await reader.vector_search(QUERY, limit=1000, chunk_filter=None)


async def by_keyword(reader: LocalReader) -> list[KeywordHit]:
    return await reader.keyword_search("whales", limit=1000, chunk_filter=None)


Start = Callable[..., Process]


@pytest.fixture
async def start(migrated: MongoConnection, tmp_path: Path) -> AsyncIterator[Start]:
    processes: list[Process] = []

    def started(*, wait: float = 30.0) -> Process:
        processes.append(Process(migrated, tmp_path / "lexical", wait=wait))
        return processes[-1]

    yield started
    for process in processes:
        await process.backend.close()


class Gate:
    """Holds up whoever reads texts, or all vectors, until it is opened; both are the real readings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts, self.loads = asyncio.Event(), asyncio.Event()
        self.is_reading = asyncio.Event()
        self.texts.set()
        self.loads.set()
        texts, vectors = IndexReading.texts, IndexReading.vectors

        async def held_texts(at: IndexReading, generation_ids: Ids) -> AsyncIterator[list[ChunkText]]:
            self.is_reading.set()
            await self.texts.wait()
            async for chunks in texts(at, generation_ids):
                yield chunks

        async def held_vectors(at: IndexReading, generation_ids: Ids, sink: VectorSink) -> list[IndexedGeneration]:
            if generation_ids is None:
                await self.loads.wait()
            return await vectors(at, generation_ids, sink)

        monkeypatch.setattr(IndexReading, "texts", held_texts)
        monkeypatch.setattr(IndexReading, "vectors", held_vectors)


async def test_both_searches_see_one_version_beside_a_writer(start: Start, kb: Texts) -> None:
    process = start()
    choices = np.random.default_rng(5)
    is_over = False

    async def search_on() -> int:
        count = 0
        while not is_over:
            by_vectors, by_keywords = await process.both(kb)
            assert {hit.generation_id for hit in by_vectors} == {hit.generation_id for hit in by_keywords}
            assert len(by_vectors) == len(by_keywords)
            count += 1
        return count

    searching = [asyncio.create_task(search_on()) for _ in range(3)]
    for _ in range(60):
        document_id = f"d{choices.integers(8)}"
        if document_id in kb.truth and choices.integers(4) == 0:
            await kb.take_out(document_id)
        else:
            await kb.write(document_id, *["whales"] * int(choices.integers(1, 4)))
    is_over = True
    assert all(await asyncio.gather(*searching))
    assert await process.documents(kb) == (set(kb.truth), set(kb.truth))


async def test_one_reading_of_the_change_log_feeds_both(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, readings, real = start(), 0, IndexReading.changes

    async def counted(at: IndexReading, *, after: int) -> list[IndexChange]:
        nonlocal readings
        readings += 1
        return await real(at, after=after)

    monkeypatch.setattr(IndexReading, "changes", counted)
    await kb.write("d0", "whales")
    assert await process.documents(kb) == ({"d0"}, {"d0"})
    assert readings == 0  # both have been made from everything
    for number in range(1, 4):
        await kb.write(f"d{number}", "whales")
        assert await process.documents(kb) == (set(kb.truth), set(kb.truth))
        assert readings == number


async def test_indexes_of_different_versions_are_brought_to_one(start: Start, kb: Texts) -> None:
    """As after commits that have fed the keyword index alone."""
    process = start()
    await kb.write("d0", "whales")
    await process.both(kb)
    await kb.write("d1", "whales")
    await process.backend.follow(kb.knowledge_base, await kb.epoch())
    assert await process.documents(kb) == ({"d0", "d1"}, {"d0", "d1"})
    await kb.write("d2", "whales")
    reader = process.backend.reader(kb.knowledge_base, await kb.epoch(), with_keywords=False)
    assert len(await by_vector(reader)) == 3
    assert await process.documents(kb) == (set(kb.truth), set(kb.truth))


async def test_lost_history_is_left_by_both(start: Start, kb: Texts, migrated: MongoConnection) -> None:
    process = start()
    await kb.write("d0", "whales")
    await process.both(kb)
    await kb.write("d1", "whales")
    await kb.write("d2", "whales")
    await migrated.database["kb_changes"].delete_one({"kb_id": kb.kb_id, "epoch": 2})
    assert await process.documents(kb) == ({"d0", "d1", "d2"}, {"d0", "d1", "d2"})


async def test_vectors_go_on_alone_while_the_keyword_index_takes_long(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    gate, process = Gate(monkeypatch), start()
    await kb.write("d0", "whales")
    await process.both(kb)
    process.keywords.wait_seconds = 0.05
    gate.texts.clear()
    for number in range(1, 3):
        await kb.write(f"d{number}", "whales")
        reader = await process.reader(kb)
        with pytest.raises(StoreLoadingError):
            await by_keyword(reader)
        assert len(await by_vector(reader)) == number + 1
        assert process.backend.is_building_keywords(kb.kb_id)
    gate.texts.set()

    async def is_whole() -> bool:
        try:
            return await process.documents(kb) == (set(kb.truth), set(kb.truth))
        except StoreLoadingError:
            return False

    await eventually(is_whole)


async def test_keyword_index_goes_on_alone_while_vectors_are_loaded(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, process = Gate(monkeypatch), start()
    process.vectors.wait_seconds = 0.05
    gate.loads.clear()
    await kb.write("d0", "whales")
    reader = await process.reader(kb)
    with pytest.raises(StoreLoadingError):
        await by_vector(reader)
    assert len(await by_keyword(reader)) == 1
    process.vectors.wait_seconds = 30.0
    gate.loads.set()
    assert await process.documents(kb) == ({"d0"}, {"d0"})


async def test_reader_for_one_search_never_makes_the_other_ones_index(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, process = Gate(monkeypatch), start()
    gate.texts.clear()
    gate.loads.clear()
    await kb.write("d0", "whales")
    gate.loads.set()
    vectors = process.backend.reader(kb.knowledge_base, await kb.epoch(), with_keywords=False)
    assert len(await by_vector(vectors)) == 1
    gate.texts.set()
    await kb.write("d1", "whales")
    other = start()
    gate.loads.clear()
    keywords = other.backend.reader(kb.knowledge_base, await kb.epoch(), with_vectors=False)
    assert len(await by_keyword(keywords)) == 2


async def test_failure_of_one_index_leaves_the_other_one_and_is_made_up_for(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    await kb.write("d0", "whales")
    await process.both(kb)
    await kb.write("d1", "whales")
    real = IndexReading.texts

    async def broken(at: IndexReading, generation_ids: Ids) -> AsyncIterator[list[ChunkText]]:
        async for chunks in real(at, generation_ids):
            yield chunks
        raise ConnectionError("the network is gone")

    with monkeypatch.context() as patch:
        patch.setattr(IndexReading, "texts", broken)
        reader = await process.reader(kb)
        assert len(await by_vector(reader)) == 2
        with pytest.raises(ConnectionError):
            await by_keyword(reader)
    assert await process.documents(kb) == ({"d0", "d1"}, {"d0", "d1"})


async def test_indexes_that_are_let_go_meanwhile_are_made_anew(
    start: Start, kb: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, process = Gate(monkeypatch), start()
    await kb.write("d0", "whales")
    await process.both(kb)
    await kb.write("d1", "whales")
    gate.is_reading.clear()
    gate.texts.clear()
    searching = asyncio.create_task(process.documents(kb))
    await asyncio.wait_for(gate.is_reading.wait(), 30)
    process.vectors._let_go(kb.kb_id)
    await process.keywords._let_go(kb.kb_id)
    gate.texts.set()
    assert await searching == ({"d0", "d1"}, {"d0", "d1"})
