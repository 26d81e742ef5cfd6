import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.retrieval.filters.parser import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_FIELD_BYTES,
    MAX_FIELD_KEYS,
    MAX_LIST_VALUES,
    MAX_STRING_BYTES,
    combine,
    parse_filter,
)
from analytiq.retrieval.filters.tree import (
    EVERYTHING,
    And,
    BuiltInField,
    Comparator,
    Comparison,
    Exists,
    In,
    MetadataField,
    Nor,
    Not,
    Or,
    evaluate,
)


@dataclass(frozen=True)
class Invoice:
    id: str = "0" * 23 + "1"
    document_name: str = "invoice"
    tag_ids: tuple[str, ...] = ("invoice", "2024")
    content_type: str = "application/pdf"
    created_at: datetime = datetime(2024, 6, 1, tzinfo=UTC)
    metadata: dict[str, JsonValue] = field(default_factory=dict)


def passes(raw: dict[str, JsonValue], **attributes: Any) -> bool:
    return evaluate(parse_filter(raw), Invoice(**attributes))


def customer(operator: str, value: JsonValue) -> dict[str, JsonValue]:
    return {"customer": {operator: value}}


def nested(levels: int) -> dict[str, JsonValue]:
    raw: dict[str, JsonValue] = {"a": 1}
    for _ in range(levels):
        raw = {"$or": [raw]}
    return raw


CUSTOMER = MetadataField(("customer",))


