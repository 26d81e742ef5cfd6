"""Literals of filters against declared types."""

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.models.metadata_field import FieldType
from analytiq.retrieval.filters.declared_types import with_declared_types
from analytiq.retrieval.filters.parser import parse_filter

TYPES = {
    "year": FieldType.NUMBER,
    "due": FieldType.DATE,
    "customer": FieldType.STRING,
    "paid": FieldType.BOOLEAN,
    "page": FieldType.STRING,
}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"year": "2024"}, "year"),
        ({"metadata.year": {"$gt": "2024"}}, "year"),
        ({"year": [2024, 2025], "customer": {"$in": [5]}}, "customer"),
        ({"paid": 1}, "paid"),
        ({"paid": {"$ne": "true"}}, "paid"),
        ({"customer": {"$not": {"$eq": False}}}, "customer"),
        ({"due": 20240131}, "due"),
        ({"due": {"$gte": "31.01.2024"}}, "due"),
        ({"due.0": {"$gte": "soon"}}, "due"),
        ({"$or": [{"a": 1}, {"$nor": [{"$and": [{"year": {"$nin": ["x"]}}]}]}]}, "year"),
        ({"due.day": "2024-01-31"}, "due"),
        ({"due.day": {"$exists": True}}, "due"),
    ],
)
def test_a_literal_of_another_type_is_refused_with_field_and_type(raw: dict[str, JsonValue], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        with_declared_types(parse_filter(raw), TYPES)
    (problem,) = caught.value.errors
    assert problem.field == f"metadata_filter.{field}"
    assert f"declared as {TYPES[field].value}" in problem.reason


@pytest.mark.parametrize(
    "raw",
    [
        {"year": 2024, "customer": "Acme", "paid": False},
        {"year": {"$gte": 2024.5, "$exists": True}, "due": {"$eq": None}},
        {"year": None},
        {"page": 3},
        {"undeclared": {"$in": ["31.01.2024"]}, "nested.due": 5},
        {"upload_date": "2024-01-31T00:00:00Z"},
    ],
)
def test_literals_of_the_type_null_and_other_fields_stay(raw: dict[str, JsonValue]) -> None:
    tree = parse_filter(raw)
    assert with_declared_types(tree, TYPES) == tree


def test_dates_are_compared_as_they_are_kept() -> None:
    written = parse_filter({"due": {"$gte": "2024-01-31", "$nin": ["2024-02-01T00:00:00+01:00"]}})
    kept = parse_filter({"due": {"$gte": "2024-01-31T00:00:00.000Z", "$nin": ["2024-01-31T23:00:00.000Z"]}})
    assert with_declared_types(written, TYPES) == kept
