"""Folders over HTTP: paths of uploads, lookups by path, progress of many, and the downloads' names."""

import base64

import httpx
import pytest

from tests.e2e.driving import (
    Body,
    accepted,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    wait_until_indexed,
)


def upload_form(client: httpx.Client, files: list[tuple[str, bytes]], **fields: str | list[str]) -> httpx.Response:
    """Post files by name with the form's fields."""
    return client.post("/documents", files=[("files", file) for file in files], data=fields)


def test_paths_of_a_form_are_the_names_of_its_files_in_their_order(client: httpx.Client) -> None:
    folder = unique("contracts")
    files = [("contract.txt", b"same"), ("contract.txt", b"same"), ("loose.txt", unique("loose").encode())]
    paths = [f"{folder}/2023/contract.txt", f"{folder}\\2024\\contract.txt", ""]
    answer = accepted(upload_form(client, files, paths=paths), 201)
    names = [item["document"]["document_name"] for item in answer["documents"]]
    assert names == [f"{folder}/2023/contract.txt", f"{folder}/2024/contract.txt", "loose.txt"]
    listed = accepted(client.get("/documents", params={"folder": f"{folder}/2023"}))
    assert [item["document_name"] for item in listed["documents"]] == [names[0]]
    again = accepted(upload_form(client, files[:2], paths=paths[:2]), 200)
    assert again["returned"] == 2


def test_paths_after_the_files_count_as_well(client: httpx.Client) -> None:
    folder = unique("late")
    form = httpx.Request("POST", "http://x", files=[("files", ("a.txt", b"a"))], data={"paths": f"{folder}/a.txt"})
    boundary = form.headers["Content-Type"].partition("boundary=")[2]
    parts = form.read().split(f"--{boundary}".encode())
    body = f"--{boundary}".encode().join([parts[0], parts[2], parts[1], parts[3]])
    answer = accepted(
        client.post("/documents", content=body, headers={"Content-Type": form.headers["Content-Type"]}), 201
    )
    assert answer["documents"][0]["document"]["document_name"] == f"{folder}/a.txt"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"paths": "../a.txt"}, "paths[0]"),
        ({"paths": "/etc/passwd"}, "paths[0]"),
        ({"paths": ["a/a.txt", "a/b.txt"]}, "paths"),
        ({"merge": "yes"}, "merge"),
        ({"origin": "a\nb"}, "origin"),
    ],
)
def test_wrong_path_is_refused_by_its_field(client: httpx.Client, fields: Body, field: str) -> None:
    problem_of(upload_form(client, [("a.txt", b"a")], **fields), 400, field=field)


def test_json_upload_takes_a_path_instead_of_a_name_and_merges(client: httpx.Client) -> None:
    folder, tags = unique("json"), [make_tag(client), make_tag(client)]
    content = base64.b64encode(b"some text").decode()

    def send(tag: str, **fields: object) -> Body:
        document = {"path": f"{folder}/a.txt", "content": content, "tag_ids": [tag]}
        body = {"documents": [document], "origin": "machine:/data", **fields}
        return accepted(client.post("/documents", json=body), 200 if fields else 201)["documents"][0]

    first, again = send(tags[0]), send(tags[1], merge=True)
    assert (first["outcome"], again["outcome"]) == ("created", "returned")
    assert again["document"]["document_name"] == f"{folder}/a.txt"
    assert again["document"]["tag_ids"] == tags
    assert again["document"]["origin"] == "machine:/data"
    problem_of(
        client.post("/documents", json={"documents": [{"path": "a/../b", "content": content}]}),
        400,
        field="documents[0].path",
    )


def test_search_cites_the_path_and_a_download_has_the_files_own_name(client: httpx.Client) -> None:
    folder, tag = unique("cited"), make_tag(client)
    kb = make_knowledge_base(client, [tag])
    files = [("contract.txt", f"Notice in {year} is {days} days.".encode()) for year, days in ((2023, 120), (2024, 30))]
    answer = accepted(
        upload_form(client, files, paths=[f"{folder}/{y}/contract.txt" for y in (2023, 2024)], tag_ids=tag), 201
    )
    for item in answer["documents"]:
        wait_until_indexed(client, item["document_id"])
    wanted = {"document_name": {"$prefix": f"{folder}/2023/"}}
    (best,) = search(client, kb, "How long is the notice?", metadata_filter=wanted)["results"]
    assert (best["source"], "120 days" in best["content"]) == (f"{folder}/2023/contract.txt", True)
    original = client.get(f"/documents/{answer['documents'][0]['document_id']}/original")
    assert original.headers["Content-Disposition"].endswith("''contract.txt")
    chunks = accepted(client.get(f"/knowledge-bases/{kb}/chunks"))["chunks"]
    assert {chunk["document_name"] for chunk in chunks} == {f"{folder}/{y}/contract.txt" for y in (2023, 2024)}


def test_lookup_tells_what_is_there_by_folder_or_by_path(client: httpx.Client, other_client: httpx.Client) -> None:
    folder = unique("lookup")
    files = [(f"{number}.txt", str(number).encode()) for number in range(3)]
    paths = [f"{folder}/{name}" for name, _ in files]
    made = accepted(upload_form(client, files, paths=paths, origin="m:/data"), 201)["documents"]
    below = accepted(client.post("/documents/lookup", json={"folder": folder, "after": None}))
    assert [(item["document_name"], item["document_id"]) for item in below["documents"]] == [
        (path, item["document_id"]) for path, item in zip(paths, made, strict=True)
    ]
    assert below["next"] is None
    assert {item["origin"] for item in below["documents"]} == {"m:/data"}
    (one,) = accepted(client.post("/documents/lookup", json={"paths": [paths[1], f"{folder}/none"]}))["documents"]
    assert one["sha256"] == get_document(client, one["document_id"])["sha256"]
    assert accepted(other_client.post("/documents/lookup", json={"folder": folder}))["documents"] == []


@pytest.mark.parametrize(
    "body", [{}, {"folder": "a", "paths": ["b"]}, {"folder": ".."}, {"paths": ["../x"]}, {"folder": "a", "after": "x"}]
)
def test_wrong_lookup_is_refused(client: httpx.Client, body: Body) -> None:
    problem_of(client.post("/documents/lookup", json=body), 400)


def test_progress_of_many_documents_is_one_call(client: httpx.Client, other_client: httpx.Client) -> None:
    tag = make_tag(client)
    make_knowledge_base(client, [tag])
    files = [(unique(f"{number}.txt"), unique("text").encode()) for number in range(5)]
    made = [item["document_id"] for item in accepted(upload_form(client, files, tag_ids=tag), 201)["documents"]]
    for document_id in made:
        wait_until_indexed(client, document_id)
    answer = accepted(client.post("/documents/progress", json={"document_ids": [*made, made[0], "f" * 24, "no id"]}))
    assert {item["document_id"] for item in answer["documents"]} == set(made)
    assert len(answer["documents"]) == 5
    assert {state["state"] for item in answer["documents"] for state in item["knowledge_bases"]} == {"indexed"}
    assert accepted(other_client.post("/documents/progress", json={"document_ids": made}))["documents"] == []
    problem_of(client.post("/documents/progress", json={"document_ids": []}), 400)
