"""The chunks that settings would make, by HTTP, client and command."""

import os

import httpx
import pytest

from analytiq.client import Client
from tests.e2e.driving import (
    Body,
    accepted,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_active,
    wait_until_read,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command

SENTENCE = "The pump moves water into the tank. "
TEXT = f"# Pumps\n\n{SENTENCE * 30}\n\n## Care\n\n{SENTENCE * 30}\n\n# Valves\n\n{SENTENCE * 30}\n"


def read_document(client: httpx.Client, tag: str) -> str:
    document = upload(client, unique("pumps.md"), TEXT.encode(), tag_ids=[tag])["document_id"]
    wait_until_read(client, document)
    return str(document)


def facts(chunk: Body) -> list[object]:
    return [chunk[name] for name in ("chunk_index", "text", "start", "end", "token_count", "first_page", "last_page")]


def test_preview_shows_the_chunks_that_indexing_then_makes(client: httpx.Client) -> None:
    tag = make_tag(client)
    document = read_document(client, tag)
    settings = {"chunker_type": "section", "chunk_size": 128, "chunk_overlap": 16}
    preview = accepted(client.post("/chunk-preview", json={"document_id": document, **settings}))
    assert (preview["document_id"], preview["is_complete"]) == (document, True)
    assert preview["total_count"] == len(preview["chunks"]) > 3
    kb = make_knowledge_base(client, [tag], **settings)
    wait_until_active(client, kb)
    indexed = accepted(client.get(f"/knowledge-bases/{kb}/chunks"))["chunks"]
    assert [facts(one) for one in preview["chunks"]] == [facts(one) for one in indexed]


def test_preview_of_a_text_is_shown_in_parts(client: httpx.Client) -> None:
    asked = {"text": TEXT, "chunker_type": "section", "chunk_size": 64, "chunk_overlap": 0}
    whole = accepted(client.post("/chunk-preview", json=asked))
    assert (whole["document_id"], whole["character_count"]) == (None, len(TEXT))
    part = accepted(client.post("/chunk-preview", json={**asked, "skip": 2, "limit": 3}))
    assert part["chunks"] == whole["chunks"][2:5]
    assert part["total_count"] == whole["total_count"]
    assert [chunk["heading_path"] for chunk in whole["chunks"]][-1] == ["Valves"]
    assert ["Pumps", "Care"] in [chunk["heading_path"] for chunk in whole["chunks"]]
    for chunk in whole["chunks"]:
        assert chunk["text"] == TEXT[chunk["start"] : chunk["end"]]


@pytest.mark.parametrize(
    ("asked", "status", "named"),
    [
        ({}, 400, "document_id or text"),
        ({"text": "a", "document_id": "f" * 24}, 400, "document_id or text"),
        ({"text": "a", "chunker_type": "nonsense"}, 400, "Unknown chunker"),
        ({"text": "a", "chunk_size": 8, "chunk_overlap": 8}, 400, "chunk_overlap"),
        ({"document_id": "f" * 24}, 404, "No document"),
    ],
)
def test_preview_that_is_impossible_says_why(
    client: httpx.Client, asked: dict[str, object], status: int, named: str
) -> None:
    problem = problem_of(client.post("/chunk-preview", json=asked), status)
    assert named in str(problem)


def test_document_of_another_organization_is_unknown(client: httpx.Client, running: Running) -> None:
    document = read_document(client, make_tag(client))
    with client_of(running.url, *make_organization(running, unique("other"))) as stranger:
        problem_of(stranger.post("/chunk-preview", json={"document_id": document}), 404)


def test_document_without_text_cannot_be_previewed(client: httpx.Client) -> None:
    broken = upload(client, unique("broken.pdf"), b"%PDF-1.7 and nothing more" + os.urandom(100))["document_id"]
    eventually(lambda: client.get(f"/documents/{broken}").json()["state"] == "failed")
    problem_of(client.post("/chunk-preview", json={"document_id": broken}), 409, code="no_text")


def test_client_and_command_show_the_chunks(client: httpx.Client, running: Running) -> None:
    document = read_document(client, make_tag(client))
    with Client(running.url, running.organization_id, running.token) as library:
        preview = library.preview_chunks(document_id=document, chunker_type="auto", chunk_size=128)
    assert preview.chunks[0].text.startswith("# Pumps")
    data_dir = ("--data-dir", str(running.data_dir))
    shown = run_command("chunk-preview", document, "--chunker", "auto", "--chunk-size", "128", *data_dir)
    assert shown.returncode == 0, shown.stderr
    assert f"{preview.total_count} of {preview.total_count} chunks." in shown.stderr
