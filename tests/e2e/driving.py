"""The end-to-end tests' driver of a running system: over HTTP, and with a look into its MongoDB."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any
from uuid import uuid4

import httpx
from pymongo import MongoClient
from pymongo.database import Database

from analytiq import clock
from analytiq.standalone.embedded_address import address_of_running_database

Body = dict[str, Any]

PROBLEM = "application/problem+json"
UNKNOWN_ID = "ffffffffffffffffffffffff"
MALFORMED_IDS = ("0", "not-an-id", "f" * 23, "f" * 25, "%24where", "..%2f..%2fetc", "%00", "é", "z" * 24)
WAIT_SECONDS = 90.0

DATA = Path(__file__).parents[1] / "data" / "documents"


def unique(name: str) -> str:
    """A name that no other test uses, since all share one organization; a suffix stays the suffix."""
    path = PurePath(name)
    return f"{path.stem} {uuid4().hex[:12]}{path.suffix}"


@contextmanager
def database_of(data_dir: Path) -> Generator[Database[Body]]:
    """The running system's database."""
    address = address_of_running_database(data_dir).get_secret_value()
    with MongoClient[Body](address, tz_aware=True) as mongo:
        yield mongo["analytiq"]


def eventually(condition: Callable[[], Any], *, seconds: float = WAIT_SECONDS) -> Any:
    """Return the condition's answer, as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        time.sleep(0.05)
    return answer


def problem_of(response: httpx.Response, status: int, *, field: str | None = None, code: str | None = None) -> Body:
    """The problem details of an error, checked to be whole, and to name the field."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:1000]}"
    assert response.headers["content-type"] == PROBLEM, response.text[:1000]
    body: Body = response.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["code"]
    assert body["request_id"] == response.headers["x-request-id"]
    if field is not None:
        assert field in [error["field"] for error in body["errors"]], body
        assert all(error["reason"] for error in body["errors"])
    if code is not None:
        assert body["code"] == code, body
    return body


def accepted(response: httpx.Response, status: int = 200) -> Body:
    """The body of a success."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:1000]}"
    body: Body = response.json()
    return body


def make_tag(client: httpx.Client, name: str = "tag") -> str:
    """A new tag's id."""
    return str(accepted(client.post("/tags", json={"name": unique(name)}), 201)["tag_id"])


def make_knowledge_base(client: httpx.Client, tag_ids: list[str], **settings: Any) -> str:
    """A new knowledge base's id."""
    body = {"name": unique("knowledge base"), "tag_ids": tag_ids, "chunk_size": 128, "chunk_overlap": 16, **settings}
    return str(accepted(client.post("/knowledge-bases", json=body), 201)["kb_id"])


def least_query(operation: Body, otherwise: object) -> Body:
    """The query parameters that a call cannot do without."""
    needed = [item for item in operation.get("parameters", []) if item["in"] == "query" and item["required"]]
    moment = "2026-01-01T00:00:00Z"
    return {
        item["name"]: moment
        if item["schema"].get("format") == "date-time"
        else item["schema"].get("minimum", otherwise)
        for item in needed
    }


def upload(client: httpx.Client, name: str, content: bytes, *, tag_ids: list[str] | None = None, **fields: str) -> Body:
    """Upload one file as a form; answers the document, which is a new one even if the bytes are known."""
    form = {"on_duplicate": "create", **fields, **({} if tag_ids is None else {"tag_ids": ",".join(tag_ids)})}
    response = client.post("/documents", files=[("files", (name, content))], data=form)
    assert response.status_code in (200, 201), response.text[:1000]
    document: Body = response.json()["documents"][0]["document"]
    return document


def make_answer(client: httpx.Client, database: Database[Body], kb_id: str) -> dict[str, str]:
    """A thread with an answer that no model was asked for; the ids of both."""
    thread_id = str(accepted(client.post("/chat/threads", json={"kb_ids": [kb_id]}), 201)["thread_id"])
    row = {
        "organization_id": str(client.base_url).rstrip("/").rpartition("/")[2], "thread_id": thread_id, "number": 2,
        "role": "assistant", "content": "An answer.", "state": "done", "is_grounded": False, "created_at": clock.now(),
    }  # fmt: skip
    return {"thread_id": thread_id, "message_id": str(database["chat_messages"].insert_one(row).inserted_id)}


def get_document(client: httpx.Client, document_id: str) -> Body:
    """A document with its states."""
    return accepted(client.get(f"/documents/{document_id}"))


def wait_until_read(client: httpx.Client, document_id: str) -> Body:
    """The document once its extraction has ended, well or not."""

    def ended() -> Body | None:
        document = get_document(client, document_id)
        return document if document["state"] in ("extracted", "failed") else None

    found: Body = eventually(ended)
    return found


def wait_until_indexed(client: httpx.Client, document_id: str) -> Body:
    """The document once it can be found in each of its knowledge bases."""

    def indexed() -> Body | None:
        document = get_document(client, document_id)
        states = [item["state"] for item in document["knowledge_bases"]]
        assert document["state"] != "failed", document
        assert "failed" not in states, document
        return document if states and set(states) == {"indexed"} else None

    found: Body = eventually(indexed)
    return found


def wait_until_active(client: httpx.Client, kb_id: str) -> Body:
    """The knowledge base once its first indexing has ended."""

    def active() -> Body | None:
        knowledge_base = accepted(client.get(f"/knowledge-bases/{kb_id}"))
        return knowledge_base if knowledge_base["status"] == "active" else None

    found: Body = eventually(active)
    return found


def search(client: httpx.Client, kb_id: str, query: str, **options: Any) -> Body:
    """The answer to a question; passages that repeat another are not left out."""
    body = {"query": query, "deduplicate": False, **options}
    return accepted(client.post(f"/knowledge-bases/{kb_id}/search", json=body))
