"""The schema of the REST API: what is committed is what is served, and generators can rely on it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analytiq.telemetry import metrics
from api.openapi import schema_text
from api.reference import PAGE, page_with_operations

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
METHODS = {"get", "put", "post", "delete"}
VERBS = {
    "accept", "ask", "begin", "cancel", "change", "continue", "create", "declare", "delete", "download", "end",
    "explain", "extract", "finish", "follow", "forecast", "get", "list", "locate", "move", "preview", "push", "put",
    "query",
    "replay", "request", "reset", "retry", "revoke", "run", "search", "sign", "stop", "take", "test", "update",
    "upload", "watch",
}  # fmt: skip
PREFIX = "/v0/orgs/{organization_id}"
OF_PEOPLE = "/v0/auth/"
OF_TOKEN = "/api/"

Schema = dict[str, Any]


@pytest.fixture(scope="module")
def schema() -> Schema:
    """The schema as the code has it."""
    found: Schema = json.loads(schema_text())
    return found


def operations(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Path, method and operation of each route."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            yield path, method, operation


def references(value: Any) -> Iterator[str]:
    """Every `$ref` below a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def request_schemas(schema: Schema) -> dict[str, Schema]:
    """Name → schema of each JSON body that is sent."""
    found: dict[str, Schema] = {}
    for _, _, operation in operations(schema):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body is not None:
            name = body["schema"]["$ref"].rpartition("/")[2]
            found[name] = schema["components"]["schemas"][name]
    return found


def test_committed_schema_is_the_one_that_is_served() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == schema_text(), (
        "the API changed: run `python -m api.openapi > docs/reference/openapi.json`, and tell users in CHANGELOG.md"
    )


def test_page_lists_the_operations_of_the_schema() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with_operations(page), "the API changed: run `python -m api.reference`"


def test_schema_is_the_same_at_every_call() -> None:
    assert schema_text() == schema_text()


def test_every_reference_leads_somewhere_and_every_schema_is_used(schema: Schema) -> None:
    named = {f"#/components/schemas/{name}" for name in schema["components"]["schemas"]}
    assert set(references(schema)) == named


def test_every_operation_id_is_a_verb_with_its_object_and_stands_once(schema: Schema) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(set(ids)) == len(ids) >= 28
    for operation_id in ids:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation_id), operation_id
        assert operation_id.partition("_")[0] in VERBS, operation_id


def test_every_operation_says_what_it_does(schema: Schema) -> None:
    for path, method, operation in operations(schema):
        assert operation["description"].strip(), f"{method} {path}"
        assert len(operation["tags"]) == 1, f"{method} {path}"


def test_every_request_schema_has_an_example_and_refuses_unknown_fields(schema: Schema) -> None:
    found = request_schemas(schema)
    assert len(found) >= 8
    for name, body in found.items():
        assert body["examples"], name
        assert body["additionalProperties"] is False, name


def test_every_example_names_only_fields_that_there_are(schema: Schema) -> None:
    for name, body in request_schemas(schema).items():
        for example in body["examples"]:
            assert set(example) <= set(body["properties"]), name
            assert set(body.get("required", [])) <= set(example), name


def test_every_route_of_an_organization_asks_for_a_token_and_describes_its_errors(schema: Schema) -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, method, operation in operations(schema):
        if path.startswith(OF_PEOPLE):
            assert operation.get("security", []) in ([], [{"APIKeyCookie": []}])
            continue
        if not path.startswith((PREFIX, OF_TOKEN)):
            assert "security" not in operation
            continue
        place = f"{method} {path}"
        ways = [{"HTTPBearer": []}, *([] if path.startswith(OF_TOKEN) else [{"APIKeyCookie": []}])]
        assert operation["security"] == ways, place
        responses = operation["responses"]
        assert {"400", "401", "404", "default"} <= set(responses), place
        assert "422" not in responses, place
        for status, response in responses.items():
            assert response["description"], place
            if status == "default" or status >= "400":
                assert response["content"] == problem, place


def test_lists_take_the_same_parameters_and_answer_the_same_fields(schema: Schema) -> None:
    lists = [operation for _, _, operation in operations(schema) if operation["operationId"].startswith("list_")]
    assert len(lists) >= 5
    for operation in lists:
        parameters = {item["name"]: item["schema"] for item in operation["parameters"]}
        assert parameters["skip"]["default"] == 0, operation["operationId"]
        limit = parameters["limit"]
        assert (limit["default"], limit["minimum"], limit["maximum"]) == (10, 1, 100), operation["operationId"]
        reference = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        answer = schema["components"]["schemas"][reference.rpartition("/")[2]]
        assert {"total_count", "skip"} <= set(answer["properties"]), operation["operationId"]


def test_paths_of_the_seed_are_there(schema: Schema) -> None:
    knowledge_bases = f"{PREFIX}/knowledge-bases"
    wanted = {
        (knowledge_bases, "post"),
        (knowledge_bases, "get"),
        (f"{knowledge_bases}/{{kb_id}}", "get"),
        (f"{knowledge_bases}/{{kb_id}}", "put"),
        (f"{knowledge_bases}/{{kb_id}}", "delete"),
        (f"{knowledge_bases}/{{kb_id}}/documents", "get"),
        (f"{knowledge_bases}/{{kb_id}}/search", "post"),
    }
    assert wanted <= {(path, method) for path, method, _ in operations(schema)}


def test_metrics_of_the_seed_are_declared_by_its_names_and_labels() -> None:
    declared = {
        metrics.cache_hits: ("kb_embedding_cache_hits_total", ("model",)),
        metrics.cache_misses: ("kb_embedding_cache_misses_total", ("model",)),
        metrics.api_calls: ("kb_embedding_api_calls_total", ("model",)),
        metrics.queue_depth: ("kb_indexing_queue_depth", ()),
        metrics.chunks_indexed: ("kb_chunks_indexed_total", ("kb_id",)),
        metrics.indexing_errors: ("kb_indexing_errors_total", ("kb_id", "error_type")),
        metrics.search_results: ("kb_search_results_count", ()),
        metrics.spus_charged: ("kb_spu_charged_total", ("operation_type",)),
    }
    for metric, (name, labels) in declared.items():
        (family,) = metric.describe()
        suffix = "_total" if family.type == "counter" else ""
        assert f"{family.name}{suffix}" == name
        assert metric._labelnames == labels
