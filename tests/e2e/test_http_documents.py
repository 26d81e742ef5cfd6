"""Documents after their upload: lists, text, the original, changes, deletion."""

import hashlib
from pathlib import PurePath
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    Body,
    accepted,
    eventually,
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
from tests.e2e.made_files import encrypted_pdf_of, pdf_of


@pytest.fixture(scope="module")
def shelf(client: httpx.Client) -> Body:
    """Five documents whose names share a word, with tags `red`, `blue`, and both on the last."""
    word = unique("Shelf")
    red, blue = make_tag(client, "red"), make_tag(client, "blue")
    tags = [[red], [red], [blue], [], [red, blue]]
    names = [f"{word} {letter}.txt" for letter in "dbace"]
    ids: list[str] = []
    for name, tag_ids, size in zip(names, tags, (5, 1, 4, 2, 3), strict=True):
        ids.append(upload(client, name, b"x" * size, tag_ids=tag_ids)["document_id"])
    for document_id in ids:
        wait_until_read(client, document_id)
    return {"word": word, "red": red, "blue": blue, "names": names, "ids": ids}


def names_of(client: httpx.Client, shelf: Body, **params: Any) -> list[str]:
    """The last letters of the names in a list."""
    body = accepted(client.get("/documents", params={"name_search": shelf["word"], **params}))
    assert body["skip"] == params.get("skip", 0)
    return [item["document_name"].removesuffix(".txt")[-1] for item in body["documents"]]


def test_list_of_documents_is_newest_first_and_sorted_as_asked(client: httpx.Client, shelf: Body) -> None:
    assert names_of(client, shelf) == list("ecabd")
    assert names_of(client, shelf, sort="created_at") == list("dbace")
    assert names_of(client, shelf, sort="document_name") == list("abcde")
    assert names_of(client, shelf, sort="-document_name") == list("edcba")
    assert names_of(client, shelf, sort="byte_size") == list("bcead")
    assert names_of(client, shelf, sort="-byte_size") == list("daecb")
    assert len(names_of(client, shelf, sort="state")) == len(names_of(client, shelf, sort="-updated_at")) == 5


def test_pages_of_a_list_do_not_overlap_and_leave_nothing_out(client: httpx.Client, shelf: Body) -> None:
    for sort in ("document_name", "-created_at", "state"):
        whole = names_of(client, shelf, sort=sort)
        paged = [name for skip in (0, 2, 4) for name in names_of(client, shelf, sort=sort, skip=skip, limit=2)]
        assert paged == whole
    body = accepted(client.get("/documents", params={"name_search": shelf["word"], "limit": 2, "skip": 4}))
    assert body["total_count"] == 5


def test_list_tells_of_each_document_where_it_stands_if_it_is_asked_to(client: httpx.Client) -> None:
    tag, word = make_tag(client), unique("standing")
    make_knowledge_base(client, [tag])
    ids = [
        upload(client, f"{word} {at}.txt", b"It stands.", tag_ids=tags)["document_id"]
        for at, tags in enumerate(([tag], []))
    ]
    wait_until_indexed(client, ids[0])
    wait_until_read(client, ids[1])
    asked = {"name_search": word, "sort": "document_name"}
    told = accepted(client.get("/documents", params={**asked, "include": "knowledge_bases"}))["documents"]
    assert told == [get_document(client, document_id) for document_id in ids]
    assert [state["state"] for state in told[0]["knowledge_bases"]] == ["indexed"]
    plain = accepted(client.get("/documents", params=asked))["documents"]
    assert plain == [{**item, "knowledge_bases": None} for item in told]
    problem_of(client.get("/documents", params={"include": "everything"}), 400)


def test_list_shows_ten_unless_asked_otherwise(client: httpx.Client) -> None:
    word = unique("eleven")
    for number in range(11):
        upload(client, f"{word} {number}.txt", b"x")
    body = accepted(client.get("/documents", params={"name_search": word}))
    assert (len(body["documents"]), body["total_count"], body["skip"]) == (10, 11, 0)


