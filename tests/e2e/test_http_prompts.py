"""Prompts over HTTP and at the command line, with a scripted model: made, run, looked at, verified, exported."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    UNKNOWN_ID,
    Body,
    accepted,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command
from tests.fakes.chat_server import Call, ChatServer, Cut, Say, Slow

MODEL = "openai/fake-chat"  # a server of one's own has no default model
SCHEMA = {
    "type": "object",
    "properties": {"days": {"type": "integer"}},
    "required": ["days"],
    "additionalProperties": False,
}


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    """A provider of its own for each test."""
    with ChatServer() as server:
        yield server


@pytest.fixture
def tenant(running: Running, chat: ChatServer) -> Iterator[httpx.Client]:
    """A client of an organization whose default chat model is the scripted one."""
    organization_id, token = make_organization(running, "Prompts")
    with client_of(running.url, organization_id, token) as opened:
        accepted(opened.put("/llm-providers/openai", json={"api_key": chat.api_key, "api_base": chat.url}))
        yield opened


def make_prompt(client: httpx.Client, **fields: Any) -> str:
    body = {"name": unique("prompt"), "text": "How long is the notice period?", "model": MODEL, **fields}
    return str(accepted(client.post("/prompts", json=body), 201)["prompt_id"])


def over(client: httpx.Client, run_id: str) -> Body:
    def ended() -> Body | None:
        run = accepted(client.get(f"/runs/{run_id}"))
        return run if run["status"] not in ("queued", "running") else None

    found: Body = eventually(ended)
    return found


def run_on(client: httpx.Client, prompt_id: str, **subject: Any) -> Body:
    started = accepted(client.post(f"/prompts/{prompt_id}/runs", json=subject), 202)
    return over(client, started["runs"][0]["run_id"])


def test_prompt_is_made_run_by_itself_verified_and_exported(tenant: httpx.Client, chat: ChatServer) -> None:
    tag, kb_tag = make_tag(tenant), make_tag(tenant)
    kb = make_knowledge_base(tenant, [kb_tag], embedding_model="local/all-minilm-l6-v2")
    terms = upload(tenant, unique("terms.txt"), b"The notice period is thirty days.", tag_ids=[kb_tag])
    wait_until_indexed(tenant, terms["document_id"])
    chat.script(
        Say(tool_calls=[Call("search_knowledge_base", {"query": "notice period", "top_k": 100_000})]),
        Say(json.dumps({"days": 30})),
    )
    prompt = make_prompt(tenant, answer_schema=SCHEMA, tag_ids=[tag], kb_id=kb)
    document = upload(tenant, unique("letter.txt"), b"We end the contract.", tag_ids=[tag])["document_id"]
    path = f"/prompts/{prompt}/results/{document}"
    eventually(lambda: tenant.get(path).status_code == 200)
    result = accepted(tenant.get(path))
    assert (result["answer"], result["is_verified"]) == ({"days": 30}, False)
    run = accepted(tenant.get(f"/runs/{result['run_id']}"))
    assert (run["is_automatic"], run["usage"]["searches"], run["usage"]["spus"]) == (True, 1, 1)
    (passage,) = run["steps"][1]["passages"]
    assert (passage["document_id"], passage["number"]) == (terms["document_id"], 1)
    verified = accepted(tenant.put(path, json={"answer": {"days": 31}, "is_verified": True, "run_id": run["run_id"]}))
    assert (verified["answer"], verified["is_verified"], verified["is_edited"]) == ({"days": 31}, True, True)
    problem_of(tenant.put(path, json={"answer": {"days": "many"}}), 400, field="answer.days")
    lines = tenant.get(f"/prompts/{prompt}/results/export").text.splitlines()
    assert lines[0].endswith("updated_at,days")
    assert lines[1].startswith(f"{document},letter")
    assert lines[1].endswith(",31")
    (exported,) = tenant.get(f"/prompts/{prompt}/results/export", params={"format": "json"}).json()
    assert exported["answer"] == {"days": 31}
    usage = accepted(tenant.get("/llm-usage"))
    assert usage["total_calls"] == 2
    assert {item["kb_id"] for item in usage["items"]} == {kb}
    assert list(usage["kb_names"]) == [kb]
    asked = {"kb_id": kb, "include": ["kb_name", "last_run"]}
    (listed,) = accepted(tenant.get("/prompts", params=asked))["prompts"]
    assert listed["kb_name"] == accepted(tenant.get(f"/knowledge-bases/{kb}"))["name"]
    (latest,) = accepted(tenant.get("/runs", params={"prompt_id": prompt, "limit": 1}))["runs"]
    assert listed["last_run"] == {name: latest[name] for name in listed["last_run"]}
    assert (listed["last_run"]["run_id"], listed["last_run"]["status"]) == (latest["run_id"], "succeeded")
    (plain,) = accepted(tenant.get("/prompts", params={"kb_id": kb}))["prompts"]
    assert (plain["kb_name"], plain["last_run"]) == (None, None)
    problem = problem_of(tenant.delete(f"/knowledge-bases/{kb}"), 409, code="knowledge_base_in_use")
    assert "on_use=detach" in problem["detail"]
    accepted(tenant.delete(f"/knowledge-bases/{kb}", params={"on_use": "detach"}))
    now = accepted(tenant.get(f"/prompts/{prompt}"))
    assert (now["version"], now["kb_id"]) == (2, None)
    versions = accepted(tenant.get(f"/prompts/{prompt}/versions"))["versions"]
    assert [(item["version"], item["kb_id"]) for item in versions] == [(2, None), (1, kb)]


def test_run_on_a_text_outlives_an_answer_that_is_cut_in_the_middle(tenant: httpx.Client, chat: ChatServer) -> None:
    prompt = make_prompt(tenant)
    chat.script(Cut(Say("never heard whole")), Say("Thirty days."))
    run = run_on(tenant, prompt, text="Notice: thirty days.")
    assert (run["status"], run["answer"], run["input_text"]) == ("succeeded", "Thirty days.", "Notice: thirty days.")


def test_run_is_cancelled_while_the_model_is_at_it(tenant: httpx.Client, chat: ChatServer) -> None:
    chat.script(Slow(Say("never read")))
    started = accepted(tenant.post(f"/prompts/{make_prompt(tenant)}/runs", json={"text": "?"}), 202)
    run_id = started["runs"][0]["run_id"]
    chat.wait_for_slow()
    assert accepted(tenant.post(f"/runs/{run_id}/cancel"))["status"] == "cancelled"
    problem_of(tenant.post(f"/runs/{run_id}/cancel"), 409, code="run_over")
    eventually(lambda: accepted(tenant.get("/jobs", params={"state": "running"}))["total_count"] == 0)
    assert chat.calls == 1


def test_same_idempotency_key_runs_and_pays_once(tenant: httpx.Client, chat: ChatServer) -> None:
    prompt = make_prompt(tenant)
    answers = [
        accepted(tenant.post(f"/prompts/{prompt}/runs", json={"text": "?"}, headers={"Idempotency-Key": "once"}), 202)
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    over(tenant, answers[0]["runs"][0]["run_id"])
    assert accepted(tenant.get("/runs"))["total_count"] == 1


def test_wrong_prompts_and_runs_are_refused_by_field(tenant: httpx.Client) -> None:
    good = {"name": unique("prompt"), "text": "?"}
    for wrong, field in (
        ({"answer_schema": {"type": "array"}}, "answer_schema.type"),
        ({"kb_id": UNKNOWN_ID}, "kb_id"),
        ({"kb_id": "not-an-id"}, "kb_id"),
        ({"tag_ids": [UNKNOWN_ID]}, "tag_ids[0]"),
        ({"metadata_filter": {"$where": "1"}}, "metadata_filter.$where"),
        ({"metadata_filter": {"a": 1}}, "metadata_filter"),
        ({"model": "anthropic/claude-haiku-4-5"}, "model"),
        ({"model": "no such model"}, "model"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"temperature": 3}, "temperature"),
        ({"prompt": "misspelt"}, "prompt"),
    ):
        problem_of(tenant.post("/prompts", json={**good, **wrong}), 400, field=field)
    prompt = make_prompt(tenant)
    for wrong, field in (
        ({}, "document_ids"),
        ({"text": "x", "document_ids": [UNKNOWN_ID]}, "document_ids"),
        ({"document_ids": [UNKNOWN_ID]}, "document_ids[0]"),
    ):
        problem_of(tenant.post(f"/prompts/{prompt}/runs", json=wrong), 400, field=field)
    problem_of(tenant.post(f"/prompts/{prompt}/runs", json={"text": "x", "version": 7}), 404)


def test_null_takes_away_and_what_is_left_out_stays(tenant: httpx.Client) -> None:
    prompt = make_prompt(tenant, answer_schema=SCHEMA, temperature=0.5, max_iterations=3)
    changed = accepted(tenant.put(f"/prompts/{prompt}", json={"answer_schema": None}))
    assert (changed["answer_schema"], changed["temperature"], changed["max_iterations"]) == (None, 0.5, 3)
    renamed = accepted(tenant.put(f"/prompts/{prompt}", json={"name": unique("renamed")}))
    assert renamed["version"] == changed["version"] == 2


def test_change_of_another_version_than_the_present_one_is_refused_and_changes_nothing(tenant: httpx.Client) -> None:
    prompt = make_prompt(tenant, temperature=0.5)
    seen = tenant.get(f"/prompts/{prompt}").headers["etag"]
    first = tenant.put(f"/prompts/{prompt}", json={"temperature": 0.1}, headers={"If-Match": seen})
    assert accepted(first)["version"] == 2
    for change in ({"temperature": 0.9}, {"name": unique("second tab")}):
        second = tenant.put(f"/prompts/{prompt}", json=change, headers={"If-Match": seen})
        problem_of(second, 412, code="stale_version")
    assert accepted(tenant.get(f"/prompts/{prompt}"))["temperature"] == 0.1
    assert (
        accepted(tenant.put(f"/prompts/{prompt}", json={"temperature": 0.9}, headers={"If-Match": "*"}))["version"] == 3
    )
    again = tenant.put(f"/prompts/{prompt}", json={"temperature": 0.2}, headers={"If-Match": '"3"'})
    assert again.headers["etag"] == '"4"'
    problem_of(tenant.put(f"/prompts/{prompt}", json={}, headers={"If-Match": "yesterday"}), 400, field="If-Match")


def test_models_are_listed_with_what_they_can_do(tenant: httpx.Client, client: httpx.Client, chat: ChatServer) -> None:
    served = accepted(tenant.get("/models", params={"litellm_provider": "openai", "kind": "chat"}))
    assert [(item["model"], item["source"]) for item in served["models"]] == [
        ("openai/fake-chat", "server"), ("openai/fake-chat-small", "server"), ("openai/gpt-4o-mini", "server"),
    ]  # fmt: skip
    (local,) = accepted(client.get("/models", params={"litellm_provider": "local"}))["models"]
    assert (local["kind"], local["dimensions"]) == ("embedding", 384)
    accepted(tenant.put("/llm-providers/mistral", json={"api_key": "sk-an-example-key-that-opens-nothing"}))
    listed = accepted(tenant.get("/models", params={"litellm_provider": "mistral", "kind": "embedding"}))
    assert "mistral/mistral-embed" in [item["model"] for item in listed["models"]]
    accepted(tenant.put("/llm-providers/openai", json={"api_key": "wrong", "api_base": chat.url}))
    assert "openai" in accepted(tenant.get("/models"))["unreachable"]


def test_commands_make_run_show_and_export_a_prompt(
    running: Running, tenant: httpx.Client, chat: ChatServer, tmp_path: Path
) -> None:
    token = tenant.headers["Authorization"].removeprefix("Bearer ")
    organization_id = str(tenant.base_url).rstrip("/").rpartition("/")[2]
    environment = {
        "ANALYTIQ_URL": running.url, "ANALYTIQ_ORGANIZATION_ID": organization_id, "ANALYTIQ_TOKEN": token,
    }  # fmt: skip
    name = unique("letter.txt")
    upload(tenant, name, b"Thirty days.", tag_ids=[])
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))

    def command(*arguments: str) -> str:
        done = run_command("prompt", *arguments, environment=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    made = command("create", "Notice", "--text", "How long?", "--model", MODEL, "--schema", str(schema))
    assert command("create", "Notice", "--text", "How many days?", "--model", MODEL, "--schema", str(schema)) == made
    chat.script(Say(json.dumps({"days": 30})))
    assert json.loads(command("run", "Notice", "--document", name)) == {"days": 30}
    assert "Notice" in command("list")
    run_id = accepted(tenant.get("/runs"))["runs"][0]["run_id"]
    assert run_id in command("runs", "Notice")
    assert '{"days": 30}' in command("show", run_id)
    assert command("results", "Notice").splitlines()[1].endswith(",30")
    assert "openai/fake-chat" in command("models")
    command("delete", "Notice", "--yes")
    assert accepted(tenant.get("/prompts"))["total_count"] == 0