@pytest.mark.parametrize(
    ("raw", "tree"),
    [
        ({}, EVERYTHING),
        (
            {"document_name": "invoice"},
            Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "invoice"),
        ),
        (
            {"document_name": {"$prefix": "contracts/"}},
            And(
                (
                    Comparison(BuiltInField.DOCUMENT_NAME, Comparator.GREATER_OR_EQUAL, "contracts/"),
                    Comparison(BuiltInField.DOCUMENT_NAME, Comparator.LESS, "contracts0"),
                )
            ),
        ),
        ({"tag_ids": ["invoice", "2024"]}, In(BuiltInField.TAG_IDS, ("invoice", "2024"))),
        ({"customer": "Acme"}, Comparison(CUSTOMER, Comparator.EQUAL, "Acme")),
        ({"metadata.customer": "Acme"}, Comparison(CUSTOMER, Comparator.EQUAL, "Acme")),
        ({"metadata.tag_ids": 1}, Comparison(MetadataField(("tag_ids",)), Comparator.EQUAL, 1)),
        (
            {"metadata.metadata.x": None},
            Comparison(MetadataField(("metadata", "x")), Comparator.EQUAL, None),
        ),
        (
            {"address.city": {"$exists": False}},
            Exists(MetadataField(("address", "city")), is_expected=False),
        ),
        (
            {"customer": {"$gte": 1, "$lt": 2.5}},
            And(
                (
                    Comparison(CUSTOMER, Comparator.GREATER_OR_EQUAL, 1),
                    Comparison(CUSTOMER, Comparator.LESS, 2.5),
                )
            ),
        ),
        ({"customer": {"$nin": ["a"]}}, In(CUSTOMER, ("a",), is_negated=True)),
        ({"customer": {"$not": {"$eq": True}}}, Not(Comparison(CUSTOMER, Comparator.EQUAL, True))),
        (
            {"$or": [{"customer": {"$ne": "a"}}, {}], "$nor": [{"customer": [1, 2.0]}]},
            And(
                (
                    Or((Comparison(CUSTOMER, Comparator.NOT_EQUAL, "a"), EVERYTHING)),
                    Nor((In(CUSTOMER, (1, 2.0)),)),
                )
            ),
        ),
        (
            {"upload_date": {"$lte": "2024-01-31T01:00:00.1239+01:00"}},
            Comparison(
                BuiltInField.UPLOAD_DATE,
                Comparator.LESS_OR_EQUAL,
                datetime(2024, 1, 31, 0, 0, 0, 123_000, tzinfo=UTC),
            ),
        ),
    ],
    ids=str,
)
def test_a_filter_is_read_into_its_tree(raw: dict[str, JsonValue], tree: object) -> None:
    assert parse_filter(raw) == tree


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"$where": "sleep(1000)"}, "$where"),
        ({"$expr": {"$eq": [1, 1]}}, "$expr"),
        ({"$or": [{"a": 1}, {"price": {"$where": "1"}}]}, "$or[1].price.$where"),
        ({"a": {"$not": {"$regex": "x"}}}, "a.$not.$regex"),
        ({"a": {"$and": [{"$eq": 1}]}}, "a.$and"),
        ({"$not": {"a": 1}}, "$not"),
        ({"$eq": 1}, "$eq"),
        ({"$or": []}, "$or"),
        ({"$and": {"a": 1}}, "$and"),
        ({"$nor": [{"a": 1}, "b"]}, "$nor[1]"),
        ({"$or": [{"a": 1}], "b": 1}, ""),
        ({"$and": [{"$or": [{"a": 1}], "b": 1}]}, "$and[0]"),
        ({"a": {"$gt": 1, "b": 2}}, "a"),
        ({"a": {"b": 1}}, "a"),
        ({"a": {}}, "a"),
        ({"a": {"$not": {}}}, "a.$not"),
        ({"a": {"$not": 1}}, "a.$not"),
        ({"a": {"$eq": [1]}}, "a.$eq"),
        ({"a": {"$eq": {"$gt": ""}}}, "a.$eq"),
        ({"a": {"$in": "x"}}, "a.$in"),
        ({"a": {"$in": []}}, "a.$in"),
        ({"a": []}, "a"),
        ({"a": {"$nin": [1, None]}}, "a.$nin[1]"),
        ({"a": [1, "1"]}, "a[1]"),
        ({"a": [1, True]}, "a[1]"),
        ({"a": [[1]]}, "a[0]"),
        ({"a": [{"$gt": ""}]}, "a[0]"),
        ({"a": {"$exists": 1}}, "a.$exists"),
        ({"a": {"$gt": None}}, "a.$gt"),
        ({"a": {"$lte": False}}, "a.$lte"),
        ({"a": float("nan")}, "a"),
        ({"a": {"$lt": float("inf")}}, "a.$lt"),
        ({"a": 2**63}, "a"),
        ({"a": "\ud800"}, "a"),
        ({"": 1}, ""),
        ({"a..b": 1}, "a..b"),
        ({"a.": 1}, "a."),
        ({"metadata": 1}, "metadata"),
        ({"metadata.": 1}, "metadata."),
        ({"metadata.$where": 1}, "metadata.$where"),
        ({"a.$gt": 1}, "a.$gt"),
        ({"a\0b": 1}, "a\0b"),
        ({"tag_ids.0": "x"}, "tag_ids.0"),
        ({"tag_ids": 1}, "tag_ids"),
        ({"tag_ids": {"$gt": "a"}}, "tag_ids.$gt"),
        ({"document_id": {"$lt": "a"}}, "document_id.$lt"),
        ({"document_name": None}, "document_name"),
        ({"content_type": [True]}, "content_type[0]"),
        ({"upload_date": 1706659200}, "upload_date"),
        ({"upload_date": {"$gt": "2024-01-31"}}, "upload_date.$gt"),
        ({"upload_date": {"$gt": "2024-01-31T00:00:00"}}, "upload_date.$gt"),
        ({"upload_date": {"$gt": "2024-02-30T00:00:00Z"}}, "upload_date.$gt"),
        ({"upload_date": {"$gt": "0001-01-01T00:00:00+01:00"}}, "upload_date.$gt"),
        ({"upload_date": {"$gt": "２０２４-01-31T00:00:00Z"}}, "upload_date.$gt"),
    ],
    ids=str,
)
def test_what_is_not_allowed_is_refused_by_its_exact_place(raw: dict[str, JsonValue], place: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_filter(raw)
    path = "metadata_filter" + ("." if place or raw == {"": 1} else "") + place
    assert [error.field for error in caught.value.errors] == [path]
    assert path in caught.value.detail


@pytest.mark.parametrize("raw", [None, [], "a", 1, [{"a": 1}]], ids=repr)
def test_a_filter_that_is_no_object_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidInputError, match="metadata_filter: A filter must be an object"):
        parse_filter(raw)


def test_an_unknown_operator_is_named_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_filter({"a": {"$regex": "x"}})
    assert "$regex" in caught.value.errors[0].reason
    assert "$exists" in caught.value.errors[0].reason


