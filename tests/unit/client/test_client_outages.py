"""A client through outages: against a real server that answers by a script."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from analytiq.client import Client, DuplicatePolicy, ProblemError, UnreachableError
from analytiq.client import patience as patience_module

ORGANIZATION = "f" * 24
UNREACHABLE = {"code": "database_unreachable", "detail": "No MongoDB primary can be reached."}
UPLOADED: dict[str, Any] = {"documents": [], "created": 1, "returned": 0, "replaced": 0, "failed": 0}
TAG = {"tag_id": "1", "name": "n", "color": "#000000", "description": ""}

HANG_UP = 0
"""Instead of a status: the connection is closed without an answer."""


class Server:
    """Answers each request with the next (status, body, headers) of its script, and keeps what was asked."""

    def __init__(self) -> None:
        self.script: list[tuple[int, Any, dict[str, str]]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.requests.append((self.command, self.path, dict(self.headers), body))
                status, answer, headers = owner.script.pop(0)
                if status == HANG_UP:
                    self.close_connection = True
                    return
                content = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  # the library's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def then(self, status: int, answer: Any = None, **headers: str) -> None:
        self.script.append((status, answer, {name.replace("_", "-"): value for name, value in headers.items()}))

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    yield opened
    opened.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the client takes, and its clock, which only they move."""
    taken: list[float] = []
    monkeypatch.setattr(patience_module.time, "sleep", taken.append)
    monkeypatch.setattr(patience_module.time, "monotonic", lambda: sum(taken))
    return taken


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, ORGANIZATION, "token") as opened:
        yield opened


def upload(client: Client, path: Path, **options: Any) -> None:
    client.upload([path], **options)


def test_call_is_repeated_through_a_failover_and_not_before_the_api_says(
    server: Server, client: Client, pauses: list[float]
) -> None:
    for _ in range(25):
        server.then(503, UNREACHABLE, Retry_After="2")
    server.then(200, TAG)
    assert client.create_tag("n").name == "n"
    assert len(pauses) == 25
    assert all(2 <= pause <= 3 for pause in pauses)
    assert len(set(pauses)) > 1  # with jitter


def test_repeated_change_carries_one_idempotency_key_so_that_it_is_made_once(
    server: Server, client: Client, pauses: list[float]
) -> None:
    server.then(503, UNREACHABLE, Retry_After="2")
    server.then(409, {"code": "idempotency_key_in_use", "detail": "at work"})
    server.then(200, TAG)
    server.then(200, TAG)
    client.create_tag("n")
    client.create_tag("n")
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_change_that_may_have_been_made_is_not_repeated(server: Server, client: Client, pauses: list[float]) -> None:
    server.then(503, {"code": "commit_outcome_unknown", "detail": "?"}, Retry_After="2")
    with pytest.raises(ProblemError, match=r"\?"):
        client.create_tag("n")
    assert pauses == []


def test_outage_that_does_not_end_is_told_after_a_minute_and_a_half(
    server: Server, client: Client, pauses: list[float]
) -> None:
    for _ in range(200):
        server.then(503, UNREACHABLE, Retry_After="2")
    with pytest.raises(ProblemError, match="No MongoDB primary"):
        client.create_tag("n")
    assert 90 <= sum(pauses) <= 93


@pytest.mark.parametrize("policy", [DuplicatePolicy.RETURN, DuplicatePolicy.REPLACE, DuplicatePolicy.CREATE])
def test_upload_is_sent_again_from_its_first_byte(
    server: Server, client: Client, pauses: list[float], tmp_path: Path, policy: DuplicatePolicy
) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"some text" * 100_000)
    told: list[int] = []
    server.then(503, UNREACHABLE, Retry_After="2")
    server.then(201, UPLOADED)
    client.upload([file], on_duplicate=policy, on_bytes=told.append)
    bodies = [body for *_, body in server.requests]
    assert all(file.read_bytes() in body for body in bodies)
    assert sum(told) == file.stat().st_size
    has_key = ["Idempotency-Key" in headers for _, _, headers, _ in server.requests]
    assert has_key == [policy is DuplicatePolicy.CREATE] * 2


def test_connection_that_breaks_is_made_again_by_who_has_had_an_answer(
    server: Server, client: Client, pauses: list[float]
) -> None:
    server.then(200, TAG)
    server.then(HANG_UP)
    server.then(HANG_UP)
    server.then(200, TAG)
    client.create_tag("n")
    assert client.create_tag("n").name == "n"
    assert len(pauses) == 2


def test_address_where_nothing_has_ever_answered_is_told_at_once(
    server: Server, client: Client, pauses: list[float]
) -> None:
    server.then(HANG_UP)
    with pytest.raises(UnreachableError):
        client.create_tag("n")
    assert pauses == []


def test_deletion_whose_answer_was_lost_is_done(server: Server, client: Client, pauses: list[float]) -> None:
    server.then(503, UNREACHABLE, Retry_After="2")
    server.then(404, {"code": "not_found", "detail": "no document"})
    client.delete_document("1")
    server.then(404, {"code": "not_found", "detail": "no document"})
    with pytest.raises(ProblemError, match="no document"):
        client.delete_document("1")


