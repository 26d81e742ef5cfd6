"""Offsets over HTTP: everything that is told by `start` and `end` is a slice of the plain text."""

import httpx

from analytiq.client import Client
from tests.e2e.driving import (
    Body,
    accepted,
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
from tests.e2e.made_files import pdf_of
from tests.e2e.running_platform import Running


def plain_of(client: httpx.Client, document_id: str) -> str:
    response = client.get(f"/documents/{document_id}/text", params={"format": "plain"})
    assert response.status_code == 200, response.text
    return response.content.decode("utf-8")


def chunks_of(client: httpx.Client, kb_id: str) -> list[Body]:
    found: list[Body] = []
    while True:
        page = accepted(client.get(f"/knowledge-bases/{kb_id}/chunks", params={"skip": len(found), "limit": 50}))
        found += page["chunks"]
        if not page["chunks"] or len(found) >= page["total_count"]:
            return found


def test_chunks_results_neighbours_highlights_and_pages_are_slices_of_the_plain_text(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag], chunk_size=40, chunk_overlap=8)
    pages = [f"Total of Hayes\nitem{number}x costs {number} euros.\nNo more of {number}." for number in range(1, 31)]
    emoji = "".join(f"🐳 whale {number} swims past item{number}x.\n" for number in range(60))
    names = {unique("thirty.pdf"): pdf_of(pages), unique("emoji.txt"): emoji.encode()}
    ids = [upload(client, name, content, tag_ids=[tag])["document_id"] for name, content in names.items()]
    for document_id in ids:
        wait_until_indexed(client, document_id)
    plain = {document_id: plain_of(client, document_id) for document_id in ids}
    wait_until_active(client, kb)

    chunks = chunks_of(client, kb)
    assert {chunk["document_id"] for chunk in chunks} == set(ids)
    assert max(chunk["last_page"] for chunk in chunks) == 30
    for chunk in chunks:
        assert plain[chunk["document_id"]][chunk["start"] : chunk["end"]] == chunk["text"]

    results = search(client, kb, "What does item27x cost?", top_k=30, coalesce_neighbors=1)["results"]
    assert {result["is_matched"] for result in results} == {True, False}
    for result in results:
        whole = plain[result["document_id"]]
        assert whole[result["start"] : result["end"]] == result["content"]
        for start, end in result["highlights"]:
            marked = whole[result["start"] + start : result["start"] + end]
            assert marked.casefold() in result["matched_terms"]
    assert any("item27x" in result["matched_terms"] for result in results)

    for document_id in ids:
        answer = accepted(client.get(f"/documents/{document_id}/text"))
        assert all(plain[document_id][page["start"] : page["end"]] == page["text"] for page in answer["pages"])
        assert {result["text_hash"] for result in results if result["document_id"] == document_id} <= {
            answer["text_hash"]
        }


def test_place_of_a_former_version_is_refused_and_not_shown_on_the_new_ones_pages(
    running: Running, client: httpx.Client
) -> None:
    name = unique("versions.pdf")
    document_id = upload(client, name, pdf_of(["The price is 100 euros."]))["document_id"]
    wait_until_read(client, document_id)
    former = accepted(client.get(f"/documents/{document_id}/text"))["text_hash"]
    place = {"start": 4, "end": 9, "text_hash": former}
    assert accepted(client.get(f"/documents/{document_id}/boxes", params=place))["pages"]
    upload(client, name, pdf_of(["Nothing here costs anything."]), on_duplicate="replace")
    wait_until_read(client, document_id)
    present = client.get(f"/documents/{document_id}/text", params={"format": "plain"}).headers["etag"]
    assert present != f'"{former}"'
    problem_of(client.get(f"/documents/{document_id}/boxes", params=place), 409, code="text_replaced")
    with Client(running.url, running.organization_id, running.token) as library:
        text_hash = library.document_text(document_id).text_hash
        assert present == f'"{text_hash}"'
        assert library.locate_passage(document_id, start=4, end=9, text_hash=text_hash).pages
