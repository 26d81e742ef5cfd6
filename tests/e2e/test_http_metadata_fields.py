"""Declared types of metadata over HTTP, the client and the command line; filters that are refused."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from analytiq.client import Client, ProblemError
from tests.e2e.driving import (
    Body,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command


@pytest.fixture
def own(running: Running) -> Iterator[httpx.Client]:
    """A client of an organization that no other test declares anything in."""
    organization_id, token = make_organization(running, unique("Declaring"))
    with client_of(running.url, organization_id, token) as client:
        yield client


def declare(client: httpx.Client, fields: Body, **options: Any) -> httpx.Response:
    return client.put("/metadata-fields", json={"fields": fields, **options})


def test_declared_fields_are_read_back_and_checked_on_every_way_in(own: httpx.Client) -> None:
    assert accepted(own.get("/metadata-fields")) == {"fields": {}}
    fields = {"year": "number", "due": "date", "customer": "string", "paid": "boolean"}
    answer = accepted(declare(own, fields))
    assert answer == {"fields": fields, "documents_rewritten": 0, "values_removed": 0}
    assert accepted(own.get("/metadata-fields")) == {"fields": fields}

    document = upload(own, "a.txt", b"x", metadata=json.dumps({"due": "2024-01-31", "year": 2024}))
    assert document["metadata"] == {"due": "2024-01-31T00:00:00.000Z", "year": 2024}
    path = f"/documents/{document['document_id']}"
    problem = problem_of(
        own.put(path, json={"metadata": {"year": "2024"}}), 400, field="metadata.year", code="metadata_misfit"
    )
    assert "expected a number, not '2024'" in problem["detail"]
    body = {"documents": [{"name": "b.txt", "content": "eA==", "metadata": {"due": "soon"}}]}
    problem_of(own.post("/documents", json=body), 400, field="documents[0].metadata.due")
    parts = {"files": ("c.txt", b"x")}
    form = {"metadata": json.dumps({"paid": "yes"})}
    problem_of(own.post("/documents", files=parts, data=form), 400, field="metadata.paid")
    assert accepted(own.get("/documents"))["total_count"] == 1


def test_a_declaration_that_does_not_fit_names_the_documents_and_removes_if_asked(own: httpx.Client) -> None:
    misfit = upload(own, "misfit.txt", b"x", metadata=json.dumps({"year": "2024", "note": 1}))["document_id"]
    problem = problem_of(declare(own, {"year": "number"}), 400, field="fields.year", code="metadata_misfits")
    assert misfit in problem["errors"][0]["reason"]
    assert accepted(own.get("/metadata-fields")) == {"fields": {}}
    answer = accepted(declare(own, {"year": "number"}, on_misfit="remove"))
    assert (answer["documents_rewritten"], answer["values_removed"]) == (1, 1)
    assert accepted(own.get(f"/documents/{misfit}"))["metadata"] == {"note": 1}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"fields": {"year": "integer"}},
        {"fields": {"a.b": "string"}},
        {"fields": {"$where": "string"}},
        {"fields": {"": "string"}},
        {"fields": ["year"]},
        {"fields": {}, "on_misfit": "ignore"},
        {"fields": {}, "surplus": 1},
        {"fields": {str(number): "string" for number in range(101)}},
    ],
    ids=lambda body: str(body)[:40],
)
def test_a_declaration_that_is_none_is_refused(own: httpx.Client, body: Body) -> None:
    problem_of(own.put("/metadata-fields", json=body), 400)
    assert accepted(own.get("/metadata-fields")) == {"fields": {}}


def test_search_and_list_compare_declared_dates_by_instant(own: httpx.Client) -> None:
    accepted(declare(own, {"due": "date"}))
    tag = make_tag(own)
    kb = make_knowledge_base(own, [tag])
    for name, due in {"early": "2024-01-31T00:30:00+02:00", "late": "2024-01-31"}.items():
        document = upload(
            own, f"{name}.txt", b"The crane lifts stones.", tag_ids=[tag], metadata=json.dumps({"due": due})
        )
        wait_until_indexed(own, document["document_id"])
    for raw, expected in (
        ({"due": {"$lt": "2024-01-31"}}, ["early.txt"]),
        ({"due": "2024-01-30T17:30:00-05:00"}, ["early.txt"]),
        ({"due": {"$gte": "2024-01-31T00:00:00Z"}}, ["late.txt"]),
        ({"due": {"$in": ["2024-01-30T22:30:00Z", "2024-01-31T01:00:00+01:00"]}}, ["early.txt", "late.txt"]),
    ):
        for mode in ("vector", "lexical", "hybrid"):
            answer = search(own, kb, "crane", metadata_filter=raw, mode=mode, deduplicate=False)
            assert sorted(result["source"] for result in answer["results"]) == expected, (mode, raw)
        page = accepted(own.get("/documents", params={"metadata_filter": json.dumps(raw)}))
        assert sorted(item["document_name"] for item in page["documents"]) == expected
        assert page["total_count"] == len(expected)


REFUSED: dict[str, tuple[Body, str]] = {
    "unknown operator": ({"year": {"$regex": "x"}}, "metadata_filter.year.$regex"),
    "where": ({"$where": "sleep(1000)"}, "metadata_filter.$where"),
    "nested expr": ({"$or": [{"a": 1}, {"$and": [{"$expr": {}}]}]}, "metadata_filter.$or[1].$and[0].$expr"),
    "expr under a field": ({"a": {"$not": {"$expr": 1}}}, "metadata_filter.a.$not.$expr"),
    "string for a number": ({"year": {"$gt": "2024"}}, "metadata_filter.year"),
    "number for a date": ({"due": 5}, "metadata_filter.due"),
    "no date": ({"due": {"$lt": "tomorrow"}}, "metadata_filter.due"),
    "number for a name": ({"document_name": 5}, "metadata_filter.document_name"),
    "boolean for an upload date": ({"upload_date": {"$gte": True}}, "metadata_filter.upload_date.$gte"),
    "string for tags": ({"tag_ids": {"$in": "a"}}, "metadata_filter.tag_ids.$in"),
    "a megabyte of one string": ({"a": "x" * 1_000_000}, "metadata_filter.a"),
    "a megabyte of conditions": ({"$or": [{"a": number} for number in range(90_000)]}, "metadata_filter.$or[199].a"),
    "a megabyte of values": ({"a": {"$in": list(range(170_000))}}, "metadata_filter.a.$in"),
    "a megabyte of name": ({"a" * 1_000_000: 1}, "metadata_filter"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_filter_that_is_wrong_is_refused_with_the_place_and_the_reason(own: httpx.Client, case: str) -> None:
    raw, field = REFUSED[case]
    accepted(declare(own, {"due": "date", "year": "number"}))
    tag = make_tag(own)
    kb = make_knowledge_base(own, [tag])
    document = upload(own, "a.txt", b"x", tag_ids=[tag])["document_id"]
    body = {"query": "x", "metadata_filter": raw}
    calls = {
        f"/knowledge-bases/{kb}/search": body,
        f"/knowledge-bases/{kb}/explain": body | {"document_id": document},
        "/search": body | {"kb_ids": [kb]},
    }
    for path, sent in calls.items():
        problem = problem_of(own.post(path, json=sent), 400, field=field)
        assert len(problem["detail"]) < 2000
    if len(json.dumps(raw)) < 10_000:
        problem_of(own.get("/documents", params={"metadata_filter": json.dumps(raw)}), 400, field=field)


@pytest.mark.parametrize("text", ["", "[]", "5", "{", '{"a": NaN}', '"x"', '{"page": 1}'])
def test_a_list_of_documents_refuses_what_is_no_resolve_filter(own: httpx.Client, text: str) -> None:
    problem_of(own.get("/documents", params={"metadata_filter": text}), 400, field="metadata_filter")


def test_client_and_commands_declare_list_and_drop(running: Running) -> None:
    with Client(running.url, running.organization_id, running.token) as client:
        before = client.metadata_fields()
        name = unique("field")
        done = run_command("fields", "declare", f"{name}=date", "--data-dir", str(running.data_dir))
        assert done.returncode == 0, done.stderr
        assert client.metadata_fields() == {**before, name: "date"}
        listed = run_command("fields", "list", "--data-dir", str(running.data_dir))
        assert f"{name}  date" in listed.stdout
        wrong = run_command("fields", "declare", "x=integer", "--data-dir", str(running.data_dir))
        assert wrong.returncode == 1
        assert "is not of the form NAME=TYPE. The types are string, number, boolean, date" in wrong.stderr
        with pytest.raises(ProblemError, match="declared as date"):
            list(client.documents(metadata_filter={name: 5}))
        assert list(client.documents(metadata_filter={name: "2024-01-31"})) == []
        dropped = run_command("fields", "drop", name, "--data-dir", str(running.data_dir))
        assert dropped.returncode == 0, dropped.stderr
        assert client.metadata_fields() == before
