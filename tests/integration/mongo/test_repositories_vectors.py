"""Staging, reading and sweeping of vectors on a real mongod."""

import numpy as np
import pytest

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories import vectors
from analytiq.storage.repositories.vectors import VectorRepository, from_bindata, to_bindata

random = np.random.default_rng(5)


@pytest.fixture
def repository(migrated: MongoConnection) -> VectorRepository:
    return VectorRepository(migrated)


def owner(kb_id: str, vectors_uuid: str, *, generation_id: str | None = None) -> VectorOwner:
    return VectorOwner(
        organization_id="o",
        kb_id=kb_id,
        vectors_uuid=vectors_uuid,
        document_id="d",
        generation_id=generation_id or new_id(),
        metadata_snapshot={"metadata": {"k": [1, None, {"x": "é"}]}},
        indexed_at=clock.now(),
    )


def rows(count: int, *, text: str = "text") -> list[VectorRow]:
    return [
        VectorRow(
            chunk_index=index,
            chunk_hash=f"h{index}",
            chunk_text=f"{text} {index}",
            embedding=random.standard_normal(6).astype(np.float32),
            token_count=index,
            start=10 * index,
            end=10 * index + 9,
            first_page=1,
            last_page=2,
        )
        for index in range(count)
    ]


def test_vectors_come_back_bit_by_bit() -> None:
    vector = np.asarray([0.1, -0.0, 1e-40, 3.4e38, 5], dtype=np.float32)
    stored = to_bindata(vector)
    assert stored.subtype == 9
    assert len(stored) == 2 + 4 * 5
    assert from_bindata(stored).tobytes() == vector.tobytes()
    assert from_bindata(to_bindata(vector[::2])).tobytes() == vector[::2].tobytes()


async def test_staged_rows_are_stored_as_the_schema_says(
    repository: VectorRepository, migrated: MongoConnection
) -> None:
    kb_id = new_id()
    staged = owner(kb_id, await repository.create_collection(kb_id))
    await repository.stage(staged, rows(3))
    stored = [row async for row in migrated.database[f"kb_vectors_{kb_id}"].find({}).sort("chunk_index", 1)]
    assert [row["chunk_text"] for row in stored] == ["text 0", "text 1", "text 2"]
    assert set(stored[0]) == {
        *("_id", "organization_id", "document_id", "generation_id", "metadata_snapshot", "indexed_at"),
        *("chunk_index", "chunk_hash", "chunk_text", "embedding", "token_count", "start", "end"),
        *("first_page", "last_page"),
    }
    assert stored[0]["metadata_snapshot"] == staged.metadata_snapshot
    assert stored[0]["indexed_at"] == staged.indexed_at
    assert await repository.count(kb_id, staged.generation_id) == 3


async def test_rows_too_heavy_for_one_command_go_in_several(
    repository: VectorRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MAX_COMMAND_BYTES", 2_000)
    kb_id = new_id()
    staged = owner(kb_id, await repository.create_collection(kb_id))
    heavy = rows(20, text="x" * 900)
    heavy[7] = rows(8, text="y" * 5_000)[7]  # heavier than the bound by itself
    await repository.stage(staged, heavy)
    assert await repository.count(kb_id, staged.generation_id) == 20


async def test_dropped_collection_is_not_brought_back(repository: VectorRepository, migrated: MongoConnection) -> None:
    kb_id = new_id()
    staged = owner(kb_id, await repository.create_collection(kb_id))
    await repository.drop_collection(kb_id)
    with pytest.raises(ConflictError) as caught:
        await repository.stage(staged, rows(2))
    assert caught.value.code == "kb_deleted"
    assert await repository.kb_ids() == []
    # Nor is one of the same name written to, that came after it.
    await repository.create_collection(kb_id)
    with pytest.raises(ConflictError):
        await repository.stage(staged, rows(2))
    assert await migrated.database[f"kb_vectors_{kb_id}"].count_documents({}) == 0


async def test_only_one_generation_is_deleted_and_only_of_its_organization(repository: VectorRepository) -> None:
    kb_id = new_id()
    identifier = await repository.create_collection(kb_id)
    first, second = owner(kb_id, identifier), owner(kb_id, identifier)
    for each in (first, second):
        await repository.stage(each, rows(4))
    assert await repository.delete_generation("another", kb_id, first.generation_id) == 0
    assert await repository.delete_generation("o", kb_id, first.generation_id) == 4
    assert [await repository.count(kb_id, each.generation_id) for each in (first, second)] == [0, 4]


async def test_sweep_of_a_dropped_collection_does_not_bring_it_back(repository: VectorRepository) -> None:
    assert await repository.delete_generation("o", new_id(), new_id()) == 0
    assert await repository.kb_ids() == []


async def test_passages_are_read_by_generation_and_place(repository: VectorRepository) -> None:
    kb_id = new_id()
    identifier = await repository.create_collection(kb_id)
    first, second = owner(kb_id, identifier), owner(kb_id, identifier)
    for each in (first, second):
        await repository.stage(each, rows(4, text=each.generation_id))
    wanted = [(first.generation_id, 1), (second.generation_id, 3), (second.generation_id, 99), (new_id(), 0)]
    found = await repository.passages("o", kb_id, wanted)
    assert set(found) == set(wanted[:2])
    passage = found[second.generation_id, 3]
    assert passage.chunk_text == f"{second.generation_id} 3"
    assert (passage.start, passage.end, passage.first_page, passage.last_page) == (30, 39, 1, 2)
    assert await repository.passages("another", kb_id, wanted) == {}
    assert await repository.passages("o", kb_id, []) == {}
