from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from bson import ObjectId
from pydantic import JsonValue

from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import EVERYTHING, And, Nor, Or

DOCUMENT_ID = "507f191e810c19729de860ea"


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ({}, {}),
        ({"document_name": "invoice"}, {"document_name": {"$eq": "invoice"}}),
        ({"tag_ids": ["invoice", "2024"]}, {"tag_ids": {"$in": ["invoice", "2024"]}}),
        ({"document_id": DOCUMENT_ID}, {"_id": {"$eq": ObjectId(DOCUMENT_ID)}}),
        ({"document_id": [DOCUMENT_ID, "doc_id_1"]}, {"_id": {"$in": [ObjectId(DOCUMENT_ID)]}}),
        ({"customer.name": {"$gt": 5}}, {"metadata.customer.name": {"$gt": 5}}),
        ({"customer": None}, {"metadata.customer": {"$type": "null"}}),
        ({"customer": {"$ne": 5}}, {"$nor": [{"metadata.customer": {"$eq": 5}}]}),
        ({"customer": {"$nin": [5]}}, {"$nor": [{"metadata.customer": {"$in": [5]}}]}),
        ({"customer": {"$not": {"$lt": 5}}}, {"$nor": [{"metadata.customer": {"$lt": 5}}]}),
        ({"$or": [{"a": 1}, {}]}, {"$or": [{"metadata.a": {"$eq": 1}}, {}]}),
        ({"a": {"$exists": False}}, {"metadata.a": {"$exists": False}}),
    ],
    ids=str,
)
def test_a_filter_is_compiled_to_its_query(raw: dict[str, JsonValue], query: Mapping[str, object]) -> None:
    assert compile_filter(parse_filter(raw)) == query


@pytest.mark.parametrize("document_id", ["doc_id_1", "", DOCUMENT_ID.upper(), DOCUMENT_ID[:-1], DOCUMENT_ID + "\n"])
def test_a_string_that_is_no_id_compiles_to_a_query_that_finds_nothing(document_id: str) -> None:
    assert compile_filter(parse_filter({"document_id": document_id})) == {"_id": {"$in": []}}


def test_logical_operators_without_operands_compile_to_what_mongodb_accepts() -> None:
    assert compile_filter(And(())) == {}
    assert compile_filter(Or(())) == {"_id": {"$in": []}}
    assert compile_filter(Nor(())) == {}
    assert compile_filter(EVERYTHING) == {}


def literals(query: object) -> Iterator[tuple[str, object]]:
    """Every (operator, operand) at which the query compares to a literal."""
    if isinstance(query, Mapping):
        for key, value in query.items():
            if key in ("$and", "$or", "$nor"):
                for clause in value:
                    yield from literals(clause)
            else:
                yield from value.items()


HOSTILE: list[Any] = ["$where", "$gt", "'; return true; //", "{$ne: null}", "$$ROOT", "$metadata.secret"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_string_that_looks_like_an_operator_stays_a_literal(value: str) -> None:
    tree = parse_filter({"$or": [{"a": value}, {"b": {"$ne": value}}, {"c": [value]}]})
    assert list(literals(compile_filter(tree))) == [("$eq", value), ("$eq", value), ("$in", [value])]
