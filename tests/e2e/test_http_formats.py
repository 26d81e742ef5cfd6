"""Real files, from upload to the passage with its page."""

from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    DATA,
    accepted,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    upload,
    wait_until_active,
    wait_until_indexed,
    wait_until_read,
)
from tests.e2e.made_files import docx_of, encrypted_pdf_of, pdf_of, scan_of

TOPICS = (
    "The ferry to the northern islands leaves twice a day and carries bicycles free of charge.",
    "Bakers knead the dough slowly, let it rest overnight and bake it in a wood fired oven.",
    "The observatory records the light of distant stars with a mirror of four metres.",
    "Apple trees are pruned in winter, while the sap rests, and grafted in early spring.",
    "The court decides on appeals within six weeks and publishes its reasons in writing.",
)
SECRET = "The walrus keeps the bronze key beneath the lighthouse stairs at Cape Vermilion."


def _pages(count: int, secret_on: int) -> list[str]:
    pages = [
        f"Chapter {number}\n{TOPICS[number % len(TOPICS)]}\n{TOPICS[(number + 2) % len(TOPICS)]}\nEnd of part {number}."
        for number in range(1, count + 1)
    ]
    pages[secret_on - 1] = f"Chapter {secret_on}\n{SECRET}\nNobody has told the harbour master."
    return pages


