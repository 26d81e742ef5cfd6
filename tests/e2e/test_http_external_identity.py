"""External identities over HTTP and through the client: forms, JSON, lists, lookups, and what is refused."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from analytiq.client import Client, ExternalIdentity
from tests.e2e.driving import Body, accepted, get_document, make_tag, problem_of, unique
from tests.e2e.running_platform import Running


def item(external_id: str, version: str | None = None) -> Body:
    return {"source": "wiki", "external_id": external_id, "version": version}


def upload_json(client: httpx.Client, name: str, content: bytes, identity: Body, **fields: object) -> httpx.Response:
    document = {"name": name, "content": base64.b64encode(content).decode(), "external_identity": identity}
    return client.post("/documents", json={"documents": [document], **fields})


def upload_form(client: httpx.Client, names: list[str], **fields: str | list[str]) -> httpx.Response:
    return client.post("/documents", files=[("files", (name, name.encode())) for name in names], data=fields)


@pytest.fixture
def api(running: Running) -> Iterator[Client]:
    """The Python client of the organization."""
    with Client(running.url, running.organization_id, running.token) as client:
        yield client


def test_item_of_a_json_upload_is_one_document_in_all_its_versions(client: httpx.Client) -> None:
    id_ = unique("page")
    first = accepted(upload_json(client, "a.txt", unique("a").encode(), item(id_, "1")), 201)["documents"][0]
    assert (first["outcome"], first["document"]["external_identity"]) == ("created", item(id_, "1"))
    same = accepted(upload_json(client, "a.txt", b"whatever", item(id_, "1")), 200)["documents"][0]
    assert (same["outcome"], same["document_id"]) == ("returned", first["document_id"])
    next_ = accepted(upload_json(client, "b.txt", unique("b").encode(), item(id_, "2")), 201)["documents"][0]
    assert (next_["outcome"], next_["document_id"]) == ("replaced", first["document_id"])
    shown = get_document(client, first["document_id"])
    assert (shown["document_name"], shown["external_identity"]) == ("b.txt", item(id_, "2"))


@pytest.mark.parametrize("identities_come_first", [True, False])
def test_form_has_an_identity_for_each_file_in_their_order(client: httpx.Client, identities_come_first: bool) -> None:
    id_ = unique("form")
    names = [unique("1.txt"), unique("2.txt")]
    fields = {"external_identities": [json.dumps(item(id_)), ""]}
    form = httpx.Request("POST", "http://x", files=[("files", (name, name.encode())) for name in names], data=fields)
    content, boundary = form.read(), form.headers["Content-Type"].partition("boundary=")[2]
    if not identities_come_first:
        mark = f"--{boundary}".encode()
        head, one, two, *files, end = content.split(mark)
        content = mark.join([head, *files, one, two, end])
    answer = accepted(
        client.post("/documents", content=content, headers={"Content-Type": form.headers["Content-Type"]}), 201
    )
    assert [found["document"]["document_name"] for found in answer["documents"]] == names
    assert [found["document"]["external_identity"] for found in answer["documents"]] == [item(id_), None]


def test_documents_are_listed_changed_and_looked_up_by_source_and_id(
    client: httpx.Client, other_client: httpx.Client
) -> None:
    ids = [unique("x"), unique("y")]
    for id_ in ids:
        accepted(upload_json(other_client, "secret.txt", id_.encode(), item(id_)), 201)
    made = [accepted(upload_json(client, "a.txt", id_.encode(), item(id_, "1")), 201)["documents"][0] for id_ in ids]
    wanted = {"source": "wiki", "external_id": ids[0]}
    (one,) = accepted(client.get("/documents", params=wanted))["documents"]
    assert (one["document_id"], one["external_identity"]) == (made[0]["document_id"], item(ids[0], "1"))
    listed = accepted(client.get("/documents", params={"source": "wiki", "limit": 100}))["documents"]
    assert {found["document_id"] for found in made} <= {found["document_id"] for found in listed}
    assert {found["external_identity"]["source"] for found in listed} == {"wiki"}
    tag = make_tag(client)
    changed = accepted(client.post("/documents/changes", json={"matching": wanted, "add_tag_ids": [tag]}))
    assert changed["changed_ids"] == [made[0]["document_id"]]
    looked_up = accepted(client.post("/documents/lookup", json={"source": "wiki", "external_ids": [*ids, "none"]}))
    assert {found["document_id"]: found["external_identity"] for found in looked_up["documents"]} == {
        found["document_id"]: item(id_, "1") for id_, found in zip(ids, made, strict=True)
    }


@pytest.mark.parametrize(
    ("identity", "field"),
    [
        ({"source": "wiki"}, "external_id"),
        ({"external_id": "1"}, "source"),
        ({"source": "", "external_id": "1"}, "source"),
        ({"source": "wiki", "external_id": "x" * 2049}, "external_id"),
        ({"source": "wiki", "external_id": "a\nb"}, "external_id"),
        ({"source": "wiki", "external_id": 1}, "external_id"),
        ({"source": "wiki", "external_id": "1", "version": "x" * 257}, "version"),
        ({"source": "wiki", "external_id": "1", "etag": "x"}, "etag"),
    ],
)
def test_wrong_identity_is_refused_by_its_field(client: httpx.Client, identity: Body, field: str) -> None:
    problem_of(upload_json(client, "a.txt", b"a", identity), 400, field=f"documents[0].external_identity.{field}")
    form = upload_form(client, ["a.txt"], external_identities=json.dumps(identity))
    problem_of(form, 400, field=f"external_identities[0].{field}")


def test_what_does_not_go_with_an_identity_is_refused(client: httpx.Client) -> None:
    identity = json.dumps(item(unique("refused")))
    problem_of(upload_form(client, ["a.txt"], external_identities=[identity] * 2), 400, field="external_identities")
    problem_of(upload_form(client, ["a.txt"], external_identities="wiki:1"), 400, field="external_identities[0]")
    copy = upload_form(client, ["a.txt"], external_identities=identity, on_duplicate="create")
    problem_of(copy, 400, field="on_duplicate")
    problem_of(client.get("/documents", params={"external_id": "1"}), 400, field="external_id")
    change = {"matching": {"external_id": "1"}, "metadata": {"a": 1}}
    problem_of(client.post("/documents/changes", json=change), 400, field="matching.external_id")
    for body in ({"source": "wiki"}, {"external_ids": ["1"]}, {"source": "wiki", "paths": ["a"]}):
        problem_of(client.post("/documents/lookup", json=body), 400)


def test_client_uploads_and_finds_items(api: Client, tmp_path: Path) -> None:
    path, id_ = tmp_path / "a.txt", unique("client")
    path.write_text(id_)
    identity = ExternalIdentity(source="wiki", external_id=id_, version="1")
    (uploaded,) = api.upload([path], external_identities=[identity]).documents
    assert uploaded.document is not None
    assert (uploaded.outcome, uploaded.document.external_identity) == ("created", identity)
    (listed,) = api.documents(source="wiki", external_id=id_)
    (found,) = api.documents_of_items("wiki", [id_])
    assert (listed.document_id, found.document_id) == (uploaded.document_id, uploaded.document_id)
    assert (listed.external_identity, found.external_identity) == (identity, identity)
