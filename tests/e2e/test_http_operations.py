"""For those who run the system: health, metrics, request ids, repeated calls."""

import re
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running

SEED_METRICS = {
    "kb_indexing_errors_total": "counter",
    "kb_embedding_cache_hits_total": "counter",
    "kb_embedding_cache_misses_total": "counter",
    "kb_embedding_api_calls_total": "counter",
    "kb_indexing_queue_depth": "gauge",
    "kb_jobs_due": "gauge",
    "kb_chunks_indexed_total": "counter",
    "kb_search_results_count": "histogram",
    "kb_spu_charged_total": "counter",
}


def test_health_and_readiness_ask_for_no_token(running: Running) -> None:
    assert accepted(httpx.get(f"{running.url}/health")) == {"status": "ok"}
    assert accepted(httpx.get(f"{running.url}/ready")) == {"status": "ok"}


def metric(running: Running, sample: str) -> float:
    """The value of one sample, such as `name{label="x"}`; 0 where it is not there yet."""
    text = httpx.get(f"{running.url}/metrics").text
    values = [line.rpartition(" ")[2] for line in text.splitlines() if line.rpartition(" ")[0] == sample]
    return float(values[0]) if values else 0.0


def test_metrics_count_what_happened_in_every_process(client: httpx.Client, running: Running) -> None:
    model = 'model="local/all-minilm-l6-v2"'
    samples = {
        "misses": f"kb_embedding_cache_misses_total{{{model}}}",
        "hits": f"kb_embedding_cache_hits_total{{{model}}}",
        "calls": f"kb_embedding_api_calls_total{{{model}}}",
        "index": 'kb_spu_charged_total{operation_type="index"}',
        "search": 'kb_spu_charged_total{operation_type="search"}',
        "searches": "kb_search_results_count_count",
    }
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    before = {name: metric(running, sample) for name, sample in samples.items()}
    document = upload(client, unique("metrics.txt"), unique("a yak").encode(), tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    question = unique("Where is the yak?")
    for _ in range(2):
        search(client, kb, question)
    after = {name: metric(running, sample) for name, sample in samples.items()}
    grown = {name: after[name] - before[name] for name in samples}
    assert grown == {"misses": 2, "hits": 1, "calls": 2, "index": 1, "search": 1, "searches": 2}
    assert metric(running, f'kb_chunks_indexed_total{{kb_id="{kb}"}}') == 1
    # Another test's document may be waiting, for minutes where its provider failed.
    with database_of(running.data_dir) as database:
        waiting = {"kind": "sync", "state": "available"}
        assert eventually(
            lambda: metric(running, "kb_indexing_queue_depth") == database["jobs"].count_documents(waiting)
        )
    response = httpx.get(f"{running.url}/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", response.text, re.MULTILINE))
    assert {name: kinds.get(name) for name in SEED_METRICS} == SEED_METRICS


def test_request_id_is_answered_and_a_harmful_one_replaced(running: Running) -> None:
    url = f"{running.url}/health"
    own = "trace-1.A_b"
    assert httpx.get(url, headers={"X-Request-ID": own}).headers["x-request-id"] == own
    fresh = {httpx.get(url).headers["x-request-id"] for _ in range(3)}
    assert len(fresh) == 3
    for harmful in ("x" * 65, "a b", "id\u00e9", "<script>", '{"a":1}', ""):
        answered = httpx.get(url, headers=[(b"X-Request-ID", harmful.encode("latin-1"))]).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", answered)


def test_request_id_leads_from_the_call_to_its_line_in_the_log(client: httpx.Client, running: Running) -> None:
    request_id = unique("find-me").replace(" ", "-")
    client.post("/tags", json={"name": unique("logged")}, headers={"X-Request-ID": request_id})
    assert eventually(lambda: request_id in running.log)  # the line follows the answer


