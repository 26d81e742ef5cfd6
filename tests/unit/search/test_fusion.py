"""Two ranked lists become one."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.pipeline.fuse import RRF_K, reciprocal_ranks, weighted

scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.0, 1.0, width=32), max_size=8)


def order(fused: Mapping[str, float]) -> list[str]:
    return sorted(fused, key=lambda key: (-fused[key], key))


@given(vector=scores, lexical=scores, alpha=st.floats(0.0, 1.0))
def test_weighted_scores_lie_between_0_and_1_and_cover_both_lists(
    vector: dict[str, float], lexical: dict[str, float], alpha: float
) -> None:
    fused = weighted(vector, lexical, alpha=alpha)
    assert set(fused) == set(vector) | set(lexical)
    assert all(-1e-9 <= score <= 1.0 + 1e-9 for score in fused.values())


@given(vector=scores, lexical=scores, alpha=st.floats(0.0, 1.0))
def test_what_is_better_in_both_lists_is_better_in_the_fused_one(
    vector: dict[str, float], lexical: dict[str, float], alpha: float
) -> None:
    fused = weighted(vector, lexical, alpha=alpha)
    both = sorted(set(vector) & set(lexical))
    for one in both:
        for other in both:
            if vector[one] >= vector[other] and lexical[one] >= lexical[other]:
                assert fused[one] >= fused[other] - 1e-9


@given(only=scores)
def test_order_of_one_leg_stands_where_the_other_found_nothing(only: dict[str, float]) -> None:
    assert [only[key] for key in order(weighted(only, {}, alpha=1.0))] == sorted(only.values(), reverse=True)
    assert [only[key] for key in order(weighted({}, only, alpha=0.0))] == sorted(only.values(), reverse=True)


def test_weight_decides_between_the_legs() -> None:
    vector, lexical = {"a": 0.9, "b": 0.1}, {"a": 1.0, "b": 9.0}
    assert order(weighted(vector, lexical, alpha=0.9)) == ["a", "b"]
    assert order(weighted(vector, lexical, alpha=0.1)) == ["b", "a"]


def test_equal_scores_count_in_full() -> None:
    assert weighted({"a": 0.5, "b": 0.5}, {}, alpha=1.0) == {"a": 1.0, "b": 1.0}


def test_reciprocal_ranks_are_those_of_the_paper() -> None:
    fused = reciprocal_ranks(["a", "b"], ["b", "c"], alpha=0.5)
    assert fused["a"] == pytest.approx(1 / (RRF_K + 1))
    assert fused["b"] == pytest.approx(1 / (RRF_K + 2) + 1 / (RRF_K + 1))
    assert order(fused) == ["b", "a", "c"]


def test_leg_of_no_weight_only_follows_the_other() -> None:
    assert order(reciprocal_ranks(["a", "b"], ["b", "c"], alpha=0.0)) == ["b", "c", "a"]
    assert order(reciprocal_ranks(["a", "b"], ["b", "c"], alpha=1.0)) == ["a", "b", "c"]


@given(
    vector=st.lists(st.floats(0.0, 1.0, width=32), min_size=150, max_size=150),
    lexical=st.lists(st.floats(0.125, 30.0, width=32), min_size=150, max_size=150),
    depth=st.integers(100, 150),
    shift=st.integers(0, 150),
)
def test_scores_do_not_depend_on_how_deep_the_lists_were_read(
    vector: list[float], lexical: list[float], depth: int, shift: int
) -> None:
    by_vector = [(f"c{number}", score) for number, score in enumerate(sorted(vector, reverse=True))]
    by_words = [(f"c{(number + shift) % 300}", score) for number, score in enumerate(sorted(lexical, reverse=True))]
    whole = weighted(dict(by_vector), dict(by_words), alpha=0.5)
    part = weighted(dict(by_vector[:depth]), dict(by_words[:depth]), alpha=0.5)
    assert all(part[key] == pytest.approx(whole[key]) for key in part)
    ranks = [[key for key, _ in ranking] for ranking in (by_vector, by_words)]
    whole = reciprocal_ranks(*ranks, alpha=0.3)
    part = reciprocal_ranks(*(ranking[:depth] for ranking in ranks), alpha=0.3)
    assert all(part[key] == pytest.approx(whole[key]) for key in part)
