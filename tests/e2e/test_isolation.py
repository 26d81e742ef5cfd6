"""Walks every route of the schema as somebody who may not: no token, a revoked one, another organization's.

What a route needs is taken from the schema, so that a route that is added is walked too.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.models.account import Permission, Role, TokenScope
from analytiq.storage.ids import new_id
from api.permissions import RULES
from tests.e2e.driving import (
    PROBLEM,
    Body,
    accepted,
    database_of,
    eventually,
    least_query,
    make_answer,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_active,
    wait_until_indexed,
    wait_until_read,
)
from tests.e2e.people import sign_in_somebody
from tests.e2e.running_platform import Running, client_of, make_organization

PREFIX = "/v0/orgs/{organization_id}"
ID = "f" * 24
OPEN_TO_ALL = {"/health", "/ready", "/metrics"}
SIGNED = {"/v0/inbound/{address}"}
"""Routes whose requests are signed by a secret of one source: `tests/e2e/test_http_pushes.py`."""
OF_TOKEN = "/api/"
"""Routes of the organization of the token, without its id in their paths: `tests/e2e/test_http_compatible.py`."""
OF_PEOPLE = "/v0/auth/"
"""Routes that show nobody's data but those of whoever is signed in: `tests/e2e/test_http_people.py`."""
ASKING = {
    "query_table", "search_knowledge_base", "search_knowledge_bases", "explain_search", "forecast_knowledge_base",
    "create_chat_thread", "ask_chat_thread", "stop_chat_message", "continue_chat_message",
    "search_documents_by_path", "get_document_progress",
    "preview_chunks",
}  # fmt: skip
"""Operations that are no GET and change nothing but conversations."""
SECRET = "The armadillo guards the vault."
PROVIDER = "cohere"
NAMES_OF_ALL = {"litellm_provider"}
"""Parameters of paths that are no ids: the same name stands for something of each organization's own."""


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the schema."""

    method: str
    path: str
    operation: Body

    @property
    def is_of_an_organization(self) -> bool:
        """True if its data belong to one."""
        return self.path.startswith(PREFIX)

    def send(self, client: httpx.Client, ids: dict[str, str], example: Any) -> httpx.Response:
        """Call it with these ids, the least that its query has to say, and its own example where it takes a body."""
        path = self.path.removeprefix(PREFIX).format(**ids)
        url = str(client.base_url).rstrip("/") + path
        query = least_query(self.operation, otherwise=ID)
        if self.operation["operationId"] == "watch_organization":
            with client.stream(self.method, url) as response:
                # Whoever may watch is answered without end.
                if response.status_code != 200:
                    response.read()
                return response
        return client.request(self.method, url, params=query, json=example)


@dataclass(frozen=True, slots=True)
class Victim:
    """An organization with something of each kind."""

    client: httpx.Client
    organization_id: str
    ids: dict[str, str]


@pytest.fixture(scope="module")
def schema(running: Running) -> Body:
    """The schema that the running API serves."""
    return accepted(httpx.get(f"{running.url}/openapi.json", timeout=60))


@pytest.fixture(scope="module")
def routes(schema: Body) -> list[Route]:
    """Every operation."""
    return [
        Route(method.upper(), path, operation)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
        if method in ("get", "put", "post", "delete", "patch", "head", "options")
    ]


@pytest.fixture(scope="module")
def scoped(routes: list[Route]) -> list[Route]:
    """Those of an organization."""
    return [route for route in routes if route.is_of_an_organization]


@pytest.fixture(scope="module")
def victim(running: Running) -> Iterator[Victim]:
    """An organization of which nothing changes by itself any more: a document is indexed, no job is left."""
    organization_id, token = make_organization(running, "Victim")
    with client_of(running.url, organization_id, token) as client:
        tag = make_tag(client)
        kb = make_knowledge_base(client, [tag])
        document = upload(client, unique("vault.txt"), SECRET.encode(), tag_ids=[tag])["document_id"]
        table = upload(client, unique("prices.csv"), b"item,price\ntea,1.50\n")["document_id"]
        wait_until_indexed(client, document)
        wait_until_read(client, table)
        wait_until_active(client, kb)
        run = accepted(client.post("/reconcile", json={"dry_run": True}), 202)["run_id"]
        eventually(lambda: accepted(client.get(f"/reconcile/runs/{run}"))["state"] == "done")
        erasure = accepted(client.post("/erasures", json={"kind": "cache", "dry_run": True}), 202)["erasure_id"]
        second_token = accepted(client.post("/access-tokens", json={"name": unique("victim")}), 201)["token_id"]
        with database_of(running.data_dir) as database:
            eventually(lambda: database["jobs"].count_documents({"organization_id": organization_id}) == 0)
            eventually(lambda: database["knowledge_bases"].count_documents({"_id": ObjectId(kb), "document_count": 1}))
            assert database[f"kb_vectors_{kb}"].count_documents({"organization_id": organization_id}) == 1
            # Written behind: of three memberships, both extractions, the sync and the run.
            attempts = database["job_history"]
            eventually(lambda: len(attempts.distinct("job_id", {"organization_id": organization_id})) == 7)
            chat = make_answer(client, database, kb)
            job = dead_job(organization_id, kb, document)
            database["jobs"].insert_one(job)
        # The job and the table first: their ids hold others.
        ids = {
            "table_id": f"{table}-1",
            "job_id": job["_id"],
            "tag_id": tag,
            "kb_id": kb,
            "document_id": document,
            "token_id": second_token,
        }
        accepted(client.put(f"/llm-providers/{PROVIDER}", json={"api_key": "sk-the-key-of-the-vault-itself"}))
        ids["litellm_provider"] = PROVIDER
        ids["erasure_id"] = erasure
        ids["reconcile_run_id"] = run
        ids |= chat
        with database_of(running.data_dir) as database:
            ids |= prompt_of(database, organization_id, tag, kb, document)
        with database_of(running.data_dir) as database:
            ids |= source_of(database, organization_id, tag)
            ids |= webhook_of(database, organization_id)
        ids["user_id"] = sign_in_somebody(running.url, client, Role.OWNER).user_id
        invitation = {"email": f"{new_id()}@example.com", "role": "viewer"}
        ids["invitation_id"] = accepted(client.post("/invitations", json=invitation), 201)["invitation_id"]
        yield Victim(client, organization_id, ids)


def prompt_of(database: Any, organization_id: str, tag: str, kb: str, document: str) -> dict[str, str]:
    """A prompt with a run that can be cancelled and a result; in the database, since a run would need a model."""
    now = clock.now()
    prompt_id, run_id = ObjectId(), ObjectId()
    configuration = {"text": SECRET, "tag_ids": [tag], "kb_id": kb, "max_iterations": 5}
    own = {"organization_id": organization_id, "version": 1, "created_at": now, "updated_at": now}
    database["prompts"].insert_one({"_id": prompt_id, **own, "name": SECRET, "configuration": configuration})
    about = {**own, "prompt_id": str(prompt_id), "document_id": document}
    database["prompt_versions"].insert_one({**about, "configuration": configuration})
    database["prompt_runs"].insert_one({"_id": run_id, **about, "status": "queued", "steps": [], "answer": SECRET})
    database["prompt_results"].insert_one(
        {**about, "run_id": str(run_id), "text_hash": "x", "answer": SECRET, "is_structured": False}
    )
    return {"prompt_id": str(prompt_id), "run_id": str(run_id)}


def source_of(database: Any, organization_id: str, tag: str) -> dict[str, str]:
    """A source with an item and an unfinished run, without a job that would end it."""
    now = clock.now()
    source_id, run_id = ObjectId(), ObjectId()
    own = {"organization_id": organization_id, "created_at": now, "updated_at": now}
    database["sources"].insert_one(
        {"_id": source_id, **own, "name": SECRET, "kind": "folder", "settings": {"path": "/srv"},
         "identity_source": f"source:{source_id}", "tag_ids": [tag], "is_deleted": False, "next_run_at": None}
    )  # fmt: skip
    about = {**own, "source_id": str(source_id)}
    database["source_items"].insert_one({**about, "external_id": "x", "name": SECRET})
    database["source_runs"].insert_one({"_id": run_id, **about, "state": "queued", "is_open": True})
    database["source_run_entries"].insert_one(
        {**about, "run_id": str(run_id), "external_id": "x", "name": SECRET, "outcome": "added", "at": now}
    )
    database["source_addresses"].insert_one({**about, "address": f"address-{source_id}", "secrets": []})
    return {"source_id": str(source_id), "source_run_id": str(run_id)}


def webhook_of(database: Any, organization_id: str) -> dict[str, str]:
    """A disabled endpoint with a delivery that was given up."""
    now = clock.now()
    endpoint_id, delivery_id = ObjectId(), ObjectId()
    about = {"organization_id": organization_id, "created_at": now, "updated_at": now}
    database["webhook_endpoints"].insert_one(
        {"_id": endpoint_id, **about, "url": "https://example.com/hooks", "description": SECRET, "is_enabled": False}
    )
    database["webhook_deliveries"].insert_one(
        {
            "_id": delivery_id, **about, "endpoint_id": str(endpoint_id), "event_id": "evt_1", "subject": "document:1",
            "type": "document.indexed", "body": SECRET, "state": "dead", "queued_at": now, "due_at": now,
        }
    )  # fmt: skip
    return {"webhook_id": str(endpoint_id), "delivery_id": str(delivery_id)}


def dead_job(organization_id: str, kb_id: str, document_id: str) -> Body:
    """A row of a job that was given up, which a replay would change; no recovery of a provider revives it."""
    now = clock.now()
    return {
        "_id": f"sync:{kb_id}:{document_id}", "kind": "sync", "organization_id": organization_id,
        "lane": f"{organization_id}:{kb_id}:sync", "subject": {"kb_id": kb_id, "document_id": document_id},
        "state": "dead", "priority": 0, "wanted": 1, "attempt": 1, "run_at": now, "created_at": now, "updated_at": now,
        "error": {"code": "text_refused", "detail": SECRET, "at": now},
    }  # fmt: skip


def example_of(schema: Body, route: Route) -> Any:
    """The route's example body as the schema has it; None where it takes none."""
    content = route.operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        assert not content, f"{route.method} {route.path} takes no JSON: say here how to call it"
        return None
    body = content["application/json"]["schema"]
    name = body.get("$ref", "").rpartition("/")[2]
    return (schema["components"]["schemas"][name] if name else body)["examples"][0]