@pytest.mark.parametrize(
    "call",
    [lambda client: client.create_tag("n"), lambda client: client.document("1"), upload],
    ids=["post", "get", "upload"],
)
def test_refusal_is_final(
    server: Server, client: Client, pauses: list[float], tmp_path: Path, call: Callable[..., None]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("text")
    server.then(400, {"code": "invalid_input", "detail": "wrong"})
    with pytest.raises(ProblemError, match="wrong"):
        call(client, file) if call is upload else call(client)
    assert (pauses, len(server.requests)) == ([], 1)


def detail(document_id: str, *, is_done: bool) -> dict[str, Any]:
    return {
        "document_id": document_id, "document_name": document_id, "state": "extracted" if is_done else "uploaded",
        "tag_ids": [], "metadata": {}, "error": None, "warnings": [], "byte_size": 1, "page_count": 1,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "knowledge_bases": [],
    }  # fmt: skip


def test_waiting_for_many_costs_calls_in_proportion(server: Server, client: Client, pauses: list[float]) -> None:
    ids = [f"{number:04}" for number in range(1000)]
    for first in range(0, 1000, 200):
        window = ids[first : first + 200]
        server.then(200, {"documents": [detail(item, is_done=False) for item in window]})
        server.then(200, {"documents": [detail(item, is_done=True) for item in window]})
    settled: list[str] = []
    found = client.wait_until_indexed(ids, on_settled=lambda document: settled.append(document.document_id))
    assert [document.document_id for document in found] == ids == settled
    assert len(server.requests) == 10  # 1,000 documents, asked for twice each
    asked = sum(len(json.loads(body)["document_ids"]) for *_, body in server.requests)
    assert asked == 2000


def test_answer_keeps_fields_that_the_client_does_not_know(server: Server, client: Client) -> None:
    server.then(200, {"results": [], "query": "q", "total_count": 0, "skip": 0, "top_k": 5, "invented": {"a": 1}})
    answer = json.loads(client.search("1", "q").model_dump_json())
    assert (answer["skip"], answer["top_k"], answer["invented"]) == (0, 5, {"a": 1})


def outcome(name: str, code: str | None = None) -> dict[str, Any]:
    error = None if code is None else {"code": code, "detail": "?", "at": "2026-11-30T00:00:00Z"}
    state = "created" if code is None else "failed"
    return {"file_name": name, "outcome": state, "document_id": code and "1" * 24, "document": None, "error": error}


def answer_of(*documents: dict[str, Any]) -> dict[str, Any]:
    created = sum(document["error"] is None for document in documents)
    counts = {"created": created, "returned": 0, "replaced": 0, "failed": len(documents) - created}
    return {"documents": list(documents), **counts}


def three_files(directory: Path) -> list[Path]:
    files = [directory / name for name in ("a.txt", "b.txt", "c.txt")]
    for file in files:
        file.write_text(f"text of {file.name}")
    return files


def test_files_that_the_database_kept_from_being_stored_are_sent_again_by_themselves(
    server: Server, client: Client, pauses: list[float], tmp_path: Path
) -> None:
    away, unknown = outcome("a.txt", "database_unreachable"), outcome("c.txt", "commit_outcome_unknown")
    server.then(207, answer_of(away, outcome("b.txt"), unknown))
    server.then(207, answer_of(outcome("a.txt"), unknown))
    server.then(201, answer_of(outcome("c.txt")))
    told: list[int] = []
    files = three_files(tmp_path)
    answer = client.upload(files, root=tmp_path, on_bytes=told.append)
    assert [(document.file_name, document.outcome) for document in answer.documents] == [
        ("a.txt", "created"), ("b.txt", "created"), ("c.txt", "created"),
    ]  # fmt: skip
    assert (answer.created, answer.failed, len(pauses)) == (3, 0, 2)
    assert sum(told) == sum(file.stat().st_size for file in files)
    bodies = [body for _, _, _, body in server.requests]
    sent = [[name for name in (b"a.txt", b"b.txt", b"c.txt") if b"text of " + name in body] for body in bodies]
    assert sent == [[b"a.txt", b"b.txt", b"c.txt"], [b"a.txt", b"c.txt"], [b"c.txt"]]
    assert [body.count(b'name="paths"') for body in bodies] == [3, 2, 1]


def test_file_that_may_have_been_stored_is_not_sent_again_if_that_makes_a_copy(
    server: Server, client: Client, pauses: list[float], tmp_path: Path
) -> None:
    unknown = outcome("c.txt", "commit_outcome_unknown")
    server.then(207, answer_of(outcome("a.txt", "transaction_deadline"), outcome("b.txt"), unknown))
    server.then(201, answer_of(outcome("a.txt")))
    answer = client.upload(three_files(tmp_path), on_duplicate=DuplicatePolicy.CREATE)
    assert [document.outcome for document in answer.documents] == ["created", "created", "failed"]
    assert len(pauses) == 1


def test_file_that_is_refused_for_itself_is_not_sent_again(
    server: Server, client: Client, pauses: list[float], tmp_path: Path
) -> None:
    server.then(207, answer_of(outcome("a.txt", "unsupported_type"), outcome("b.txt"), outcome("c.txt")))
    answer = client.upload(three_files(tmp_path))
    assert (answer.failed, pauses) == (1, [])


def test_files_are_given_up_after_a_minute_and_a_half_with_the_outcomes_of_the_others(
    server: Server, client: Client, pauses: list[float], tmp_path: Path
) -> None:
    server.then(207, answer_of(outcome("a.txt", "database_unreachable"), outcome("b.txt"), outcome("c.txt")))
    for _ in range(200):
        server.then(503, UNREACHABLE, Retry_After="2")
    answer = client.upload(three_files(tmp_path))
    assert [document.outcome for document in answer.documents] == ["failed", "created", "created"]
    assert 90 <= sum(pauses) <= 93
