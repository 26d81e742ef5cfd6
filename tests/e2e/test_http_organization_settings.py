"""Settings of an organization's own, and what it may store: as its admins, its editors and the operator meet them."""

from collections.abc import Iterator

import httpx
import pytest

from analytiq.client import Client
from analytiq.models.account import Role
from tests.e2e.driving import accepted, problem_of, unique
from tests.e2e.people import sign_in_somebody
from tests.e2e.running_platform import Running, client_of, make_organization, run_command


@pytest.fixture
def tenant(running: Running) -> Iterator[tuple[str, str, httpx.Client]]:
    """A fresh organization: its id, a token, and a client."""
    organization_id, token = make_organization(running, unique("settings"))
    with client_of(running.url, organization_id, token) as opened:
        yield organization_id, token, opened


def storage_command(running: Running, organization_id: str, *arguments: str) -> str:
    """Run a command of the operator."""
    options = ("--organization", organization_id, "--data-dir", str(running.data_dir))
    done = run_command("storage", *arguments, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_settings_are_the_servers_until_they_are_changed(tenant: tuple[str, str, httpx.Client]) -> None:
    *_, client = tenant
    settings = accepted(client.get("/settings"))
    assert settings["ocr_languages"] is None
    assert settings["server"]["rate_limits"]["requests_per_minute"] == 3000
    limits = {"requests_per_minute": 60, "models": [{"model": "openai/gpt-4.1-mini", "tokens_per_minute": 5}]}
    changed = accepted(client.put("/settings", json={"rate_limits": limits}))
    assert changed == accepted(client.get("/settings"))
    assert changed["rate_limits"]["models"][0]["model"] == "openai/gpt-4.1-mini"
    accepted(client.put("/settings", json={"ocr_languages": changed["available_ocr_languages"][:1]}))
    again = accepted(client.put("/settings", json={"rate_limits": None}))
    assert again["rate_limits"]["requests_per_minute"] is None
    assert again["ocr_languages"] == again["available_ocr_languages"][:1]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"rate_limits": {"requests_per_minute": 3001}}, "rate_limits.requests_per_minute"),
        ({"rate_limits": {"requests_per_minute": 0}}, "rate_limits.requests_per_minute"),
        ({"ocr_languages": ["tlh"]}, "ocr_languages[0]"),
        ({"ocr_languages": []}, "ocr_languages"),
        ({"ocr_languages": ["../eng"]}, "ocr_languages[0]"),
        ({"max_bytes": 10**12}, "max_bytes"),
    ],
)
def test_what_the_server_does_not_allow_is_refused_by_field(
    tenant: tuple[str, str, httpx.Client], body: dict[str, object], field: str
) -> None:
    *_, client = tenant
    before = accepted(client.get("/settings"))
    problem = problem_of(client.put("/settings", json=body), 400, code="invalid_input")
    assert [error["field"] for error in problem["errors"]] == [field]
    assert accepted(client.get("/settings")) == before


def test_admins_change_settings_which_is_audited_and_editors_do_not(
    running: Running, tenant: tuple[str, str, httpx.Client]
) -> None:
    organization_id, _, client = tenant
    body = {"rate_limits": {"documents_per_minute": 5}}
    with sign_in_somebody(running.url, client, Role.EDITOR).client(organization_id) as editor:
        accepted(editor.get("/settings"))
        problem_of(editor.put("/settings", json=body), 403)
    admin = sign_in_somebody(running.url, client, Role.ADMIN)
    with admin.client(organization_id) as opened:
        accepted(opened.put("/settings", json=body))
    entries = accepted(client.get("/audit-log", params={"action": "update_organization_settings"}))["entries"]
    assert (entries[0]["actor"]["name"], entries[0]["status"]) == (admin.email, 200)
    assert {entry["status"] for entry in entries} == {200, 403}


def test_quota_of_storage_is_set_by_the_operator_and_met_by_uploads(
    running: Running, tenant: tuple[str, str, httpx.Client]
) -> None:
    organization_id, _, client = tenant
    assert "unlimited" in storage_command(running, organization_id, "show")
    storage_command(running, organization_id, "set", "--bytes", "10kB", "--documents", "2")
    made = accepted(client.post("/documents", files=[("files", ("a.txt", b"a" * 6000))]), 201)["documents"][0]
    problem = problem_of(
        client.post("/documents", files=[("files", ("b.txt", b"b" * 6000))]), 402, code="storage_quota_exceeded"
    )
    assert problem["title"] == "Quota used up"
    assert "10.0 kB, of which 6.0 kB are used" in problem["detail"]
    files = [("files", ("c.txt", b"c")), ("files", ("large.bin", b"d" * 300_000))]
    answer = accepted(client.post("/documents", files=files), 207)
    assert [item["outcome"] for item in answer["documents"]] == ["created", "failed"]
    assert answer["documents"][1]["error"]["code"] == "storage_quota_exceeded"
    shown = {"max_bytes": 10_000, "used_bytes": 6001, "max_documents": 2, "used_documents": 2}
    assert accepted(client.get("/storage")) == shown
    assert client.delete(f"/documents/{made['document_id']}").status_code == 204
    accepted(client.post("/documents", files=[("files", ("b.txt", b"b" * 6000))]), 201)
    storage_command(running, organization_id, "lift")
    assert accepted(client.get("/storage"))["max_bytes"] is None


def test_client_and_commands_know_the_settings(running: Running, tenant: tuple[str, str, httpx.Client]) -> None:
    organization_id, token, _ = tenant
    environment = {
        "ANALYTIQ_URL": running.url, "ANALYTIQ_ORGANIZATION_ID": organization_id, "ANALYTIQ_TOKEN": token,
    }  # fmt: skip
    done = run_command("settings", "rate-limits", "--requests-per-minute", "60", environment=environment)
    assert done.returncode == 0, done.stderr
    with Client(running.url, organization_id, token) as client:
        assert client.settings().rate_limits.requests_per_minute == 60
        assert client.set_rate_limits(None).rate_limits.requests_per_minute is None
        assert client.storage().used_documents == 0
    refused = run_command("settings", "ocr-languages", "tlh", environment=environment)
    assert refused.returncode == 1
    assert "Installed on all:" in refused.stderr