def state_of(running: Running, organization_id: str) -> str:
    """Every row of the organization, its vectors included, as text; times of use apart."""
    rows: dict[str, list[str]] = {}
    with database_of(running.data_dir) as database:
        for name in sorted(database.list_collection_names()):
            if name == "audit_log":
                continue  # attempts are noted
            found = database[name].find({"organization_id": organization_id}, {"last_used_at": 0}).sort("_id", 1)
            rows[name] = [repr(row) for row in found]
    rows = {name: found for name, found in rows.items() if found}
    assert {"docs", "tags", "knowledge_bases", "document_index", "access_tokens"} <= set(rows)
    return json.dumps(rows, indent=1)


def test_every_route_is_of_an_organization_or_shows_no_tenants_data(routes: list[Route]) -> None:
    assert len(routes) >= 28
    others = {route.path for route in routes if not route.is_of_an_organization}
    assert {path for path in others if not path.startswith((OF_PEOPLE, OF_TOKEN))} == OPEN_TO_ALL | SIGNED


def test_ids_of_every_route_are_known_to_this_test(scoped: list[Route], victim: Victim) -> None:
    for route in scoped:
        named = {item["name"] for item in route.operation.get("parameters", []) if item["in"] == "path"}
        assert named <= {"organization_id", *victim.ids}, f"{route.path}: give the victim something of the new kind"


