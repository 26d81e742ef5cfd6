"""Chunks that are shown for matches: neighbours beside their match, none twice, none of another document."""

from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.index_types import ChunkCounts, IndexType, first_index_of
from analytiq.retrieval.pipeline.context import Hit
from analytiq.retrieval.pipeline.expand import with_neighbors
from analytiq.retrieval.pipeline.request import HitScores

COUNTS = {f"g{number}": count for number, count in enumerate([1, 3, 8, 30])}


def hit(generation: int, chunk_index: int, relevance: float = 0.5) -> Hit:
    return Hit("kb", f"g{generation}", f"d{generation}", chunk_index, HitScores(vector=relevance))


places = st.sampled_from([(number, index) for number in range(4) for index in range(COUNTS[f"g{number}"])])
hits = st.lists(places, unique=True, max_size=20).map(
    lambda found: [hit(number, index, 1.0 - rank / 100) for rank, (number, index) in enumerate(found)]
)


def planned(found: list[Hit], neighbors: int) -> list[Hit]:
    counts = {generation_id: ChunkCounts.of(count) for generation_id, count in COUNTS.items()}
    return with_neighbors(found, neighbors={"kb": neighbors}, chunk_counts=counts)


@given(found=hits, neighbors=st.integers(0, 6))
def test_every_match_is_shown_once_and_no_chunk_twice(found: list[Hit], neighbors: int) -> None:
    shown = planned(found, neighbors)
    keys = [(place.generation_id, place.chunk_index) for place in shown]
    assert len(keys) == len(set(keys))
    assert sorted(one.relevance for one in shown if one.is_matched) == sorted(one.relevance for one in found)


@given(found=hits, neighbors=st.integers(0, 6))
def test_what_is_shown_is_just_what_lies_near_enough_within_its_document(found: list[Hit], neighbors: int) -> None:
    near = {
        (one.generation_id, index)
        for one in found
        for index in range(one.chunk_index - neighbors, one.chunk_index + neighbors + 1)
        if 0 <= index < COUNTS[one.generation_id]
    }
    shown = planned(found, neighbors)
    assert {(place.generation_id, place.chunk_index) for place in shown} == near
    assert all(place.document_id == place.generation_id.replace("g", "d") for place in shown)


@given(found=hits, neighbors=st.integers(1, 6))
def test_passages_that_touch_are_in_reading_order_and_each_begins_where_its_best_match_ranks(
    found: list[Hit], neighbors: int
) -> None:
    runs: list[list[Hit]] = []
    for place in planned(found, neighbors):
        last = runs[-1][-1] if runs else None
        if last and (last.generation_id, last.chunk_index + 1) == (place.generation_id, place.chunk_index):
            runs[-1].append(place)
        else:
            runs.append([place])
    best = [max(place.relevance for place in run if place.is_matched) for run in runs]
    assert best == sorted(best, reverse=True)
    edges = {(run[0].generation_id, run[0].chunk_index - 1) for run in runs}
    assert not edges & {(run[-1].generation_id, run[-1].chunk_index) for run in runs}


@given(found=hits)
def test_without_neighbours_the_order_is_that_of_relevance(found: list[Hit]) -> None:
    assert planned(found, 0) == found


def test_example_of_two_windows_that_overlap() -> None:
    shown = planned([hit(2, 5, 0.9), hit(1, 0, 0.8), hit(2, 3, 0.7)], 1)
    assert [(place.document_id, place.chunk_index, place.is_matched) for place in shown] == [
        ("d2", 2, False),
        ("d2", 3, True),
        ("d2", 4, False),
        ("d2", 5, True),
        ("d2", 6, False),
        ("d1", 0, True),
        ("d1", 1, False),
    ]


def test_match_beyond_the_count_that_is_known_is_shown_all_the_same() -> None:
    shown = with_neighbors([hit(0, 4)], neighbors={"kb": 1}, chunk_counts={})
    assert [place.chunk_index for place in shown] == [3, 4]


def test_neighbors_have_the_index_type_of_their_match() -> None:
    counts = {"g0": ChunkCounts.of(5, {"paragraph": 3, "section": 2})}
    section = first_index_of(IndexType.SECTION)
    shown = with_neighbors([hit(0, 2), hit(0, section)], neighbors={"kb": 2}, chunk_counts=counts)
    assert [place.chunk_index for place in shown] == [0, 1, 2, section, section + 1]
