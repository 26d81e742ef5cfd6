"""Pushes to inbound addresses of sources: what is signed is taken in at once, and nothing else."""

import base64
import hashlib
import hmac
import json
from typing import Any

import httpx
import pytest

from analytiq.client import Client
from analytiq.client.errors import ProblemError
from tests.e2e.driving import (
    accepted,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    wait_until_read,
)
from tests.e2e.running_platform import Running
from tests.fakes.pusher import Pusher, SignedPush


class Inbox:
    """A push source with its address."""

    def __init__(self, running: Running, client: httpx.Client, **fields: Any) -> None:
        self._url = running.url
        self.client = client
        self.tag = make_tag(client)
        body = {"name": unique("inbox"), "kind": "push", "tag_ids": [self.tag], **fields}
        self.source = accepted(client.post("/sources", json=body), 201)["source_id"]
        opened = accepted(client.post(f"/sources/{self.source}/inbound", json={}), 201)
        self.path = opened["url"]
        self.pusher = Pusher(opened["secret"])

    def send(self, push: SignedPush) -> httpx.Response:
        return httpx.post(f"{self._url}{self.path}", content=push.body, headers=dict(push.headers))

    def push(self, *items: dict[str, Any], status: int = 200) -> list[dict[str, Any]]:
        return accepted(self.send(self.pusher.items(*items)), status)["items"]

    def document(self, document_id: str) -> dict[str, Any]:
        return accepted(self.client.get(f"/documents/{document_id}"))


@pytest.fixture
def inbox(running: Running, client: httpx.Client) -> Inbox:
    return Inbox(running, client, metadata={"from": "inbox"}, metadata_mapping={"team": "group"})


def test_pushed_item_is_found_and_follows_every_push(inbox: Inbox) -> None:
    kb = make_knowledge_base(inbox.client, [inbox.tag])
    item = {"id": "ticket-1", "name": "tickets/1.md", "text": "The zebrafish pump leaks.", "url": "https://x.example/1"}
    (first,) = inbox.push({**item, "metadata": {"team": "support", "open": True}})
    assert first["outcome"] == "added"
    document = inbox.document(first["document_id"])
    assert document["document_name"] == "tickets/1.md"
    assert document["source_url"] == "https://x.example/1"
    assert document["metadata"] == {"team": "support", "open": True, "group": "support", "from": "inbox"}
    assert document["tag_ids"] == [inbox.tag]
    found = eventually(lambda: search(inbox.client, kb, "zebrafish pump")["results"])
    assert [hit["document_id"] for hit in found] == [first["document_id"]]
    (again,) = inbox.push({**item, "metadata": {"team": "support", "open": True}})
    assert (again["outcome"], again["document_id"]) == ("unchanged", first["document_id"])
    (edited,) = inbox.push({**item, "name": "tickets/one.md", "text": "The pump is repaired."})
    assert (edited["outcome"], edited["document_id"]) == ("changed", first["document_id"])
    deleted = inbox.push({"id": "ticket-1", "deleted": True}, {"id": "ticket-2", "deleted": True})
    assert [each["outcome"] for each in deleted] == ["removed", "skipped"]
    assert inbox.client.get(f"/documents/{first['document_id']}").status_code == 404


def test_pushes_are_in_the_log_of_the_source_and_no_run_removes_them(inbox: Inbox) -> None:
    items = [{"id": f"n{number}", "name": f"n{number}.txt", "text": f"Note {number}."} for number in range(3)]
    inbox.push(*items)
    inbox.push({**items[0], "text": "Note zero, edited."}, {"id": "bad", "name": "../x", "text": "x"}, status=207)
    path = f"/sources/{inbox.source}/runs"
    (log,) = accepted(inbox.client.get(path))["runs"]
    assert (log["trigger"], log["state"], log["counts"]["added"], log["counts"]["changed"]) == (
        "push",
        "succeeded",
        3,
        1,
    )
    outcomes = accepted(inbox.client.get(f"{path}/{log['source_run_id']}/items", params={"limit": 100}))["items"]
    assert [each["outcome"] for each in outcomes].count("failed") == 1
    run = accepted(inbox.client.post(path, json={}), 202)
    wait_for_end(inbox, run["source_run_id"])
    assert accepted(inbox.client.get("/documents", params={"tag_ids": inbox.tag}))["total_count"] == 3


