"""nDCG and recall against values computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ranking_measures import ndcg_at, recall_at

GRADES = {"a": 1.0, "b": 1.0, "c": 1.0}


def test_best_order_is_worth_one() -> None:
    assert ndcg_at(10, ["c", "a", "b", "x"], GRADES) == pytest.approx(1.0)


def test_places_count_by_their_logarithm() -> None:
    # Found at places 1 and 3 of 3 relevant: (1 + 1/2) / (1 + 1/log2(3) + 1/2) = 1.5 / 2.130930
    assert ndcg_at(10, ["a", "x", "b"], GRADES) == pytest.approx(0.703918, abs=1e-6)
    # The only one, at place 2: 1 / log2(3)
    assert ndcg_at(10, ["x", "a"], {"a": 1.0}) == pytest.approx(0.630930, abs=1e-6)


def test_grades_are_gains() -> None:
    # (1 + 3/log2(3)) / (3 + 1/log2(3)) = 2.892789 / 3.630930
    assert ndcg_at(10, ["one", "three"], {"one": 1.0, "three": 3.0}) == pytest.approx(0.796707, abs=1e-6)


def test_only_the_first_places_count_and_the_ideal_is_cut_as_well() -> None:
    assert ndcg_at(2, ["x", "y", "a"], GRADES) == 0.0
    assert ndcg_at(1, ["a"], GRADES) == 1.0


def test_documents_without_a_grade_or_of_grade_zero_gain_nothing() -> None:
    assert ndcg_at(10, ["zero", "minus", "unknown"], {"zero": 0.0, "minus": -1.0}) == 0.0
    assert ndcg_at(10, ["zero", "a"], {"zero": 0.0, "a": 1.0}) == pytest.approx(0.630930, abs=1e-6)


def test_document_that_is_listed_twice_counts_once() -> None:
    assert ndcg_at(10, ["a", "a"], {"a": 1.0}) == 1.0
    assert recall_at(2, ["x", "x", "a"], {"a": 1.0}) == 1.0


def test_recall_is_the_share_that_was_found_in_time() -> None:
    assert recall_at(100, ["a", "x", "b"], GRADES) == pytest.approx(2 / 3)
    assert recall_at(2, ["a", "x", "b"], GRADES) == pytest.approx(1 / 3)
    assert recall_at(100, ["a"], {"a": 1.0, "zero": 0.0}) == 1.0
    assert recall_at(100, [], GRADES) == recall_at(100, ["a"], {}) == 0.0


@given(
    ranking=st.lists(st.sampled_from("abcdefgh"), unique=True),
    grades=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3).map(float)),
)
def test_measures_lie_between_zero_and_one(ranking: list[str], grades: dict[str, float]) -> None:
    assert 0.0 <= ndcg_at(5, ranking, grades) <= 1.0 + 1e-12
    assert 0.0 <= recall_at(5, ranking, grades) <= 1.0