LIMITS: list[tuple[dict[str, JsonValue], dict[str, JsonValue]]] = [
    (nested(MAX_DEPTH), nested(MAX_DEPTH + 1)),
    (
        {"$or": [{"a": i} for i in range(MAX_CONDITIONS - 1)]},
        {"$or": [{"a": i} for i in range(MAX_CONDITIONS)]},
    ),
    ({"a": list(range(MAX_LIST_VALUES))}, {"a": list(range(MAX_LIST_VALUES + 1))}),
    ({"a": "x" * MAX_STRING_BYTES}, {"a": "x" * (MAX_STRING_BYTES + 1)}),
    ({"a": "é" * (MAX_STRING_BYTES // 2)}, {"a": "é" * (MAX_STRING_BYTES // 2 + 1)}),
    ({"x" * MAX_FIELD_BYTES: 1}, {"x" * (MAX_FIELD_BYTES + 1): 1}),
    ({".".join("x" * MAX_FIELD_KEYS): 1}, {".".join("x" * (MAX_FIELD_KEYS + 1)): 1}),
    ({"a": 2**63 - 1}, {"a": 2**63}),
    ({"a": -(2**63)}, {"a": -(2**63) - 1}),
]


@pytest.mark.parametrize(("largest", "too_large"), LIMITS, ids=range(len(LIMITS)))
def test_a_filter_may_be_as_large_as_its_limit_and_no_larger(
    largest: dict[str, JsonValue], too_large: dict[str, JsonValue]
) -> None:
    parse_filter(largest)
    with pytest.raises(InvalidInputError):
        parse_filter(too_large)


def test_not_under_a_field_counts_as_a_level() -> None:
    condition: JsonValue = {"$eq": 1}
    for _ in range(MAX_DEPTH):
        condition = {"$not": condition}
    parse_filter({"a": condition})
    with pytest.raises(InvalidInputError, match="levels"):
        parse_filter({"a": {"$not": condition}})


@pytest.mark.slow
def test_an_endlessly_nested_filter_is_refused_without_descending() -> None:
    with pytest.raises(InvalidInputError, match="levels"):
        parse_filter(nested(100_000))


def test_a_long_key_is_shortened_in_the_error() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_filter({"x" * 900: {"$bad": 1}})
    assert len(caught.value.errors[0].field) < 200


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["$and", "$or", "$nor", "$not", "$eq", "$gt", "$in", "$exists", "$where", "a", "tag_ids"]
                )
                | st.text(),
                inner,
                max_size=3,
            )
        ),
    )
)
def test_any_json_is_either_read_or_refused_as_invalid_input(raw: Any) -> None:
    with contextlib.suppress(InvalidInputError):
        evaluate(parse_filter(raw), Invoice())


@pytest.mark.parametrize(
    ("raw", "metadata", "expected"),
    [
        ({"customer": "Acme"}, {"customer": "Acme"}, True),
        ({"customer": "Acme"}, {"customer": "acme"}, False),
        ({"customer": "Acme"}, {"customer": ["x", "Acme"]}, True),
        ({"customer": "Acme"}, {"customer": [["Acme"]]}, False),
        ({"customer": "Acme"}, {}, False),
        (customer("$ne", "Acme"), {}, True),
        (customer("$ne", "Acme"), {"customer": ["x", "Acme"]}, False),
        (customer("$nin", ["Acme"]), {"customer": ["x"]}, True),
        (customer("$not", {"$gt": 5}), {"customer": [1, 9]}, False),
        ({"customer": {"$gt": 5, "$lt": 3}}, {"customer": [1, 9]}, True),
        ({"customer": 1}, {"customer": 1.0}, True),
        ({"customer": 1}, {"customer": True}, False),
        ({"customer": True}, {"customer": 1}, False),
        ({"customer": 1}, {"customer": "1"}, False),
        ({"customer": None}, {"customer": None}, True),
        ({"customer": None}, {}, False),
        (customer("$ne", None), {}, True),
        (customer("$exists", True), {"customer": None}, True),
        (customer("$exists", True), {"customer": []}, True),
        (customer("$exists", False), {}, True),
        (customer("$lt", 5), {"customer": "1"}, False),
        (customer("$lt", 5), {"customer": float("nan")}, False),
        (customer("$lt", "b"), {"customer": "B"}, True),
        ({"customer.name": "x"}, {"customer": [{"name": "y"}, {"name": "x"}]}, True),
        ({"customer.1.name": "x"}, {"customer": [{"name": "x"}, {"name": "y"}]}, False),
        ({"customer.name": "x"}, {"customer.name": "x"}, False),
        ({"customer.name": "x"}, {"customer": "x"}, False),
    ],
    ids=str,
)
def test_a_filter_means_what_its_documentation_says(
    raw: dict[str, JsonValue], metadata: dict[str, JsonValue], *, expected: bool
) -> None:
    assert passes(raw, metadata=metadata) is expected