def wait_for_end(inbox: Inbox, run_id: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        run = accepted(inbox.client.get(f"/sources/{inbox.source}/runs/{run_id}"))
        return None if run["state"] in ("queued", "running") else run

    return eventually(ended)


def test_files_are_pushed_as_multipart(inbox: Inbox, running: Running) -> None:
    fields = {"items": '{"items": [{"id": "a"}, {"id": "b", "name": "b.txt", "metadata": {"k": 1}}]}'}
    files = [("files", ("first.txt", b"One file.", "text/plain")), ("files", ("second.txt", b"Two.", "text/plain"))]
    request = httpx.Request("POST", running.url, data=fields, files=files)
    body, kind = request.read(), request.headers["content-type"]
    taken = accepted(inbox.send(inbox.pusher.signed(body, kind)))["items"]
    names = [inbox.document(each["document_id"])["document_name"] for each in taken]
    assert names == ["first.txt", "b.txt"]


def test_what_is_not_signed_right_is_refused(inbox: Inbox, running: Running) -> None:
    item = {"id": "x", "name": "x.txt", "text": "Forged."}
    good = inbox.pusher.items(item)
    without = {name: value for name, value in good.headers.items() if name != "webhook-signature"}
    version = {**good.headers, "webhook-signature": good.headers["webhook-signature"].replace("v1,", "v1a,")}
    refused = [
        Pusher("whsec_" + base64.b64encode(b"0" * 32).decode()).items(item),
        Pusher(inbox.pusher.secret, late_seconds=301).items(item),
        Pusher(inbox.pusher.secret, late_seconds=-301).items(item),
        SignedPush(good.headers, good.body.replace(b"Forged", b"forged")),
        SignedPush({**good.headers, "webhook-id": "other"}, good.body),
        SignedPush(without, good.body),
        SignedPush({**good.headers, "webhook-timestamp": "1e9"}, good.body),
        SignedPush(version, good.body),
    ]
    for push in refused:
        problem_of(inbox.send(push), 403, code="push_refused")
    assert accepted(inbox.client.get("/documents", params={"tag_ids": inbox.tag}))["total_count"] == 0
    accepted(inbox.send(good))


def test_repeated_message_has_one_effect_and_a_replay_none(inbox: Inbox) -> None:
    first = inbox.pusher.items({"id": "x", "name": "x.txt", "text": "Original."}, message_id="m-1")
    accepted(inbox.send(first))
    problem_of(inbox.send(first), 409, code="push_replayed")
    late = Pusher(inbox.pusher.secret, late_seconds=60)
    inbox.push({"id": "x", "name": "x.txt", "text": "Newer."})
    repeated = accepted(inbox.send(late.items({"id": "x", "name": "x.txt", "text": "Original."}, message_id="m-1")))
    assert repeated == {"items": [], "repeated": True}


def test_secrets_rotate_with_an_overlap_and_are_shown_once(inbox: Inbox) -> None:
    path = f"/sources/{inbox.source}/inbound"
    old = inbox.pusher
    opened = accepted(inbox.client.post(path, json={"overlap_seconds": 3600}), 201)
    assert opened["url"] == inbox.path
    item = {"id": "x", "name": "x.txt", "text": "Text."}
    accepted(inbox.send(old.items(item)))
    accepted(inbox.send(Pusher(opened["secret"]).items(item)))
    shown = inbox.client.get(path)
    assert "whsec_" not in shown.text
    assert accepted(shown)["secret_count"] == 2
    last = accepted(inbox.client.post(path, json={"overlap_seconds": 0}), 201)
    for secret in (old.secret, opened["secret"]):
        problem_of(inbox.send(Pusher(secret).items(item)), 403, code="push_refused")
    accepted(inbox.send(Pusher(last["secret"]).items(item)))


def test_address_ends_with_its_source_and_opens_no_other(inbox: Inbox, running: Running) -> None:
    other = Inbox(running, inbox.client)
    push = other.pusher.items({"id": "x", "name": "x.txt", "text": "Text."})
    problem_of(inbox.send(push), 403, code="push_refused")
    assert other.client.delete(f"/sources/{other.source}/inbound").status_code == 204
    problem_of(other.send(push), 404)
    problem_of(other.client.get(f"/sources/{other.source}/inbound"), 404, code="no_inbound_address")
    assert inbox.client.delete(f"/sources/{inbox.source}").status_code == 204
    problem_of(inbox.send(inbox.pusher.items({"id": "x", "text": "x"})), 404)


def test_hostile_bodies_are_refused_whole(inbox: Inbox) -> None:
    good = {"id": "x", "name": "x.txt", "text": "Text."}
    for item, field in (
        ({"id": "y", "name": "y"}, "items[1].content"),
        ({"id": "y", "content": "***"}, "items[1].content"),
        ({"id": "y", "text": "a", "content": "YQ=="}, "items[1]"),
        ({"id": "y", "text": "a", "deleted": True}, "items[1]"),
        ({"id": "", "text": "a"}, "items[1].id"),
        ({"id": "a\0b", "text": "a"}, "items[1].id"),
        ({"id": "y", "text": "a", "url": "javascript:alert(1)"}, "items[1].url"),
        ({"id": "y", "text": "a", "secret": 1}, "items[1].secret"),
        ({"id": "y", "text": "a", "metadata": {"$where": 1}}, "metadata"),
    ):
        problem = problem_of(inbox.send(inbox.pusher.items(good, item)), 400)
        assert field in problem["errors"][0]["field"], problem
    for body in (b"", b"[]", b"{", b'{"items": []}', b"\xff", b'{"items": [' + b"[" * 50_000, b'{"items": [NaN]}'):
        problem_of(inbox.send(inbox.pusher.signed(body)), 400)
    problem_of(inbox.send(inbox.pusher.signed(b"x", "text/plain")), 400, field="Content-Type")
    problem_of(inbox.send(inbox.pusher.signed(b"--x--", "multipart/form-data; boundary=x")), 400, field="items")
    problem_of(inbox.send(inbox.pusher.signed(b" " * (16 * 1024 * 1024 + 1))), 413)
    assert accepted(inbox.client.get("/documents", params={"tag_ids": inbox.tag}))["total_count"] == 0


def test_notion_tells_its_secret_and_signs_by_it(running: Running, client: httpx.Client) -> None:
    credentials = {"token": "ntn_0123456789abcdef0123456789abcdef"}
    body = {"name": unique("notion"), "kind": "notion", "credentials": credentials}
    path = f"/sources/{accepted(client.post('/sources', json=body), 201)['source_id']}/inbound"
    url = running.url + accepted(client.post(path, json={}), 201)["url"]
    accepted(httpx.post(url, json={"verification_token": "secret_of_notion"}))
    assert accepted(client.get(path))["learned_secret"] == "secret_of_notion"
    event = b'{"id": "e1", "type": "page.locked", "entity": {"type": "person", "id": "x"}}'
    forged = {"x-notion-signature": f"sha256={'0' * 64}", "content-type": "application/json"}
    problem_of(httpx.post(url, content=event, headers=forged), 403, code="push_refused")
    digest = hmac.new(b"secret_of_notion", event, hashlib.sha256).hexdigest()
    for _ in range(2):
        accepted(httpx.post(url, content=event, headers={**forged, "x-notion-signature": f"sha256={digest}"}))
    assert accepted(client.get(path))["learned_secret"] is None
    problem_of(httpx.post(url, json={"verification_token": "of another"}), 403, code="push_refused")


def test_export_is_the_organizations_own(inbox: Inbox, running: Running, other_client: httpx.Client) -> None:
    inbox.push({"id": "1", "name": "a.txt", "text": "=1+1", "url": "https://x.example/a"})
    path = f"/sources/{inbox.source}/export"
    wait_until_read(
        inbox.client,
        accepted(inbox.client.get("/documents", params={"tag_ids": inbox.tag}))["documents"][0]["document_id"],
    )
    exported = inbox.client.get(path)
    assert exported.headers["content-type"] == "text/csv; charset=utf-8"
    assert exported.text.splitlines()[1].startswith('"\'=1+1","https://x.example/a","{""title"": ""a.txt""')
    problem_of(other_client.get(path), 404)
    problem_of(inbox.client.get(path, params={"format": "xml"}), 400)
    with Client(running.url, running.organization_id, running.token) as own:
        lines = b"".join(own.export_source(inbox.source, "ndjson")).splitlines()
        assert [json.loads(line)["content"] for line in lines] == ["=1+1"]
        with pytest.raises(ProblemError):
            list(own.export_source("f" * 24))
