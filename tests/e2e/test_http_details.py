"""Details of documents in results: tags, chosen metadata and the address of the original, by every interface."""

import base64
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from analytiq.client import Client
from tests.e2e.driving import (
    Body,
    accepted,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, run_command

ADDRESS = "https://example.com/harbor/rules?lang=en#tolls"
TEXT = "The toll of the harbor is four crowns for a barge."


@dataclass(frozen=True, slots=True)
class Library:
    """A knowledge base of one document, and the names of its tags."""

    kb_id: str
    document_id: str
    tags: list[str]


def upload_json(client: httpx.Client, **fields: object) -> httpx.Response:
    document = {"name": unique("harbor.txt"), "content": base64.b64encode(TEXT.encode()).decode(), **fields}
    return client.post("/documents", json={"documents": [document], "on_duplicate": "create"})


@pytest.fixture(scope="module")
def library(running: Running) -> Library:
    """The documents of this module's tests."""
    with running.client() as client:
        tags = [make_tag(client), make_tag(client)]
        kb = make_knowledge_base(client, tags[:1])
        metadata = {"customer": "Acme", "year": 2024, "parties": ["Acme", "Bolt"]}
        answer = accepted(upload_json(client, tag_ids=tags, metadata=metadata, source_url=ADDRESS), 201)
        document_id = answer["documents"][0]["document_id"]
        wait_until_indexed(client, document_id)
        names = [accepted(client.get(f"/tags/{tag}"))["name"] for tag in tags]
    return Library(kb, document_id, names)


def first(client: httpx.Client, library: Library, **options: object) -> Body:
    result: Body = search(client, library.kb_id, "harbor toll", **options)["results"][0]
    return result


def test_result_has_tags_and_address_and_metadata_by_choice(client: httpx.Client, library: Library) -> None:
    small = first(client, library)
    assert (small["source_url"], small["tags"], small["metadata"]) == (ADDRESS, library.tags, {})
    chosen = first(client, library, include=["metadata.year", "metadata.unknown"])
    assert (chosen["tags"], chosen["metadata"]) == ([], {"year": 2024})
    whole = first(client, library, include=["tags", "metadata"])
    assert whole["metadata"] == {"customer": "Acme", "year": 2024, "parties": ["Acme", "Bolt"]}
    several = {"kb_ids": [library.kb_id], "query": "harbor toll", "include": []}
    assert accepted(client.post("/search", json=several))["results"][0]["tags"] == []
    explained = {"query": "harbor toll", "document_id": library.document_id, "include": ["metadata.customer"]}
    passages = accepted(client.post(f"/knowledge-bases/{library.kb_id}/explain", json=explained))["passages"]
    assert passages[0]["metadata"] == {"customer": "Acme"}


@pytest.mark.parametrize("include", [["text"], ["metadata."], [""], ["tags", "Metadata"]])
def test_unknown_detail_is_refused(client: httpx.Client, library: Library, include: list[str]) -> None:
    body = {"query": "toll", "include": include}
    problem_of(client.post(f"/knowledge-bases/{library.kb_id}/search", json=body), 400, field="include")


def test_client_and_command_show_the_details(running: Running, library: Library) -> None:
    with Client(running.url, running.organization_id, running.token) as api:
        found = api.search(library.kb_id, "harbor toll", include=["tags", "metadata.customer"]).results[0]
        name = api.knowledge_base(library.kb_id).name
    assert (found.source_url, found.tags, found.metadata) == (ADDRESS, library.tags, {"customer": "Acme"})
    shown = run_command(
        "search", "harbor toll", "--kb", name, "--include", "tags", "--include", "metadata.year",
        "--data-dir", str(running.data_dir),
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    words = " ".join(shown.stdout.split())
    assert ADDRESS in words
    assert f"tags: {', '.join(library.tags)}" in words
    assert "metadata: year=2024" in words


def test_address_is_given_in_every_way_and_changed(client: httpx.Client, running: Running, tmp_path: Path) -> None:
    form = {"source_urls": ["https://example.com/1", ""], "on_duplicate": "create"}
    files = [("files", (unique("1.txt"), b"one")), ("files", (unique("2.txt"), b"two"))]
    sent = accepted(client.post("/documents", files=files, data=form), 201)["documents"]
    assert [item["document"]["source_url"] for item in sent] == ["https://example.com/1", None]
    id_ = sent[0]["document_id"]
    accepted(client.put(f"/documents/{id_}", json={"source_url": "http://example.org/"}))
    assert get_document(client, id_)["source_url"] == "http://example.org/"
    accepted(client.put(f"/documents/{id_}", json={"metadata": {"a": 1}}))
    assert get_document(client, id_)["source_url"] == "http://example.org/"
    accepted(client.put(f"/documents/{id_}", json={"source_url": ""}))
    assert get_document(client, id_)["source_url"] is None

    path = tmp_path / unique("page.txt")
    path.write_text("A page of the web.", encoding="utf-8")
    command = ("ingest", str(path), "--source-url", ADDRESS, "--no-wait", "--data-dir", str(running.data_dir))
    assert run_command(*command).returncode == 0
    with Client(running.url, running.organization_id, running.token) as api:
        [document] = api.documents(name_search=path.name)
        assert document.source_url == ADDRESS
        again = api.upload([path], source_urls=["https://example.com/moved"], merge=True).documents[0]
    assert again.document is not None
    assert (again.document_id, again.document.source_url) == (document.document_id, "https://example.com/moved")


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://u:p@example.com/", "example.com", "https://", " "])
def test_address_outside_the_web_is_refused_by_its_field(client: httpx.Client, address: str) -> None:
    problem_of(upload_json(client, source_url=address), 400, field="documents[0].source_url")
    form = {"source_urls": address}
    files = [("files", (unique("a.txt"), b"a"))]
    problem_of(client.post("/documents", files=files, data=form), 400, field="source_urls[0]")


def test_old_knowledge_base_is_moved_to_context_and_chosen_metadata(client: httpx.Client, running: Running) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag], context=False)
    sent = accepted(upload_json(client, tag_ids=[tag], metadata={"ship": "Queequeg"}), 201)["documents"][0]
    wait_until_indexed(client, sent["document_id"])
    name = accepted(client.get(f"/knowledge-bases/{kb}"))["name"]
    data_dir = ("--data-dir", str(running.data_dir))
    assert name in run_command("kb", "list", *data_dir).stderr
    assert search(client, kb, "Queequeg", mode="lexical")["results"] == []
    problem_of(client.put(f"/knowledge-bases/{kb}", json={"context": True}), 400, field="context")
    moved = run_command("kb", "move", kb, "--searched-metadata", "ship", "--yes", *data_dir)
    assert moved.returncode == 0, moved.stderr
    wait_until_indexed(client, sent["document_id"])
    shown = accepted(client.get(f"/knowledge-bases/{kb}"))
    assert (shown["context"], shown["searched_metadata"]) == (True, ["ship"])
    assert [item["document_id"] for item in search(client, kb, "Queequeg", mode="lexical")["results"]] == [
        sent["document_id"]
    ]
    with Client(running.url, running.organization_id, running.token) as api:
        assert api.move_knowledge_base(kb, context=False).searched_metadata == []
