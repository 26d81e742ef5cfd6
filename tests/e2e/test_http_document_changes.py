"""The same change of many documents over REST: exact, in batches, undone by what it says that it changed."""

from collections.abc import Iterator

import httpx
import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.ingestion.documents.changing import BATCH
from tests.e2e.driving import (
    UNKNOWN_ID,
    Body,
    accepted,
    database_of,
    eventually,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, client_of, make_organization


@pytest.fixture(scope="module")
def own(running: Running) -> Iterator[httpx.Client]:
    """A client of an organization of this module's own."""
    with client_of(running.url, *make_organization(running, "Changing many")) as client:
        yield client


def organization_of(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/").rpartition("/")[2]


def many(running: Running, client: httpx.Client, count: int, name: str) -> list[str]:
    """So many documents that wait to be read, put into the database: some of one moment."""
    now = clock.now()
    rows: list[Body] = [
        {
            "_id": ObjectId(), "organization_id": organization_of(client), "document_name": f"{name} {number}.txt",
            "identity": unique(name), "sha256": "0", "byte_size": 1, "content_type": "text/plain", "file_id": "0" * 24,
            "state": "failed", "tag_ids": [], "metadata": {}, "rev": 0, "created_at": now, "updated_at": now,
        }
        for number in range(count)
    ]  # fmt: skip
    with database_of(running.data_dir) as database:
        database["docs"].insert_many(rows)
    return [str(row["_id"]) for row in rows]


def change_all(client: httpx.Client, **body: object) -> list[Body]:
    """Every batch's answer."""
    answers: list[Body] = []
    after: str | None = None
    while True:
        sent = {**body, **({"after": after} if after else {})}
        answers.append(accepted(client.post("/documents/changes", json=sent)))
        after = answers[-1]["next"]
        if after is None:
            return answers


def test_all_that_match_are_tagged_and_exactly_these_are_untagged_again(running: Running, own: httpx.Client) -> None:
    name = unique("batch")
    count = 2 * BATCH + 7
    ids = many(running, own, count, name)
    tag = make_tag(own)
    had_it = ids[:3]
    assert accepted(own.post("/documents/changes", json={"document_ids": had_it, "add_tag_ids": [tag]}))["changed_ids"]
    left_out = ids[10]
    answers = change_all(own, matching={"name_search": name}, except_ids=[left_out], add_tag_ids=[tag])
    assert len(answers) == 3
    changed = [document_id for answer in answers for document_id in answer["changed_ids"]]
    assert sorted(changed) == sorted(set(ids) - {*had_it, left_out})
    assert sum(answer["unchanged_count"] for answer in answers) == len(had_it)
    listed = own.get("/documents", params={"tag_ids": tag, "limit": 1}).json()
    assert listed["total_count"] == count - 1

    for first in range(0, len(changed), BATCH):
        undone = {"document_ids": changed[first : first + BATCH], "remove_tag_ids": [tag]}
        accepted(own.post("/documents/changes", json=undone))
    assert own.get("/documents", params={"tag_ids": tag}).json()["total_count"] == len(had_it)


def test_documents_that_no_longer_match_once_they_are_changed_are_not_passed_over(
    running: Running, own: httpx.Client
) -> None:
    tag, other = make_tag(own), make_tag(own)
    ids = many(running, own, BATCH + 5, unique("leaving"))
    for first in range(0, len(ids), BATCH):
        accepted(
            own.post("/documents/changes", json={"document_ids": ids[first : first + BATCH], "add_tag_ids": [tag]})
        )
    answers = change_all(own, matching={"tag_ids": [tag]}, add_tag_ids=[other], remove_tag_ids=[tag])
    assert sum(len(answer["changed_ids"]) for answer in answers) == len(ids)
    assert own.get("/documents", params={"tag_ids": tag}).json()["total_count"] == 0
    assert own.get("/documents", params={"tag_ids": other}).json()["total_count"] == len(ids)


def test_tagged_documents_join_their_knowledge_base_and_leave_it_again(own: httpx.Client) -> None:
    tag = make_tag(own)
    kb = make_knowledge_base(own, [tag])
    ids = [upload(own, unique("joining.txt"), b"Joins by a tag.")["document_id"] for _ in range(3)]
    for document_id in ids:
        eventually(lambda document_id=document_id: get_document(own, document_id)["state"] == "extracted")
    accepted(own.post("/documents/changes", json={"document_ids": ids, "add_tag_ids": [tag]}))
    for document_id in ids:
        wait_until_indexed(own, document_id)
    accepted(own.post("/documents/changes", json={"document_ids": ids, "remove_tag_ids": [tag]}))
    eventually(lambda: accepted(own.get(f"/knowledge-bases/{kb}"))["document_count"] == 0)


def test_metadata_is_set_key_by_key_and_what_cannot_be_kept_is_told(running: Running, own: httpx.Client) -> None:
    ids = many(running, own, 3, unique("described"))
    accepted(own.put(f"/documents/{ids[0]}", json={"metadata": {"draft": True, "customer": "Acme"}}))
    accepted(own.put(f"/documents/{ids[1]}", json={"metadata": {f"key {number}": 1 for number in range(500)}}))
    changed = accepted(
        own.post("/documents/changes", json={"document_ids": ids, "metadata": {"year": 2024, "draft": None}})
    )
    assert sorted(changed["changed_ids"]) == sorted([ids[0], ids[2]])
    assert [item["document_id"] for item in changed["refused"]] == [ids[1]]
    assert "500 keys" in changed["refused"][0]["detail"]
    assert get_document(own, ids[0])["metadata"] == {"customer": "Acme", "year": 2024}
    again = accepted(own.post("/documents/changes", json={"document_ids": [ids[0]], "metadata": {"year": 2024}}))
    assert (again["changed_ids"], again["unchanged_count"]) == ([], 1)


def test_values_of_declared_fields_are_held_to_their_type(running: Running, own: httpx.Client) -> None:
    ids = many(running, own, 1, unique("declared"))
    accepted(own.put("/metadata-fields", json={"fields": {"due": "date"}}))
    body = {"document_ids": ids, "metadata": {"due": "soon"}}
    problem_of(own.post("/documents/changes", json=body), 400, field="metadata.due", code="metadata_misfit")
    accepted(own.post("/documents/changes", json={"document_ids": ids, "metadata": {"due": "2026-03-01"}}))
    assert get_document(own, ids[0])["metadata"] == {"due": "2026-03-01T00:00:00.000Z"}


def test_documents_of_another_organization_stay_as_they_are(
    running: Running, own: httpx.Client, other_client: httpx.Client
) -> None:
    theirs = upload(other_client, unique("theirs.txt"), b"Not yours.")["document_id"]
    tag = make_tag(own)
    answer = accepted(
        own.post("/documents/changes", json={"document_ids": [theirs, UNKNOWN_ID, "x"], "add_tag_ids": [tag]})
    )
    assert (answer["changed_ids"], answer["unchanged_count"]) == ([], 0)
    assert get_document(other_client, theirs)["tag_ids"] == []
    foreign = make_tag(other_client)
    body = {"document_ids": [theirs], "add_tag_ids": [foreign]}
    problem_of(own.post("/documents/changes", json=body), 400, field="add_tag_ids[0]", code="unknown_tag")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"metadata": {"a": 1}}, "document_ids"),
        ({"document_ids": [], "matching": {}, "metadata": {"a": 1}}, "document_ids"),
        ({"document_ids": []}, "add_tag_ids"),
        ({"document_ids": [], "metadata": {}}, "add_tag_ids"),
        ({"matching": {}, "after": "nowhere", "metadata": {"a": 1}}, "after"),
        ({"matching": {}, "after": f"{'9' * 15}-{UNKNOWN_ID}", "metadata": {"a": 1}}, "after"),
        ({"document_ids": [], "after": "1-" + UNKNOWN_ID, "metadata": {"a": 1}}, "after"),
        ({"document_ids": [], "metadata": {"$set": 1}}, "metadata"),
        ({"matching": {"metadata_filter": {"page": 1}}, "metadata": {"a": 1}}, "metadata_filter"),
    ],
)
def test_wrong_change_is_refused_by_its_field(own: httpx.Client, body: Body, field: str) -> None:
    problem_of(own.post("/documents/changes", json=body), 400, field=field)
