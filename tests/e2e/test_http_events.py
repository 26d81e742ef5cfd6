"""Events of an organization over real HTTP: to whoever may know, for as long as they may."""

import json
import os
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import httpx
import pytest

from analytiq.models.account import Role
from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
)
from tests.e2e.made_files import pdf_of
from tests.e2e.people import sign_in_somebody
from tests.e2e.running_platform import Running, client_of, make_organization, start_platform, stop_platform

WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Told:
    """One event as it came over the wire."""

    name: str
    data: Body


@dataclass(slots=True)
class Stream:
    """A connection that is read by a thread; `told` has what came so far."""

    queue: Queue[Told | None]
    told: list[Told] = field(default_factory=list[Told])
    last_id: str = ""

    def until(self, condition: Callable[[Told], Any]) -> Told:
        """Read on until an event that fits; the others are kept in `told`."""
        while True:
            try:
                item = self.queue.get(timeout=WAIT_SECONDS)
            except Empty:
                raise AssertionError(f"not told within {WAIT_SECONDS} s; told: {self.told}") from None
            assert item is not None, f"the connection ended; told: {self.told}"
            self.told.append(item)
            if condition(item):
                return item

    def until_named(self, name: str) -> Told:
        return self.until(lambda item: item.name == name)

    def until_its_end(self) -> None:
        """Read on until the server ends the connection."""
        while (item := self.queue.get(timeout=WAIT_SECONDS)) is not None:
            self.told.append(item)


