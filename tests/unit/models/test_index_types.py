from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.index_types import (
    INDEXES_OF_A_TYPE,
    ChunkCounts,
    IndexType,
    first_index_of,
    in_order,
    index_type_at,
    number_of,
)

by_types = st.dictionaries(st.sampled_from([one.value for one in IndexType]), st.integers(0, 5))


@given(st.sampled_from(list(IndexType)), st.integers(0, INDEXES_OF_A_TYPE - 1))
def test_index_of_a_chunk_tells_its_type_and_number(index_type: IndexType, number: int) -> None:
    index = first_index_of(index_type) + number
    assert (index_type_at(index), number_of(index)) == (index_type, number)
    assert index < 2**31


@given(by_types, st.integers(-3, 20), st.integers(-3, 20))
def test_slices_are_those_of_all_indexes_in_order(by_type: dict[str, int], first: int, stop: int) -> None:
    counts = ChunkCounts.of(0, by_type)
    everything = [index for indexes in counts.ranges for index in indexes]
    assert everything == sorted(everything)
    assert len(everything) == counts.total == sum(by_type.values())
    found = [index for indexes in counts.slices(first, stop) for index in indexes]
    assert found == everything[max(0, first) : max(0, stop)]
    assert [counts.at(number) for number in range(counts.total)] == everything
    for index in everything:
        alike = [other for other in everything if index_type_at(other) == index_type_at(index)]
        assert [*counts.around(index)] == alike


def test_chunks_of_an_older_release_are_paragraphs() -> None:
    assert ChunkCounts.of(3).ranges == [range(3)]
    assert ChunkCounts.of(3).stored() is None
    assert ChunkCounts.of(0, {"section": 2}).stored() == {"section": 2}


def test_types_are_put_in_order_each_once() -> None:
    given_types = [IndexType.WEBSITE, IndexType.PARAGRAPH, IndexType.WEBSITE]
    assert in_order(given_types) == (IndexType.PARAGRAPH, IndexType.WEBSITE)
