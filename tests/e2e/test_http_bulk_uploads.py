"""Many files in one call: an NDJSON stream that is answered line by line, and a ZIP."""

import io
import json
import socket
import zipfile
from urllib.parse import urlsplit

import httpx

from tests.e2e.driving import accepted, problem_of, unique

NDJSON = {"Content-Type": "application/x-ndjson"}
ZIP = {"Content-Type": "application/zip"}


def chunk(line: object) -> bytes:
    """A line as a chunk of a body that goes on."""
    content = json.dumps(line).encode() + b"\n"
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def test_line_is_answered_before_the_next_one_is_sent(client: httpx.Client) -> None:
    address = urlsplit(str(client.base_url))
    head = (
        f"POST {address.path}documents HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: {client.headers['Authorization']}\r\n"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(head.encode())
        answers = connection.makefile("rb")
        for number in (1, 2):
            name = unique(f"line{number}")
            connection.sendall(chunk({"name": name, "text": f"line {number} of {name}"}))
            line = b""
            while not line.startswith(b"{"):
                line = answers.readline()
                assert line, "the connection was closed"
            answer = json.loads(line)
            assert (answer["line"], answer["file_name"], answer["outcome"]) == (number, name, "created")
        connection.sendall(b"0\r\n\r\n")


def test_lines_are_answered_each_for_itself_and_in_order(client: httpx.Client) -> None:
    name = unique("good")
    lines = [
        json.dumps({"name": name, "text": "words"}),
        "",
        "no json",
        json.dumps({"path": "../out.txt", "text": "x"}),
        json.dumps({"name": unique("b"), "text": "x", "content": "eA=="}),
        json.dumps({"name": name, "content": "d29yZHM="}),
    ]
    answer = client.post("/documents", content="\n".join(lines).encode(), headers=NDJSON)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [each["line"] for each in told] == [1, 3, 4, 5, 6]
    assert [each["outcome"] for each in told] == ["created", "failed", "failed", "failed", "returned"]
    assert {each["error"]["code"] for each in told[1:4]} == {"invalid_input"}
    assert told[4]["document_id"] == told[0]["document_id"]


def test_files_of_a_zip_become_documents_named_by_their_paths(client: httpx.Client) -> None:
    folder = unique("folder")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{folder}/a.txt", "first")
        archive.writestr(f"{folder}/sub/b.txt", "second")
        archive.writestr(f"{folder}/../../c.txt", "third")
    query = {"metadata": '{"year": 2026}'}
    answer = accepted(client.post("/documents", content=file.getvalue(), headers=ZIP, params=query), 207)
    assert [each["outcome"] for each in answer["documents"]] == ["created", "created", "failed"]
    assert answer["documents"][1]["document"]["document_name"] == f"{folder}/sub/b.txt"
    assert answer["documents"][1]["document"]["metadata"] == {"year": 2026}
    assert "`..`" in answer["documents"][2]["error"]["detail"]


def test_settings_that_a_kind_of_upload_does_not_take_are_refused(client: httpx.Client) -> None:
    body = {"documents": [{"name": unique("a"), "text": "x"}]}
    problem_of(client.post("/documents", json=body, params={"bulk": True}), 400, field="bulk")
    key = {**NDJSON, "Idempotency-Key": unique("key")}
    problem_of(client.post("/documents", content=b"{}", headers=key), 400, field="Idempotency-Key")
    problem_of(client.post("/documents", content=b"no zip", headers=ZIP), 422, code="corrupt_file")
    problem_of(
        client.post("/documents", content=b"{}", headers=NDJSON, params={"metadata": "{}"}), 400, field="metadata"
    )


def test_bad_path_of_a_form_is_of_its_file_alone(client: httpx.Client) -> None:
    files = [("files", ("a.txt", unique("one").encode())), ("files", ("b.txt", unique("two").encode()))]
    answer = accepted(
        client.post("/documents", files=files, data={"paths": ["../a.txt", f"{unique('folder')}/b.txt"]}), 207
    )
    assert [each["outcome"] for each in answer["documents"]] == ["failed", "created"]
