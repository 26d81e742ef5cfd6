"""Schemas of answers: which are taken, and what is said of an answer that does not follow one."""

import pytest
from pydantic import JsonValue

from analytiq.assistants.prompts.answer_schemas import DEEPEST, check_answer_schema, is_strict, problems_of
from analytiq.errors import InvalidInputError

Schema = dict[str, JsonValue]


def nested(depth: int) -> Schema:
    schema: Schema = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({}, "answer_schema.type"),
        ({"type": "array"}, "answer_schema.type"),
        ({"type": "object", "properties": {"x": {"type": "objekt"}}}, "answer_schema.properties.x.type"),
        ({"type": "object", "$ref": "http://169.254.169.254/latest"}, "answer_schema.$ref"),
        ({"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}, "answer_schema.properties.x.$ref"),
        ({"type": "object", "properties": {"x": {"pattern": "(?=a)b"}}}, "answer_schema.properties.x.pattern"),
        ({"type": "object", "patternProperties": {"(a+)+$": {}}}, "answer_schema.patternProperties"),
        ({"type": "object", "description": "x" * 64_001}, "answer_schema"),
    ],
)
def test_schema_that_answers_cannot_be_checked_by_is_refused_by_its_place(schema: Schema, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_answer_schema(schema)
    assert [error.field for error in refused.value.errors] == [field]


def test_schema_that_goes_too_deep_is_refused() -> None:
    check_answer_schema(nested(DEEPEST // 2))
    with pytest.raises(InvalidInputError, match="deeper"):
        check_answer_schema(nested(DEEPEST))


def test_field_may_be_called_as_a_keyword_is() -> None:
    schema: Schema = {"type": "object", "properties": {"patternProperties": {"type": "string"}, "$ref": {}}}
    assert problems_of({"patternProperties": "x"}, check_answer_schema(schema)) == []


def test_pattern_that_would_take_for_ever_is_checked_at_once() -> None:
    schema = check_answer_schema({"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}})
    assert len(problems_of({"x": "a" * 50_000 + "!"}, schema)) == 1
    assert problems_of({"x": "aaa"}, schema) == []


def test_schema_that_refers_to_itself_without_end_is_a_problem_and_no_crash() -> None:
    schema = check_answer_schema({"type": "object", "$defs": {"x": {"$ref": "#/$defs/x"}}, "$ref": "#/$defs/x"})
    (problem,) = problems_of({}, schema)
    assert "without end" in problem


def test_reference_to_what_is_not_there_is_a_problem_and_no_crash() -> None:
    (problem,) = problems_of({}, check_answer_schema({"type": "object", "$ref": "#/$defs/missing"}))
    assert "does not exist" in problem


def test_problems_are_bounded() -> None:
    schema = check_answer_schema({"type": "object", "additionalProperties": {"type": "integer"}})
    problems = problems_of({f"field {number}": "x" * 1000 for number in range(100)}, schema)
    assert len(problems) == 10
    assert all(len(problem) <= 300 for problem in problems)


def test_strict_is_what_lists_every_field_and_allows_no_other() -> None:
    strict: Schema = {
        "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False,
    }  # fmt: skip
    assert is_strict(check_answer_schema(strict))
    assert not is_strict(check_answer_schema({**strict, "required": []}))
    assert not is_strict(check_answer_schema({"type": "object", "properties": {"x": strict}, "required": ["x"]}))
