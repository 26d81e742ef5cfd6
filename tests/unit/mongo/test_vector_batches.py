"""Raw batches read by columns and row by row give the same."""

from typing import Any

import bson
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analytiq.storage.repositories import vector_batches
from analytiq.storage.repositories.vector_batches import generations_in
from analytiq.storage.repositories.vectors import to_bindata

GENERATIONS = {f"{number:024x}": f"document {number}" for number in range(4)}


def row(generation: int, chunk_index: int, dimensions: int = 3, **fields: Any) -> dict[str, Any]:
    vector = np.arange(dimensions, dtype=np.float32) + 100 * generation + chunk_index
    return {
        "generation_id": f"{generation:024x}",
        "chunk_index": chunk_index,
        "embedding": to_bindata(vector),
        "first_page": chunk_index + 1,
        "last_page": chunk_index + 2,
        **fields,
    }


def batch_of(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(bson.encode(row) for row in rows)


def plain(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            row["generation_id"],
            GENERATIONS[row["generation_id"]],
            row["chunk_index"],
            row["first_page"],
            row["last_page"],
            np.frombuffer(row["embedding"][2:], "<f4").tolist(),
        )
        for row in rows
        if row["generation_id"] in GENERATIONS
    ]


def read(batch: bytes) -> list[tuple[Any, ...]]:
    return [
        (run.generation_id, run.document_id, *(int(column[place]) for column in places), run.matrix[place].tolist())
        for run in generations_in(batch, GENERATIONS)
        for places in [(run.chunk_indexes, run.first_pages, run.last_pages)]
        for place in range(len(run.matrix))
    ]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 2**31 - 5), st.sampled_from([3, 3, 3, 3, 4])).map(
            lambda drawn: row(*drawn)
        ),
        max_size=12,
    )
)
def test_every_batch_is_read_as_it_is(rows: list[dict[str, Any]]) -> None:
    assert read(batch_of(rows)) == plain(rows)


def test_runs_of_a_generation_stay_together() -> None:
    rows = [row(0, 0), row(0, 1), row(1, 0), row(0, 2)]
    found = [(run.generation_id[-1], len(run.matrix)) for run in generations_in(batch_of(rows), GENERATIONS)]
    assert found == [("0", 2), ("1", 1), ("0", 1)]


def test_rows_built_in_another_way_are_read_too() -> None:
    """Numbers of 64 bits, another order of fields, ids of another length: of equal length in all, and yet no table."""
    ordered = row(0, 1)
    swapped = {key: ordered[key] for key in ("embedding", "last_page", "first_page", "chunk_index", "generation_id")}
    assert len(bson.encode(ordered)) == len(bson.encode(swapped))
    rows = [ordered, swapped, row(1, 5)]
    assert read(batch_of(rows)) == plain(rows)
    wide = [row(0, bson.Int64(7)), row(0, bson.Int64(8))]
    assert read(batch_of(wide)) == plain(wide)
    assert vector_batches._as_table(batch_of(wide)) is None


def test_table_is_read_without_an_object_for_each_row() -> None:
    assert vector_batches._as_table(batch_of([row(0, number) for number in range(5)])) is not None
