"""Providers over HTTP and from the command line: keys go in, are tried, and are never answered or logged."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from analytiq.settings import child_environment
from tests.e2e.driving import accepted, database_of, make_tag, problem_of, unique, upload, wait_until_indexed
from tests.e2e.running_platform import (
    Running,
    client_of,
    make_organization,
    run_command,
    start_platform,
    stop_platform,
)
from tests.fakes.embedding_server import EmbeddingServer, Failure

MODEL = "text-embedding-3-small"
KEY = "sk-a-key-that-nobody-else-has-4d7c"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A fresh organization, by HTTP and by the environment of a command."""

    client: httpx.Client
    environment: Mapping[str, str]
    token: str
    organization_id: str


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(api_key=KEY) as server:
        yield server


@pytest.fixture
def tenant(running: Running) -> Iterator[Tenant]:
    organization_id, token = make_organization(running, "Keys")
    environment = {"ANALYTIQ_URL": running.url, "ANALYTIQ_ORGANIZATION_ID": organization_id, "ANALYTIQ_TOKEN": token}
    with client_of(running.url, organization_id, token) as client:
        yield Tenant(client, environment, token, organization_id)


def put(tenant: Tenant, server: EmbeddingServer, provider: str = "openai") -> dict[str, Any]:
    body = {"api_key": server.api_key, "api_base": server.url}
    return accepted(tenant.client.put(f"/llm-providers/{provider}", json=body))


def piped(tenant: Tenant, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "analytiq.cli", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=child_environment(tenant.environment),
    )


def test_key_that_is_put_is_used_at_once_and_shown_by_its_end_alone(tenant: Tenant, provider: EmbeddingServer) -> None:
    assert accepted(tenant.client.get("/llm-providers")) == {"llm_providers": [], "total_count": 0, "skip": 0}
    refused = tenant.client.post("/knowledge-bases", json={"name": unique("k"), "embedding_model": MODEL})
    assert "analytiq providers put openai" in problem_of(refused, 400, code="provider_key_missing")["detail"]
    stored = put(tenant, provider)
    assert (stored["source"], stored["key_hint"], stored["api_base"]) == ("organization", "4d7c", provider.url)
    (listed,) = accepted(tenant.client.get("/llm-providers"))["llm_providers"]
    assert listed == stored
    tag = make_tag(tenant.client)
    accepted(
        tenant.client.post("/knowledge-bases", json={"name": unique("k"), "tag_ids": [tag], "embedding_model": MODEL}),
        201,
    )
    document = upload(tenant.client, unique("r.txt"), b"Lemurs leap.", tag_ids=[tag])
    wait_until_indexed(tenant.client, document["document_id"])
    assert provider.texts > 0


def test_key_that_is_deleted_is_gone(tenant: Tenant, provider: EmbeddingServer) -> None:
    put(tenant, provider)
    assert tenant.client.delete("/llm-providers/openai").status_code == 204
    problem_of(tenant.client.delete("/llm-providers/openai"), 404, code="not_found")
    problem_of(tenant.client.post("/llm-providers/openai/test", json={}), 404, code="not_found")


def test_test_says_in_words_what_happened(tenant: Tenant, provider: EmbeddingServer) -> None:
    put(tenant, provider)
    works = accepted(tenant.client.post("/llm-providers/openai/test", json={}))
    assert (works["is_working"], works["model"], works["dimensions"], works["code"]) == (True, MODEL, 64, None)
    provider.script(Failure.UNAUTHORIZED)
    fails = accepted(tenant.client.post("/llm-providers/openai/test", json={"model": MODEL}))
    assert (fails["is_working"], fails["dimensions"], fails["code"]) == (False, None, "provider_refused")
    assert "refuses the API key" in fails["detail"]
    assert KEY[:6] not in str(fails)


