"""Errors over HTTP: each class has its status, and nothing that was not meant to be shown is shown."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from analytiq import errors
from analytiq.errors import AnalytiqError, FieldError, InvalidInputError, RateLimitedError
from api import problems
from api.application import create_app
from api.field_path import field_path, reason_of
from api.openapi import never_opened
from api.requests import MAX_BODY_BYTES, RequestContext

pytestmark = pytest.mark.slow


def classes_of_errors(root: type[AnalytiqError] = AnalytiqError) -> Iterator[type[AnalytiqError]]:
    """Every class of error in the library."""
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from classes_of_errors(kind)


class Body(BaseModel):
    """The body of the route below."""

    number: int
    tags: list[str] = []


def application() -> FastAPI:
    """An application whose routes fail as their paths say; it has the API's own handlers and middleware."""
    app = FastAPI(redirect_slashes=False)
    problems.install(app)
    app.add_middleware(RequestContext)
    raised: dict[str, Exception] = {
        "invalid": InvalidInputError("two wrong", errors=[FieldError("a", "is bad"), FieldError("b.c[0]", "too")]),
        "limited": RateLimitedError("slower", retry_after=7.4),
        "unexpected": RuntimeError("password=hunter2"),
        "unreachable": ServerSelectionTimeoutError("mongodb://user:hunter2@host"),
        "refused": OperationFailure("hunter2", 2),
        "gone": ClientDisconnect(),
        "unauthenticated": errors.AccessDeniedError("who are you", code="unauthenticated"),
    }

    async def fail(name: str) -> None:
        raise raised[name]

    async def take(body: Body) -> int:
        return body.number

    async def break_off() -> StreamingResponse:
        async def content() -> AsyncIterator[bytes]:
            yield b"first"
            raise RuntimeError("in the middle")

        return StreamingResponse(content())

    app.add_api_route("/fail/{name}", fail)
    app.add_api_route("/take", take, methods=["POST"])
    app.add_api_route("/break-off", break_off)
    return app


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A client of it without a socket; an exception that reaches the server fails the test."""
    transport = httpx.ASGITransport(application())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as opened:
        yield opened


def test_every_class_of_error_has_a_status_of_its_own_choice() -> None:
    known = {kind.__name__: problems.status_of(kind("x")) for kind in classes_of_errors()}
    assert known == {
        "InvalidInputError": 400,
        "NotFoundError": 404,
        "ConflictError": 409,
        "AccessDeniedError": 403,
        "QuotaExceededError": 402,
        "TransientError": 503,
        "RateLimitedError": 429,
        "PostponedError": 429,
        "StoreLoadingError": 503,
        "TransactionTooLargeError": 503,
        "StaleVersionError": 412,
        "PermanentError": 422,
        "UnsupportedFormatError": 422,
        "ParserUnavailableError": 422,
        "EncryptedFileError": 422,
        "WrongPasswordError": 422,
        "CorruptFileError": 422,
        "EmptyDocumentError": 422,
        "LimitExceededError": 413,
        "MemoryLimitError": 413,
        "DimensionMismatchError": 422,
        "ProviderRefusedError": 422,
        "CallRefusedError": 422,
        "ProviderUnavailableError": 503,
        "LeaseLostError": 500,
    }
    assert all(status in problems.TITLE_OF for status in known.values())


async def test_error_of_the_library_is_told_whole(client: httpx.AsyncClient) -> None:
    response = await client.get("/fail/invalid", headers={"X-Request-ID": "mine"})
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Invalid request",
        "status": 400,
        "code": "invalid_input",
        "detail": "two wrong",
        "errors": [{"field": "a", "reason": "is bad"}, {"field": "b.c[0]", "reason": "too"}],
        "instance": "/fail/invalid",
        "request_id": "mine",
    }


async def test_least_wait_is_told_in_whole_seconds(client: httpx.AsyncClient) -> None:
    response = await client.get("/fail/limited")
    assert (response.status_code, response.headers["retry-after"]) == (429, "8")


async def test_missing_token_is_asked_for(client: httpx.AsyncClient) -> None:
    response = await client.get("/fail/unauthenticated")
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("name", ["unexpected", "refused"])
async def test_unforeseen_error_shows_nothing_but_its_request_id(client: httpx.AsyncClient, name: str) -> None:
    response = await client.get(f"/fail/{name}")
    assert response.status_code == 500
    assert "hunter2" not in response.text
    assert response.json()["code"] == "internal_error"
    assert response.json()["request_id"] == response.headers["x-request-id"]
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_database_that_is_away_is_temporary_and_its_address_is_not_shown(client: httpx.AsyncClient) -> None:
    response = await client.get("/fail/unreachable")
    assert response.status_code == 503
    assert response.json()["code"] == "database_unreachable"
    assert "hunter2" not in response.text


async def test_answer_that_breaks_off_reaches_the_server_which_ends_the_connection(client: httpx.AsyncClient) -> None:
    with pytest.raises(RuntimeError, match="in the middle"):
        await client.get("/break-off")


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b'{"number": "many"}', "number"),
        (b"{}", "number"),
        (b'{"number": 1, "tags": ["a", 7]}', "tags[1]"),
        (b"[1]", "body"),
        (b"{", "body"),
    ],
)
async def test_wrong_body_is_a_problem_that_names_the_field(
    client: httpx.AsyncClient, content: bytes, field: str
) -> None:
    response = await client.post("/take", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["field"] == field
    assert error["reason"] in response.json()["detail"]


async def test_body_is_counted_as_it_comes_whatever_its_length_was_said_to_be(client: httpx.AsyncClient) -> None:
    sent = 0

    async def content() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65536
            yield b" " * 65536

    response = await client.post("/take", content=content(), headers={"Content-Type": "application/json"})
    assert response.status_code == 413
    assert response.json()["code"] == "too_large"
    assert sent <= MAX_BODY_BYTES + 2 * 65536


def test_place_of_a_field_is_written_as_a_path() -> None:
    assert field_path(("tag_ids", 0)) == "tag_ids[0]"
    assert field_path(("documents", 1, "metadata", "a")) == "documents[1].metadata.a"
    assert field_path(()) == "body"


def test_reason_is_a_sentence_without_the_validators_own_words() -> None:
    assert reason_of("extra_forbidden", "Extra inputs are not permitted") == "Unknown field."
    assert reason_of("missing", "Field required") == "Required."
    assert reason_of("value_error", "Value error, cannot be changed") == "cannot be changed"


async def test_path_that_leads_nowhere_is_named_with_where_paths_are_listed(client: httpx.AsyncClient) -> None:
    answer = await client.delete("/nowhere")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Nothing is at /nowhere. All paths are listed at /openapi.json."


async def test_method_that_a_path_does_not_take_is_told_which_it_takes(client: httpx.AsyncClient) -> None:
    answer = await client.get("/take")
    assert answer.status_code == 405
    assert answer.json()["detail"] == "GET is not allowed at /take. Allowed: POST."


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v0/orgs/o/chat/threads/t", "GET, PUT, DELETE"),
        ("/v0/orgs/o/tags", "GET, POST"),
        ("/v0/auth/session", "GET"),
        ("/health", "GET"),
    ],
)
async def test_every_method_that_a_path_takes_is_named_of_whichever_route(path: str, allowed: str) -> None:
    transport = httpx.ASGITransport(create_app(never_opened))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        answer = await client.patch(path)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == allowed
    assert answer.json()["detail"] == f"PATCH is not allowed at {path}. Allowed: {allowed}."


def test_length_of_a_list_is_told_without_how_it_was_checked() -> None:
    assert reason_of("too_long", "List should have at most 2 items after validation, not 3") == (
        "List should have at most 2 items, not 3"
    )


async def test_list_of_wrong_fields_is_bounded_and_says_how_many_there_are() -> None:
    transport = httpx.ASGITransport(application(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.post("/take", json={"number": 1, "tags": [1] * 50_000})
    body = response.json()
    assert (response.status_code, len(body["errors"])) == (400, problems.MOST_ERRORS)
    assert body["detail"].endswith("; and 49995 more.")


@pytest.mark.parametrize(("path", "value"), [("/v0/orgs/a/documents", "no-store"), ("/mcp", "no-store"), ("/", None)])
async def test_answer_to_a_caller_is_kept_in_no_cache(path: str, value: str | None) -> None:
    transport = httpx.ASGITransport(application(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.get(path)
    assert response.headers.get("cache-control") == value
