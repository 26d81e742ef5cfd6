"""A fake of an embedding provider: OpenAI's `/v1/embeddings`, strictly, over real HTTP. Only a test tool.

Vectors are hashed bags of words, so that texts that share words are close and search finds something.
What calls meet is scripted, call by call with `EmbeddingServer.script`, or by a rule over the calls' numbers with
`EmbeddingServer.rule`; what is not scripted succeeds.

    with EmbeddingServer() as server:
        ...  # base address server.url, key server.api_key, model "fake-embedding"

Or by itself: `python -m tests.fakes.embedding_server --port 0`, which prints its address and serves until
it is stopped.
"""

import argparse
import asyncio
import base64
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from enum import StrEnum
from typing import Self

import numpy as np
import orjson

from tests.fakes.bag_of_words import Vectors, bag_of_words
from tests.fakes.server_loop import ServerLoop

MAX_TEXTS = 2048
MODELS = ("fake-embedding", "text-embedding-3-small")
_NUMPY = orjson.OPT_SERIALIZE_NUMPY
_FIELDS = {"model", "input", "encoding_format", "dimensions", "user"}
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Failure(StrEnum):
    """The failure that one call meets instead of an answer, or in it."""

    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    UNAVAILABLE = "unavailable"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    SLOW = "slow"
    """Answers only when `EmbeddingServer.release` is called."""
    CUT = "cut"
    """The connection ends in the middle of the answer."""
    TOO_FEW = "too-few"
    WRONG_DIMENSIONS = "wrong-dimensions"
    UNEQUAL = "unequal"
    NOT_A_NUMBER = "not-a-number"
    ZERO = "zero"
    SHUFFLED = "shuffled"
    """The right vectors in another order, each with its index: a good answer."""
    WRONG_INDEX = "wrong-index"
    NOT_JSON = "not-json"
    """A page of HTML with status 200, as a proxy answers."""
    EMPTY = "empty"
    """Status 200 and nothing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An error answer of any status and text; `retry_after` as the header has it: seconds, or a date."""

    status: int
    message: str = "Something went wrong."
    retry_after: str | None = None


Outcome = Failure | Reply | None
"""The outcome of a call; None is success."""


def http_date(seconds_from_now: float) -> str:
    """A moment as headers have it; they know no fractions of a second."""
    return formatdate(time.time() + seconds_from_now, usegmt=True)


