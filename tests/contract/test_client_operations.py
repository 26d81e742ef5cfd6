"""The client has all that `docs/reference/openapi.json` describes: each operation, parameter and field of an answer."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fakes.openapi_server import OpenApiServer
from pydantic import BaseModel, SecretStr

from analytiq.client import AsyncClient, Client, DuplicatePolicy, ExternalIdentity, NewDocument, RateLimits, Vision
from analytiq.client.client import Operations
from analytiq.client.operations import listing, operation
from scripts.client_reference import PAGE, page_with_reference

ID = "f" * 24
MOMENT = datetime(2026, 11, 30, tzinfo=UTC)
SECRET = SecretStr("whsec_" + "A" * 32)

ARGUMENTS: dict[str, Any] = {
    "name": "name", "scope": "read", "expires_at": MOMENT, "since": MOMENT, "until": MOMENT, "by_day": True,
    "group_by": "operation", "top": 3, "confirm": "name", "ledger": "delete", "cache": "delete", "role": "editor",
    "email": "a@example.com", "action": "sign_in", "token": "token", "password": SECRET, "current_password": SECRET,
    "new_password": SECRET, "next_path": "/", "state": "state", "code": "code", "sort": "name", "color": "#000000",
    "description": "text", "detaches_prompts": True, "cache_scope": "global", "languages": ["eng"],
    "limits": RateLimits(requests_per_minute=1), "vision": Vision(model="a/b"), "kinds": ["noise"],
    "fields": {"year": "number"}, "on_misfit": "remove", "name_search": "a", "tag_ids": [ID], "file_types": ["pdf"],
    "metadata_filter": {"year": 2026}, "folder": "a", "source": "wiki", "external_id": "1", "error_codes": ["x"],
    "document_name": "a.txt", "metadata": {"a": 1}, "source_url": "https://example.com/", "read_pages": "ocr",
    "error_code": "x", "is_all": True, "paths": ["a.txt"], "external_ids": ["1"], "document_ids": [ID],
    "add_tag_ids": [ID], "remove_tag_ids": [ID], "matching": {"folder": "a"}, "except_ids": [ID], "page": 1,
    "start": 0, "end": 1, "text_hash": "a", "merge": True, "origin": "a", "bulk": True, "kb_ids": [ID],
    "on_duplicate": DuplicatePolicy.REPLACE, "chunker_type": "auto", "chunk_size": 512, "chunk_overlap": 64,
    "embedding_model": "a/b", "coalesce_neighbors": 1, "context": True, "searched_metadata": ["a"],
    "section_level": 1, "index_types": ["section"], "text": "text", "query": "question", "top_k": 3,
    "question": "question", "after": "1.1", "answer_schema": {"type": "object"}, "model": "a/b",
    "runs_on_existing": False, "statuses": ["failed"], "answer": "text", "is_verified": True, "version": 1,
    "if_version": 1, "is_csv": False, "litellm_provider": "openai", "api_key": SECRET, "api_base": "https://a.b/",
    "sql": "SELECT 1", "max_rows": 5, "max_source_rows": 5, "kind": "folder", "settings": {}, "credentials": {},
    "options": {"metadata": {}, "metadata_mapping": {}, "filters": {}, "when_vanished": "keep",
                "vanished_tag_id": ID, "interval_seconds": 3600},
    "changes": {"name": "a"}, "deletes_documents": True, "filters": {"include": ["*.pdf"]}, "secret": "s" * 32,
    "overlap_seconds": 60, "file_format": "csv", "has_problem": True, "dry_run": True, "accepts_losses": True,
    "full": True, "outcomes": ["failed"], "name_contains": "a", "uploaded_before": MOMENT, "includes_shared": True,
    "reason": "a", "document_days": 30, "depth": "full", "rebuild_cache": True, "loader": "pdf_loader",
    "loader_options": {}, "account_id": "a", "selected_urls": ["https://a.b/"], "vector_store": "qdrant",
    "selected_file_urls": ["https://a.b/"], "top_n": 5, "alpha": 0.5, "hybrid_search": False, "skip": 0, "limit": 5,
    "url": f"http://localhost/v0/inbound/{ID}", "items": [{"id": "1", "text": "text"}], "message_id": "1",
    "documents": [NewDocument(content=b"bytes", name="a.txt", metadata={"a": 1}, tag_ids=[ID])], "on_bytes": None,
    "event_types": ["document.indexed"], "is_enabled": True,
}  # fmt: skip
SEARCH_OPTIONS: dict[str, Any] = {
    "upload_date_from": "2026-01-01", "upload_date_to": "2026-02-01", "preset": "full_hybrid", "mode": "hybrid",
    "fusion": "rrf", "alpha": 0.5, "score_threshold": 0.1, "deduplicate": True, "hyde": False, "rerank": False,
    "rerank_model": "a/b", "compress": False, "include_section": True, "history": [], "model": "a/b",
    "include": ["tags"], "index_types": ["paragraph"],
}  # fmt: skip
PROMPT = {"temperature": 0.5, "max_tokens": 5, "max_iterations": 2, "token_budget": 5000, "spu_budget": 5}
THREAD = {
    "title": "a", "model": "a/b", "score_threshold": 0.1, "top_k": 3, "searches_again": True, "include": ["tags"],
    "token_budget": 5,
}  # fmt: skip
OF_METHOD: dict[str, dict[str, Any]] = {
    "set_cache_scope": {"scope": "global"},
    "search": SEARCH_OPTIONS,
    "search_several": SEARCH_OPTIONS,
    "explain": {**SEARCH_OPTIONS, "document_ids": [ID], "coalesce_neighbors": 1},
    "create_prompt": {"settings": {**PROMPT, "metadata_filter": {"a": 1}}},
    "update_prompt": {
        "changes": {
            **PROMPT, "name": "a", "text": "a", "model": None, "answer_schema": None, "tag_ids": [], "kb_id": None,
            "metadata_filter": {}, "runs_on_existing": True,
        }
    },
    "create_thread": THREAD,
    "update_thread": THREAD,
    "update_source": {
        "changes": {
            "name": "a", "settings": {}, "credentials": {}, "tag_ids": [], "metadata": {}, "metadata_mapping": {},
            "filters": {}, "when_vanished": "keep", "vanished_tag_id": None, "interval_seconds": None,
        }
    },
    "jobs_page": {"states": ["running"], "kinds": ["sync"], "include": ["names"]},
    "job_errors": {"kinds": ["sync"]},
    "replay_jobs": {"kind": "sync"},
    "cancel_jobs": {"kind": "sync", "state": "running"},
    "documents": {"states": ["failed"], "include": ["knowledge_bases"], "sort": "byte_size"},
    "documents_page": {"states": ["failed"]},
    "tables": {"tag_ids": ID},
    "models": {"kind": "chat"},
    "models_page": {"kind": "chat"},
    "prompts": {"include": ["last_run"]},
    "create_erasure": {"kind": "documents"},
    "update_document_password": {"password": "secret"},
    "push": {"secret": SECRET},
    "declare_metadata_fields": {"fields": {"year": "number"}},
    "daily_usage": {"group_by": "operation"},
    "audit_log": {"action": "a"},
    "webhook_deliveries": {"state": "dead"},
}  # fmt: skip

NOT_SENT = {
    # For the further parts of a long answer.
    "change_documents": {"after"},
    "search_documents_by_path": {"after"},
    # A test uses the kind, its settings and the filters.
    "test_new_source": {
        "tag_ids", "metadata", "metadata_mapping", "when_vanished", "vanished_tag_id", "interval_seconds",
    },
    # A signature covers the whole body; contents are sent in base64.
    "push_to_source": {"files"},
}  # fmt: skip
"""Parameters and fields that no method sends."""

COMPOSED = {"wait_until_indexed", "wait_for_runs", "wait_for_source_run", "wait_for_reconcile"}
"""Methods that repeat other methods until something has happened."""

METHODS = sorted(
    name
    for name in dir(Operations)
    if isinstance(inspect.getattr_static(Operations, name), operation | listing) and name not in COMPOSED
)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenApiServer]:
    with OpenApiServer() as opened:
        yield opened


def arguments_of(name: str, directory: Path) -> dict[str, Any]:
    """Return an argument for each parameter of a method."""
    described: Callable[..., Any] = inspect.getattr_static(Operations, name).describe
    given: dict[str, Any] = dict(OF_METHOD.get(name, {}))
    for parameter in list(inspect.signature(described).parameters.values())[1:]:
        if parameter.name in given or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        given[parameter.name] = ID if parameter.name.endswith("_id") else ARGUMENTS.get(parameter.name)
    if name in ("upload", "upload_many"):
        file = directory / "a.txt"
        file.write_text("text")
        given |= {"paths": [file], "root": directory}
    if name == "upload":
        given |= {"password": "secret", "folder": None, "source_urls": [None]}
        given |= {"external_identities": [ExternalIdentity(source="a", external_id="1")]}
    return given


def undeclared(value: Any, place: str = "") -> Iterator[str]:
    """Yield the fields of answers that their models do not declare."""
    if isinstance(value, BaseModel):
        name = type(value).__name__.partition("[")[0]
        yield from (f"{name}.{field}" for field in value.model_extra or {})
        for field in type(value).model_fields:
            yield from undeclared(getattr(value, field), field)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from undeclared(item, place)
    elif isinstance(value, dict):
        for item in value.values():
            yield from undeclared(item, place)


FURTHER_OF_LISTS = {"Page.unreachable", "Page.default_chat_model"}
"""Fields of a list beside its items: on the page by their names."""


def test_each_operation_parameter_and_field_has_its_place(server: OpenApiServer, tmp_path: Path) -> None:
    lost: set[str] = set()
    with Client(server.url, ID, "token") as client:
        for name in METHODS:
            result = getattr(client, name)(**arguments_of(name, tmp_path))
            lost |= set(undeclared(list(result) if inspect.isgenerator(result) else result))
        client.reconcile()  # of the organization: the method above had a knowledge base
    assert set(server.complaints) == set()
    assert [item.operation_id for item in server.operations.values() if not item.calls] == []
    assert lost - FURTHER_OF_LISTS == set()
    missing: dict[str, set[str]] = {}
    for item in server.operations.values():
        wanted = item.parameters("query") | server.body_fields(item)
        left = wanted - item.query - item.body - NOT_SENT.get(item.operation_id, set())
        left |= {header.lower() for header in item.parameters("header")} - item.headers
        if left:
            missing[item.operation_id] = left
    assert missing == {}


async def test_asynchronous_client_calls_and_returns_the_same(server: OpenApiServer, tmp_path: Path) -> None:
    async with AsyncClient(server.url, ID, "token") as client:
        with Client(server.url, ID, "token") as synchronous:
            for name in METHODS:
                arguments = arguments_of(name, tmp_path)
                method = getattr(client, name)(**arguments)
                got = [item async for item in method] if isinstance(method, AsyncIterator) else await method
                wanted = getattr(synchronous, name)(**arguments)
                assert got == (list(wanted) if inspect.isgenerator(wanted) else wanted), name
    assert set(server.complaints) == set()


def test_reference_lists_what_the_client_has() -> None:
    text = PAGE.read_text()
    assert page_with_reference(text) == text, "Run `python -m scripts.client_reference`."
