"""The buffers in memory against the plainest reading of them: every live row, scored and sorted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors import view as view_module
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.view import View
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    DocumentSet,
    Outside,
    PageComparison,
    PageIn,
    Selection,
    contains,
)
from analytiq.retrieval.filters.tree import Comparator
from tests.examples import examples

DIMENSIONS = 3
# Few directions, so that ties are common, and cosines that differ at all differ by far more than float32 can blur.
DIRECTIONS = np.asarray(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 2, 0], [-1, 0, 0], [1, 1, 1], [3, -1, 2]], dtype=np.float32
)

generations = st.tuples(st.integers(0, 5), st.lists(st.integers(0, len(DIRECTIONS) - 1), min_size=0, max_size=5))
pages = st.sampled_from([-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 1e300])
comparators = st.sampled_from([comparator for comparator in Comparator if comparator is not Comparator.NOT_EQUAL])
selections: st.SearchStrategy[Selection] = st.recursive(
    st.builds(DocumentSet, st.frozensets(st.sampled_from([f"d{number}" for number in range(8)]), max_size=4))
    | st.builds(PageComparison, comparators, pages)
    | st.builds(PageIn, st.lists(pages, max_size=3).map(tuple)),
    lambda inner: (
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Outside, inner)
    ),
    max_leaves=6,
)


def pages_of(chunk_index: int) -> tuple[int, int]:
    """The first and the last page of a chunk: some chunks lie on two pages."""
    return 1 + chunk_index // 2, 1 + (chunk_index + 1) // 2


@dataclass
class Plain:
    """generation id → (document id, rows); nothing else."""

    rows: dict[str, tuple[str, list[int]]]

    def nearest(
        self, query: NDArray[np.float32], limit: int, selection: Selection | None
    ) -> list[tuple[str, int, float]]:
        scored = [
            (document_id, chunk_index, cosine(DIRECTIONS[direction], query))
            for document_id, directions in self.rows.values()
            for chunk_index, direction in enumerate(directions)
            if holds(selection, document_id, chunk_index)
        ]
        return sorted(scored, key=lambda row: (-round(row[2], 5), row[0], row[1]))[:limit]


def cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def generation(generation_id: str, document: int, directions: Sequence[int], scale: float = 1.0) -> GenerationVectors:
    vectors = DIRECTIONS[list(directions)] * np.float32(scale) if directions else np.zeros((0, 0), np.float32)
    return in_memory(generation_id, document, vectors)


def in_memory(generation_id: str, document: int, vectors: NDArray[np.float32]) -> GenerationVectors:
    """As they come from the database: in no order."""
    places = np.asarray([(index, *pages_of(index)) for index in range(len(vectors))], dtype=np.int32).reshape(-1, 3)
    chunk_indexes, first_pages, last_pages = places[::-1].T
    return GenerationVectors(generation_id, f"d{document}", chunk_indexes, first_pages, last_pages, vectors[::-1])


@examples(150)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.lists(generations, max_size=4)),
            st.tuples(st.just("remove"), st.lists(st.integers(0, 30), max_size=4)),
        ),
        max_size=12,
    ),
    query=st.integers(0, len(DIRECTIONS) - 1),
    limit=st.integers(0, 40),
    selection=st.none() | selections,
    exact_cells=st.sampled_from([0, 10, 400_000]),
    gather_share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_what_is_found_is_what_a_plain_scan_finds(
    steps: list[tuple[str, list[object]]],
    query: int,
    limit: int,
    selection: Selection | None,
    exact_cells: int,
    gather_share: float,
) -> None:
    buffers = VectorMatrix(DIMENSIONS)
    plain = Plain({})
    views: list[tuple[View, list[tuple[str, int, float]], int]] = []
    names = iter(range(1_000))

    def expected() -> list[tuple[str, int, float]]:
        return plain.nearest(DIRECTIONS[query], limit, selection)

    for kind, values in steps:
        removed: list[str] = []
        if kind == "add":
            added = [(f"g{next(names)}", *value) for value in values]  # type: ignore[misc]
            # One generation of a document is current at a time.
            fresh = {document: (name, document, rows) for name, document, rows in added}
            taken = {document_id for document_id, _ in plain.rows.values()}
            chosen = [value for value in fresh.values() if f"d{value[1]}" not in taken]
            buffers.add([generation(name, document, rows, scale=2.5) for name, document, rows in chosen])
            plain.rows |= {name: (f"d{document}", rows) for name, document, rows in chosen if rows}
        else:
            gone = [f"g{value}" for value in values]
            removed = gone
            for name in gone:
                plain.rows.pop(name, None)
        views.append((buffers.publish(removed), expected(), count(plain, selection)))
    # Views of the past are checked after all that came later: nothing reaches into them.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view_module, "EXACT_CELLS", exact_cells)
        patch.setattr(view_module, "GATHER_SHARE", gather_share)
        for view, rows, total in views:
            found = view.nearest(DIRECTIONS[query], limit=limit, selection=selection)
            assert [(row.document_id, row.chunk_index) for row in found] == [row[:2] for row in rows]
            assert [row.cosine for row in found] == pytest.approx([row[2] for row in rows], abs=1e-5)
            assert view.count(selection) == total


def count(plain: Plain, selection: Selection | None) -> int:
    return sum(
        holds(selection, document_id, chunk_index)
        for document_id, rows in plain.rows.values()
        for chunk_index in range(len(rows))
    )


def holds(selection: Selection | None, document_id: str, chunk_index: int) -> bool:
    return selection is None or contains(selection, document_id, *pages_of(chunk_index), chunk_index=chunk_index)


def test_equal_chunks_are_in_order_of_document_and_chunk_whatever_the_order_of_loading() -> None:
    """Else the second page of a search could repeat what the first one, from another process, has shown."""
    found: list[list[tuple[str, int]]] = []
    random = np.random.default_rng(3)
    same = random.standard_normal((1, 384)).astype(np.float32)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        buffers = VectorMatrix(384)
        for document in order:
            vectors = np.repeat(same, 7, axis=0)
            buffers.add([in_memory(f"g{document}", document, vectors)])
        hits = buffers.publish().nearest(random.standard_normal(384).astype(np.float32), limit=28, selection=None)
        found.append([(hit.document_id, hit.chunk_index) for hit in hits])
    expected = [(f"d{document}", chunk) for document in range(4) for chunk in range(7)]
    assert found == [expected, expected]


def test_cosines_of_single_chunks_are_those_of_the_search() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    buffers.add([generation("g0", 0, [0, 3, 5]), generation("g1", 1, [6])])
    buffers.publish()
    view = buffers.publish(["g1"])
    query = DIRECTIONS[4]
    found = view.cosines(query, [("g0", 1), ("g0", 2), ("g0", 9), ("g1", 0), ("unknown", 0)])
    by_search = {
        (row.generation_id, row.chunk_index): row.cosine for row in view.nearest(query, limit=9, selection=None)
    }
    assert found == {key: pytest.approx(by_search[key]) for key in [("g0", 1), ("g0", 2)]}


def test_generation_that_is_there_already_is_not_added_twice() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    for _ in range(2):
        buffers.add([generation("g0", 0, [0, 1])])
        buffers.publish()
    assert buffers.publish().count(None) == 2


def test_removed_rows_give_their_memory_back_when_the_rest_is_written_anew() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    buffers.add([generation(f"g{number}", number, [number % 8] * 50) for number in range(100)])
    before = buffers.publish()
    assert not buffers.is_sparse
    buffers.publish([f"g{number}" for number in range(90)])
    assert buffers.is_sparse
    smaller = buffers.compacted(buffers.view())
    assert smaller is not None
    assert smaller.byte_size < buffers.byte_size / 5
    assert smaller.numbering != buffers.numbering
    assert (smaller.view().live_rows, smaller.rows, before.live_rows) == (500, 500, 5000)
    for query in DIRECTIONS:
        assert smaller.view().nearest(query, limit=60, selection=None) == buffers.view().nearest(
            query, limit=60, selection=None
        )


def test_appending_many_small_generations_does_not_copy_what_is_there() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    for number in range(500):
        buffers.add([generation(f"g{number}", number, [0] * 4)])
        buffers.publish()
    segments = [part.segment for part in buffers.view().parts]
    assert len(segments) < 10
    assert buffers.view().count(None) == 2_000
    assert sum(segment.capacity for segment in segments) < 3_000


def test_what_was_added_and_not_published_can_be_taken_back() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    buffers.add([generation("g0", 0, [0, 1])])
    buffers.publish()
    buffers.add([generation("g1", 0, [2] * 400), generation("g2", 1, [3])])
    assert buffers.view().count(None) == 2
    buffers.discard()
    buffers.add([generation("g1", 0, [4, 4, 4])])
    view = buffers.publish(["g0"])
    assert [row.generation_id for row in view.nearest(DIRECTIONS[4], limit=9, selection=None)] == ["g1"] * 3
    assert view.count(DocumentSet(frozenset(["d0", "d1"]))) == 3
    assert buffers.rows_of("g2") == 0


def test_generation_that_comes_in_parts_is_one() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    whole = generation("g0", 0, [0, 1, 2, 3, 4])
    for rows in (slice(0, 2), slice(2, 5)):
        buffers.add(
            [
                GenerationVectors(
                    "g0",
                    "d0",
                    whole.chunk_indexes[rows],
                    whole.first_pages[rows],
                    whole.last_pages[rows],
                    whole.matrix[rows],
                )
            ]
        )
    view = buffers.publish()
    assert sorted(row.chunk_index for row in view.nearest(DIRECTIONS[0], limit=9, selection=None)) == [0, 1, 2, 3, 4]
    assert len(view.cosines(DIRECTIONS[0], [("g0", index) for index in range(6)])) == 5
    assert buffers.publish(["g0"]).count(None) == 0


def test_vector_of_zeros_is_near_to_nothing_and_breaks_nothing() -> None:
    buffers = VectorMatrix(DIMENSIONS)
    zeros = np.zeros((1, DIMENSIONS), dtype=np.float32)
    buffers.add([in_memory("g0", 0, zeros), generation("g1", 1, [0])])
    found = buffers.publish().nearest(DIRECTIONS[0], limit=2, selection=None)
    assert [(row.document_id, row.cosine) for row in found] == [("d1", 1.0), ("d0", 0.0)]
