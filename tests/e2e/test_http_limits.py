"""Large uploads, limits, and clients that go away."""

import base64
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from bson import ObjectId

from analytiq.settings import child_environment
from analytiq.standalone.embedded_address import address_of_running_database
from tests.e2e.driving import accepted, database_of, eventually, problem_of, unique
from tests.e2e.running_platform import Running, client_of

MEBIBYTE = 1024 * 1024
MAX_UPLOAD_BYTES = 2 * MEBIBYTE
MAX_JSON_BYTES = 1 * MEBIBYTE
MAX_GROWTH_BYTES = 60 * MEBIBYTE
BOUNDARY = "boundary-of-limits"


@pytest.fixture(scope="module")
def small_client(running: Running) -> Iterator[httpx.Client]:
    """A client of a second API process on the same database, with small limits."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = child_environment(
        {
            "MONGODB_URI": address_of_running_database(running.data_dir).get_secret_value(),
            "ANALYTIQ_SECRET_KEY": (running.data_dir / "secret.key").read_text(encoding="utf-8").strip(),
            "ANALYTIQ_DATA_DIR": str(running.data_dir),
            "ANALYTIQ_API__PORT": str(port),
            "ANALYTIQ_API__MAX_UPLOAD_BYTES": str(MAX_UPLOAD_BYTES),
            "ANALYTIQ_API__MAX_FILES_PER_UPLOAD": "3",
            "ANALYTIQ_API__MAX_JSON_BYTES": str(MAX_JSON_BYTES),
            "LITELLM_LOCAL_MODEL_COST_MAP": "true",
        }
    )
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "-m", "api"], env=environment, stdout=subprocess.DEVNULL)

    def is_ready() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"{url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    try:
        eventually(is_ready)
        with client_of(url, running.organization_id, running.token) as opened:
            yield opened
    finally:
        process.terminate()
        # uvicorn drains, then ends itself by the signal that it was sent.
        assert process.wait(30) in (0, -signal.SIGTERM)


def test_file_as_large_as_the_limit_is_taken_and_one_byte_more_is_not(
    small_client: httpx.Client, running: Running
) -> None:
    content = os.urandom(MAX_UPLOAD_BYTES)
    made = small_client.post("/documents", files=[("files", (unique("fits.bin"), content))])
    document = accepted(made, 201)["documents"][0]["document"]
    name = unique("too large.bin")
    problem = problem_of(
        small_client.post("/documents", files=[("files", (name, content + b"x"))]), 413, code="limit_exceeded"
    )
    assert f"{MAX_UPLOAD_BYTES}" in problem["detail"].replace(",", "")
    assert accepted(small_client.get("/documents", params={"name_search": name}))["total_count"] == 0
    assert small_client.delete(f"/documents/{document['document_id']}").status_code == 204
    with database_of(running.data_dir) as database:
        assert database["uploads"].count_documents({"document_name": name}) == 0


def test_file_that_is_too_large_is_told_apart_from_the_good_ones(small_client: httpx.Client) -> None:
    names = [unique("first.txt"), unique("large.bin"), unique("last.txt")]
    contents = [b"first", os.urandom(MAX_UPLOAD_BYTES + MEBIBYTE), b"last"]
    files = [("files", pair) for pair in zip(names, contents, strict=True)]
    answer = accepted(small_client.post("/documents", files=files), 207)
    assert [item["outcome"] for item in answer["documents"]] == ["created", "failed", "created"]
    assert answer["documents"][1]["error"]["code"] == "limit_exceeded"


def test_more_files_than_the_limit_are_refused_and_none_is_kept(small_client: httpx.Client) -> None:
    name = unique("one of many")
    files = [("files", (f"{name} {number}.txt", b"x")) for number in range(4)]
    problem_of(small_client.post("/documents", files=files), 413, code="limit_exceeded")
    documents = [{"name": f"{name} {number}.txt", "content": "eA=="} for number in range(4)]
    problem_of(small_client.post("/documents", json={"documents": documents}), 413, code="limit_exceeded")
    assert accepted(small_client.get("/documents", params={"name_search": name}))["total_count"] == 0


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "the same limit"}])
def test_json_upload_larger_than_its_limit_is_refused(small_client: httpx.Client, headers: dict[str, str]) -> None:
    content = base64.b64encode(b"x" * MAX_JSON_BYTES).decode()
    body = {"documents": [{"name": unique("large.txt"), "content": content}]}
    problem_of(small_client.post("/documents", json=body, headers=headers), 413)


def blocks(byte_size: int) -> Iterator[bytes]:
    """So many bytes, no two blocks alike."""
    noise = os.urandom(256 * 1024)
    for number in range(byte_size // len(noise)):
        yield number.to_bytes(8, "big") + noise[8:]


def api_process(running: Running) -> psutil.Process:
    """The API's process."""
    children = psutil.Process(running.process.pid).children(recursive=True)
    (found,) = [child for child in children if child.cmdline()[-1:] == ["api"]]
    return found


