"""Documents from memory and streams, and calls that are, or are not, repeated; of both clients."""

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fakes.server_loop import AppServer
from pydantic import SecretStr

from analytiq.client import AsyncClient, Client, NewDocument, ProblemError, UnreachableError
from analytiq.client import patience as patience_module
from analytiq.client.problem_codes import UnsupportedFormatError
from analytiq.client.problems import TooManyRequestsError
from analytiq.client.upload import BYTES_A_CALL
from analytiq.errors import InvalidInputError

ORGANIZATION = "f" * 24
LARGE = b"x" * (BYTES_A_CALL + 1)
AWAY = (503, {"code": "database_unreachable", "detail": "away"}, {"Retry-After": "0"})
BUSY = (429, {"code": "too_many_requests", "detail": "slow down"}, {"Retry-After": "0"})

Answer = tuple[int, dict[str, Any], dict[str, str]]


class Server:
    """Answers with its script first, then accepts uploads; keeps what it was sent."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.http = AppServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.requests.append((request.path, dict(request.headers), body))
        if self.script:
            status, answer, headers = self.script.pop(0)
            return web.json_response(answer, status=status, headers=headers)
        count = len(json.loads(body)["documents"]) if request.content_type == "application/json" else 1
        outcome = {"file_name": "a", "outcome": "created", "document_id": "1", "document": None, "error": None}
        counts = {"created": count, "returned": 0, "replaced": 0, "failed": 0}
        return web.json_response({"documents": [outcome] * count, **counts}, status=201)


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    with opened.http:
        yield opened


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience_module, "FIRST_PAUSE_SECONDS", 0.0)


def test_small_documents_go_together_and_large_ones_alone_each_with_its_own_metadata(
    server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(LARGE)
    told: list[int] = []
    documents = [
        NewDocument(content="text", name="a/b.txt", metadata={"year": 1}, tag_ids=["1"]),
        NewDocument(content=b"bytes", name="c.bin", metadata={"year": 2}),
        NewDocument(content=path, metadata={"year": 3}),
        NewDocument(content=io.BytesIO(b"stream"), name="d.bin", source_url="https://example.com/d"),
    ]
    with Client(server.http.url, ORGANIZATION, "token") as client:
        outcomes = list(client.upload_documents(documents, on_bytes=told.append))
    assert len(outcomes) == 4
    assert sum(told) == 4 + 5 + len(LARGE) + 6
    together, large, stream = (body for *_, body in server.requests)
    sent = json.loads(together)["documents"]
    assert [(item["path"], item["metadata"]) for item in sent] == [("a/b.txt", {"year": 1}), ("c.bin", {"year": 2})]
    assert LARGE in large
    assert b'{"year": 3}' in large
    assert b"stream" in stream
    assert b"https://example.com/d" in stream


async def test_asynchronous_client_reports_progress_on_its_event_loop(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(LARGE)
    loops: set[object] = set()
    told: list[int] = []

    def report(count: int) -> None:
        loops.add(asyncio.get_running_loop())
        told.append(count)

    server.script = [AWAY]
    async with AsyncClient(server.http.url, ORGANIZATION, "token") as client:
        outcomes = [item async for item in client.upload_documents([NewDocument(content=path)], on_bytes=report)]
    assert len(outcomes) == 1
    assert [LARGE in body for *_, body in server.requests] == [True, True]
    assert sum(told) == len(LARGE)
    assert loops == {asyncio.get_running_loop()}


def test_refused_document_is_an_outcome_and_harms_no_other(server: Server) -> None:
    refusal = {"code": "unsupported_format", "detail": "No parser."}
    server.script = [(422, refusal, {}), (422, refusal, {})]
    documents = [NewDocument(content=b"1", name="1.xyz"), NewDocument(content=b"2", name="2.txt")]
    with Client(server.http.url, ORGANIZATION, "token") as client:
        outcomes = list(client.upload_documents(documents))
        server.script = [(422, refusal, {})]
        with pytest.raises(UnsupportedFormatError):
            client.create_tag("n")
    assert [(item.outcome, item.error and item.error.code) for item in outcomes] == [
        ("failed", "unsupported_format"),
        ("created", None),
    ]


class OnceOnly(io.RawIOBase):
    """A stream that cannot be rewound, such as a socket's."""

    def __init__(self) -> None:
        super().__init__()
        self._left = [b"part"]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        block = self._left.pop() if self._left else b""
        buffer[: len(block)] = block
        return len(block)


def test_stream_is_sent_once_and_says_so_when_it_would_have_to_be_sent_again(server: Server) -> None:
    with Client(server.http.url, ORGANIZATION, "token") as client:
        stream = NewDocument(content=OnceOnly(), name="a.bin")  # pyright: ignore[reportArgumentType]
        assert [item.outcome for item in client.upload_documents([stream])] == ["created"]
        assert b"part" in server.requests[-1][2]
        server.script = [AWAY]
        stream = NewDocument(content=OnceOnly(), name="a.bin")  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInputError, match="cannot be read again"):
            list(client.upload_documents([stream]))


async def test_refusal_for_its_rate_is_repeated_under_a_new_key(server: Server) -> None:
    tag = {"tag_id": "1", "name": "n", "color": "#000000", "description": ""}
    server.script = [BUSY, (201, tag, {})]
    async with AsyncClient(server.http.url, ORGANIZATION, "token") as client:
        assert (await client.create_tag("n")).name == "n"
        keys = [headers["Idempotency-Key"] for _, headers, _ in server.requests]
        assert keys[0] != keys[1]
        server.script = [(429, BUSY[1], {"Retry-After": "3600"})]
        with pytest.raises(TooManyRequestsError) as raised:
            await client.create_tag("n")
    assert raised.value.retry_after == 3600


def test_sign_in_is_never_repeated(server: Server) -> None:
    server.script = [AWAY]
    with Client(server.http.url) as client:
        with pytest.raises(ProblemError, match="away"):
            client.sign_in("a@example.com", SecretStr("secret"))
        assert len(server.requests) == 1
        with pytest.raises(InvalidInputError, match="needs an organization"):
            client.organization()


async def test_events_go_on_after_the_last_one_received() -> None:
    seen: list[str | None] = []

    async def events(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Last-Event-ID"))
        name = "closed" if len(seen) == 2 else "job"
        text = f'event: {name}\ndata: {{"n": {len(seen)}}}\n\nid: {len(seen)}\n\n'
        return web.Response(text=text, content_type="text/event-stream")

    app = web.Application()
    app.router.add_get("/v0/orgs/{organization}/events", events)
    with AppServer(app) as http:
        async with AsyncClient(http.url, ORGANIZATION, "token") as client:
            got = [(event.name, event.data) async for event in client.watch()]
    assert got == [("job", {"n": 1}), ("closed", {"n": 2})]
    assert seen == [None, "1"]


async def test_address_where_nothing_has_answered_is_told_at_once() -> None:
    async with AsyncClient("http://127.0.0.1:9", ORGANIZATION, "token") as client:
        with pytest.raises(UnreachableError, match="No API answers"):
            await client.organization()
