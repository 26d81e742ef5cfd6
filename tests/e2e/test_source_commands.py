"""A folder as a source, by the command line and over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from analytiq.client import Client
from tests.e2e.driving import accepted, eventually, problem_of, wait_until_indexed
from tests.e2e.running_platform import Running, run_command, start_platform, stop_platform
from tests.fakes.pusher import Pusher
from tests.fakes.web_site import WebSite


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "ships").mkdir()
    (folder / "ships" / "pequod.txt").write_text("The Pequod hunts a white whale.")
    (folder / "ships" / "rachel.txt").write_text("The Rachel looks for a lost boat.")
    return folder


@pytest.fixture(scope="module")
def running(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {
        "ANALYTIQ_SOURCES__FOLDERS": json.dumps([str(shared)]),
        "ANALYTIQ_SOURCES__PRIVATE_HOSTS": '["127.0.0.1"]',
    }
    started = start_platform(tmp_path_factory.mktemp("sources") / "data", environment=settings)
    yield started
    assert stop_platform(started) == 0, started.log[-4000:]


def source(running: Running, command: str, *arguments: str) -> str:
    done = run_command("source", command, *arguments, "--data-dir", str(running.data_dir))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_documents_follow_a_folder_until_its_source_is_removed(running: Running, shared: Path) -> None:
    folder = shared / "ships"
    added = source(running, "add", "folder", "Ships", "--set", f"path={folder}", "--tag", "ships")
    assert "pequod.txt" in added
    with running.client() as client:
        (tag,) = accepted(client.get("/tags"))["tags"]
        kb = accepted(client.post("/knowledge-bases", json={"name": "k", "tag_ids": [tag["tag_id"]]}), 201)["kb_id"]
        source(running, "run", "Ships")
        names = {item["document_name"]: item["document_id"] for item in accepted(client.get("/documents"))["documents"]}
        assert set(names) == {"pequod.txt", "rachel.txt"}

        (folder / "pequod.txt").write_text("The Pequod has sunk.")
        (folder / "rachel.txt").unlink()
        (folder / "samuel.txt").write_text("The Samuel Enderby comes from London.")
        planned = source(running, "run", "Ships", "--dry-run")
        assert all(name in planned for name in ("pequod.txt", "rachel.txt", "samuel.txt"))
        assert accepted(client.get("/documents"))["total_count"] == 2, "a dry run changes nothing"
        source(running, "run", "Ships")
        documents = accepted(client.get("/documents"))["documents"]
        for document in documents:
            wait_until_indexed(client, document["document_id"])
        after = {item["document_name"]: item["document_id"] for item in documents}
        assert set(after) == {"pequod.txt", "samuel.txt"}
        assert after["pequod.txt"] == names["pequod.txt"], "an edited item stays one document"

        (listed,) = accepted(client.get("/sources"))["sources"]
        path = f"/sources/{listed['source_id']}"
        runs = accepted(client.get(f"{path}/runs"))["runs"]
        assert [(run["state"], run["is_dry_run"]) for run in runs] == [
            ("succeeded", False), ("succeeded", True), ("succeeded", False),
        ]  # fmt: skip
        counts = {name: runs[0]["counts"][name] for name in ("added", "changed", "unchanged", "removed", "failed")}
        assert counts == {"added": 1, "changed": 1, "unchanged": 0, "removed": 1, "failed": 0}
        assert "samuel.txt" in source(running, "log", "Ships")
        found = accepted(client.post(f"/knowledge-bases/{kb}/search", json={"query": "Samuel Enderby London"}))
        assert found["results"][0]["document_id"] == after["samuel.txt"]

        source(running, "remove", "Ships", "--documents", "--yes")
        problem_of(client.get(path), 404)


def test_folder_that_the_operator_has_not_allowed_is_refused_by_the_name_of_the_setting(running: Running) -> None:
    with running.client() as client:
        body = {"name": "Passwords", "kind": "folder", "settings": {"path": "/etc"}}
        source_id = accepted(client.post("/sources", json=body), 201)["source_id"]
        refused = client.post(f"/sources/{source_id}/test")
        assert "ANALYTIQ_SOURCES__FOLDERS" in refused.text
        run = accepted(client.post(f"/sources/{source_id}/runs", json={}), 202)
        path = f"/sources/{source_id}/runs/{run['source_run_id']}"
        ended = eventually(lambda: found if (found := accepted(client.get(path)))["ended_at"] else None)
        assert ended["state"] == "failed"
        assert "ANALYTIQ_SOURCES__FOLDERS" in ended["error"]["detail"]
        assert accepted(client.get("/documents", params={"name_search": "passwd"}))["total_count"] == 0


def test_web_site_is_ingested_and_ingested_again_by_its_address(running: Running) -> None:
    with WebSite() as site:
        site.page("/", "The Pequod hunts a white whale.", ["/rachel"])
        site.page("/rachel", "The Rachel looks for a lost boat.")

        def ingest(*arguments: str) -> str:
            done = run_command("ingest", f"{site.url}/", *arguments, "--data-dir", str(running.data_dir))
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout + done.stderr

        first = ingest("--tag", "web", "--kb", "Sites", "--pages", "10")
        assert "2 added" in first
        assert "Searchable: 2 documents" in first
        site.page("/rachel", "The Rachel has found the boat.")
        again = ingest()
        assert "again" in again
        assert "1 changed" in again
        assert "1 unchanged" in again
        searched = run_command("search", "who found the boat", "--kb", "Sites", "--data-dir", str(running.data_dir))
        assert "has found the boat" in searched.stdout
    refused = run_command("ingest", "https://example.com/", "--watch", "--data-dir", str(running.data_dir))
    assert refused.returncode != 0
    assert "--watch" in refused.stderr


def test_compatible_routes_load_a_site_and_index_the_selected_pages(running: Running) -> None:
    with (
        WebSite() as site,
        httpx.Client(base_url=running.url, headers={"Authorization": f"Bearer {running.token}"}) as api,
    ):
        site.page("/", "The Bachelor sails home.", ["/ann", "/gone"])
        site.page("/ann", "The Ann sails to Nantucket.")
        options = {"url": f"{site.url}/", "closespider_pagecount": 10, "use_browser": False}
        body = {"loader": "web_base_loader", "loader_options": options}
        resource = accepted(api.post("/api/data-resources", json=body))["data_resource_id"]

        def ended(path: str) -> dict[str, Any] | None:
            found = accepted(api.get(f"/api/{path}/{resource}/status"))
            return None if found["status"] in ("PENDING", "RUNNING") else found

        loaded = eventually(lambda: ended("data-resources"))
        assert loaded["status"] == "SUCCESS"
        assert loaded["visited"] == [f"{site.url}/", f"{site.url}/ann"]
        selected = {"data_resource_id": resource, "selected_urls": [{"url": f"{site.url}/ann"}]}
        accepted(api.post("/api/embeddings", json=selected))
        assert eventually(lambda: ended("embeddings"))["documents"] == 1
        hits = api.post("/api/v2/retrieve", json={"kbids": [resource], "query": "sails"}).json()
        assert [hit["metadata"]["source"] for hit in hits] == [f"{site.url}/ann"]
        path = f"/v0/orgs/{running.organization_id}"
        own = {"name_search": "127.0.0.1"}
        before = accepted(api.get(f"{path}/documents", params=own))["total_count"]
        accepted(api.request("DELETE", "/api/data-resources", json={"data_resource_id": resource}))
        audited = accepted(api.get(f"{path}/audit-log"))["entries"][0]
        assert (audited["action"], audited["target"]) == ("delete_data_resource", {"data_resource_id": resource})
        eventually(lambda: accepted(api.get(f"{path}/documents", params=own))["total_count"] == before - 2)


def test_inbound_address_is_opened_rotated_and_closed(running: Running) -> None:
    with running.client() as client:
        source_id = accepted(client.post("/sources", json={"name": "Tickets", "kind": "push"}), 201)["source_id"]

    def is_told() -> list[bool]:
        with running.client() as client:
            listed = accepted(client.get("/sources", params={"name_search": "Tickets"}))["sources"]
            return [each["has_inbound_address"] for each in (accepted(client.get(f"/sources/{source_id}")), *listed)]

    assert is_told() == [False, False]

    def inbound(*arguments: str) -> dict[str, str]:
        lines = [line.split() for line in source(running, "inbound", "Tickets", *arguments).splitlines()]
        return {line[0]: line[-1] for line in lines if line}

    def pushed(url: str, secret: str) -> int:
        push = Pusher(secret).items({"id": "1", "name": "1.txt", "text": "The pump leaks."})
        return httpx.post(url, content=push.body, headers=dict(push.headers)).status_code

    opened = inbound("open")
    assert pushed(opened["Address"], opened["Secret"]) == 200
    assert is_told() == [True, True]
    again = run_command("source", "inbound", "Tickets", "open", "--data-dir", str(running.data_dir))
    assert again.returncode == 1
    assert "`rotate` makes a new secret" in again.stderr
    rotated = inbound("rotate", "--overlap", "0")
    assert rotated["Address"] == opened["Address"]
    assert (pushed(opened["Address"], opened["Secret"]), pushed(opened["Address"], rotated["Secret"])) == (403, 200)
    assert "whsec" not in source(running, "inbound", "Tickets"), "a secret is shown once"
    inbound("close", "--yes")
    assert pushed(opened["Address"], rotated["Secret"]) == 404


def test_client_tests_settings_that_are_not_stored(running: Running, shared: Path) -> None:
    with Client(running.url, running.organization_id, running.token) as client:
        checked = client.test_source_settings("folder", settings={"path": str(shared)}, filters={"include": ["*.txt"]})
        assert (checked.is_ok, checked.problem) == (True, None)
        refused = client.test_source_settings("folder", settings={"path": "/etc"})
        assert (refused.is_ok, "ANALYTIQ_SOURCES__FOLDERS" in (refused.problem or "")) == (False, True)