def test_every_answer_forbids_sniffing_framing_and_referring(client: httpx.Client, running: Running) -> None:
    answers = [httpx.get(f"{running.url}/health"), client.get("/tags"), client.get("/no-such"), client.patch("/tags")]
    for response in answers:
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "server" not in response.headers
        assert "access-control-allow-origin" not in response.headers


def test_schema_is_served_and_documentation_pages_are_not(running: Running) -> None:
    assert accepted(httpx.get(f"{running.url}/openapi.json", timeout=60))["openapi"].startswith("3.")
    for path in ("/docs", "/redoc"):
        assert httpx.get(f"{running.url}{path}").status_code == 404


IDEMPOTENT: list[tuple[str, Any]] = [("/tags", {"name": "tag"}), ("/knowledge-bases", {"name": "kb"})]


@pytest.mark.parametrize(("path", "body"), IDEMPOTENT)
def test_repeated_call_with_the_same_key_makes_one_thing(client: httpx.Client, path: str, body: Any) -> None:
    body = {**body, "name": unique(body["name"])}
    headers = {"Idempotency-Key": unique("key")}
    first = accepted(client.post(path, json=body, headers=headers), 201)
    again = client.post(path, json=body, headers=headers)
    assert accepted(again, 201) == first
    assert again.headers["idempotency-replayed"] == "true"
    assert accepted(client.get(path, params={"name_search": body["name"]}))["total_count"] == 1
    changed = client.post(path, json={**body, "name": unique("other")}, headers=headers)
    problem_of(changed, 409, code="idempotency_key_reused")


def test_key_of_one_organization_says_nothing_to_another(client: httpx.Client, other_client: httpx.Client) -> None:
    body, headers = {"name": unique("mine")}, {"Idempotency-Key": unique("key")}
    mine = accepted(client.post("/tags", json=body, headers=headers), 201)
    theirs = accepted(other_client.post("/tags", json=body, headers=headers), 201)
    assert theirs["tag_id"] != mine["tag_id"]


def test_key_that_is_none_is_refused(client: httpx.Client) -> None:
    for key in ("", "x" * 256):
        response = client.post("/tags", json={"name": unique("tag")}, headers={"Idempotency-Key": key})
        problem_of(response, 400, field="Idempotency-Key")


def test_secret_of_a_token_made_with_a_key_is_not_kept_readable(client: httpx.Client, running: Running) -> None:
    headers = {"Idempotency-Key": unique("key")}
    made = accepted(client.post("/access-tokens", json={"name": unique("token")}, headers=headers), 201)
    with database_of(running.data_dir) as database:
        for name in database.list_collection_names():
            assert all(made["token"].encode() not in str(row).encode() for row in database[name].find()), name


def test_workers_are_shown_with_their_place_and_jobs(client: httpx.Client) -> None:
    (worker,) = accepted(client.get("/workers"))["workers"]
    assert worker["name"].startswith("worker-")
    assert worker["slots"] >= 1
    assert worker["job_count"] == len(worker["jobs"])
    assert set(worker) == {"name", "host", "started_at", "seen_at", "slots", "jobs", "job_count", "problems"}


def test_whatever_is_read_by_the_organization_alone_is_answered(client: httpx.Client, running: Running) -> None:
    """Responses are built by attribute: nothing but a real answer shows that each has what it needs."""
    prefix = "/v0/orgs/{organization_id}"
    read: list[str] = []
    for path, operations in accepted(httpx.get(f"{running.url}/openapi.json", timeout=60))["paths"].items():
        operation = operations.get("get")
        if operation is None or not path.startswith(prefix) or "{" in path.removeprefix(prefix):
            continue
        parameters = operation.get("parameters", [])
        if any(one["required"] for one in parameters if one["in"] == "query") or path.endswith("/events"):
            continue
        response = client.get(path.removeprefix(prefix) or f"{running.url}{prefix}")
        assert response.status_code in (200, 404), (path, response.text)
        read.append(path)
    assert len(read) > 15