class _Watch:
    """Samples a process's memory while something goes on."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._first_bytes = self._most_bytes = 0

    @property
    def growth_bytes(self) -> int:
        """By how much it grew at most."""
        return self._most_bytes - self._first_bytes

    def __enter__(self) -> "_Watch":
        self._first_bytes = self._most_bytes = self._process.memory_info().rss
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(0.02):
            self._most_bytes = max(self._most_bytes, self._process.memory_info().rss)


def test_memory_stays_flat_while_150_megabytes_go_up_and_come_down(client: httpx.Client, running: Running) -> None:
    byte_size = 150 * MEBIBYTE
    name = unique("huge.bin")
    sent = hashlib.sha256()

    def form() -> Iterator[bytes]:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        yield head.encode()
        for block in blocks(byte_size):
            sent.update(block)
            yield block
        yield f"\r\n--{BOUNDARY}--\r\n".encode()

    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    with _Watch(api_process(running)) as up:
        answer = accepted(client.post("/documents", content=form(), headers=headers), 201)
    document = answer["documents"][0]["document"]
    assert (document["byte_size"], document["sha256"]) == (byte_size, sent.hexdigest())
    received = hashlib.sha256()
    path = f"/documents/{document['document_id']}"
    with _Watch(api_process(running)) as down, client.stream("GET", f"{path}/original") as response:
        for block in response.iter_bytes():
            received.update(block)
    assert received.hexdigest() == sent.hexdigest()
    assert client.delete(path).status_code == 204
    assert up.growth_bytes < MAX_GROWTH_BYTES
    assert down.growth_bytes < MAX_GROWTH_BYTES


def _begin_upload(running: Running, name: str) -> socket.socket:
    """Send a part of a file and keep the connection open."""
    address = urlsplit(running.url)
    connection = socket.create_connection((address.hostname, address.port))
    head = (
        f"POST /v0/orgs/{running.organization_id}/documents HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {running.token}\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {100 * MEBIBYTE}\r\n\r\n"
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    )
    connection.sendall(head.encode())
    for block in blocks(12 * MEBIBYTE):
        connection.sendall(block)
    return connection


@pytest.mark.parametrize("is_reset", [False, True])
def test_client_that_goes_away_in_the_middle_of_an_upload_leaves_nothing(running: Running, is_reset: bool) -> None:
    name = unique("torn.bin")
    with database_of(running.data_dir) as database:
        connection = _begin_upload(running, name)
        row = eventually(lambda: database["uploads"].find_one({"document_name": name}))
        chunks = {"files_id": ObjectId(row["file_id"])}
        eventually(lambda: database["fs.chunks"].count_documents(chunks))
        if is_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        eventually(lambda: database["uploads"].find_one({"document_name": name}) is None)
        eventually(lambda: database["fs.chunks"].count_documents(chunks) == 0)
        assert database["fs.files"].count_documents({"filename": name}) == 0
        assert database["docs"].count_documents({"document_name": name}) == 0
    assert "internal_error" not in running.log
