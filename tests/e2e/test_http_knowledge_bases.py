"""Knowledge bases over HTTP: endpoints, fields, defaults and status codes."""

import re

import httpx
import pytest

from analytiq import clock
from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_active,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_knowledge_base_of_the_seed_is_made_with_the_fields_that_the_seed_names(client: httpx.Client) -> None:
    tags = [make_tag(client), make_tag(client)]
    body = {
        "name": unique("Invoice KB"),
        "description": "Knowledge base for invoice processing",
        "tag_ids": tags,
        "chunker_type": "recursive",
        "chunk_size": 512,
        "chunk_overlap": 128,
        "embedding_model": "local/all-minilm-l6-v2",
        "coalesce_neighbors": 2,
    }
    made = accepted(client.post("/knowledge-bases", json=body), 201)
    assert {key: made[key] for key in body} == body
    assert re.fullmatch("[0-9a-f]{24}", made["kb_id"])
    assert made["embedding_dimensions"] == 384
    assert made["status"] in ("indexing", "active")
    assert (made["document_count"], made["chunk_count"]) == (0, 0)
    assert RFC_3339.fullmatch(made["created_at"])
    active = wait_until_active(client, made["kb_id"])
    volatile = ("status", "health", "keyword_index", "texts_go_to", "updated_at", "last_indexed_at")
    assert {key: value for key, value in active.items() if key not in volatile} == {
        key: value for key, value in made.items() if key not in volatile
    }


def test_what_is_left_out_takes_the_defaults(client: httpx.Client) -> None:
    made = accepted(client.post("/knowledge-bases", json={"name": unique("bare")}), 201)
    assert made["description"] == ""
    assert made["tag_ids"] == []
    assert made["chunker_type"] == "auto"
    assert (made["chunk_size"], made["chunk_overlap"], made["coalesce_neighbors"]) == (512, 128, 0)
    assert made["embedding_model"] == "local/all-minilm-l6-v2"  # no provider's key is stored
    assert wait_until_active(client, made["kb_id"])["document_count"] == 0