def test_without_a_token_every_route_answers_401_and_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    before = state_of(running, victim.organization_id)
    for headers in ({}, {"Authorization": "Bearer aq_guessed"}):
        with httpx.Client(base_url=victim.client.base_url, headers=headers) as stranger:
            for route in scoped:
                problem_of(route.send(stranger, victim.ids, example_of(schema, route)), 401, code="unauthenticated")
    assert state_of(running, victim.organization_id) == before


def test_with_a_revoked_token_every_route_answers_401_and_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    made = accepted(victim.client.post("/access-tokens", json={"name": unique("revoked")}), 201)
    assert victim.client.delete(f"/access-tokens/{made['token_id']}").status_code == 204
    before = state_of(running, victim.organization_id)
    with client_of(running.url, victim.organization_id, made["token"]) as former:
        for route in scoped:
            problem_of(route.send(former, victim.ids, example_of(schema, route)), 401, code="unauthenticated")
    assert state_of(running, victim.organization_id) == before


def test_with_the_token_of_another_organization_every_route_answers_404_and_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    _, token = make_organization(running, "Burglar")
    before = state_of(running, victim.organization_id)
    with client_of(running.url, victim.organization_id, token) as burglar:
        for route in scoped:
            response = route.send(burglar, victim.ids, example_of(schema, route))
            body = problem_of(response, 404, code="not_found")
            assert victim.organization_id in body["detail"]
    assert state_of(running, victim.organization_id) == before


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.ADMIN])
def test_each_role_is_refused_what_it_may_not_and_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim, role: Role
) -> None:
    with sign_in_somebody(running.url, victim.client, role).client(victim.organization_id) as member:
        walk_as(running, schema, scoped, victim, member, role.permission)


