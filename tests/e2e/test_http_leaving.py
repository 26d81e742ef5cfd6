"""Departures: the next search misses documents that left a knowledge base, and deleted ones leave nothing."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from bson import ObjectId
from pymongo.database import Database

from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    search,
    unique,
    upload,
    wait_until_active,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running

TEXT = "The platypus lays eggs and senses electricity."
REMAINS_SECONDS = 10.0


@pytest.fixture(scope="module")
def database(running: Running) -> Iterator[Database[Body]]:
    """The running system's own database."""
    with database_of(running.data_dir) as found:
        yield found


def indexed(client: httpx.Client, tag: str) -> str:
    """A new document with the tag, indexed."""
    document = upload(client, unique("platypus.txt"), TEXT.encode(), tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    return str(document["document_id"])


def ids_found(client: httpx.Client, kb: str) -> set[str]:
    """Return the results of a search."""
    return {item["document_id"] for item in search(client, kb, "platypus")["results"]}


def mentions(value: Any, sought: set[Any]) -> bool:
    """Return True if a value anywhere in a row is one of those sought, or a string that holds one."""
    if isinstance(value, dict):
        return any(mentions(item, sought) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return any(mentions(item, sought) for item in value)
    if isinstance(value, str):
        return any(isinstance(item, str) and item in value for item in sought)
    if isinstance(value, bytes):
        return any(isinstance(item, bytes) and item in value for item in sought)
    return isinstance(value, ObjectId) and value in sought


def remains(database: Database[Body], *ids: str, text: str = "") -> dict[str, int]:
    """Collection → rows that still mention an id, as a string, a part of one or an ObjectId, or hold the text."""
    sought: set[Any] = set(ids) | {ObjectId(value) for value in ids}
    if text:
        sought |= {text, text.encode()}
    counts = {
        name: sum(mentions(row, sought) for row in database[name].find())
        for name in database.list_collection_names()
        if not name.startswith("system.")
    }
    return {name: count for name, count in counts.items() if count}


def test_document_whose_tag_is_taken_away_is_not_found_by_the_next_search(client: httpx.Client) -> None:
    tag, other = make_tag(client), make_tag(client)
    kb = make_knowledge_base(client, [tag])
    leaving, staying = indexed(client, tag), indexed(client, tag)
    assert ids_found(client, kb) == {leaving, staying}
    accepted(client.put(f"/documents/{leaving}", json={"tag_ids": [other]}))
    assert ids_found(client, kb) == {staying}
    accepted(client.put(f"/documents/{leaving}", json={"tag_ids": [other, tag]}))
    eventually(lambda: ids_found(client, kb) == {leaving, staying})


def test_knowledge_base_that_gives_up_a_tag_does_not_find_by_it_any_more(client: httpx.Client) -> None:
    kept, given_up = make_tag(client), make_tag(client)
    kb = make_knowledge_base(client, [kept, given_up])
    staying, leaving = indexed(client, kept), indexed(client, given_up)
    assert ids_found(client, kb) == {staying, leaving}
    accepted(client.put(f"/knowledge-bases/{kb}", json={"tag_ids": [kept]}))
    assert ids_found(client, kb) == {staying}


def test_deleted_documents_are_not_found_by_the_next_search(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    documents = [indexed(client, tag) for _ in range(3)]
    for number, document_id in enumerate(documents, 1):
        assert client.delete(f"/documents/{document_id}").status_code == 204
        assert ids_found(client, kb) == set(documents[number:])


def test_nothing_of_a_deleted_document_remains_in_any_collection(
    client: httpx.Client, database: Database[Body]
) -> None:
    tag = make_tag(client)
    kbs = [make_knowledge_base(client, [tag]) for _ in range(2)]
    secret = unique("Quokka secret")
    document = upload(client, unique("secret.txt"), f"{secret} {TEXT}".encode(), tag_ids=[tag])
    document_id = document["document_id"]
    wait_until_indexed(client, document_id)
    for kb in kbs:
        assert search(client, kb, secret)["results"]
    file_id = str(database["docs"].find_one({"_id": ObjectId(document_id)}, {"file_id": 1})["file_id"])  # type: ignore[index]
    held = remains(database, document_id, file_id)
    assert {"docs", "fs.files", "fs.chunks", "document_texts", "document_index"} <= set(held)
    assert {f"kb_vectors_{kb}" for kb in kbs} <= set(held)
    assert client.delete(f"/documents/{document_id}").status_code == 204
    # Who deleted it stays known for a year; what it said does not.
    eventually(
        lambda: set(remains(database, document_id, file_id, text=secret)) <= {"audit_log"}, seconds=REMAINS_SECONDS
    )
    assert secret not in str(list(database["audit_log"].find({"target.document_id": document_id})))


def test_nothing_of_a_deleted_knowledge_base_remains_but_what_it_was_charged(
    client: httpx.Client, database: Database[Body]
) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document_id = indexed(client, tag)
    assert ids_found(client, kb) == {document_id}
    wait_until_active(client, kb)
    assert remains(database, kb)["knowledge_bases"] == 1
    accepted(client.delete(f"/knowledge-bases/{kb}"))
    # What it was charged and what the cache saved stay with the accounts, and who deleted it stays known.
    accounts = {"spu_ledger", "spu_savings", "audit_log"}
    eventually(lambda: set(remains(database, kb)) <= accounts, seconds=REMAINS_SECONDS)
    assert f"kb_vectors_{kb}" not in database.list_collection_names()
    assert client.get(f"/documents/{document_id}/original").content == TEXT.encode()
