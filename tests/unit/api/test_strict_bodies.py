"""Numbers and booleans of bodies and queries are what JSON says they are, and fit the database."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from api.openapi import schema_text
from api.schemas.chat import ChatThreadCreate, ChatThreadUpdate
from api.schemas.erasure import ErasureCreate
from api.schemas.jobs import JobReplay
from api.schemas.knowledge_bases import KnowledgeBaseCreate
from api.schemas.search import SearchBody, Time
from api.schemas.wire import LARGEST_INTEGER, MOST_FIELDS, Flag, RequestBody

KB = "f" * 24


@pytest.mark.parametrize(
    ("model", "body", "field"),
    [
        (ErasureCreate, {"kind": "documents", "document_ids": [KB], "dry_run": 0}, "dry_run"),
        (ErasureCreate, {"kind": "documents", "document_ids": [KB], "dry_run": "false"}, "dry_run"),
        (JobReplay, {"all": 0}, "all"),
        (JobReplay, {"all": 1}, "all"),
        (KnowledgeBaseCreate, {"name": "a", "tag_ids": [KB], "coalesce_neighbors": False}, "coalesce_neighbors"),
        (KnowledgeBaseCreate, {"name": "a", "tag_ids": [KB], "chunk_size": "512"}, "chunk_size"),
        (KnowledgeBaseCreate, {"name": "a", "tag_ids": [KB], "chunk_size": 512.5}, "chunk_size"),
        (ChatThreadCreate, {"kb_ids": [KB], "token_budget": 2**70}, "token_budget"),
        (ChatThreadUpdate, {"token_budget": 2**70}, "token_budget"),
        (SearchBody, {"query": "a", "score_threshold": True}, "score_threshold"),
        (SearchBody, {"query": "a", "score_threshold": "0.5"}, "score_threshold"),
    ],
)
def test_value_of_another_kind_is_refused_by_its_field(
    model: type[RequestBody], body: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as error:
        model.model_validate(body)
    assert {item["loc"][0] for item in error.value.errors()} == {field}


def test_values_of_the_right_kind_are_taken() -> None:
    assert SearchBody.model_validate({"query": "a", "score_threshold": 1}).score_threshold == 1.0
    assert ErasureCreate.model_validate({"kind": "documents", "document_ids": [KB], "dry_run": False}).dry_run is False


@pytest.mark.slow
def test_every_integer_that_a_call_takes_is_bounded() -> None:
    schema = TypeAdapter(dict[str, Any]).validate_json(schema_text())
    unbounded: list[str] = []

    def walk(node: Any, path: str, seen: tuple[str, ...]) -> None:
        if isinstance(node, list):
            for item in node:  # pyright: ignore[reportUnknownVariableType]
                walk(item, path, seen)
            return
        if not isinstance(node, dict):
            return
        reference = node.get("$ref")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(reference, str) and reference not in seen:
            walk(schema["components"]["schemas"][reference.rpartition("/")[2]], reference, (*seen, reference))
        if node.get("type") == "integer" and not node.get("maximum", 2**64) <= LARGEST_INTEGER + 1:  # pyright: ignore[reportUnknownMemberType]
            unbounded.append(path)
        for name, value in node.items():  # pyright: ignore[reportUnknownVariableType]
            walk(value, f"{path}/{name}", seen)

    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            for part in ("parameters", "requestBody"):
                walk(operation.get(part, {}), f"{method} {path} {part}", ())
    assert unbounded == []


@pytest.mark.parametrize("value", [0.5, "0.5", 1_700_000_000, "1700000000", "20260131", "1e9", True])
def test_number_is_no_time(value: object) -> None:
    with pytest.raises(ValidationError, match="Write a time"):
        TypeAdapter[Any](Time).validate_python(value)


def test_time_is_taken_as_it_is_written() -> None:
    assert TypeAdapter[Any](Time).validate_python("2026-01-31T12:00:00Z").hour == 12


@pytest.mark.parametrize("value", ["1", "0", "yes", "on", "True", "f"])
def test_other_words_are_no_boolean_of_a_query(value: str) -> None:
    with pytest.raises(ValidationError, match="true or false"):
        TypeAdapter[Any](Flag).validate_python(value)


def test_object_of_very_many_fields_is_one_error() -> None:
    with pytest.raises(ValidationError, match=f"at most {MOST_FIELDS}") as error:
        SearchBody.model_validate({f"field{number}": 1 for number in range(100_000)})
    assert error.value.error_count() == 1