@dataclass(slots=True)
class _Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class _Answer:
    status: int
    content: bytes
    headers: dict[str, str] = field(default_factory=dict)
    is_html: bool = False


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class EmbeddingServer:
    """The server on a thread of its own; usable from blocking and from asynchronous tests.

    `calls`, `texts` and `text_counts` count what was answered with vectors; `requests` holds the decoded body
    of every call that was well-formed, whatever it met; `connections` counts the TCP connections. `extra_fields`
    are accepted in a body beside OpenAI's; `is_without_base64` answers numbers whatever is asked, as lesser servers do;
    `is_without_encoding_format` refuses that field, as strict ones do. `most_texts` and `most_tokens` (a word is one)
    bound a call; `models` are the only ones that it knows; `api_key` None asks for none.
    """

    def __init__(
        self,
        *,
        dimensions: int = 64,
        api_key: str | None = "fake-secret-key-0123456789",
        host: str = "127.0.0.1",
        port: int = 0,
        retry_after: str = "7",
        extra_fields: Sequence[str] = (),
        is_without_base64: bool = False,
        is_without_encoding_format: bool = False,
        most_texts: int = MAX_TEXTS,
        most_tokens: int | None = None,
        models: Sequence[str] = MODELS,
    ) -> None:
        self.dimensions = dimensions
        self.api_key = api_key or ""
        self.has_key = api_key is not None
        self.models = tuple(models)
        self.most_texts = most_texts
        self.most_tokens = most_tokens
        self.retry_after = retry_after
        self.calls = 0
        self.texts = 0
        self.text_counts: Counter[str] = Counter()
        self.requests: list[dict[str, object]] = []
        self.connections = 0
        self._host, self._port = host, port
        self._fields = (_FIELDS | set(extra_fields)) - ({"encoding_format"} if is_without_encoding_format else set())
        self._has_base64 = not is_without_base64
        self._script: deque[Outcome] = deque()
        self._rule: Callable[[int], Outcome] = lambda _: None
        self._loop = ServerLoop()
        self._released = asyncio.Event()
        self._arrived = threading.Event()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base address, as OpenAI's clients want it."""
        return f"http://{self._host}:{self._port}/v1"

    def script(self, *outcomes: Outcome) -> None:
        """Script the next calls, in order; None is success."""
        self._script.extend(outcomes)

    def rule(self, outcome: Callable[[int], Outcome]) -> None:
        """Decide the outcome of a call that is not scripted, on the server's thread.

        `outcome` is given the number of the call among all well-formed ones, from 1.
        """
        self._rule = outcome

    def release(self) -> None:
        """Let the calls that meet `Failure.SLOW`, now and later, go on."""
        self._loop.call(self._released.set)

    def wait_for_slow_call(self, timeout_seconds: float = 10.0) -> None:
        """Block until a call has met `Failure.SLOW`."""
        assert self._arrived.wait(timeout_seconds), "no call has met Failure.SLOW"

    def start(self) -> Self:
        """Listen; `url` is right from here on."""
        self._loop.start()
        self._server = self._loop.run(asyncio.start_server(self._serve, self._host, self._port))
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def stop(self) -> None:
        """Cut all connections and stop listening."""
        assert self._server is not None
        self._loop.stop(self._server)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                await self._respond(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _respond(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        failure: Outcome = None
        try:
            if (request.method, request.path) == ("GET", "/v1/models"):
                answer = _model_list(self.models)
            else:
                body = self._checked(request)
                failure = self._script.popleft() if self._script else self._rule(len(self.requests))
                answer = await self._answer(body, failure)
        except _RefusedError as refusal:
            answer = _error(refusal.status, refusal.message)
        content = _http(answer)
        if failure is Failure.CUT:
            writer.write(content[: len(content) // 2])
            await writer.drain()
            raise ConnectionResetError
        writer.write(content)
        await writer.drain()

    def _checked(self, request: _Request) -> dict[str, object]:
        if (request.method, request.path) != ("POST", "/v1/embeddings"):
            raise _RefusedError(404, f"Unknown request URL: {request.method} {request.path}")
        if self.has_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            # OpenAI repeats the key in this message too (masked), which is what makes it worth faking.
            raise _RefusedError(401, f"Incorrect API key provided: {request.headers.get('authorization')}.")
        try:
            body = json.loads(request.body)
        except ValueError:
            raise _RefusedError(400, "We could not parse the JSON body of your request.") from None
        _check_body(body, self._fields, self.models)
        self.requests.append(body)
        self._check_size(body)
        return body

    def _check_size(self, body: dict[str, object]) -> None:
        texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])  # type: ignore[call-overload]
        if len(texts) > self.most_texts:
            raise _RefusedError(400, f"batch size is invalid, it should not be larger than {self.most_texts}.")
        tokens = sum(len(text.split()) for text in texts)
        if self.most_tokens is not None and tokens > self.most_tokens:
            raise _RefusedError(400, f"Requested {tokens} tokens, max {self.most_tokens} tokens per request.")

    async def _answer(self, body: dict[str, object], failure: Outcome) -> _Answer:
        match failure:
            case Reply(status, message, retry_after):
                return _error(status, message, {} if retry_after is None else {"Retry-After": retry_after})
            case Failure.NOT_JSON:
                return _Answer(200, b"<html><body>Sign in to the network</body></html>", is_html=True)
            case Failure.EMPTY:
                return _Answer(200, b"")
            case Failure.RATE_LIMITED:
                return _error(429, "Rate limit reached.", {"Retry-After": self.retry_after})
            case Failure.SERVER_ERROR:
                return _error(500, "The server had an error while processing your request.")
            case Failure.UNAVAILABLE:
                return _error(503, "The engine is currently overloaded.", {"Retry-After": self.retry_after})
            case Failure.UNAUTHORIZED:
                return _error(401, f"Incorrect API key provided: {self.api_key}.")
            case Failure.REFUSED:
                return _error(400, f"Refused, and the key was {self.api_key}.")
            case Failure.SLOW:
                self._arrived.set()
                await self._released.wait()
            case _:
                pass
        embeddings = self._embeddings(body, failure)
        # orjson is ten times faster, but has no NaN.
        is_spoilt = failure is Failure.NOT_A_NUMBER
        content = json.dumps(embeddings).encode() if is_spoilt else orjson.dumps(embeddings, option=_NUMPY)
        return _Answer(200, content)

    def _embeddings(self, body: dict[str, object], failure: Outcome) -> dict[str, object]:
        given = body["input"]
        texts = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
        asked = body.get("dimensions")
        dimensions = asked if isinstance(asked, int) else self.dimensions
        vectors = bag_of_words(texts, dimensions + (failure is Failure.WRONG_DIMENSIONS))
        self.calls += 1
        self.texts += len(texts)
        self.text_counts.update(texts)
        is_base64 = self._has_base64 and body.get("encoding_format") == "base64"
        data = _rows(vectors, is_base64=is_base64)
        if isinstance(failure, Failure):
            data = _spoilt(data, failure)
        tokens = sum(len(text) // 4 + 1 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _model_list(models: Sequence[str]) -> _Answer:
    data = [{"id": model, "object": "model", "created": 0, "owned_by": "library"} for model in models]
    return _Answer(200, orjson.dumps({"object": "list", "data": data}))


def _check_body(body: object, fields: set[str], models: Sequence[str]) -> None:
    if not isinstance(body, dict):
        raise _RefusedError(400, "The body is not a JSON object.")
    unknown = sorted(set(body) - fields)
    if unknown:
        raise _RefusedError(400, f"Unrecognized request argument supplied: {unknown[0]}")
    if body.get("model") not in models:
        raise _RefusedError(404, f"The model `{body.get('model')}` does not exist or you do not have access to it.")
    if body.get("encoding_format", "float") not in {"float", "base64"}:
        raise _RefusedError(400, "encoding_format is neither 'float' nor 'base64'.")
    dimensions = body.get("dimensions", 1)
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1:
        raise _RefusedError(400, "dimensions is not a positive integer.")
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MAX_TEXTS:
        raise _RefusedError(400, f"input is not a string or a list of 1 to {MAX_TEXTS} strings.")
    if not all(isinstance(text, str) and text for text in texts):
        raise _RefusedError(400, "input has an element that is no string, or an empty one.")


def _rows(vectors: Vectors, *, is_base64: bool) -> list[dict[str, object]]:
    embeddings = [base64.b64encode(row.tobytes()).decode() for row in vectors] if is_base64 else vectors
    return [
        {"object": "embedding", "index": index, "embedding": embedding} for index, embedding in enumerate(embeddings)
    ]


def _spoilt(data: list[dict[str, object]], failure: Failure) -> list[dict[str, object]]:
    """The answer with the scripted fault in its last row."""
    for row in data:
        if isinstance(row["embedding"], np.ndarray):
            row["embedding"] = row["embedding"].tolist()
    last = data[-1]
    embedding = last["embedding"]
    match failure:
        case Failure.TOO_FEW:
            return data[:-1]
        case Failure.SHUFFLED:
            return data[::-1]
        case Failure.WRONG_INDEX:
            last["index"] = 99
        case Failure.UNEQUAL if isinstance(embedding, list):
            last["embedding"] = embedding[:-1]
        case Failure.NOT_A_NUMBER if isinstance(embedding, list):
            last["embedding"] = [float("nan"), *embedding[1:]]
        case Failure.ZERO if isinstance(embedding, list):
            last["embedding"] = [0.0] * len(embedding)
        case Failure.UNEQUAL | Failure.NOT_A_NUMBER | Failure.ZERO:
            last["embedding"] = _spoilt_base64(str(embedding), failure)
        case _:
            pass
    return data


def _spoilt_base64(embedding: str, failure: Failure) -> str:
    content = base64.b64decode(embedding)
    if failure is Failure.UNEQUAL:
        content = content[:-4]
    elif failure is Failure.ZERO:
        content = bytes(len(content))
    else:
        content = b"\x00\x00\xc0\x7f" + content[4:]
    return base64.b64encode(content).decode()


async def _read_request(reader: asyncio.StreamReader) -> _Request | None:
    """The next request of a connection, or None when the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return _Request(method, path, headers, body)


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> _Answer:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return _Answer(status, json.dumps(body).encode(), headers or {})


def _http(answer: _Answer) -> bytes:
    headers = {
        "Content-Type": "text/html" if answer.is_html else "application/json",
        "Content-Length": str(len(answer.content)),
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Error')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.content


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible embedding server, for tests.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--api-key", default="fake-secret-key-0123456789")
    options = parser.parse_args()
    server = EmbeddingServer(
        host=options.host, port=options.port, dimensions=options.dimensions, api_key=options.api_key
    )
    with server:
        print(f"A fake embedding server listens on {server.url} (model {MODELS[0]}).", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
