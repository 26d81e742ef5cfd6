"""The compatible routes over HTTP: load, index and retrieve, for the organization of the token alone."""

import base64
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.e2e.driving import accepted, eventually, problem_of
from tests.e2e.running_platform import Running, make_organization

PAIRS = [["When is the zebrafish fed?", "At noon."], {"question": "Who feeds it?", "answer": "Ada.", "label": "staff"}]


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx.Client]:
    _, token = make_organization(running, "Compatible")
    with client_with(running, token) as opened:
        yield opened


def client_with(running: Running, token: str) -> httpx.Client:
    return httpx.Client(base_url=running.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)


def load(api: httpx.Client, loader: str, options: dict[str, Any]) -> str:
    body = {"loader": loader, "loader_options": options}
    return str(accepted(api.post("/api/data-resources", json=body))["data_resource_id"])


def loaded(api: httpx.Client, resource: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        found = accepted(api.get(f"/api/data-resources/{resource}/status"))
        return None if found["status"] in ("PENDING", "RUNNING") else found

    return eventually(ended)


def embedded(api: httpx.Client, resource: str, **fields: Any) -> dict[str, Any]:
    accepted(api.post("/api/embeddings", json={"data_resource_id": resource, **fields}))

    def ended() -> dict[str, Any] | None:
        found = accepted(api.get(f"/api/embeddings/{resource}/status"))
        return None if found["status"] in ("PENDING", "RUNNING") else found

    return eventually(ended)


def retrieve(api: httpx.Client, resource: str, query: str, **fields: Any) -> list[dict[str, Any]]:
    answer = api.post("/api/v2/retrieve", json={"kbids": [resource], "query": query, **fields})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def test_pairs_are_loaded_indexed_found_and_deleted(api: httpx.Client) -> None:
    resource = str(uuid4())
    body = {"data_resource_id": resource, "loader": "qna_tuple_loader", "loader_options": {"pairs": PAIRS}}
    assert accepted(api.post("/api/data-resources", json=body)) == {"data_resource_id": resource}
    status = loaded(api, resource)
    assert (status["status"], len(status["files"]), status["failed"]) == ("SUCCESS", 2, [])
    problem_of(api.post("/api/data-resources", json=body), 409)
    assert accepted(api.get(f"/api/embeddings/{resource}/status"))["status"] == "NOT_FOUND"
    standing = embedded(api, resource, vector_store="weaviate")
    assert (standing["status"], standing["documents"]) == ("SUCCESS", 2)
    problem_of(api.post("/api/embeddings", json={"data_resource_id": resource}), 409, code="already_embedded")
    question = {"top_k": 1, "top_n": 15, "alpha": 0.75, "hybrid_search": True}
    (hit,) = retrieve(api, resource, "Who feeds it?", **question)
    assert hit["page_content"].endswith("Ada.")
    assert hit["metadata"]["data_resource_id"] == resource
    assert hit["metadata"]["label"] == "staff"
    assert hit["metadata"]["source"]
    assert hit["id"]
    assert len(retrieve(api, standing["kb_id"], "zebrafish", hybrid_search=False)) == 2
    pages = [
        accepted(api.get(f"/api/data-resources/{resource}/status", params={"skip": skip, "limit": 1}))
        for skip in (0, 1, 2)
    ]
    assert sorted(item for page in pages for item in page["files"]) == sorted(status["files"])
    assert [(len(page["files"]), page["total_count"], page["skip"]) for page in pages] == [
        (1, 2, 0),
        (1, 2, 1),
        (0, 2, 2),
    ]
    problem_of(api.get(f"/api/data-resources/{resource}/logs", params={"limit": 1001}), 400, field="limit")
    assert accepted(api.get(f"/api/data-resources/{resource}/logs", params={"skip": 1}))["logs"] == []
    assert accepted(api.request("DELETE", "/api/data-resources", json={"data_resource_id": resource}))
    problem_of(api.get(f"/api/data-resources/{resource}/status"), 404)
    problem_of(api.post("/api/v2/retrieve", json={"kbids": [resource], "query": "Who?"}), 404)


def test_deleted_resource_takes_its_tags_along_unless_others_use_them(running: Running) -> None:
    organization_id, token = make_organization(running, "Compatible tags")
    with client_with(running, token) as api:
        own = f"/v0/orgs/{organization_id}"
        api.post(f"{own}/tags", json={"name": "mine selected", "color": "#112233"}).raise_for_status()
        resources = ["gone", "kept", "mine"]
        for name in resources:
            body = {
                "data_resource_id": name,
                "loader": "text_loader",
                "loader_options": {"text": "Ada.", "name": "a.txt"},
            }
            accepted(api.post("/api/data-resources", json=body))
        for name in resources:
            loaded(api, name)
            embedded(api, name, selected_file_urls=[{"url": "a.txt"}])
        tag_ids = {tag["name"]: tag["tag_id"] for tag in accepted(api.get(f"{own}/tags"))["tags"]}
        assert tag_ids.keys() == {name + end for name in resources for end in ("", " selected")}
        other = {"name": "Other", "tag_ids": [tag_ids["kept"]]}
        api.post(f"{own}/knowledge-bases", json=other).raise_for_status()
        for name in resources:
            accepted(api.request("DELETE", "/api/data-resources", json={"data_resource_id": name}))
        left = eventually(
            lambda: (
                (names := {tag["name"] for tag in accepted(api.get(f"{own}/tags"))["tags"]})
                and len(names) == 2
                and names
            )
        )
        assert left == {"kept", "mine selected"}


def test_selected_files_alone_are_searchable(api: httpx.Client) -> None:
    files = [{"name": f"{name}.csv", "content": base64.b64encode(b"item,price\n" + row).decode()}
             for name, row in (("tea", b"tea,1.50\n"), ("ink", b"ink,2.25\n"))]  # fmt: skip
    resource = load(api, "csv_to_sql_loader", {"files": files})
    assert sorted(loaded(api, resource)["files"]) == ["ink.csv", "tea.csv"]
    chosen = {"selected_file_urls": [{"url": "nothing.csv"}, {"url": "tea.csv"}]}
    refused = api.post("/api/embeddings", json={"data_resource_id": resource, **chosen})
    problem_of(refused, 400, field="selected_file_urls[0].url")
    assert embedded(api, resource, selected_file_urls=[{"url": "tea.csv"}])["documents"] == 1
    assert {hit["metadata"]["source"] for hit in retrieve(api, resource, "price")} == {"tea.csv"}


def test_failures_are_told_with_their_reason_and_are_not_indexed(api: httpx.Client) -> None:
    resource = load(api, "web_base_loader", {"url": "http://127.0.0.1:9/", "use_browser": False})
    assert loaded(api, resource)["status"] == "FAILURE"
    assert accepted(api.get(f"/api/data-resources/{resource}/logs"))["logs"]
    refused = api.post("/api/embeddings", json={"data_resource_id": resource})
    problem_of(refused, 409, code="data_resource_failed")


@pytest.mark.parametrize(
    ("loader", "options", "field"),
    [
        ("ftp_loader", {}, "loader"),
        ("web_base_loader", {"url": "ftp://x"}, "loader_options.url"),
        ("web_base_loader", {"url": "https://example.com", "spider": 1}, "loader_options.spider"),
        ("web_base_loader", {"url": "https://example.com", "use_browser": 1}, "loader_options.use_browser"),
        ("text_loader", {}, "loader_options"),
        ("text_loader", {"text": "x", "name": "a\0"}, "loader_options.name"),
        ("pdf_loader", {"files": [{"name": "x.txt", "content": "eA=="}]}, "loader_options.files[0].name"),
        ("pdf_loader", {"files": [{"name": "x.pdf", "content": "*"}]}, "loader_options.files[0].content"),
        ("qna_tuple_loader", {"pairs": "x"}, "loader_options.pairs"),
        ("slack_loader", {"credentials": {"tokens": "x"}}, "loader_options.credentials.tokens"),
        ("notion_loader", {"credentials": "x"}, "loader_options.credentials"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(
    api: httpx.Client, loader: str, options: dict[str, Any], field: str
) -> None:
    resource = str(uuid4())
    body = {"data_resource_id": resource, "loader": loader, "loader_options": options}
    problem_of(api.post("/api/data-resources", json=body), 400, field=field)
    problem_of(api.get(f"/api/data-resources/{resource}/status"), 404)


def calls(resource: str, kb_id: str) -> list[tuple[str, str, Any]]:
    reference = {"data_resource_id": resource}
    return [
        ("GET", f"/api/data-resources/{resource}/status", None),
        ("GET", f"/api/data-resources/{resource}/logs", None),
        ("GET", f"/api/embeddings/{resource}/status", None),
        ("POST", "/api/v2/retrieve", {"kbids": [kb_id], "query": "secret"}),
        ("POST", "/api/v2/retrieve", {"kbids": [resource], "query": "secret"}),
        ("POST", "/api/embeddings", reference),
        ("DELETE", "/api/data-resources", reference),
    ]


def test_other_organizations_and_lesser_tokens_reach_nothing(running: Running, api: httpx.Client) -> None:
    resource = load(api, "text_loader", {"text": "The armadillo is secret.", "name": "secret.txt"})
    kb_id = embedded(api, resource)["kb_id"]
    everything = calls(resource, kb_id)
    other_id, token = make_organization(running, "Burglar of resources")
    with client_with(running, token) as burglar:
        for method, path, body in everything:
            problem_of(burglar.request(method, path, json=body), 404, code="not_found")
        named = {"loader": "text_loader", "loader_options": {"text": "x"}, "account_id": running.organization_id}
        problem_of(burglar.post("/api/data-resources", json=named), 404, code="not_found")
        problem_of(burglar.post("/api/v2/retrieve", json={**everything[3][2], "account_id": "x"}), 404)
        own = {**named, "account_id": other_id, "data_resource_id": resource}
        assert accepted(burglar.post("/api/data-resources", json=own)) == {"data_resource_id": resource}
        made = accepted(
            burglar.post(f"/v0/orgs/{other_id}/access-tokens", json={"name": "reader", "scope": "read"}), 201
        )
        with client_with(running, made["token"]) as reader:
            for method, path, body in [*everything[5:], ("POST", "/api/data-resources", own)]:
                problem_of(reader.request(method, path, json=body), 403, code="access_denied")
    for headers in ({}, {"Authorization": "Bearer aq_guessed"}):
        for method, path, body in [*everything, ("POST", "/api/data-resources", named)]:
            answer = httpx.request(method, f"{running.url}{path}", json=body, headers=headers)
            problem_of(answer, 401, code="unauthenticated")
    (hit,) = retrieve(api, resource, "armadillo")
    assert hit["page_content"] == "The armadillo is secret."
    assert httpx.get(f"{running.url}/api/data-resources/x/status", headers={"Accept": "text/html"}).status_code == 401


def test_repeated_call_with_a_key_is_answered_once(api: httpx.Client) -> None:
    body = {"loader": "intent_loader", "loader_options": {"intents": [{"label": "greet", "examples": ["hi"]}]}}
    headers = {"Idempotency-Key": str(uuid4())}
    first, second = (accepted(api.post("/api/data-resources", json=body, headers=headers)) for _ in range(2))
    assert first == second
    embeddings_label = embedded(api, loaded(api, first["data_resource_id"])["data_resource_id"])
    assert embeddings_label["documents"] == 1
    assert retrieve(api, first["data_resource_id"], "hi")[0]["metadata"]["label"] == "greet"


@pytest.mark.parametrize("method_and_path", ["GET /api/data-resources/x/status", "POST /api/v2/retrieve"])
def test_unknown_query_parameter_is_named_to_whoever_may_call(
    api: httpx.Client, running: Running, method_and_path: str
) -> None:
    method, path = method_and_path.split()
    problem_of(api.request(method, path, params={"page": "2"}), 400, field="page", code="unknown_parameter")
    problem_of(httpx.request(method, running.url + path, params={"page": "2"}), 401)
