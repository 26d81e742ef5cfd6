"""Every example of the schema, sent as it stands, is accepted."""

import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    least_query,
    make_answer,
    make_knowledge_base,
    make_tag,
    unique,
    upload,
    wait_until_read,
)
from tests.e2e.running_platform import Running, client_of, make_organization
from tests.fakes.chat_server import ChatServer
from tests.fakes.embedding_server import EmbeddingServer

PREFIX = "/v0/orgs/{organization_id}"
ID = re.compile(r"[0-9a-f]{24}")


@pytest.fixture(scope="module")
def schema(running: Running) -> Body:
    """The schema that the running API serves."""
    return accepted(httpx.get(f"{running.url}/openapi.json", timeout=60))


def with_real_ids(example: Any, ids: Mapping[str, str], name: str = "tag_id") -> Any:
    """The example with ids that exist in place of its made-up ones, by the name of the field; else a tag's."""
    if isinstance(example, dict):
        return {key: with_real_ids(value, ids, key.removesuffix("s")) for key, value in example.items()}
    if isinstance(example, list):
        return [with_real_ids(item, ids, name) for item in example]
    return ids.get(name, ids["tag_id"]) if isinstance(example, str) and ID.fullmatch(example) else example


def wait_for_result(client: httpx.Client, ids: Mapping[str, str]) -> None:
    """Until a run has made its result, and those of earlier examples have ended, which would replace it."""
    prompt = accepted(client.get(f"/prompts/{ids['prompt_id']}"))
    started = accepted(
        client.post(f"/prompts/{ids['prompt_id']}/runs", json={"document_ids": [ids["document_id"]]}), 202
    )
    run = started["runs"][0]["run_id"]
    waiting = {"status": ["queued", "running"]}
    eventually(lambda: accepted(client.get("/runs", params=waiting))["total_count"] == 0)
    assert accepted(client.get(f"/runs/{run}"))["version"] == prompt["version"]


def make_source(client: httpx.Client) -> str:
    """A source whose directory the operator has not allowed: its runs fail."""
    body = {"name": unique("source"), "kind": "folder", "settings": {"path": "/srv/contracts"}}
    source_id: str = accepted(client.post("/sources", json=body), 201)["source_id"]
    accepted(client.post(f"/sources/{source_id}/inbound", json={}), 201)
    return source_id


def make_webhook(client: httpx.Client) -> dict[str, str]:
    """An endpoint with a delivery, at a name that no event reaches."""
    body = {"url": "https://example.invalid/hooks"}
    webhook_id = str(accepted(client.post("/webhooks", json=body), 201)["webhook_id"])
    delivery_id = str(accepted(client.post(f"/webhooks/{webhook_id}/test"))["delivery_id"])
    return {"webhook_id": webhook_id, "delivery_id": delivery_id}


def make_table(client: httpx.Client) -> str:
    document = upload(client, unique("prices.csv"), b"item,price\ntea,1.50\nink,2.25\n")["document_id"]
    wait_until_read(client, document)
    return f"{document}-1"


def is_of_people(path: str) -> bool:
    """True if a token is not enough to call it: see tests/integration/accounts/test_http.py."""
    return not path.startswith(PREFIX) or "{user_id}" in path


