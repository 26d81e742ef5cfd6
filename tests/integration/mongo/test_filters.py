"""The compiled query finds on a real mongod exactly the documents that the plain reading lets pass."""

import itertools
import random
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.models.document import Document
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.parser import combine, parse_filter
from analytiq.retrieval.filters.tree import (
    Comparator,
    Comparison,
    Exists,
    Filter,
    FilterValue,
    In,
    MetadataField,
    evaluate,
)
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rows import encode
from tests.made_filters import EPOCH, IDS, NUMBERS, STRINGS, a_document, document_lists, filters


async def found(database: MongoConnection, stored: Sequence[Document], trees: Sequence[Filter]) -> list[set[str]]:
    """Return MongoDB's matches of each filter, with nothing but these documents in `docs`."""
    collection = database.database["docs_of_filters"]
    await collection.delete_many({})
    await collection.insert_many([encode(document) for document in stored])
    return [{str(row["_id"]) async for row in collection.find(compile_filter(tree), {"_id": 1})} for tree in trees]


async def assert_agreement(database: MongoConnection, stored: Sequence[Document], trees: Sequence[Filter]) -> None:
    for tree, ids_found in zip(trees, await found(database, stored, trees), strict=True):
        expected = {document.id for document in stored if evaluate(tree, document)}
        assert ids_found == expected, (tree, compile_filter(tree))


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(stored=document_lists, trees=st.lists(filters, min_size=1, max_size=6))
async def test_the_query_finds_what_the_plain_reading_lets_pass(
    database: MongoConnection, stored: list[Document], trees: list[Filter]
) -> None:
    await assert_agreement(database, stored, trees)


def nested_value(choices: random.Random, *, depth: int) -> JsonValue:
    shape = choices.random()
    if depth == 0 or shape < 0.25:
        return choices.choice([1, 1, 2, None])
    if shape < 0.65:
        return [nested_value(choices, depth=depth - 1) for _ in range(choices.randint(0, 3))]
    keys = choices.sample(["0", "1", "b", "00"], choices.randint(0, 3))
    return {key: nested_value(choices, depth=depth - 1) for key in keys}


async def test_every_short_path_through_lists_and_objects_reads_alike(database: MongoConnection) -> None:
    """Random filters seldom name a path that leads anywhere deep, so here every path is tried."""
    choices = random.Random(20240131)
    stored = [a_document(new_id(), a=nested_value(choices, depth=4)) for _ in range(500)]
    trees: list[Filter] = []
    for length in range(4):
        for keys in itertools.product(["0", "1", "b", "00"], repeat=length):
            field = MetadataField(("a", *keys))
            trees += [
                Comparison(field, Comparator.EQUAL, 1),
                Comparison(field, Comparator.NOT_EQUAL, None),
                Exists(field),
                In(field, (1, 2)),
            ]
    await assert_agreement(database, stored, trees)


@pytest.mark.parametrize("value", [*NUMBERS, *STRINGS, True, False, None], ids=repr)
async def test_every_literal_is_compared_to_every_value_as_the_plain_reading_does(
    database: MongoConnection, value: FilterValue
) -> None:
    shapes: list[JsonValue] = [None, True, False, float("nan"), float("inf"), *NUMBERS, *STRINGS]
    stored = [a_document(new_id())]
    nested: list[JsonValue] = [[], {}, [[1, "a"]], {"a": 1}]
    stored += [a_document(new_id(), a=shape) for shape in shapes + nested]
    stored += [a_document(new_id(), a=["b", shape]) for shape in shapes]
    comparators = list(Comparator) if value is not None and not isinstance(value, bool) else []
    comparators += [Comparator.EQUAL, Comparator.NOT_EQUAL]
    trees = [Comparison(MetadataField(("a",)), comparator, value) for comparator in comparators]
    await assert_agreement(database, stored, trees)


async def test_a_parsed_filter_finds_the_documents_that_it_names(database: MongoConnection) -> None:
    acme = a_document(new_id(), customer={"name": "Acme"}, total=120)
    other = a_document(new_id(), customer={"name": "acme"}, total="120")
    untold = a_document(new_id())
    trees = [
        parse_filter({"customer.name": "Acme"}),
        parse_filter({"metadata.total": {"$gte": 100, "$lt": 121}}),
        parse_filter({"customer.name": {"$ne": "Acme"}}),
        parse_filter({"tag_ids": ["2024", "unknown"], "total": {"$exists": False}}),
        parse_filter({"upload_date": {"$gt": "2023-12-31T23:59:59.999Z"}}),
    ]
    everyone = {acme.id, other.id, untold.id}
    assert await found(database, [acme, other, untold], trees) == [
        {acme.id},
        {acme.id},
        {other.id, untold.id},
        {untold.id},
        everyone,
    ]


async def test_an_empty_list_of_document_ids_finds_nothing(database: MongoConnection) -> None:
    stored = [a_document(IDS[0]), a_document(IDS[1])]
    trees = [
        combine(document_ids=[]),
        combine(document_ids=["doc_id_1"]),
        combine(document_ids=[IDS[1], "doc_id_1"]),
        combine(),
    ]
    assert await found(database, stored, trees) == [set(), set(), {IDS[1]}, {IDS[0], IDS[1]}]


async def test_the_bounds_of_upload_date_are_inclusive(database: MongoConnection) -> None:
    stored = [a_document(IDS[0])]
    millisecond = timedelta(milliseconds=1)
    trees = [
        combine(upload_date_from=EPOCH, upload_date_to=EPOCH),
        combine(upload_date_from=EPOCH + millisecond),
        combine(upload_date_to=EPOCH - millisecond),
    ]
    assert await found(database, stored, trees) == [{IDS[0]}, set(), set()]