def _found(client: httpx.Client, name: str, content: bytes, query: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Index a file; answers the document and the best passage."""
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document = upload(client, name, content, tag_ids=[tag])
    document = wait_until_indexed(client, document["document_id"])
    answer = search(client, kb, query, top_k=3)
    best = answer["results"][0]
    assert best["document_id"] == document["document_id"]
    assert best["source"] == name
    assert best["is_matched"]
    # Below 0.5 for a short text under a long file name, since the name is embedded too.
    assert 0.4 < best["relevance"] <= 1
    assert answer["total_count"] == document["knowledge_bases"][0]["chunk_count"]
    text = client.get(f"/documents/{document['document_id']}/text", params={"format": "plain"}).text
    assert _squeezed(best["content"]) in _squeezed(text)
    return document, best


def _squeezed(text: str) -> str:
    """Without white space: pages are joined in another way in the plain text."""
    return "".join(text.split())


def test_phrase_in_the_middle_of_300_pages_is_found_with_its_page(client: httpx.Client) -> None:
    content = pdf_of(_pages(300, secret_on=151))
    document, best = _found(client, "three hundred pages.pdf", content, "Where does the walrus keep the bronze key?")
    assert document["page_count"] == 300
    assert "bronze key" in best["content"]
    assert best["first_page"] <= 151 <= best["last_page"]
    assert best["last_page"] - best["first_page"] <= 5
    page = accepted(client.get(f"/documents/{document['document_id']}/text", params={"page": 151}))["pages"][0]
    assert "Cape Vermilion" in page["text"]
    assert best["start"] < page["end"]
    assert page["start"] < best["end"]


@pytest.mark.ocr
def test_scanned_page_is_read_and_found_with_its_page(client: httpx.Client) -> None:
    pages = [
        "Minutes of the meeting\nof the harbour board",
        "The walrus keeps the bronze key\nbeneath the lighthouse stairs",
        "Signed by the secretary",
    ]
    document, best = _found(client, "scan.pdf", scan_of(pages), "Who keeps the bronze key?")
    assert document["page_count"] == 3
    assert "bronze key" in best["content"]
    assert best["first_page"] <= 2 <= best["last_page"]
    text = accepted(client.get(f"/documents/{document['document_id']}/text"))
    assert [page["source"] for page in text["pages"]] == ["ocr"] * 3


def test_row_in_the_middle_of_a_utf_16_csv_is_found(client: httpx.Client) -> None:
    rows = ["Stadt;Straße;Ansprechpartner"]
    rows += [f"Musterstadt {number};Gartenweg {number};Frau Müller {number}" for number in range(200)]
    rows[100] = "Zürich;Löwenplatz 7;Der Käse-Großhändler Jürgen Weiß liefert Emmentaler"
    content = "\r\n".join(rows).encode("utf-16")
    _, best = _found(client, "kunden.csv", content, "Käse-Großhändler Jürgen Weiß Emmentaler")
    assert "Käse-Großhändler Jürgen Weiß" in best["content"]
    assert best["first_page"] == best["last_page"] == 1


def test_paragraph_in_the_middle_of_a_word_document_is_found(client: httpx.Client) -> None:
    paragraphs = [f"{TOPICS[number % len(TOPICS)]} Item {number}." for number in range(120)]
    paragraphs[60] = SECRET
    document, best = _found(client, "report.docx", docx_of(paragraphs), "Where is the bronze key of the walrus?")
    assert "bronze key" in best["content"]
    assert document["page_count"] == 1
    assert best["first_page"] == best["last_page"] == 1


def test_row_of_a_workbook_is_found_on_the_page_of_its_sheet(client: httpx.Client) -> None:
    content = (DATA / "xlsx/2023-half-year-analyses-by-segment.xlsx").read_bytes()
    question = "Underlying trading operating profit as per Note 3.1, in the reconciliation to profit before taxes"
    document, best = _found(client, "half year.xlsx", content, question)
    assert document["page_count"] == 5
    assert best["first_page"] == best["last_page"] == 5
    assert "7904" in best["content"]


def test_attachments_are_documents_that_name_their_message(client: httpx.Client) -> None:
    content = (DATA / "email/fake-email-attachment.eml").read_bytes()
    document = upload(client, "with attachment.eml", content)
    read = wait_until_read(client, document["document_id"])
    assert read["content_type"] == "message/rfc822"
    assert read["warnings"] == []
    assert client.get(f"/documents/{document['document_id']}").json()["part_count"] == 1
    listed = client.get("/documents", params={"parent_id": document["document_id"]}).json()
    assert listed["total_count"] == 1
    part = listed["documents"][0]
    assert (part["document_name"], part["path"], part["parent_id"], part["part_count"]) == (
        "with attachment.eml/fake-attachment.txt",
        "fake-attachment.txt",
        document["document_id"],
        0,
    )
    wait_until_read(client, part["document_id"])
    changed = client.post(
        "/documents/changes", json={"matching": {"parent_id": document["document_id"]}, "metadata": {"year": 2024}}
    ).json()
    assert changed["changed_ids"] == [part["document_id"]]


@pytest.mark.parametrize(
    ("path", "phrase"),
    [
        ("pdf/fake-memo.pdf", "20,000 bottles of water"),
        ("docx/docx-tables.docx", "Table with merged cells"),
        ("xlsx/stanley-cups.xlsx", "Team Maple Leafs"),
        ("pptx/powerpoint_sample.pptx", "Some notes on the second slide"),
        ("email/mime-html-only.eml", "The first emoticon was proposed by Scott Fahlman"),
        ("odt/odf_table_with_title_01.ods", "Number of freshwater ducks per year"),
        ("epub/test.epub", "This is a test paragraph with some formatting"),
        ("rtf/fake-doc.rtf", "My first paragraph"),
        ("json/test_notebook.ipynb", "Test Notebook"),
        ("csv/csv-pipe.csv", "Rasmussen Group"),
        ("html/test_blog.html", "the tuned gpt-3.5-turbo model vastly outperformed"),
        ("markdown/nested.md", "A list featuring nesting"),
        ("text/fake-text-utf-16-le.txt", "Doylestown, PA"),
    ],
)
def test_sample_of_each_format_is_found_by_a_phrase_of_it(client: httpx.Client, path: str, phrase: str) -> None:
    file = DATA / path
    _, best = _found(client, file.name, file.read_bytes(), phrase)
    assert best["content"].strip()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("torn.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", "corrupt_file"),
        ("locked.pdf", encrypted_pdf_of(["Nobody reads this"], "s3cret"), "encrypted_file"),
        ("empty.txt", b"", "empty_document"),
        ("torn.docx", (DATA / "docx/testWORD_truncated.docx").read_bytes(), "corrupt_file"),
        ("torn.doc", (DATA / "doc/legacy_sample.doc").read_bytes()[:4000], "corrupt_file"),
        ("torn.xlsx", (DATA / "xlsx/stanley-cups.xlsx").read_bytes()[:4000], "corrupt_file"),
        (
            "program.exe",
            b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff" + bytes(range(256)),
            "unsupported_format",
        ),
    ],
)
def test_unreadable_file_fails_alone_and_its_knowledge_base_becomes_active(
    client: httpx.Client, name: str, content: bytes, code: str
) -> None:
    tag = make_tag(client)
    bad = upload(client, name, content, tag_ids=[tag])
    good = upload(client, "good.txt", SECRET.encode(), tag_ids=[tag])
    kb = make_knowledge_base(client, [tag])
    failed = wait_until_read(client, bad["document_id"])
    assert failed["state"] == "failed"
    assert failed["error"]["code"] == code
    assert failed["error"]["detail"].strip()
    assert "Traceback" not in failed["error"]["detail"]
    wait_until_indexed(client, good["document_id"])
    knowledge_base = wait_until_active(client, kb)
    assert knowledge_base["document_count"] == 1
    assert [item["document_id"] for item in search(client, kb, "bronze key")["results"]] == [good["document_id"]]
    problem = problem_of(client.get(f"/documents/{bad['document_id']}/text"), 409, code="no_text")
    assert failed["error"]["detail"] in problem["detail"]
    assert client.get(f"/documents/{bad['document_id']}/original").content == content
    state = get_document(client, bad["document_id"])["knowledge_bases"][0]
    assert state["state"] == "failed"
    assert not state["is_searchable"]


def test_document_without_text_is_said_to_be_empty_and_holds_nothing_up(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document = upload(client, "blank.txt", b" \n\t \n", tag_ids=[tag])
    read = wait_until_read(client, document["document_id"])
    assert read["state"] == "extracted"
    assert [item["state"] for item in read["knowledge_bases"]] == ["empty"]
    assert read["knowledge_bases"][0]["reason"]
    assert wait_until_active(client, kb)["document_count"] == 0
    assert search(client, kb, "anything")["results"] == []