def test_every_example_is_accepted(running: Running, schema: Body) -> None:
    organization_id, token = make_organization(running, "Examples")
    sent: list[str] = []
    with client_of(running.url, organization_id, token) as client, EmbeddingServer() as provider, ChatServer() as chat:
        tag = make_tag(client)
        document = upload(client, unique("example.txt"), b"Payment is due within 30 days.", tag_ids=[tag])
        wait_until_read(client, document["document_id"])
        ids = {"tag_id": tag, "document_id": document["document_id"], "kb_id": make_knowledge_base(client, [tag])}
        ids["litellm_provider"] = "openai"
        with database_of(running.data_dir) as database:
            ids |= make_answer(client, database, ids["kb_id"])
        accepted(client.put("/llm-providers/openai", json={"api_key": chat.api_key, "api_base": chat.url}))
        wanted = {"name": unique("prompt"), "text": "When is it due?", "model": "openai/fake-chat"}
        made = accepted(client.post("/prompts", json=wanted), 201)
        ids["prompt_id"] = made["prompt_id"]
        ids["source_id"] = make_source(client)
        ids["table_id"] = make_table(client)
        ids |= make_webhook(client)
        for path, operations in schema["paths"].items():
            if is_of_people(path):
                continue
            for method, operation in operations.items():
                content = operation.get("requestBody", {}).get("content", {})
                for media_type in content:
                    if media_type != "application/json":
                        continue
                    name = content[media_type]["schema"]["$ref"].rpartition("/")[2]
                    if operation["operationId"] == "test_llm_provider":
                        # The example's key would be tried at OpenAI itself.
                        key = {"api_key": provider.api_key, "api_base": provider.url}
                        accepted(client.put("/llm-providers/openai", json=key))
                    if operation["operationId"] == "run_prompt":
                        accepted(
                            client.put("/llm-providers/openai", json={"api_key": chat.api_key, "api_base": chat.url})
                        )
                    if operation["operationId"] == "ask_chat_thread":
                        named = {"model": "openai/fake-chat"}  # a server of one's own has no default model
                        accepted(client.put(f"/chat/threads/{ids['thread_id']}", json=named))
                    if operation["operationId"] == "update_prompt_result":
                        wait_for_result(client, ids)
                    for example in schema["components"]["schemas"][name]["examples"]:
                        # The organization itself has no path below its own, and a slash too many is another.
                        url = f"{client.base_url}".rstrip("/") + path.removeprefix(PREFIX).format(**ids)
                        response = client.request(method, url, json=with_real_ids(example, ids))
                        assert response.is_success, f"{method} {path}: {response.text}"
                        sent.append(operation["operationId"])
    assert set(sent) >= {
        "create_access_token", "create_tag", "update_tag", "upload_documents", "update_document",
        "create_knowledge_base", "update_knowledge_base", "search_knowledge_base",
        "create_chat_thread", "update_chat_thread", "ask_chat_thread",
    }  # fmt: skip


def test_every_answer_has_the_fields_of_its_schema(running: Running, schema: Body, client: httpx.Client) -> None:
    tag = make_tag(client)
    document = upload(client, unique("fields.txt"), b"x", tag_ids=[tag])["document_id"]
    kb = make_knowledge_base(client, [tag])
    wait_until_read(client, document)
    erasure = accepted(client.post("/erasures", json={"kind": "cache", "dry_run": True}), 202)["erasure_id"]
    ids = {"tag_id": tag, "document_id": document, "kb_id": kb, "organization_id": running.organization_id}
    ids["erasure_id"] = erasure
    ids["reconcile_run_id"] = accepted(client.post("/reconcile", json={"dry_run": True}), 202)["run_id"]
    with database_of(running.data_dir) as database:
        ids |= make_answer(client, database, kb)
    ids["prompt_id"] = accepted(client.post("/prompts", json={"name": unique("prompt"), "text": "?"}), 201)["prompt_id"]
    ids["source_id"] = make_source(client)
    ids["table_id"] = make_table(client)
    ids |= make_webhook(client)
    run = accepted(client.post(f"/sources/{ids['source_id']}/runs", json={}), 202)
    ids["source_run_id"] = run["source_run_id"]
    walked = 0
    for path, operations in schema["paths"].items():
        answer = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = answer.get("application/json", {}).get("schema", {}).get("$ref")
        if reference is None or is_of_people(path) or "{job_id}" in path or "{run_id}" in path or "/results/" in path:
            # A finished job has no row, a run needs a model: see test_http_jobs.py and test_http_prompts.py.
            continue
        url = f"{running.url}{path.format(**ids)}"
        body = accepted(client.get(url, params=least_query(operations["get"], otherwise=None)))
        declared = schema["components"]["schemas"][reference.rpartition("/")[2]]
        assert set(declared.get("required", [])) <= set(body) <= set(declared["properties"]), path
        walked += 1
    assert walked >= 12