@pytest.mark.parametrize(
    ("provider_name", "body", "status", "field"),
    [
        ("openai", {}, 400, "body"),
        ("openai", {"api_key": ""}, 400, "api_key"),
        ("openai", {"api_key": "sk-secret value"}, 400, "api_key"),
        ("openai", {"api_key": "sk-secret\nX-Header: y"}, 400, "api_key"),
        ("openai", {"api_key": ["sk-secret"]}, 400, "api_key"),
        ("openai", {"api_key": "sk-secret", "api_base": "ftp://models.example.com"}, 400, "api_base"),
        ("openai", {"api_key": "sk-secret", "api_base": "https://u:sk-secret@models.example.com"}, 400, "api_base"),
        ("openai", {"api_key": "sk-secret", "organisation": "x"}, 400, "organisation"),
        ("azure", {"api_key": "sk-secret"}, 400, "api_base"),
        ("nobody", {"api_key": "sk-secret"}, 400, "litellm_provider"),
        ("local", {"api_key": "sk-secret"}, 400, "litellm_provider"),
        ("oobabooga", {"api_key": "sk-secret"}, 400, "litellm_provider"),
        ("sagemaker", {"api_key": "sk-secret"}, 400, "litellm_provider"),
        ("ollama", {"api_key": "sk-secret"}, 400, "api_base"),
    ],
)
def test_wrong_key_is_refused_and_not_repeated(
    tenant: Tenant, provider_name: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    response = tenant.client.put(f"/llm-providers/{provider_name}", json=body)
    problem_of(response, status, field=field)
    assert "sk-secret" not in response.text
    assert accepted(tenant.client.get("/llm-providers"))["total_count"] == 0


def test_refusal_of_a_provider_lists_those_that_are_allowed(tenant: Tenant) -> None:
    refused = tenant.client.put("/llm-providers/oobabooga", json={"api_key": "k"})
    detail = problem_of(refused, 400, code="provider_not_allowed", field="litellm_provider")["detail"]
    assert all(f" {name}," in detail for name in ("anthropic", "cohere", "mistral", "openai", "voyage"))


def test_model_that_is_an_address_is_refused_wherever_one_is_named_and_never_called(
    tenant: Tenant, provider: EmbeddingServer
) -> None:
    address = f"oobabooga/{provider.url}"
    accepted(tenant.client.put("/llm-providers/mistral", json={"api_key": "sk-a-key-that-opens-nothing"}))
    tags = {"tag_ids": [make_tag(tenant.client)]}
    kb_id = accepted(tenant.client.post("/knowledge-bases", json={"name": unique("k"), **tags}), 201)["kb_id"]
    thread = accepted(tenant.client.post("/chat/threads", json={"kb_ids": [kb_id]}), 201)
    refused = [
        tenant.client.post("/knowledge-bases", json={"name": unique("k"), "embedding_model": address, **tags}),
        tenant.client.post("/knowledge-bases/forecast", json={"embedding_model": address, **tags}),
        tenant.client.post("/chat/threads", json={"kb_ids": [kb_id], "model": address}),
        tenant.client.put(f"/chat/threads/{thread['thread_id']}", json={"model": address}),
        tenant.client.post("/prompts", json={"name": unique("p"), "text": "Summarize {{text}}", "model": address}),
        tenant.client.post("/llm-providers/mistral/test", json={"model": address}),
        tenant.client.post(
            f"/knowledge-bases/{kb_id}/search", json={"query": "q", "rerank": True, "rerank_model": address}
        ),
        tenant.client.post(f"/knowledge-bases/{kb_id}/search", json={"query": "q", "hyde": True, "model": address}),
    ]
    for response in refused:
        assert "is not a model name" in problem_of(response, 400)["detail"]
    assert provider.connections == 0


def test_key_of_one_organization_is_nothing_to_another(
    tenant: Tenant, provider: EmbeddingServer, other_client: httpx.Client
) -> None:
    put(tenant, provider)
    assert all(item["source"] == "platform" for item in accepted(other_client.get("/llm-providers"))["llm_providers"])
    problem_of(other_client.delete("/llm-providers/openai"), 404)
    assert accepted(tenant.client.get("/llm-providers"))["total_count"] == 1


def test_key_is_in_no_answer_log_or_row(tenant: Tenant, provider: EmbeddingServer, running: Running) -> None:
    answers = [str(put(tenant, provider))]
    provider.script(Failure.UNAUTHORIZED, Failure.REFUSED, Failure.SERVER_ERROR, Failure.CUT)
    answers += [tenant.client.post("/llm-providers/openai/test", json={}).text for _ in range(5)]
    tag = make_tag(tenant.client)
    made = tenant.client.post(
        "/knowledge-bases", json={"name": unique("k"), "tag_ids": [tag], "embedding_model": MODEL}
    )
    provider.script(Failure.REFUSED)
    answers += [made.text, str(upload(tenant.client, unique("r.txt"), b"Lemurs leap.", tag_ids=[tag]))]
    answers += [tenant.client.get(path).text for path in ("/llm-providers", "/jobs", "/documents")]
    with database_of(running.data_dir) as database:
        rows = str([list(database[name].find({})) for name in ("llm_providers", "jobs", "job_history", "docs")])
    assert "credentials.stored" in running.log
    for text in (*answers, running.log, rows):
        assert KEY not in text


def test_commands_store_list_try_and_forget_a_key_that_is_piped_in(tenant: Tenant, provider: EmbeddingServer) -> None:
    empty = piped(tenant, "", "providers", "list")
    assert "No provider has a key" in empty.stderr
    stored = piped(tenant, f"{KEY}\n", "providers", "put", "openai", "--api-base", provider.url)
    assert (stored.returncode, KEY in stored.stdout + stored.stderr) == (0, False), stored.stderr
    listed = piped(tenant, "", "providers", "list")
    assert "own, …4d7c" in listed.stdout
    works = piped(tenant, "", "providers", "test", "openai")
    assert (works.returncode, "64 dimensions" in works.stderr) == (0, True), works.stderr
    provider.script(Failure.UNAUTHORIZED)
    fails = piped(tenant, "", "providers", "test", "openai", "--model", MODEL)
    assert (fails.returncode, "refuses the API key" in fails.stderr) == (1, True), fails.stderr
    assert piped(tenant, "", "providers", "delete", "openai").returncode == 0
    without = piped(tenant, "\n", "providers", "put", "openai")
    assert (without.returncode, "There is no key" in without.stderr) == (1, True), without.stderr
    unknown = piped(tenant, "x\n", "providers", "put", "opnai")
    assert (unknown.returncode, "'openai'" in unknown.stderr) == (1, True), unknown.stderr


def test_secret_key_of_a_data_directory_is_changed_and_its_keys_still_open(
    tmp_path: Path, provider: EmbeddingServer
) -> None:
    platform = start_platform(tmp_path / "data")
    try:
        with platform.client() as client:
            body = {"api_key": provider.api_key, "api_base": provider.url}
            accepted(client.put("/llm-providers/openai", json=body))
            before = (platform.data_dir / "secret.key").read_text()
            rotated = run_command("rotate-secret-key", "--data-dir", str(platform.data_dir))
            assert rotated.returncode == 0, rotated.stderr
            after = (platform.data_dir / "secret.key").read_text()
            assert after != before
            assert (platform.data_dir / "secret.old-keys").stat().st_mode & 0o077 == 0
            # What runs goes on with the key that it has, until it is started again.
            assert accepted(client.post("/llm-providers/openai/test", json={}))["is_working"]
    finally:
        stop_platform(platform)
    again = start_platform(tmp_path / "data")
    try:
        assert not (again.data_dir / "secret.old-keys").exists()
        with again.client() as client:
            assert accepted(client.post("/llm-providers/openai/test", json={}))["is_working"]
        for key in (before.strip(), after.strip()):
            assert key not in again.log + rotated.stdout + rotated.stderr
    finally:
        stop_platform(again)