@pytest.mark.parametrize("chunker_type", ["token", "word", "sentence", "recursive", "semantic", "sdpm"])
def test_every_chunker_of_the_seed_indexes_and_finds(client: httpx.Client, chunker_type: str) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag], chunker_type=chunker_type, chunk_size=64, chunk_overlap=0)
    text = "\n\n".join(f"Paragraph {number} is about the weather in the mountains." for number in range(20))
    text += "\n\nThe invoice is payable within thirty days."
    document = upload(client, unique("chunks.txt"), text.encode(), tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    best = search(client, kb, "When is the invoice payable?", top_k=1)["results"][0]
    assert "payable within thirty days" in best["content"]
    assert best["content"] == text[best["start"] : best["end"]]


def test_model_without_a_key_is_refused_with_the_way_to_add_one(client: httpx.Client) -> None:
    body = {"name": unique("remote"), "embedding_model": "text-embedding-3-small"}
    problem = problem_of(client.post("/knowledge-bases", json=body), 400, field="embedding_model")
    assert problem["code"] == "provider_key_missing"
    assert "OPENAI_API_KEY" in problem["detail"]


def test_list_is_newest_first_paged_and_searched_by_a_part_of_the_name(client: httpx.Client) -> None:
    word = unique("Ledger")
    ids = [make_knowledge_base(client, [], name=f"{word} {number}") for number in range(3)]

    def page(**params: str | int) -> tuple[list[str], int]:
        body = accepted(client.get("/knowledge-bases", params={"name_search": word.lower(), **params}))
        return [item["kb_id"] for item in body["knowledge_bases"]], body["total_count"]

    assert page() == (ids[::-1], 3)
    assert page(limit=1, skip=1) == ([ids[1]], 3)
    assert page(name_search=".*") == ([], 0)
    first = accepted(client.get("/knowledge-bases", params={"name_search": f"{word} 0"}))["knowledge_bases"][0]
    seed = {"kb_id", "name", "description", "tag_ids", "status", "document_count", "chunk_count", "embedding_model"}
    assert seed | {"created_at"} <= set(first)


def test_name_is_unique_and_409_tells_the_id_that_has_it(client: httpx.Client) -> None:
    name = unique("only")
    kb = make_knowledge_base(client, [], name=name)
    other = make_knowledge_base(client, [])
    for refused in (
        client.post("/knowledge-bases", json={"name": f" {name} "}),
        client.put(f"/knowledge-bases/{other}", json={"name": name}),
    ):
        problem = problem_of(refused, 409)
        assert problem["code"] == "knowledge_base_name_taken"
        assert kb in problem["detail"]


def given_up(organization_id: str, kb_id: str) -> Body:
    """A row of a job that was given up."""
    now = clock.now()
    return {
        "_id": unique("sync"), "kind": "sync", "organization_id": organization_id,
        "lane": f"{organization_id}:{kb_id}:sync", "subject": {"kb_id": kb_id, "document_id": "f" * 24},
        "state": "dead", "priority": 0, "wanted": 1, "attempt": 1, "run_at": now, "created_at": now, "updated_at": now,
        "error": {"code": "text_refused", "detail": "The provider refuses a text.", "at": now},
    }  # fmt: skip


def test_list_says_what_was_given_up_and_why(client: httpx.Client, running: Running) -> None:
    word = unique("Troubled")
    kb, other = (make_knowledge_base(client, [], name=f"{word} {number}") for number in range(2))
    for made in (kb, other):
        wait_until_active(client, made)
    row = given_up(running.organization_id, kb)
    foreign = given_up("e" * 24, other)

    def listed() -> dict[str, tuple[int, int, str | None]]:
        items = accepted(client.get("/knowledge-bases", params={"name_search": word}))["knowledge_bases"]
        return {
            item["kb_id"]: (item["unfinished_jobs"], item["given_up_jobs"], item["given_up_reason"]) for item in items
        }

    with database_of(running.data_dir) as database:
        database["jobs"].insert_many([row, foreign])
        try:
            assert eventually(lambda: listed()[kb][1] == 1)
            assert listed() == {kb: (0, 1, row["error"]["detail"]), other: (0, 0, None)}
        finally:
            database["jobs"].delete_many({"_id": {"$in": [row["_id"], foreign["_id"]]}})
    assert listed() == {kb: (0, 0, None), other: (0, 0, None)}


def test_change_of_name_description_and_neighbours_needs_no_indexing(client: httpx.Client) -> None:
    kb = make_knowledge_base(client, [])
    before = wait_until_active(client, kb)
    body = {"name": unique("Updated KB Name"), "description": "Updated description", "coalesce_neighbors": 3}
    changed = accepted(client.put(f"/knowledge-bases/{kb}", json=body))
    assert {key: changed[key] for key in body} == body
    assert changed["status"] == "active"
    assert changed["updated_at"] > before["updated_at"]
    assert accepted(client.get(f"/knowledge-bases/{kb}")) == changed
    assert accepted(client.put(f"/knowledge-bases/{kb}", json={})) == changed


def test_documents_join_by_tags_that_are_given_later(client: httpx.Client) -> None:
    tag = make_tag(client)
    document = upload(client, unique("early.txt"), b"Otters hold hands while they sleep.", tag_ids=[tag])
    kb = make_knowledge_base(client, [])
    wait_until_active(client, kb)
    accepted(client.put(f"/knowledge-bases/{kb}", json={"tag_ids": [tag, tag]}))
    assert accepted(client.get(f"/knowledge-bases/{kb}"))["tag_ids"] == [tag]
    eventually(lambda: search(client, kb, "otters")["results"])
    late = upload(client, unique("late.txt"), b"Otters eat sea urchins.")
    accepted(client.put(f"/documents/{late['document_id']}", json={"tag_ids": [tag]}))
    wait_until_indexed(client, late["document_id"])
    found = {item["document_id"] for item in search(client, kb, "otters")["results"]}
    assert found == {document["document_id"], late["document_id"]}


def test_documents_of_a_knowledge_base_are_listed_latest_first_with_their_chunks(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    documents = [
        upload(client, unique(f"{number}.txt"), f"Text number {number}.".encode(), tag_ids=[tag]) for number in range(3)
    ]
    for document in documents:
        wait_until_indexed(client, document["document_id"])
    body = accepted(client.get(f"/knowledge-bases/{kb}/documents"))
    assert body["total_count"] == 3
    assert {item["document_id"]: item["document_name"] for item in body["documents"]} == {
        document["document_id"]: document["document_name"] for document in documents
    }
    moments = [item["indexed_at"] for item in body["documents"]]
    assert moments == sorted(moments, reverse=True)
    assert all(RFC_3339.fullmatch(moment) for moment in moments)
    assert [item["chunk_count"] for item in body["documents"]] == [1, 1, 1]
    page = accepted(client.get(f"/knowledge-bases/{kb}/documents", params={"skip": 1, "limit": 1}))
    assert page["documents"] == body["documents"][1:2]
    assert page["total_count"] == 3
    counted = accepted(client.get(f"/knowledge-bases/{kb}"))
    assert (counted["document_count"], counted["chunk_count"]) == (3, 3)
    problem_of(client.get(f"/knowledge-bases/{kb}/documents", params={"limit": 101}), 400, field="limit")


def test_chunks_are_listed_by_document_and_number_with_the_text_of_their_place(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag], chunk_size=16, chunk_overlap=4)
    texts: dict[str, str] = {}
    for number in range(3):
        text = "\n\n".join(f"Paragraph {at} of text {number} is about otters and their rivers." for at in range(9))
        document = upload(client, unique(f"{number}.txt"), text.encode(), tag_ids=[tag])["document_id"]
        texts[document] = text
        wait_until_indexed(client, document)
    whole = accepted(client.get(f"/knowledge-bases/{kb}/chunks", params={"limit": 100}))
    chunks = whole["chunks"]
    assert whole["total_count"] == len(chunks) == accepted(client.get(f"/knowledge-bases/{kb}"))["chunk_count"] > 9
    places = [(chunk["document_id"], chunk["chunk_index"]) for chunk in chunks]
    assert places == sorted(places)
    assert {document for document, _ in places} == set(texts)
    assert len({chunk["chunk_id"] for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk["text"] == texts[chunk["document_id"]][chunk["start"] : chunk["end"]]
        assert 0 < chunk["token_count"] <= 16
        assert (chunk["first_page"], chunk["last_page"]) == (1, 1)
    # Whatever the size of pages, together they are the whole, also where documents begin within them.
    for limit in (1, 4, 7):
        pages = [
            accepted(client.get(f"/knowledge-bases/{kb}/chunks", params={"skip": skip, "limit": limit}))
            for skip in range(0, len(chunks) + limit, limit)
        ]
        assert [chunk for page in pages for chunk in page["chunks"]] == chunks
        assert {page["total_count"] for page in pages} == {len(chunks)}
    one = places[-1][0]
    of_one = accepted(client.get(f"/knowledge-bases/{kb}/chunks", params={"document_id": one, "limit": 100}))
    assert of_one["chunks"] == [chunk for chunk in chunks if chunk["document_id"] == one]
    assert of_one["total_count"] == len(of_one["chunks"])
    nobody = accepted(client.get(f"/knowledge-bases/{kb}/chunks", params={"document_id": "f" * 24}))
    assert (nobody["chunks"], nobody["total_count"]) == ([], 0)


def test_chunks_of_a_document_that_left_are_listed_no_more(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document = upload(client, unique("leaves.txt"), b"Herons wait.", tag_ids=[tag])["document_id"]
    wait_until_indexed(client, document)
    assert accepted(client.get(f"/knowledge-bases/{kb}/chunks"))["total_count"] == 1
    accepted(client.put(f"/documents/{document}", json={"tag_ids": []}))
    # A job takes the entry out; search leaves such a document out before.
    eventually(lambda: accepted(client.get(f"/knowledge-bases/{kb}/chunks"))["total_count"] == 0)


def test_deleted_knowledge_base_is_gone_at_once_and_its_documents_stay(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document = upload(client, unique("stays.txt"), b"Badgers dig.", tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    answer = accepted(client.delete(f"/knowledge-bases/{kb}"))
    assert answer == {"message": "Knowledge base deleted successfully"}
    calls: list[tuple[str, str, Body | None]] = [
        ("GET", "", None),
        ("PUT", "", {"name": "x"}),
        ("PUT", "", {}),
        ("DELETE", "", None),
        ("GET", "/documents", None),
        ("GET", "/chunks", None),
        ("POST", "/search", {"query": "badgers"}),
    ]
    for method, path, body in calls:
        problem_of(client.request(method, f"/knowledge-bases/{kb}{path}", json=body), 404)
    assert accepted(client.get(f"/documents/{document['document_id']}"))["knowledge_bases"] == []
    assert client.get(f"/documents/{document['document_id']}/original").content == b"Badgers dig."
