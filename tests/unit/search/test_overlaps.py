"""A passage found in several index types is shown once, in the smallest, at the best of their ranks."""

from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.index_types import IndexType, first_index_of, index_type_at
from analytiq.retrieval.pipeline.context import Hit, Key
from analytiq.retrieval.pipeline.overlaps import Span, in_several_types, without_overlaps
from analytiq.retrieval.pipeline.request import HitScores

PARAGRAPH, SECTION, WEBSITE = (first_index_of(one) for one in IndexType)
SPANS: dict[int, Span] = {
    PARAGRAPH: (0, 10), PARAGRAPH + 1: (12, 20), PARAGRAPH + 2: (22, 30), PARAGRAPH + 3: (32, 40),
    SECTION: (0, 20), SECTION + 1: (22, 40), WEBSITE: (0, 40),
}  # fmt: skip


def hit(index: int, rank: int, generation: str = "g") -> Hit:
    return Hit("kb", generation, "d", index, HitScores(fused=1.0 - rank / 100))


def spans_of(hits: list[Hit]) -> dict[Key, Span]:
    return {one.key: SPANS[one.chunk_index] for one in hits}


def shown(*found: int) -> list[int]:
    hits = [hit(index, rank) for rank, index in enumerate(found)]
    return [one.chunk_index for one in without_overlaps(hits, spans_of(hits))]


def test_larger_hit_gives_its_place_to_the_best_smaller_one_in_it() -> None:
    assert shown(SECTION, PARAGRAPH + 2, PARAGRAPH + 1, PARAGRAPH) == [PARAGRAPH + 1, PARAGRAPH + 2, PARAGRAPH]
    assert shown(PARAGRAPH, SECTION) == [PARAGRAPH]
    assert shown(WEBSITE, SECTION + 1, PARAGRAPH) == [SECTION + 1, PARAGRAPH]
    assert shown(WEBSITE, PARAGRAPH + 3, SECTION + 1) == [PARAGRAPH + 3]


def test_larger_hit_without_a_smaller_one_stays() -> None:
    assert shown(SECTION, PARAGRAPH + 2) == [SECTION, PARAGRAPH + 2]
    assert shown(WEBSITE) == [WEBSITE]


def test_place_comes_with_the_score_of_the_larger_hit() -> None:
    section, paragraph = hit(SECTION, 0), hit(PARAGRAPH, 1)
    assert without_overlaps([section, paragraph], spans_of([section, paragraph])) == [paragraph]
    assert paragraph.scores.fused == 1.0


def test_other_documents_and_unread_places_are_left_alone() -> None:
    hits = [hit(SECTION, 0, "a"), hit(PARAGRAPH, 1, "b"), hit(PARAGRAPH, 2, "c"), hit(SECTION, 3, "c")]
    assert without_overlaps(hits, {}) == hits
    assert [one.generation_id for one in without_overlaps(hits, spans_of(hits))] == ["a", "b", "c"]
    assert in_several_types(hits) == hits[2:]


@given(st.lists(st.sampled_from(sorted(SPANS)), unique=True))
def test_no_shown_hit_has_a_smaller_one_in_it_and_nothing_else_is_left_out(found: list[int]) -> None:
    kept = shown(*found)
    assert set(kept) <= set(found)
    for index in found:
        smaller = [
            other
            for other in found
            if index_type_at(other) != index_type_at(index)
            and SPANS[index][0] <= SPANS[other][0] < SPANS[other][1] <= SPANS[index][1]
        ]
        assert (index in kept) == (not smaller)