@pytest.mark.parametrize("scope", [TokenScope.READ, TokenScope.WRITE])
def test_each_scope_of_tokens_is_refused_what_it_may_not_and_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim, scope: TokenScope
) -> None:
    body = {"name": unique("scoped"), "scope": scope.value}
    token = accepted(victim.client.post("/access-tokens", json=body), 201)["token"]
    with client_of(running.url, victim.organization_id, token) as machine:
        walk_as(running, schema, scoped, victim, machine, scope.permission)


def walk_as(
    running: Running, schema: Body, scoped: list[Route], victim: Victim, client: httpx.Client, has: Permission
) -> None:
    """Call everything that needs more, which is refused; and read what may be read, which is not."""
    before = state_of(running, victim.organization_id)
    refused = [route for route in scoped if not has.includes(RULES[route.operation["operationId"]].permission)]
    allowed = [route for route in scoped if route not in refused]
    assert refused
    if has is Permission.READ:
        assert all(route.method == "GET" or route.operation["operationId"] in ASKING for route in allowed)
        assert all(route in refused for route in scoped if route.method in ("PUT", "DELETE", "PATCH"))
    for route in refused:
        body = problem_of(route.send(client, victim.ids, example_of(schema, route)), 403, code="access_denied")
        assert RULES[route.operation["operationId"]].permission.value in body["detail"]
    for route in allowed:
        if route.method == "GET":
            status = route.send(client, victim.ids, None).status_code
            assert status not in (401, 403), route.path
    assert state_of(running, victim.organization_id) == before