def test_built_in_fields_are_those_of_the_document_and_not_of_its_metadata() -> None:
    assert passes({"document_name": "invoice", "content_type": "application/pdf"})
    assert not passes({"document_name": "x"}, metadata={"document_name": "x"})
    assert passes({"metadata.document_name": "x"}, metadata={"document_name": "x"})
    assert passes({"tag_ids": ["2024", "unknown"]})
    assert passes({"document_id": {"$in": [Invoice().id]}})
    assert passes({"upload_date": {"$gte": "2024-06-01T02:00:00+02:00"}})
    assert not passes({"upload_date": {"$gt": "2024-06-01t00:00:00z"}})


def test_combining_nothing_passes_everything() -> None:
    assert combine() == EVERYTHING
    assert combine(metadata_filter={}) == EVERYTHING


def test_an_empty_list_of_document_ids_passes_nothing() -> None:
    tree = combine(document_ids=[], metadata_filter={"document_name": "invoice"})
    assert not evaluate(tree, Invoice())


def test_the_parts_of_a_search_filter_must_all_hold() -> None:
    june = datetime(2024, 6, 1, tzinfo=UTC)
    tree = combine(
        document_ids=[Invoice().id],
        metadata_filter={"total": {"$gt": 5}},
        upload_date_from=june,
        upload_date_to=june,
    )
    assert evaluate(tree, Invoice(metadata={"total": 6}))
    assert not evaluate(tree, Invoice(metadata={"total": 5}))
    assert not evaluate(tree, Invoice(metadata={"total": 6}, id="0" * 24))
    assert not evaluate(tree, Invoice(metadata={"total": 6}, created_at=june + timedelta(milliseconds=1)))
    assert not evaluate(tree, Invoice(metadata={"total": 6}, created_at=june - timedelta(milliseconds=1)))


def test_upload_dates_are_compared_as_moments() -> None:
    summer_time = timezone(timedelta(hours=2))
    tree = combine(upload_date_from=datetime(2024, 6, 1, 2, tzinfo=summer_time))
    assert evaluate(tree, Invoice(created_at=datetime(2024, 6, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"upload_date_from": datetime(2024, 1, 1)}, "upload_date_from"),  # noqa: DTZ001
        ({"upload_date_to": datetime(2024, 1, 1)}, "upload_date_to"),  # noqa: DTZ001
        (
            {
                "upload_date_from": datetime(2024, 1, 2, tzinfo=UTC),
                "upload_date_to": datetime(2024, 1, 1, tzinfo=UTC),
            },
            "upload_date_from",
        ),
        ({"document_ids": ["x"] * (MAX_LIST_VALUES + 1)}, "document_ids"),
        ({"document_ids": ["a", "\udfff"]}, "document_ids[1]"),
        ({"metadata_filter": {"a": {"$bad": 1}}}, "metadata_filter.a.$bad"),
    ],
    ids=str,
)
def test_a_wrong_argument_of_a_search_is_named(arguments: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        combine(**arguments)
    assert caught.value.errors[0].field == place


@given(prefix=st.text(min_size=1, max_size=3), rest=st.text(max_size=3), other=st.text(max_size=4))
def test_prefix_lets_through_exactly_the_names_that_begin_so(prefix: str, rest: str, other: str) -> None:
    tree = parse_filter({"document_name": {"$prefix": prefix}})
    for name in (prefix + rest, other):
        assert evaluate(tree, Invoice(document_name=name)) == name.startswith(prefix)
