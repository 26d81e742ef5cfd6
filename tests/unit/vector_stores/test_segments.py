"""Rows are found and copied wherever they lie, in whatever order they are asked for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.vector import GenerationVectors
from analytiq.retrieval.backends.local.vectors.matrix import VectorMatrix
from analytiq.retrieval.backends.local.vectors.segments import Part, allocate, places_of
from analytiq.retrieval.filters.compilers.local_vectors import selected
from analytiq.retrieval.filters.selection import DocumentSet

sizes = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(sizes=sizes, data=st.data())
def test_gathered_rows_are_those_that_were_asked_for(sizes: list[int], data: st.DataObject) -> None:
    parts: list[Part] = []
    start = 0
    for size in sizes:
        segment = allocate(size, 3)
        segment.vectors[:] = np.arange(start, start + size, dtype=np.float32)[:, np.newaxis]
        segment.blocks[:] = np.arange(start, start + size)
        parts.append(Part(segment, start, size))
        start += size
    rows = np.asarray(data.draw(st.lists(st.integers(0, start - 1), max_size=12)), dtype=np.int64)
    for asked in (rows, np.sort(rows)):
        places = places_of(parts, asked)
        assert places.gather(lambda segment: segment.blocks).tolist() == asked.tolist()
        vectors = places.gather(lambda segment: segment.vectors)
        assert vectors.shape == (len(asked), 3)
        assert (vectors == asked[:, np.newaxis]).all()


@given(sizes=sizes, data=st.data())
def test_rows_of_documents_are_those_of_the_plain_reading(sizes: list[int], data: st.DataObject) -> None:
    matrix = VectorMatrix(2)
    names = st.sampled_from(["a", "b", "c", "d"])
    for number, size in enumerate(sizes):
        places = np.arange(size, dtype=np.int32)
        vectors = np.ones((size, 2), dtype=np.float32)
        matrix.add([GenerationVectors(f"g{number}", data.draw(names), places, places + 1, places + 1, vectors)])
    matrix.publish()
    view = matrix.publish(data.draw(st.sets(st.sampled_from([f"g{number}" for number in range(len(sizes))]))))
    selection = DocumentSet(frozenset(data.draw(st.sets(st.sampled_from(["a", "b", "c", "d", "unknown"])))))
    rows = view.selected_rows(selection)
    assert rows is not None
    assert rows.tolist() == np.flatnonzero(selected(selection, view) & view.alive).tolist()
