"""Forecasts of a knowledge base's cost by HTTP, client and command; and the sharing of embeddings."""

import os
from typing import Any

import httpx
import pytest

from analytiq.client import Client, ProblemError
from tests.e2e.driving import (
    Body,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_active,
    wait_until_read,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command

LOCAL = "local/all-minilm-l6-v2"


def read_document(client: httpx.Client, tag: str, subject: str) -> None:
    text = "\n\n".join(f"{subject} {unique('tale')} number {number} begins by the sea." * 6 for number in range(12))
    wait_until_read(client, upload(client, unique("a.txt"), text.encode(), tag_ids=[tag])["document_id"])


def forecast(client: httpx.Client, tag: str, **settings: Any) -> Body:
    wanted = {"tag_ids": [tag], "chunk_size": 64, "embedding_model": LOCAL, **settings}
    return accepted(client.post("/knowledge-bases/forecast", json=wanted))


def spus(client: httpx.Client) -> int:
    return int(accepted(client.get("/usage"))["by_operation"].get("index", 0))


def test_forecast_is_what_is_charged_then_and_nothing_the_second_time(client: httpx.Client) -> None:
    tag = make_tag(client)
    read_document(client, tag, "Whale")
    before, charged = forecast(client, tag), spus(client)
    assert (before["document_count"], before["unknown_document_count"], before["is_estimated"]) == (1, 0, False)
    assert before["spus"]["value"] == before["spus"]["low"] == before["spus"]["high"] > 10
    assert before["price_usd"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert spus(client) == charged
    kb = make_knowledge_base(client, [tag], chunk_size=64, embedding_model=LOCAL)
    wait_until_active(client, kb)
    assert spus(client) - charged == before["spus"]["value"]
    assert accepted(client.get(f"/knowledge-bases/{kb}"))["chunk_count"] == before["chunks"]["value"]
    after = forecast(client, tag)
    assert (after["spus"]["value"], after["cached_share"]) == (0, 1.0)
    assert after["cached_chunks"] == after["chunks"]


def test_forecast_of_nothing_is_nothing_and_a_wrong_one_says_what_is_wrong(client: httpx.Client) -> None:
    empty = forecast(client, make_tag(client))
    assert (empty["chunks"]["value"], empty["cached_share"], empty["is_estimated"]) == (0, None, False)
    tag = make_tag(client)
    path = "/knowledge-bases/forecast"
    problem_of(client.post(path, json={"tag_ids": [tag], "chunker_type": "magic"}), 400, field="chunker_type")
    problem_of(client.post(path, json={"tag_ids": ["f" * 24]}), 400, field="tag_ids[0]")
    problem_of(client.post(path, json={"tag_ids": [tag], "chunk_overlap": 600}), 400, field="chunk_overlap")
    problem_of(client.post(path, json={"tag_ids": [tag], "top_k": 1}), 400, field="top_k")
    problem_of(client.post(path, json={}), 400, field="tag_ids")
    wanted = {"tag_ids": [tag], "embedding_model": "cohere/embed-english-v3.0"}
    problem_of(client.post(path, json=wanted), 400, code="provider_key_missing")


def test_file_that_cannot_be_read_is_named_and_in_no_number(client: httpx.Client, running: Running) -> None:
    tag = make_tag(client)
    read_document(client, tag, "Fern")
    name = unique("broken.pdf")
    broken = upload(client, name, b"%PDF-1.7 and nothing more" + os.urandom(100), tag_ids=[tag])["document_id"]
    with Client(running.url, running.organization_id, running.token) as library:
        for _ in library.wait_until_indexed([broken]):
            pass
        found = library.forecast(tag_ids=[tag], chunk_size=64, embedding_model=LOCAL)
    assert (found.document_count, found.unknown_document_count) == (1, 1)
    assert [(item.document_id, item.document_name) for item in found.unknown_documents] == [(broken, name)]
    assert found.spus.value > 0


def test_command_prints_the_forecast_and_names_an_unknown_tag(client: httpx.Client, running: Running) -> None:
    name = unique("tag")
    tag = accepted(client.post("/tags", json={"name": name}), 201)["tag_id"]
    read_document(client, tag, "Stone")
    wanted = forecast(client, tag)
    data_dir = ("--data-dir", str(running.data_dir))
    shown = run_command("forecast", "--tag", name, "--chunk-size", "64", "--model", LOCAL, *data_dir)
    assert shown.returncode == 0, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["SPUs", *[str(wanted["spus"]["value"])] * 3] in lines
    assert f"1 documents, embedded by {LOCAL}" in shown.stderr
    missing = run_command("forecast", "--tag", "no such tag", *data_dir)
    assert (missing.returncode, "There is no tag 'no such tag'" in missing.stderr) == (1, True)


def test_organization_that_shares_nothing_pays_for_what_others_have_embedded(running: Running) -> None:
    """By forecast and by charge; changing back finds the shared embeddings again."""
    text = unique("A ferry leaves for the island").encode()
    tags: list[str] = []
    clients = [client_of(running.url, *make_organization(running, unique("scope"))) for _ in range(2)]
    for client in clients:
        tags.append(make_tag(client))
        wait_until_read(client, upload(client, "a.txt", text, tag_ids=tags[-1:])["document_id"])
    first, second = clients
    own = f"{second.base_url}".rstrip("/")
    assert accepted(second.get(own))["cache_scope"] == "organization"
    for client in clients:
        accepted(client.put(f"{client.base_url}".rstrip("/"), json={"cache_scope": "global"}))
    wait_until_active(first, make_knowledge_base(first, tags[:1], chunk_size=64, embedding_model=LOCAL))
    assert forecast(second, tags[1])["spus"]["value"] == 0
    assert accepted(second.put(own, json={"cache_scope": "organization"}))["cache_scope"] == "organization"
    assert forecast(second, tags[1])["spus"]["value"] == 1
    wait_until_active(second, make_knowledge_base(second, tags[1:], chunk_size=64, embedding_model=LOCAL))
    assert (spus(first), spus(second)) == (1, 1)
    assert accepted(second.put(own, json={"cache_scope": "global"}))["cache_scope"] == "global"
    assert forecast(second, tags[1])["spus"]["value"] == 0
    problem_of(second.put(own, json={"cache_scope": "friends"}), 400, field="cache_scope")
    for client in clients:
        client.close()


def test_commands_show_and_change_the_scope_and_tell_the_size(running: Running) -> None:
    data_dir = ("--data-dir", str(running.data_dir))
    assert "not shared" in run_command("cache", "scope", *data_dir).stderr
    assert "shared with all" in run_command("cache", "scope", "global", *data_dir).stderr
    assert "shared with all" in run_command("cache", "scope", *data_dir).stderr
    assert "not shared" in run_command("cache", "scope", "organization", *data_dir).stderr
    size = run_command("cache", "size", *data_dir)
    rows, size_bytes, most, kept, unit = size.stdout.splitlines()[1].split()
    # A row of few dimensions, as some tests on this platform have, is a little longer than its key.
    assert (int(rows) * 100 < int(size_bytes), most, kept, unit) == (True, "8589934592", "180", "days")
    evicted = run_command("cache", "evict", *data_dir)
    assert "0 unused and 0 surplus embeddings removed." in evicted.stderr
    with Client(running.url, running.organization_id, running.token) as library, pytest.raises(ProblemError):
        library.set_cache_scope("friends")
