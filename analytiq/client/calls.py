"""Calls and pages, as flows; retries included."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from analytiq.client.answers import Page
from analytiq.client.errors import ProblemError, UnreachableError, problem_of, require_own_answer
from analytiq.client.patience import Patience
from analytiq.client.steps import (
    Emit,
    FilePart,
    Flow,
    Items,
    Open,
    Pause,
    QueryValue,
    ReadBlock,
    Reply,
    Request,
    Rewindable,
    Send,
)
from analytiq.errors import AnalytiqError

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Query = Mapping[str, QueryValue | None]

PAGE_SIZE = 100
"""The API's largest page."""
NO_QUERY: Query = {}


def get(path: str, model: type[M], query: Query = NO_QUERY) -> Flow[M]:
    """Read an object."""
    reply = yield from call(Request("GET", path, query=query))
    return model.model_validate_json(reply.content)


def post(
    path: str, model: type[M], body: Mapping[str, Any] | None = None, *, query: Query = NO_QUERY, changes: bool = True
) -> Flow[M]:
    """Send a body and return the answer; `changes` False: repeating the call changes nothing more."""
    reply = yield from call(Request("POST", path, query=query, json=body, is_repeatable=not changes))
    return model.model_validate_json(reply.content)


def put(path: str, model: type[M], body: Mapping[str, Any], *, query: Query = NO_QUERY) -> Flow[M]:
    """Change an object and return it."""
    reply = yield from call(Request("PUT", path, query=query, json=body))
    return model.model_validate_json(reply.content)


def delete(path: str, query: Query = NO_QUERY) -> Flow[None]:
    """Delete an object."""
    yield from call(Request("DELETE", path, query=query))


def call(request: Request) -> Flow[Reply]:
    """Return the answer; retry while the API is unavailable, without making a change twice.

    Raises:
        ProblemError: the API refuses the call.
        UnreachableError: nothing answers.
        InvalidInputError: a value to send is not text.
    """
    has_key = request.method == "POST" and not request.is_repeatable and not request.is_outside
    is_safe = request.is_repeatable or has_key or request.method in ("GET", "PUT", "DELETE")
    patience = Patience(
        has_key=has_key, is_safe=is_safe, may_wait_long=request.is_repeatable or request.method == "GET"
    )
    key = uuid4().hex
    while True:
        headers = {**request.headers, **({"Idempotency-Key": key} if has_key else {})}
        try:
            return (yield from _once(request, headers))
        except (ProblemError, UnreachableError) as error:
            if request.method == "DELETE" and patience.is_repeated and _is_not_found(error):
                return Reply(204, {}, b"", "")  # an earlier attempt, whose answer was lost, has deleted it
            yield Pause(patience.pause_after(error))
            if isinstance(error, ProblemError) and error.status == 429:
                key = uuid4().hex  # the API keeps a refusal by its key
            for file in request.files:
                begin_again(file)


def _once(request: Request, headers: Mapping[str, str]) -> Flow[Reply]:
    reply: Reply = yield Send(replace(request, headers=headers))
    if reply.status >= 400:
        raise problem_of(reply)
    require_own_answer(reply, accepts_text=request.accepts_text)
    return reply


def begin_again(part: FilePart) -> None:
    """Rewind a file that is sent again.

    Raises:
        InvalidInputError: it is a stream that cannot be.
    """
    _, (_, file, _) = part
    if isinstance(file, Rewindable):
        file.begin_again()
    else:
        file.seek(0)


def _is_not_found(error: ProblemError | UnreachableError) -> bool:
    return isinstance(error, ProblemError) and error.status == 404


def open_stream(request: Request) -> Flow[Reply]:
    """Begin to read an answer in parts.

    Raises:
        ProblemError: the API refuses the call.
        UnreachableError: nothing answers.
    """
    reply: Reply = yield Open(request)
    if reply.status >= 400:
        raise problem_of(reply)
    return reply


def blocks(path: str, query: Query = NO_QUERY) -> Items[bytes]:
    """Emit the content of an answer as it arrives.

    Raises:
        ProblemError: the API refuses the call.
        UnreachableError: the connection broke, or could not be opened.
    """
    yield from open_stream(Request("GET", path, query=query))
    while True:
        block: bytes | None = yield ReadBlock()
        if block is None:
            return
        yield Emit(block)


def all_items(path: str, key: str, model: type[M], query: Query = NO_QUERY, *, page_size: int = PAGE_SIZE) -> Items[M]:
    """Emit the items of all pages."""
    skip = 0
    while True:
        found = yield from page(path, key, model, query, skip=skip, limit=page_size)
        for item in found.items:
            yield Emit(item)
        skip += len(found.items)
        if not found.items or skip >= found.total_count:
            return


def page(
    path: str, key: str, model: type[M], query: Query = NO_QUERY, *, skip: int, limit: int
) -> "Flow[Page[M]]":  # unquoted, it would build the model at import
    """Read a page of a list."""
    reply = yield from call(Request("GET", path, query={**query, "skip": skip, "limit": limit}))
    answer: dict[str, Any] = json.loads(reply.content)
    items = [model.model_validate(item) for item in answer.pop(key)]
    # With the list's further fields; `items` are models already.
    return Page[M].model_construct(None, **{"total_count_is_at_least": False, **answer, "items": items})


def first(items: Items[T], matches: Callable[[T], bool]) -> Flow[T | None]:
    """Return the first item that matches; read no further."""
    try:
        step = next(items)
        while True:
            if isinstance(step, Emit):
                if matches(step.item):
                    return step.item
                step = next(items)
                continue
            try:
                received = yield step
            except AnalytiqError as error:
                step = items.throw(error)
            else:
                step = items.send(received)
    except StopIteration:
        return None
    finally:
        items.close()


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
