"""A passage's place on its pages, over HTTP."""

import httpx
import pytest

from analytiq.client.client import Client
from tests.e2e.driving import (
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
from tests.e2e.made_files import pdf_of, scan_of
from tests.e2e.running_platform import Running, client_of, make_organization


def test_cited_passage_on_page_37_has_its_box_on_the_words(client: httpx.Client) -> None:
    pages = [f"Sheet {number} tells of ordinary things." for number in range(1, 43)]
    pages[36] = "Preamble\nThe walrus keeps the bronze key.\nEnd of the sheet"
    tag = make_tag(client)
    kb_id = make_knowledge_base(client, [tag], chunk_size=24, chunk_overlap=0)
    document_id = upload(client, unique("agreement.pdf"), pdf_of(pages), tag_ids=[tag])["document_id"]
    wait_until_active(client, kb_id)
    wait_until_indexed(client, document_id)
    hit = search(client, kb_id, "bronze key", mode="lexical", coalesce_neighbors=0)["results"][0]
    place = accepted(client.get(f"/documents/{document_id}/boxes", params={"start": hit["start"], "end": hit["end"]}))
    assert place["document_id"] == document_id
    assert 37 in [page["page_number"] for page in place["pages"]]
    assert all(page["boxes"] and page["reason"] is None for page in place["pages"])
    text = accepted(client.get(f"/documents/{document_id}/text", params={"page": 37}))["pages"][0]
    start = text["start"] + text["text"].index("The walrus")
    exact = accepted(
        client.get(f"/documents/{document_id}/boxes", params={"start": start, "end": start + len("The walrus keeps")})
    )
    (box,) = exact["pages"][0]["boxes"]
    # The second line of 14 points, from 72 points on, of a page of 595 x 842.
    assert box["left"] == pytest.approx(72 / 595, abs=0.01)
    assert box["top"] < 1 - 756 / 842 < box["top"] + box["height"]


def test_passage_over_two_pages_has_boxes_on_both(running: Running, client: httpx.Client) -> None:
    document_id = upload(client, unique("two.pdf"), pdf_of(["It begins here", "and it ends there"]))["document_id"]
    wait_until_read(client, document_id)
    pages = accepted(client.get(f"/documents/{document_id}/text"))["pages"]
    place = accepted(client.get(f"/documents/{document_id}/boxes", params={"start": 3, "end": pages[1]["start"] + 6}))
    assert [(page["page_number"], len(page["boxes"])) for page in place["pages"]] == [(1, 1), (2, 1)]
    with Client(running.url, running.organization_id, running.token) as library:
        same = library.locate_passage(document_id, start=place["start"], end=place["end"])
    assert same.model_dump() == place


@pytest.mark.ocr
def test_passage_of_a_scan_has_boxes(client: httpx.Client) -> None:
    document_id = upload(client, unique("scan.pdf"), scan_of(["The walrus keeps the bronze key"]))["document_id"]
    wait_until_read(client, document_id)
    text = accepted(client.get(f"/documents/{document_id}/text"))["pages"][0]["text"]
    start = text.index("walrus")
    place = accepted(client.get(f"/documents/{document_id}/boxes", params={"start": start, "end": start + 6}))
    assert len(place["pages"][0]["boxes"]) == 1


def test_document_without_pages_says_why_there_are_no_boxes(client: httpx.Client) -> None:
    document_id = upload(client, unique("plain.txt"), b"The walrus keeps the bronze key.")["document_id"]
    wait_until_read(client, document_id)
    place = accepted(client.get(f"/documents/{document_id}/boxes", params={"start": 4, "end": 10}))
    assert place["pages"] == [
        {
            "page_number": 1,
            "boxes": [],
            "reason": "Files of type 'text/plain' have no pages on which a passage has a place.",
        }
    ]


def test_range_outside_of_the_text_and_a_document_without_text_are_refused(client: httpx.Client) -> None:
    document_id = upload(client, unique("short.txt"), b"short")["document_id"]
    wait_until_read(client, document_id)
    path = f"/documents/{document_id}/boxes"
    problem_of(client.get(path, params={"start": 100, "end": 120}), 400, field="end")
    problem_of(client.get(path, params={"start": 3, "end": 3}), 400, field="end")
    problem_of(client.get(path, params={"start": -1, "end": 3}), 400)
    problem_of(client.get(path), 400)
    broken = upload(client, unique("broken.pdf"), b"%PDF-1.7 broken")["document_id"]
    wait_until_read(client, broken)
    problem_of(client.get(f"/documents/{broken}/boxes", params={"start": 0, "end": 3}), 409, code="no_text")


def test_place_of_another_organizations_passage_is_a_404(running: Running, client: httpx.Client) -> None:
    document_id = upload(client, unique("ours.txt"), b"ours alone")["document_id"]
    wait_until_read(client, document_id)
    with client_of(running.url, *make_organization(running, "Strangers")) as stranger:
        problem_of(stranger.get(f"/documents/{document_id}/boxes", params={"start": 0, "end": 4}), 404)