def test_list_is_narrowed_by_tags_that_must_all_be_there(client: httpx.Client, shelf: Body) -> None:
    red, blue = shelf["red"], shelf["blue"]
    assert names_of(client, shelf, tag_ids=red, sort="document_name") == list("bde")
    assert names_of(client, shelf, tag_ids=blue, sort="document_name") == list("ae")
    assert names_of(client, shelf, tag_ids=f"{red}, {blue}") == ["e"]
    assert names_of(client, shelf, tag_ids="f" * 24) == []
    assert names_of(client, shelf, tag_ids="$ne") == []


def test_list_is_narrowed_by_state(client: httpx.Client, shelf: Body) -> None:
    broken = upload(client, f"{shelf['word']} z.pdf", b"%PDF-1.7 broken")["document_id"]
    assert wait_until_read(client, broken)["state"] == "failed"
    found = accepted(client.get("/documents", params={"name_search": shelf["word"], "state": "failed"}))
    assert [item["document_id"] for item in found["documents"]] == [broken]
    assert len(names_of(client, shelf, state="extracted")) == 5
    assert len(names_of(client, shelf, state=["extracted", "failed"])) == 6
    assert names_of(client, shelf, state="extracting") == []
    assert client.delete(f"/documents/{broken}").status_code == 204


def test_list_is_narrowed_by_type_of_file_as_it_was_read(client: httpx.Client) -> None:
    word = unique("Types")
    # The name lies, the bytes do not.
    wait_until_read(client, upload(client, f"{word} p.bin", pdf_of(["a page"]))["document_id"])
    wait_until_read(client, upload(client, f"{word} c.csv", b"a,b\n1,2\n")["document_id"])
    wait_until_read(client, upload(client, f"{word} t.txt", b"a text")["document_id"])

    def letters(*file_types: str) -> list[str]:
        params = {"name_search": word, "file_type": list(file_types), "sort": "document_name"}
        found = accepted(client.get("/documents", params=params))
        return [PurePath(item["document_name"]).stem[-1] for item in found["documents"]]

    assert [letters(name) for name in ("pdf", "spreadsheet", "text", "image")] == [["p"], ["c"], ["t"], []]
    assert letters("pdf", "text") == ["p", "t"]
    assert letters("other") == []
    problem_of(client.get("/documents", params={"file_type": "film"}), 400, field="file_type[0]")
    tag = make_tag(client)
    body = {"matching": {"name_search": word, "file_type": ["text"]}, "add_tag_ids": [tag]}
    assert len(accepted(client.post("/documents/changes", json=body))["changed_ids"]) == 1
    tagged = accepted(client.get("/documents", params={"tag_ids": tag}))["documents"]
    assert [item["document_name"] for item in tagged] == [f"{word} t.txt"]


def test_search_by_name_is_literal_and_ignores_case(client: httpx.Client, shelf: Body) -> None:
    assert len(names_of(client, shelf, name_search=shelf["word"].upper())) == 5
    for pattern in (".*", f"{shelf['word']}.*", "^Shelf", "a|b", shelf["word"].replace(" ", ".")):
        assert names_of(client, shelf, name_search=pattern) == []
    odd = upload(client, unique("100% (draft) [v1.0] $5+ a^b.txt"), b"x")
    for part in ("100% (draft)", "[v1.0]", "$5+", "A^B"):
        found = accepted(client.get("/documents", params={"name_search": part}))["documents"]
        assert [item["document_id"] for item in found] == [odd["document_id"]]