def test_session_without_its_csrf_token_changes_nothing(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    person = sign_in_somebody(running.url, victim.client, Role.OWNER)
    before = state_of(running, victim.organization_id)
    with person.client(victim.organization_id) as own:
        for headers in ({"x-csrf-token": "0" * 64}, {"origin": "https://elsewhere.example"}):
            for route in scoped:
                if route.method == "GET":
                    continue
                with httpx.Client(
                    base_url=own.base_url, cookies=own.cookies, headers={**own.headers, **headers}
                ) as page:
                    response = route.send(page, victim.ids, example_of(schema, route))
                problem_of(response, 403, code="csrf_refused")
    assert state_of(running, victim.organization_id) == before


def test_person_of_another_organization_finds_nothing_here(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    own_id, token = make_organization(running, "Neighbour")
    with client_of(running.url, own_id, token) as own:
        neighbour = sign_in_somebody(running.url, own, Role.OWNER)
    before = state_of(running, victim.organization_id)
    with neighbour.client(victim.organization_id) as client:
        for route in scoped:
            problem_of(route.send(client, victim.ids, example_of(schema, route)), 404, code="not_found")
    assert state_of(running, victim.organization_id) == before


def test_ids_of_another_organization_are_unknown_in_every_route(
    running: Running, schema: Body, scoped: list[Route], victim: Victim
) -> None:
    own_id, token = make_organization(running, "Burglar at home")
    before = state_of(running, victim.organization_id)
    with_ids = [
        route
        for route in scoped
        if "{" in route.path.removeprefix(PREFIX) and not any(f"{{{name}}}" in route.path for name in NAMES_OF_ALL)
    ]
    assert len(with_ids) >= 15
    with client_of(running.url, own_id, token) as burglar:
        for route in with_ids:
            example = example_of(schema, route)
            mine = problem_of(route.send(burglar, victim.ids, example), 404, code="not_found")
            unknown = dict.fromkeys(victim.ids, "f" * 24)
            nobodys = problem_of(route.send(burglar, unknown, example), 404, code="not_found")
            for id_ in victim.ids.values():
                mine["detail"] = mine["detail"].replace(id_, "f" * 24)
            assert mine["detail"] == nobodys["detail"], "the answer tells that the id exists"
    assert state_of(running, victim.organization_id) == before


def test_provider_of_the_same_name_is_another_organizations_own(running: Running, victim: Victim) -> None:
    own_id, token = make_organization(running, "Burglar with a key")
    before = state_of(running, victim.organization_id)
    with client_of(running.url, own_id, token) as burglar:
        path = f"/llm-providers/{PROVIDER}"
        problem_of(burglar.post(f"{path}/test", json={}), 404, code="not_found")
        problem_of(burglar.delete(path), 404, code="not_found")
        accepted(burglar.put(path, json={"api_key": "sk-a-key-of-the-burglar"}))
        assert burglar.delete(path).status_code == 204
    assert state_of(running, victim.organization_id) == before


def test_ids_of_another_organization_in_bodies_and_parameters_reach_nothing(running: Running, victim: Victim) -> None:
    own_id, token = make_organization(running, "Burglar with bodies")
    ids = victim.ids
    before = state_of(running, victim.organization_id)
    with client_of(running.url, own_id, token) as burglar:
        own_tag = make_tag(burglar)
        own_kb = make_knowledge_base(burglar, [own_tag])
        own = upload(burglar, unique("own.txt"), b"An armadillo of my own.", tag_ids=[own_tag])["document_id"]
        wait_until_indexed(burglar, own)
        stolen = [ids["tag_id"]]
        upload_body = {"documents": [{"name": "x.txt", "content": "eA==", "tag_ids": stolen}]}
        problem_of(burglar.post("/documents", json=upload_body), 400, field="documents[0].tag_ids[0]")
        form = {"tag_ids": ids["tag_id"]}
        problem_of(burglar.post("/documents", files=[("files", ("x.txt", b"x"))], data=form), 400, field="tag_ids[0]")
        problem_of(burglar.put(f"/documents/{own}", json={"tag_ids": stolen}), 400, field="tag_ids[0]")
        kb_body = {"name": unique("kb"), "tag_ids": stolen}
        prompt_body = {"name": unique("prompt"), "text": "?"}
        problem_of(burglar.post("/prompts", json={**prompt_body, "tag_ids": stolen}), 400, field="tag_ids[0]")
        problem_of(burglar.post("/prompts", json={**prompt_body, "kb_id": ids["kb_id"]}), 400, field="kb_id")
        own_prompt = accepted(burglar.post("/prompts", json=prompt_body), 201)["prompt_id"]
        problem_of(burglar.put(f"/prompts/{own_prompt}", json={"kb_id": ids["kb_id"]}), 400, field="kb_id")
        run_body = {"document_ids": [ids["document_id"]]}
        problem_of(burglar.post(f"/prompts/{own_prompt}/runs", json=run_body), 400, field="document_ids[0]")
        assert accepted(burglar.get("/runs", params={"prompt_id": ids["prompt_id"]}))["runs"] == []
        assert accepted(burglar.get("/prompts", params={"kb_id": ids["kb_id"]}))["prompts"] == []
        source_body = {"name": unique("source"), "kind": "folder", "settings": {"path": "/srv"}}
        problem_of(burglar.post("/sources", json={**source_body, "tag_ids": stolen}), 400, field="tag_ids[0]")
        vanishing = {"when_vanished": "tag", "vanished_tag_id": ids["tag_id"]}
        problem_of(burglar.post("/sources", json={**source_body, **vanishing}), 400, field="vanished_tag_id[0]")
        problem_of(burglar.post("/knowledge-bases", json=kb_body), 400, field="tag_ids[0]")
        problem_of(burglar.put(f"/knowledge-bases/{own_kb}", json={"tag_ids": stolen}), 400, field="tag_ids[0]")
        thread_body = {"kb_ids": [own_kb, ids["kb_id"]]}
        problem_of(burglar.post("/chat/threads", json=thread_body), 400, field="kb_ids[1]")
        assert accepted(burglar.get("/documents", params={"tag_ids": ids["tag_id"]}))["documents"] == []
        assert accepted(burglar.get("/chat/threads", params={"kb_id": ids["kb_id"]}))["threads"] == []
        for narrowing in (
            {"document_ids": [ids["document_id"]]},
            {"metadata_filter": {"document_id": ids["document_id"]}},
            {"metadata_filter": {"tag_ids": stolen}},
            {"metadata_filter": {"$or": [{"document_id": ids["document_id"]}, {"organization_id": {"$ne": 1}}]}},
        ):
            found = search(burglar, own_kb, SECRET, **narrowing)["results"]
            assert all(item["document_id"] == own for item in found)
        names = (
            "documents",
            "tags",
            "knowledge-bases",
            "access-tokens",
            "jobs?state=dead",
            "prompts",
            "runs",
            "sources",
        )
        lists = [f"/{name}" for name in (*names, "chat/threads")]
        listed = [burglar.get(path).text for path in lists]
        assert not any(id_ in text for id_ in ids.values() for text in listed)
    assert state_of(running, victim.organization_id) == before


def test_same_file_in_two_organizations_is_two_documents(victim: Victim, other_client: httpx.Client) -> None:
    name = accepted(victim.client.get(f"/documents/{victim.ids['document_id']}"))["document_name"]
    answer = accepted(other_client.post("/documents", files=[("files", (name, SECRET.encode()))]), 201)
    assert answer["created"] == 1
    assert answer["documents"][0]["document_id"] != victim.ids["document_id"]
    assert victim.client.get(f"/documents/{victim.ids['document_id']}/original").content == SECRET.encode()


def test_unknown_path_tells_a_stranger_nothing(running: Running) -> None:
    for path in ("/v0/orgs/", "/v0", "/v1/orgs/x", f"/v0/orgs/{running.organization_id}/no-such"):
        response = httpx.get(f"{running.url}{path}")
        assert response.status_code == 404
        assert response.headers["content-type"] == PROBLEM


def test_nothing_that_this_run_sent_has_made_the_server_fail(running: Running) -> None:
    log = running.log
    assert "api.internal_error" not in log
    assert "Exception in ASGI application" not in log