@contextmanager
def watching(client: httpx.Client, *, after: str | None = None) -> Generator[Stream]:
    """Watch the client's organization; the first event has come."""
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
    stream = Stream(Queue())
    with client.stream("GET", "/events", headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        reader = threading.Thread(target=_read, args=(response, stream), daemon=True)
        reader.start()
        stream.until(lambda item: item.name in ("ready", "reset"))
        yield stream
        # So that the thread, which waits for bytes, sees the end; it may have seen it, and closed the connection.
        network = response.extensions["network_stream"].get_extra_info("socket")
        with suppress(OSError):
            network.shutdown(2)
        reader.join(WAIT_SECONDS)


def _read(response: httpx.Response, stream: Stream) -> None:
    fields: dict[str, str] = {}
    try:
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
                continue
            stream.last_id = fields.get("id", stream.last_id)
            if "data" in fields:
                stream.queue.put(Told(fields["event"], json.loads(fields["data"])))
            fields = {}
    except httpx.HTTPError:
        pass
    stream.queue.put(None)


@pytest.fixture
def own(running: Running) -> Iterator[httpx.Client]:
    """A client of an organization in which nothing else happens."""
    with client_of(running.url, *make_organization(running, "Watched")) as client:
        yield client


def is_indexed(document_id: str) -> Callable[[Told], bool]:
    def judge(told: Told) -> bool:
        bases = told.data.get("knowledge_bases", [])
        return (
            told.name == "document"
            and told.data["document_id"] == document_id
            and bool(bases)
            and all(base["state"] == "indexed" for base in bases)
        )

    return judge


def test_upload_is_told_from_its_arrival_until_it_can_be_found(own: httpx.Client) -> None:
    tag = make_tag(own)
    kb = make_knowledge_base(own, [tag])
    pages = [f"Page {number} speaks of valve {number}." for number in range(1, 30)]
    with watching(own) as stream:
        document_id = upload(own, unique("valves.pdf"), pdf_of(pages), tag_ids=[tag])["document_id"]
        last = stream.until(is_indexed(document_id))
        base = stream.until(lambda item: item.name == "knowledge_base" and item.data["document_count"] == 1)
    own_events = [item.data for item in stream.told if item.name == "document"]
    assert {item["document_id"] for item in own_events} == {document_id}
    assert last.data["page_count"] == len(pages)
    # As `get_document` answers it, without its count of parts, and nothing that is not known elsewhere.
    got = own.get(f"/documents/{document_id}").json()
    assert {**got, "extraction": None, "part_count": None} == last.data
    assert base.data["kb_id"] == kb
    assert {item.data["kind"] for item in stream.told if item.name == "job"} <= {
        "extract", "sync", "membership_document", "membership_kb", "sweep",
    }  # fmt: skip


def test_failed_document_is_told_with_its_cause_and_a_deletion_too(own: httpx.Client) -> None:
    with watching(own) as stream:
        broken = upload(own, unique("broken.pdf"), b"%PDF-1.7 nothing that can be read")["document_id"]
        failed = stream.until(lambda item: item.name == "document" and item.data["state"] == "failed")
        assert failed.data["document_id"] == broken
        assert failed.data["error"]["detail"]
        assert own.delete(f"/documents/{broken}").status_code == 204
        assert stream.until_named("document_deleted").data == {"id": broken}
        kb = make_knowledge_base(own, [])
        accepted(own.delete(f"/knowledge-bases/{kb}"))
        assert stream.until_named("knowledge_base_deleted").data == {"id": kb}


def test_nothing_of_another_organization_is_ever_told(running: Running, own: httpx.Client) -> None:
    with client_of(running.url, *make_organization(running, "Neighbour")) as other:
        with watching(own) as mine, watching(other) as theirs:
            tag, other_tag = make_tag(own), make_tag(other)
            make_knowledge_base(own, [tag])
            make_knowledge_base(other, [other_tag])
            secret = upload(other, unique("secret.txt"), b"The armadillo guards the vault.", tag_ids=[other_tag])
            theirs.until(is_indexed(secret["document_id"]))
            accepted(other.get(f"/documents/{secret['document_id']}"))
            assert other.delete(f"/documents/{secret['document_id']}").status_code == 204
            theirs.until_named("document_deleted")
            document = upload(own, unique("mine.txt"), b"Nothing secret.", tag_ids=[tag])
            mine.until(is_indexed(document["document_id"]))
        their_ids = {secret["document_id"], secret["document_name"], other_tag}
        told = json.dumps([item.data for item in mine.told])
        assert not any(item in told for item in their_ids)
        assert document["document_id"] in told
        assert document["document_id"] not in json.dumps([item.data for item in theirs.told])


def test_watcher_that_comes_back_is_told_what_it_has_missed(own: httpx.Client) -> None:
    with watching(own) as first:
        seen = upload(own, unique("seen.txt"), b"Seen.")["document_id"]
        first.until(lambda item: item.name == "document" and item.data["state"] == "extracted")
        eventually(lambda: first.last_id)
    missed = upload(own, unique("missed.txt"), b"Missed.")["document_id"]
    gone = upload(own, unique("gone.txt"), b"Gone.")["document_id"]
    assert own.delete(f"/documents/{gone}").status_code == 204
    with watching(own, after=first.last_id) as second:
        assert second.told[0].name == "ready"
        second.until(lambda item: item.name == "document" and item.data["document_id"] == missed)
        if {"id": gone} not in [item.data for item in second.told]:
            second.until(lambda item: item.data == {"id": gone})
    assert seen != missed


@pytest.mark.parametrize("after", ["1.1", "9999999999.1"])
def test_watcher_whose_place_is_not_known_is_told_to_read_anew_unless_it_missed_nothing(
    own: httpx.Client, after: str
) -> None:
    with watching(own, after=after) as stream:
        assert stream.told[0].name == ("reset" if after == "1.1" else "ready")
    with watching(own, after="nonsense") as stream:
        assert stream.told[0].name == "ready"


def test_revoked_token_ends_its_connection_and_no_other(own: httpx.Client, running: Running) -> None:
    made = accepted(own.post("/access-tokens", json={"name": unique("short-lived")}), 201)
    organization_id = str(own.base_url).rstrip("/").rpartition("/")[2]
    with client_of(running.url, organization_id, made["token"]) as former, watching(own) as stays:
        with watching(former) as stream:
            assert own.delete(f"/access-tokens/{made['token_id']}").status_code == 204
            stream.until_its_end()
            assert stream.told[-1].name == "closed"
            assert stream.told[-1].data["code"] == "unauthenticated"
        document_id = upload(own, unique("later.txt"), b"Later.")["document_id"]
        stays.until(lambda item: item.name == "document" and item.data["document_id"] == document_id)
    assert document_id not in json.dumps([item.data for item in stream.told])


def test_signing_out_ends_the_connection_of_that_session(own: httpx.Client, running: Running) -> None:
    organization_id = str(own.base_url).rstrip("/").rpartition("/")[2]
    person = sign_in_somebody(running.url, own, Role.VIEWER)
    with person.client(organization_id) as client, watching(client) as stream, person.own_client() as account:
        assert account.post("/sign-out").status_code in (200, 204)
        stream.until_its_end()
    assert (stream.told[-1].name, stream.told[-1].data["code"]) == ("closed", "unauthenticated")


def test_person_who_is_no_member_any_more_is_told_nothing_more(own: httpx.Client, running: Running) -> None:
    organization_id = str(own.base_url).rstrip("/").rpartition("/")[2]
    person = sign_in_somebody(running.url, own, Role.EDITOR)
    with person.client(organization_id) as client, watching(client) as stream:
        assert own.delete(f"/members/{person.user_id}").status_code in (200, 204)
        stream.until_its_end()
    assert (stream.told[-1].name, stream.told[-1].data["code"]) == ("closed", "not_found")


def test_tokens_of_a_person_who_is_removed_end_with_their_connections(own: httpx.Client, running: Running) -> None:
    organization_id = str(own.base_url).rstrip("/").rpartition("/")[2]
    person = sign_in_somebody(running.url, own, Role.ADMIN)
    with person.client(organization_id) as client:
        made = accepted(client.post("/access-tokens", json={"name": unique("script"), "scope": "write"}), 201)
        invited = accepted(client.post("/invitations", json={"email": "back@example.com", "role": "admin"}), 201)
    assert made["made_by"] == {"kind": "user", "id": person.user_id, "name": person.email}
    with client_of(running.url, organization_id, made["token"]) as script, watching(script) as stream:
        accepted(own.put(f"/members/{person.user_id}", json={"role": "viewer"}))
        assert "take it over" in problem_of(script.post("/tags", json={"name": unique("t")}), 403)["detail"]
        assert own.delete(f"/members/{person.user_id}").status_code == 204
        stream.until_its_end()
        assert (stream.told[-1].name, stream.told[-1].data["code"]) == ("closed", "unauthenticated")
        problem_of(script.get("/documents"), 401)
        shown = {item["token_id"]: item for item in accepted(own.get("/access-tokens"))["access_tokens"]}
        assert (shown[made["token_id"]]["permission"], shown[made["token_id"]]["revoked_at"]) == (None, None)
        body = {"token": invited["token"], "name": "Back", "password": "correct horse battery"}
        problem_of(httpx.post(f"{running.url}/v0/auth/invitations/accept", json=body, timeout=60.0), 404)
        (waiting,) = [
            item
            for item in accepted(own.get("/invitations", params={"limit": 100}))["invitations"]
            if item["invitation_id"] == invited["invitation_id"]
        ]
        assert (waiting["role"], waiting["role_now"], waiting["made_by"]["name"]) == ("admin", None, person.email)
        taken = accepted(own.post(f"/access-tokens/{made['token_id']}/take-over"))
        assert (taken["permission"], taken["made_by"]["kind"]) == ("write", "token")
        assert script.get("/documents").status_code == 200
        accepted(own.post(f"/invitations/{invited['invitation_id']}/take-over"))
        accepted(httpx.post(f"{running.url}/v0/auth/invitations/preview", json={"token": invited["token"]}))


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A platform that allows each organization two connections."""
    os.environ["ANALYTIQ_WATCHING__MAX_CONNECTIONS"] = "2"
    try:
        platform = start_platform(tmp_path_factory.mktemp("narrow") / "data")
    finally:
        del os.environ["ANALYTIQ_WATCHING__MAX_CONNECTIONS"]
    yield platform
    stop_platform(platform)


def test_too_many_connections_are_refused_and_one_that_ends_makes_room(narrow: Running) -> None:
    with narrow.client() as client:
        with watching(client), watching(client):
            refused = client.get("/events")
            problem_of(refused, 429, code="too_many_watchers")
            assert int(refused.headers["Retry-After"]) >= 1
            # Another organization has connections of its own.
            with client_of(narrow.url, *make_organization(narrow, "Beside")) as other, watching(other):
                pass

        def has_room() -> bool:
            with client.stream("GET", "/events") as response:
                return response.status_code == 200

        eventually(has_room)


def test_platform_stops_while_somebody_watches(tmp_path: Path) -> None:
    platform = start_platform(tmp_path / "data")
    with platform.client() as client, watching(client) as stream:
        assert stop_platform(platform) == 0
        stream.until_its_end()
    assert "Traceback" not in platform.log


def test_one_change_stream_serves_all_connections(running: Running, own: httpx.Client) -> None:
    def streams() -> int:
        with database_of(running.data_dir) as database:
            operations = database.client["admin"].aggregate([{"$currentOp": {"idleCursors": True}}])
            return sum(
                1
                for item in operations
                if "'ns.coll': 'knowledge_bases'" in str(item.get("cursor", {}).get("originatingCommand"))
            )

    with watching(own):
        eventually(lambda: streams() == 1)
        with watching(own), watching(own), watching(own):
            assert streams() == 1
