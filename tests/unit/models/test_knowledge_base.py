"""Names of knowledge bases that came twice."""

import pytest

from analytiq.models.knowledge_base import LONGEST_NAME, distinct_names


@pytest.mark.parametrize(
    ("names", "distinct"),
    [
        ([], []),
        (["A", "B"], ["A", "B"]),
        (["A", "A", "A"], ["A", "A (2)", "A (3)"]),
        (["A", "A", "A (2)"], ["A", "A (3)", "A (2)"]),
        (["A (2)", "A", "A"], ["A (2)", "A", "A (3)"]),
        (["a", "A"], ["a", "A"]),
    ],
)
def test_repeated_names_are_numbered_and_none_is_taken_twice(names: list[str], distinct: list[str]) -> None:
    assert distinct_names(names) == distinct


def test_numbered_name_is_no_longer_than_a_name_may_be() -> None:
    names = distinct_names(["x" * LONGEST_NAME] * 12)
    assert len(set(names)) == 12
    assert all(len(name) <= LONGEST_NAME for name in names)