def test_text_is_answered_by_page_with_its_place_and_as_plain_text(client: httpx.Client) -> None:
    texts = [f"Page {number} says hello." for number in range(1, 8)]
    path = f"/documents/{upload(client, unique('seven.pdf'), pdf_of(texts))['document_id']}"
    assert wait_until_read(client, path.rpartition("/")[2])["page_count"] == 7
    whole = accepted(client.get(f"{path}/text"))
    assert whole["page_count"] == 7
    assert [page["text"].strip() for page in whole["pages"]] == texts
    assert [page["page_number"] for page in whole["pages"]] == list(range(1, 8))
    assert {page["source"] for page in whole["pages"]} == {"embedded"}
    for before, after in zip(whole["pages"], whole["pages"][1:], strict=False):
        assert before["end"] <= after["start"]
        assert before["end"] - before["start"] == len(before["text"])
    third = accepted(client.get(f"{path}/text", params={"page": 3}))
    assert third["pages"] == [whole["pages"][2]]
    middle = accepted(client.get(f"{path}/text", params={"skip": 2, "limit": 3}))
    assert middle["pages"] == whole["pages"][2:5]
    plain = client.get(f"{path}/text", params={"format": "plain"})
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.text == "\n\n".join(page["text"] for page in whole["pages"])
    assert client.get(f"{path}/text", params={"format": "plain", "page": 3}).text.strip() == texts[2]


def test_page_that_is_none_is_refused_in_either_format(client: httpx.Client) -> None:
    document_id = upload(client, unique("one.txt"), b"one page")["document_id"]
    wait_until_read(client, document_id)
    path = f"/documents/{document_id}/text"
    for output in ("json", "plain"):
        problem_of(client.get(path, params={"page": 2, "format": output}), 400, field="page")
        problem_of(client.get(path, params={"page": 2**70, "format": output}), 400, field="page")
        problem_of(client.get(path, params={"page": 0, "format": output}), 400, field="page")
    problem_of(client.get(path, params={"format": "xml"}), 400, field="format")
    problem_of(client.get(path, params={"limit": 1001}), 400, field="limit")
    assert accepted(client.get(path, params={"skip": 10**6}))["pages"] == []


def test_original_is_answered_byte_for_byte_as_an_attachment_that_no_browser_opens(client: httpx.Client) -> None:
    content = b"<script>alert(document.domain)</script>" + bytes(range(256)) * 5000
    response = client.post(
        "/documents", files=[("files", (unique("evil.html"), content, "text/html"))], data={"on_duplicate": "create"}
    )
    document = accepted(response, 201)["documents"][0]["document"]
    download = client.get(f"/documents/{document['document_id']}/original")
    assert download.content == content
    assert int(download.headers["content-length"]) == len(content)
    assert download.headers["content-type"] == "application/octet-stream"
    assert download.headers["content-disposition"].startswith("attachment; filename*=UTF-8''evil%20")
    assert download.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in download.headers["content-security-policy"]
    assert download.headers["etag"] == f'"{hashlib.sha256(content).hexdigest()}"'


