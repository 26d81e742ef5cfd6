"""Permitted metadata of a document."""

from typing import Any

import pytest

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.metadata import (
    DEEPEST,
    LONGEST_METADATA_CHARACTERS,
    MOST_KEYS,
    validated_metadata,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"a": None, "b": True, "c": 1, "d": 1.5, "e": "text", "f": [1, "x", {"y": []}], "g": {"h": {}}},
        {"número": "é", "with space": 1, "a$b": 1},
        {"edge": 2**63 - 1, "other edge": -(2**63)},
        {f"k{number}": 1 for number in range(MOST_KEYS)},
        {"a": "x" * (LONGEST_METADATA_CHARACTERS - 1)},
        {"deep": nested(DEEPEST - 1)},
    ],
)
def test_what_can_be_kept_is_kept_as_it_is(metadata: dict[str, Any]) -> None:
    assert validated_metadata(metadata) == metadata


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"": 1}, "metadata"),
        ({"$where": 1}, "metadata"),
        ({"a.b": 1}, "metadata"),
        ({"a\0": 1}, "metadata"),
        ({"a": {"$gt": 1}}, "metadata.a"),
        ({"a": [1, {"b": {"c.d": 1}}]}, "metadata.a[1].b"),
        ({"a": float("nan")}, "metadata.a"),
        ({"a": float("inf")}, "metadata.a"),
        ({"a": 2**63}, "metadata.a"),
        ({"a": [0, -(2**63) - 1]}, "metadata.a[1]"),
        ({f"k{number}": 1 for number in range(MOST_KEYS + 1)}, "metadata"),
        ({"a": "x" * LONGEST_METADATA_CHARACTERS}, "metadata.a"),
        ({"a": [1] * LONGEST_METADATA_CHARACTERS}, "metadata.a"),
        ({"a": nested(DEEPEST)}, "metadata.a" + ".k" * DEEPEST),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_place(metadata: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validated_metadata(metadata)
    assert [error.field for error in caught.value.errors] == [field]


@pytest.mark.slow
def test_very_deep_nesting_is_refused_without_descending_into_it() -> None:
    with pytest.raises(InvalidInputError):
        validated_metadata({"a": nested(50_000)})
