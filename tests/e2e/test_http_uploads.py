"""Uploads: forms and JSON, duplicates, names, and what is wrong with them."""

import base64
import hashlib
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.e2e.driving import (
    UNKNOWN_ID,
    Body,
    accepted,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_indexed,
    wait_until_read,
)

BOUNDARY = "----hostile"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def part(disposition: str, content: bytes, *headers: str) -> bytes:
    """One part of a form, written by hand."""
    head = "\r\n".join([f"--{BOUNDARY}", f"Content-Disposition: form-data; {disposition}", *headers])
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def form_of(*parts: bytes) -> bytes:
    """The body of a form."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def send(client: httpx.Client, *parts: bytes) -> httpx.Response:
    """Post a form that was written by hand."""
    return client.post("/documents", content=form_of(*parts), headers=FORM)


def total(client: httpx.Client) -> int:
    """Return the number of documents."""
    return int(accepted(client.get("/documents", params={"limit": 1}))["total_count"])


def encoded(content: bytes) -> str:
    """Base64."""
    return base64.b64encode(content).decode()


def test_form_uploads_several_files_with_tags_and_metadata(client: httpx.Client) -> None:
    tags = [make_tag(client), make_tag(client)]
    names = [unique("first"), unique("second")]
    answer = accepted(
        client.post(
            "/documents",
            files=[("files", (names[0], b"one", "text/plain")), ("files", (names[1], b"two", "text/markdown"))],
            data={"tag_ids": tags, "metadata": json.dumps({"year": 2024, "nested": {"list": [1, None, "x"]}})},
        ),
        201,
    )
    assert (answer["created"], answer["returned"], answer["replaced"], answer["failed"]) == (2, 0, 0, 0)
    for item, name, content in zip(answer["documents"], names, (b"one", b"two"), strict=True):
        document = item["document"]
        assert item["outcome"] == "created"
        assert item["error"] is None
        assert item["document_id"] == document["document_id"]
        assert item["file_name"] == document["document_name"] == name
        assert document["tag_ids"] == tags
        assert document["metadata"] == {"year": 2024, "nested": {"list": [1, None, "x"]}}
        assert document["sha256"] == hashlib.sha256(content).hexdigest()
        assert document["byte_size"] == 3
    assert [item["document"]["content_type"] for item in answer["documents"]] == ["text/plain", "text/markdown"]


def test_json_uploads_base64_with_its_own_tags_and_metadata(client: httpx.Client) -> None:
    tag = make_tag(client)
    content = bytes(range(256))
    body = {
        "documents": [
            {"name": unique("a.bin"), "content": encoded(content), "tag_ids": [tag, tag], "metadata": {"k": 1}},
            {"name": unique("b.txt"), "content": encoded(b"hello"), "content_type": "text/plain"},
        ]
    }
    answer = accepted(client.post("/documents", json=body), 201)
    first, second = (item["document"] for item in answer["documents"])
    assert first["tag_ids"] == [tag]
    assert first["metadata"] == {"k": 1}
    assert first["sha256"] == hashlib.sha256(content).hexdigest()
    assert second["tag_ids"] == []
    assert second["content_type"] == "text/plain"
    assert client.get(f"/documents/{first['document_id']}/original").content == content


@pytest.mark.parametrize("as_json", [True, False])
def test_same_bytes_under_the_same_name_are_answered_not_stored_again(client: httpx.Client, as_json: bool) -> None:
    name, content = unique("same.txt"), b"the same bytes"

    def send_again(**fields: str) -> httpx.Response:
        if as_json:
            return client.post(
                "/documents", json={"documents": [{"name": name, "content": encoded(content)}], **fields}
            )
        return client.post("/documents", files=[("files", (name, content))], data=fields)

    first = accepted(send_again(), 201)["documents"][0]
    again = accepted(send_again(), 200)
    assert (again["created"], again["returned"]) == (0, 1)
    assert again["documents"][0]["outcome"] == "returned"
    assert again["documents"][0]["document_id"] == first["document_id"]
    copy = accepted(send_again(on_duplicate="create"), 201)["documents"][0]
    assert copy["outcome"] == "created"
    assert copy["document_id"] != first["document_id"]
    assert accepted(client.get("/documents", params={"name_search": name}))["total_count"] == 2


def test_replaced_document_keeps_its_id_tags_and_metadata_and_is_found_by_its_new_text(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    name = unique("contract.txt")
    old = upload(client, name, b"The rent is due on Mondays.", tag_ids=[tag], metadata='{"version": 1}')
    wait_until_indexed(client, old["document_id"])
    response = client.post(
        "/documents", files=[("files", (name, b"The rent is due on Fridays."))], data={"on_duplicate": "replace"}
    )
    answer = accepted(response, 201)["documents"][0]
    assert answer["outcome"] == "replaced"
    assert answer["document_id"] == old["document_id"]
    assert answer["document"]["tag_ids"] == [tag]
    assert answer["document"]["metadata"] == {"version": 1}
    wait_until_indexed(client, old["document_id"])
    results = search(client, kb, "When is the rent due?")["results"]
    assert [item["content"] for item in results] == ["The rent is due on Fridays."]
    assert client.get(f"/documents/{old['document_id']}/original").content == b"The rent is due on Fridays."


def test_replacement_of_an_ambiguous_name_is_refused_and_names_the_candidates(client: httpx.Client) -> None:
    name = unique("twice.txt")
    ids = [upload(client, name, content)["document_id"] for content in (b"one", b"two")]
    response = client.post("/documents", files=[("files", (name, b"3"))], data={"on_duplicate": "replace"})
    problem = problem_of(response, 409, code="ambiguous_replacement")
    assert all(document_id in problem["detail"] for document_id in ids)


def test_fields_after_the_files_count_as_well(client: httpx.Client) -> None:
    tag = make_tag(client)
    name = unique("late.txt")
    answer = accepted(
        send(
            client,
            part(f'name="files"; filename="{name}"', b"late"),
            part('name="tag_ids"', tag.encode()),
            part('name="metadata"', b'{"late": true}'),
            part('name="on_duplicate"', b"create"),
        ),
        201,
    )
    document = answer["documents"][0]["document"]
    assert document["tag_ids"] == [tag]
    assert document["metadata"] == {"late": True}


def test_form_takes_a_hundred_files(client: httpx.Client) -> None:
    name = unique("many")
    files = [("files", (f"{name} {number:03}.txt", f"file {number}".encode())) for number in range(100)]
    answer = accepted(client.post("/documents", files=files), 201)
    assert answer["created"] == 100
    assert [item["file_name"] for item in answer["documents"]] == [file[1][0] for file in files]
    assert len({item["document_id"] for item in answer["documents"]}) == 100
    page = accepted(client.get("/documents", params={"name_search": name, "limit": 100}))
    assert page["total_count"] == len(page["documents"]) == 100


@pytest.mark.parametrize(
    ("disposition", "kept"),
    [
        ('filename="../../../../etc/passwd"', "passwd"),
        ('filename="C:\\\\Windows\\\\system32\\\\drivers.txt"', "drivers.txt"),
        ('filename="/absolute/path.txt"', "path.txt"),
        ("filename=\"fallback.txt\"; filename*=UTF-8''%E2%82%AC%20rates%20%F0%9F%A6%AD.txt", "€ rates 🦭.txt"),
        ("filename*=UTF-8''..%2F..%2Fsecret.txt", "secret.txt"),
        ('filename="raw ümläut.txt"', "raw ümläut.txt"),
        ('filename="a\x07bell\x1b[31m.txt"', "abell[31m.txt"),
        ('filename="<script>alert(1)<.html"', "<script>alert(1)<.html"),
        ("filename=unquoted.txt", "unquoted.txt"),
    ],
)
def test_file_name_keeps_no_path_and_no_control_characters(client: httpx.Client, disposition: str, kept: str) -> None:
    answer = send(client, part(f'name="files"; {disposition}', b"x"), part('name="on_duplicate"', b"create"))
    document = accepted(answer, 201)["documents"][0]["document"]
    assert document["document_name"] == kept
    download = client.get(f"/documents/{document['document_id']}/original")
    assert download.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(kept, safe='')}"


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([], "files"),
        ([part('name="tag_ids"', b"")], "files"),
        ([part('name="files"', b"no filename")], "files"),
        ([part('name="files"; filename=""', b"x")], "files"),
        ([part('name="files"; filename=".."', b"x")], "files"),
        ([part('name="attachment"; filename="a.txt"', b"x")], "attachment"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="tags"', b"x")], "tags"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="organization_id"', b"x")], "organization_id"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b"[1]")], "metadata"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b"{")], "metadata"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b"\xff\xfe")], "metadata"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b'{"$where": 1}')], "metadata"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b'{"a.b": 1}')], "metadata"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="metadata"', b'{"a": NaN}')], "metadata.a"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="on_duplicate"', b"destroy")], "on_duplicate"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="tag_ids"', b'["a", 1]')], "tag_ids"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="tag_ids"', b"not-an-id")], "tag_ids[0]"),
        ([part('name="files"; filename="a.txt"', b"x"), part('name="tag_ids"', UNKNOWN_ID.encode())], "tag_ids[0]"),
        ([part('name=""; filename="a.txt"', b"x")], "body"),
        ([part('name="files"; filename="a.txt"', b"eA==", "Content-Transfer-Encoding: base64")], "files"),
    ],
)
def test_wrong_form_is_refused_by_field_and_leaves_nothing(
    client: httpx.Client, parts: list[bytes], field: str
) -> None:
    before = total(client)
    problem_of(send(client, *parts), 400, field=field)
    assert total(client) == before


def test_metadata_that_cannot_be_kept_is_refused_by_place(client: httpx.Client) -> None:
    before = total(client)
    cases: list[tuple[Body, str]] = [
        ({"fine": {"$gt": 1}}, "metadata.fine"),
        ({"list": [0, {"a.b": 1}]}, "metadata.list[1]"),
        ({"": 1}, "metadata"),
        ({"n\0ul": 1}, "metadata"),
        ({"huge": 2**63}, "metadata.huge"),
        ({"long": "x" * 70_000}, "metadata.long"),
        ({str(number): 0 for number in range(501)}, "metadata"),
    ]
    for metadata, field in cases:
        good = {"name": unique("good.txt"), "content": encoded(b"x")}
        bad = {"name": unique("bad.txt"), "content": encoded(b"x"), "metadata": metadata}
        response = client.post("/documents", json={"documents": [good, bad]})
        problem_of(response, 400, field=f"documents[1].{field}")
    assert total(client) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "documents"),
        ({"documents": []}, "documents"),
        ({"documents": {}}, "documents"),
        ({"documents": [{"content": "eA=="}]}, "documents[0].name"),
        ({"documents": [{"name": "a.txt"}]}, "documents[0].content"),
        ({"documents": [{"name": "a.txt", "content": "not base64!"}]}, "documents[0].content"),
        ({"documents": [{"name": "a.txt", "content": "eA="}]}, "documents[0].content"),
        ({"documents": [{"name": "a.txt", "content": 7}]}, "documents[0].content"),
        ({"documents": [{"name": "a.txt", "content": "eA==", "tags": []}]}, "documents[0].tags"),
        ({"documents": [{"name": "a.txt", "content": "eA==", "tag_ids": ["nope"]}]}, "documents[0].tag_ids[0]"),
        ({"documents": [{"name": "a.txt", "content": "eA==", "tag_ids": "nope"}]}, "documents[0].tag_ids"),
        ({"documents": [{"name": "a.txt", "content": "eA=="}], "on_duplicate": "x"}, "on_duplicate"),
        ({"documents": [{"name": "a.txt", "content": "eA=="}] * 1001}, "documents"),
        ({"documents": [{"name": "", "content": "eA=="}]}, "documents[0].name"),
        ({"documents": [{"name": "n\0ul", "content": "eA=="}]}, "documents[0].name"),
        ({"documents": [{"name": "x" * 256, "content": "eA=="}]}, "documents[0].name"),
        ({"documents": [{"name": "half \ud800", "content": "eA=="}]}, "body"),
    ],
)
def test_wrong_json_upload_is_refused_by_field_and_leaves_nothing(client: httpx.Client, body: Any, field: str) -> None:
    before = total(client)
    content = json.dumps(body).encode()
    response = client.post("/documents", content=content, headers={"Content-Type": "application/json"})
    problem_of(response, 400, field=field)
    assert total(client) == before


def test_wrong_file_among_good_ones_is_told_apart(client: httpx.Client) -> None:
    name = unique("good.txt")
    files = [("files", (name, b"x")), ("files", ("x" * 252 + ".txt", b"x"))]
    answer = accepted(client.post("/documents", files=files), 207)
    assert (answer["created"], answer["failed"]) == (1, 1)
    assert [item["outcome"] for item in answer["documents"]] == ["created", "failed"]
    failed = answer["documents"][1]
    assert failed["document"] is failed["document_id"] is None
    assert failed["error"]["code"] == "invalid_input"
    assert "255 characters" in failed["error"]["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/mixed", ""])
def test_other_content_types_are_refused(client: httpx.Client, content_type: str) -> None:
    response = client.post("/documents", content=b"x", headers={"Content-Type": content_type})
    problem_of(response, 400, field="Content-Type")


@pytest.mark.parametrize(
    ("content_type", "content", "field"),
    [
        ("multipart/form-data", form_of(part('name="files"; filename="a.txt"', b"x")), "Content-Type"),
        ("multipart/form-data; boundary=", b"", "Content-Type"),
        (f"multipart/form-data; boundary={'b' * 71}", b"", "Content-Type"),
        (f"multipart/form-data; boundary={BOUNDARY}", b"", "body"),
        (f"multipart/form-data; boundary={BOUNDARY}", b"garbage without any boundary", "body"),
        (f"multipart/form-data; boundary={BOUNDARY}", part('name="files"; filename="a.txt"', b"cut off"), "body"),
        (f"multipart/form-data; boundary={BOUNDARY}", b"--" + BOUNDARY.encode() + b"\r\n" + b"A" * 100_000, "body"),
    ],
)
def test_torn_form_is_refused_and_leaves_nothing(
    client: httpx.Client, content_type: str, content: bytes, field: str
) -> None:
    before = total(client)
    response = client.post("/documents", content=content, headers={"Content-Type": content_type})
    if response.status_code == 413:
        problem_of(response, 413)
    else:
        problem_of(response, 400, field=field)
    assert total(client) == before


def test_form_field_larger_than_a_megabyte_is_refused(client: httpx.Client) -> None:
    huge = b'{"a": "' + b"x" * (1024 * 1024) + b'"}'
    response = send(client, part('name="metadata"', huge), part('name="files"; filename="a.txt"', b"x"))
    problem_of(response, 413, code="limit_exceeded")


def test_upload_to_a_document_is_seen_in_its_state(client: httpx.Client) -> None:
    document = upload(client, unique("state.txt"), b"hello")
    assert document["state"] == "uploaded"
    assert document["error"] is None
    read = wait_until_read(client, document["document_id"])
    assert (read["state"], read["page_count"], read["character_count"]) == ("extracted", 1, 5)
    assert get_document(client, document["document_id"])["knowledge_bases"] == []