def test_document_is_renamed_and_found_under_its_new_name(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document_id = upload(client, unique("old.txt"), b"The heron fishes at dawn.", tag_ids=[tag])["document_id"]
    before = wait_until_indexed(client, document_id)
    name = unique("new ümläut.txt")
    changed = accepted(client.put(f"/documents/{document_id}", json={"document_name": f"  {name} "}))
    assert changed["document_name"] == name
    assert (changed["tag_ids"], changed["sha256"]) == (before["tag_ids"], before["sha256"])
    results = search(client, kb, "heron", metadata_filter={"document_name": name})["results"]
    assert [(item["source"], item["document_id"]) for item in results] == [(name, document_id)]
    assert search(client, kb, "heron", metadata_filter={"document_name": before["document_name"]})["results"] == []


def test_rename_to_the_name_of_the_same_bytes_is_a_conflict(client: httpx.Client) -> None:
    first, second = (upload(client, unique(name), b"identical") for name in ("a.txt", "b.txt"))
    response = client.put(f"/documents/{second['document_id']}", json={"document_name": first["document_name"]})
    problem_of(response, 409, code="document_exists")
    assert get_document(client, second["document_id"])["document_name"] == second["document_name"]


def test_metadata_is_replaced_as_a_whole_and_filters_at_once(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document_id = upload(
        client, unique("meta.txt"), b"Herons fish.", tag_ids=[tag], metadata='{"year": 2023, "team": "a"}'
    )["document_id"]
    wait_until_indexed(client, document_id)
    changed = accepted(client.put(f"/documents/{document_id}", json={"metadata": {"year": 2024}}))
    assert changed["metadata"] == {"year": 2024}
    assert search(client, kb, "heron", metadata_filter={"year": 2023})["results"] == []
    assert len(search(client, kb, "heron", metadata_filter={"year": {"$gte": 2024}})["results"]) == 1
    assert accepted(client.put(f"/documents/{document_id}", json={"metadata": {}}))["metadata"] == {}


def test_empty_change_changes_nothing(client: httpx.Client) -> None:
    document_id = upload(client, unique("still.txt"), b"x")["document_id"]
    before = wait_until_read(client, document_id)
    assert accepted(client.put(f"/documents/{document_id}", json={})) == before


def test_document_is_read_again_and_stays_searchable(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document_id = upload(client, unique("again.txt"), b"Storks nest on chimneys.", tag_ids=[tag])["document_id"]
    wait_until_indexed(client, document_id)
    answer = accepted(client.post(f"/documents/{document_id}/extract"), 202)
    assert answer["state"] == "uploaded"
    assert len(search(client, kb, "storks")["results"]) == 1
    assert wait_until_indexed(client, document_id)["state"] == "extracted"
    assert len(search(client, kb, "storks")["results"]) == 1


def test_deleted_document_is_gone_from_every_answer_at_once(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    name = unique("gone.txt")
    document_id = upload(client, name, b"Swifts sleep on the wing.", tag_ids=[tag])["document_id"]
    wait_until_indexed(client, document_id)
    deleted = client.delete(f"/documents/{document_id}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert search(client, kb, "swifts")["results"] == []
    assert accepted(client.get(f"/knowledge-bases/{kb}/documents"))["documents"] == []
    assert accepted(client.get("/documents", params={"name_search": name}))["total_count"] == 0
    for method, path in [("GET", ""), ("GET", "/text"), ("GET", "/original"), ("DELETE", ""), ("POST", "/extract")]:
        problem_of(client.request(method, f"/documents/{document_id}{path}"), 404)
    eventually(lambda: accepted(client.get(f"/knowledge-bases/{kb}"))["document_count"] == 0)
    again = upload(client, name, b"Swifts sleep on the wing.", tag_ids=[tag])["document_id"]
    assert again != document_id
    wait_until_indexed(client, again)
    assert [item["document_id"] for item in search(client, kb, "swifts")["results"]] == [again]


def test_password_is_given_at_the_upload_or_later_and_never_shown(client: httpx.Client) -> None:
    content = encrypted_pdf_of(["Terns dive for fish."], "s3cret & more")
    fields = {"password": "s3cret & more"}
    files = {"files": (unique("open.pdf"), content)}
    opened = accepted(client.post("/documents", data=fields, files=files), 201)["documents"][0]["document_id"]
    assert wait_until_read(client, opened)["state"] == "extracted"
    document_id = upload(client, unique("sealed.pdf"), content)["document_id"]
    assert wait_until_read(client, document_id)["error"]["code"] == "encrypted_file"
    for password, code in (("wrong one", "wrong_password"), ("s3cret & more", None)):
        answer = client.post(f"/documents/{document_id}/password", json={"password": password})
        assert accepted(answer, 202)["state"] == "uploaded"
        error = wait_until_read(client, document_id)["error"]
        assert (error and error["code"]) == code
        assert password not in answer.text + client.get(f"/documents/{document_id}").text
    assert "Terns dive for fish." in client.get(f"/documents/{document_id}/text").text
    problem = problem_of(client.post(f"/documents/{'f' * 24}/password", json={"password": "x"}), 404)
    assert "f" * 24 in problem["detail"]
    problem_of(client.post(f"/documents/{document_id}/password", json={"password": ""}), 400)
