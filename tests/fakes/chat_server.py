"""A fake of a provider of chat models: OpenAI's `/v1/chat/completions`, strictly, over real HTTP. Only a test tool.

What it answers is scripted call by call; a call that is not scripted answers `Heard: <last message>`. It refuses what
OpenAI refuses: unknown fields, a tool's answer that answers no call, arguments that are no JSON, a tool choice without
tools. It also speaks Cohere's and Jina's `/v1/rerank` (by shared words), and lists its models.

    with ChatServer() as server:
        server.script(
            Say(tool_calls=[Call("search_knowledge_base", {"query": "notice period"})]),
            Say("Thirty days [1]."),
        )
        ...  # base address server.url, key server.api_key, model "openai/fake-chat"

Scripted steps: `Say` (text, tool calls, finish reason; `text` may be a function of the request), `Fail` (a status, with
Retry-After), `Cut` (the connection ends in the middle), `Slow` (waits for `release()` after some pieces), `Endless`
(goes on until its caller goes away). Streams send a word a piece, tool calls in fragments of the arguments.

By itself (`python -m tests.fakes.chat_server`) it is scripted over HTTP, by tests in another language: a POST to
`/script` of a list of `{"say": text, "tool_calls": [{"name", "arguments"}], "is_slow": bool}` and `{"fail": status}`;
a POST to `/release` lets slow ones go on.
"""

import argparse
import asyncio
import base64
import io
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from PIL import Image

from tests.fakes.server_loop import AppServer

MODELS = ("fake-chat", "fake-chat-small", "gpt-4o-mini")
_FIELDS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p",
    "max_tokens", "max_completion_tokens", "stream", "stream_options", "stop", "n", "seed", "user",
}  # fmt: skip
_RERANK_FIELDS = {"model", "query", "documents", "top_n", "return_documents", "max_chunks_per_doc", "rank_fields"}
FRAGMENT = 7
"""Characters of a tool call's arguments in one piece of a stream."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` as an object, or as the text that a careless model writes. `id` None: by its place."""

    name: str
    arguments: Mapping[str, object] | str
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer. `text` may be made from the request's body."""

    text: str | Callable[[dict[str, Any]], str] = ""
    tool_calls: Sequence[Call] = ()
    finish_reason: str | None = None
    has_usage: bool = True
    reasoning: str = ""
    """In a field of its own, as servers with a reasoning parser have it."""


@dataclass(frozen=True, slots=True)
class Fail:
    """An error instead of an answer; 200 with a `body` that is no JSON is possible too."""

    status: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends after so many pieces of the answer (streams), or in the middle of it."""

    answer: Say = field(default_factory=lambda: Say("one two three four five six"))
    pieces: int = 3


@dataclass(frozen=True, slots=True)
class Slow:
    """So many pieces, then nothing until `ChatServer.release`; without streaming, nothing before it."""

    answer: Say = field(default_factory=lambda: Say("one two three four five six"))
    pieces: int = 3


@dataclass(frozen=True, slots=True)
class Endless:
    """An answer that goes on until its caller goes away; without streaming, white space before an answer."""


Step = Say | Fail | Cut | Slow | Endless


class _RefusedError(Exception):
    pass


class ChatServer:
    """The server on a thread of its own; usable from blocking and from asynchronous tests.

    `requests` holds the decoded body of every well-formed chat call, `rerank_requests` of every rerank call;
    `cancelled` counts the streams whose caller went away before their end.
    """

    def __init__(self, *, api_key: str = "fake-chat-key-0123456789", port: int = 0) -> None:
        self.api_key = api_key
        self.requests: list[dict[str, Any]] = []
        self.rerank_requests: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.cancelled = 0
        self.is_reranking = True
        self._script: deque[Step] = deque()
        self._released = asyncio.Event()
        self._waiting = threading.Semaphore(0)
        self._cancellations = threading.Semaphore(0)
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/rerank", self._rerank)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/script", self._scripted)
        app.router.add_post("/release", self._release)
        self._server = AppServer(app, port=port)

    @property
    def url(self) -> str:
        """The base address, as a provider's `api_base`."""
        return f"{self._server.url}/v1"

    @property
    def calls(self) -> int:
        """Chat calls that were well-formed."""
        return len(self.requests)

    def script(self, *steps: Step) -> None:
        """Script the next calls, in order, after those that are scripted already."""
        self._server.loop.call(self._script.extend, steps)

    def wait_for_slow(self, timeout_seconds: float = 30.0) -> None:
        """Return once a `Slow` call waits."""
        assert self._waiting.acquire(timeout=timeout_seconds), "no slow call came"

    def wait_for_cancellation(self, timeout_seconds: float = 30.0) -> None:
        """Return once a caller has gone away in the middle of a stream."""
        assert self._cancellations.acquire(timeout=timeout_seconds), "nobody went away"

    def release(self) -> None:
        """Let every `Slow` call go on."""

        def release() -> None:
            self._released.set()
            self._released = asyncio.Event()

        self._server.loop.call(release)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def _authorized(self, request: web.Request) -> web.Response | None:
        if request.headers.get("authorization") != f"Bearer {self.api_key}":
            return _error(401, f"Incorrect API key provided: {request.headers.get('authorization')}.")
        return None

    async def _models(self, request: web.Request) -> web.Response:
        refused = self._authorized(request)
        data = [{"id": model, "object": "model", "created": 1, "owned_by": "fake"} for model in MODELS]
        return refused or web.json_response({"object": "list", "data": data})

    async def _scripted(self, request: web.Request) -> web.Response:
        self._script.extend(_step_of(item) for item in await request.json())
        return web.json_response({"scripted": len(self._script)})

    async def _release(self, _: web.Request) -> web.Response:
        self.release()
        return web.json_response({})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if refused := self._authorized(request):
            return refused
        try:
            body = _checked(await request.json())
        except (_RefusedError, ValueError) as refusal:
            self.refusals.append(str(refusal))
            return _error(400, str(refusal))
        self.requests.append(body)
        step = self._script.popleft() if self._script else Say(f"Heard: {_last_text(body)}")
        if isinstance(step, Fail):
            if step.body is not None:
                return web.Response(status=step.status, text=step.body, headers=step.headers)
            return _error(step.status, step.message, step.headers)
        if isinstance(step, Endless):
            return await self._stream_for_ever(request, body)
        if body.get("stream"):
            return await self._stream(request, body, step)
        if isinstance(step, Slow):
            await self._until_released()
        content = json.dumps(_whole(body, _answer_of(step))).encode()
        if isinstance(step, Cut):
            return await _cut(request, content)
        return web.Response(body=content, content_type="application/json")

    async def _stream(self, request: web.Request, body: dict[str, Any], step: Say | Cut | Slow) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        stop_at = None if isinstance(step, Say) else step.pieces
        try:
            for number, piece in enumerate(_pieces(body, _answer_of(step))):
                if number == stop_at and isinstance(step, Cut):
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                if number == stop_at:
                    await self._until_released()
                await response.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
            await response.write(b"data: [DONE]\n\n")
        except (ConnectionError, asyncio.CancelledError):
            self.cancelled += 1
            self._cancellations.release()
            raise
        return response

    async def _stream_for_ever(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        kind = "text/event-stream" if body.get("stream") else "application/json"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        try:
            number = 0
            while True:
                number += 1
                delta = {"content": f"and {number} "}
                piece = json.dumps(_piece(body, [{"index": 0, "delta": delta, "finish_reason": None}]))
                await response.write(f"data: {piece}\n\n".encode() if body.get("stream") else b" ")
                await asyncio.sleep(0.001)
        except (ConnectionError, asyncio.CancelledError):
            self.cancelled += 1
            self._cancellations.release()
            raise

    async def _until_released(self) -> None:
        released = self._released
        self._waiting.release()
        await released.wait()

    async def _rerank(self, request: web.Request) -> web.Response:
        if refused := self._authorized(request):
            return refused
        body = await request.json()
        unknown = sorted(set(body) - _RERANK_FIELDS)
        if unknown:
            return _error(400, f"Unrecognized request argument supplied: {unknown[0]}")
        if not self.is_reranking:
            return _error(503, "The engine is currently overloaded.")
        self.rerank_requests.append(body)
        asked = set(str(body["query"]).lower().split())
        texts = [item["text"] if isinstance(item, dict) else item for item in body["documents"]]
        scores = [len(asked & set(text.lower().split())) / max(1, len(asked)) for text in texts]
        order = sorted(range(len(texts)), key=lambda index: -scores[index])[: body.get("top_n") or len(texts)]
        results = [{"index": index, "relevance_score": scores[index]} for index in order]
        usage = {"total_tokens": sum(len(text) // 4 for text in texts)}
        meta = {"billed_units": {"search_units": 1}}
        return web.json_response({"id": "r", "model": body["model"], "results": results, "usage": usage, "meta": meta})


def _step_of(item: Mapping[str, Any]) -> Step:
    if "fail" in item:
        return Fail(int(item["fail"]))
    calls = [Call(call["name"], call["arguments"]) for call in item.get("tool_calls", ())]
    answer = Say(str(item.get("say", "")), tool_calls=calls)
    return Slow(answer) if item.get("is_slow") else answer


def _answer_of(step: Say | Cut | Slow) -> Say:
    return step if isinstance(step, Say) else step.answer


def _checked(body: Any) -> dict[str, Any]:
    """The body, or why OpenAI would refuse it."""
    if not isinstance(body, dict):
        raise _RefusedError("The body is not a JSON object.")
    unknown = sorted(set(body) - _FIELDS)
    if unknown:
        raise _RefusedError(f"Unrecognized request argument supplied: {unknown[0]}")
    if body.get("model") not in MODELS:
        raise _RefusedError(f"The model `{body.get('model')}` does not exist.")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise _RefusedError("messages is not a list of at least one message.")
    if "tool_choice" in body and not body.get("tools"):
        raise _RefusedError("tool_choice is given without tools.")
    waiting: set[str] = set()
    for message in body["messages"]:
        waiting = _checked_message(message, waiting)
    if waiting:
        raise _RefusedError(f"The tool calls {sorted(waiting)} are not answered.")
    return body


def _checked_message(message: Any, waiting: set[str]) -> set[str]:
    role = message.get("role")
    if role not in {"system", "user", "assistant", "tool"}:
        raise _RefusedError(f"{role!r} is no role.")
    if role == "tool":
        if message.get("tool_call_id") not in waiting:
            raise _RefusedError("A message of a tool answers no call before it.")
        return waiting - {message["tool_call_id"]}
    if waiting:
        raise _RefusedError(f"The tool calls {sorted(waiting)} are not answered.")
    calls = message.get("tool_calls") or []
    for call in calls:
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            raise _RefusedError("The arguments of a tool call are no JSON object.")
    content = message.get("content")
    if role == "user" and isinstance(content, list):
        _check_parts(content)
    elif role != "assistant" and not isinstance(content, str):
        raise _RefusedError(f"A message of {role} has no text.")
    return {call["id"] for call in calls}


def _check_parts(parts: list[Any]) -> None:
    """Refuse parts that OpenAI refuses: pictures are whole PNG or JPEG files in data URIs, as their type says."""
    if not parts:
        raise _RefusedError("A message of user has no parts.")
    for part in parts:
        match part:
            case {"type": "text", "text": str(), **rest} if not rest:
                pass
            case {"type": "image_url", "image_url": {"url": str(url)}, **rest} if not rest:
                picture_of(url)
            case _:
                raise _RefusedError(f"{str(part)[:80]} is no part of a message.")


def picture_of(url: str) -> Image.Image:
    """The picture in a data URI."""
    head, _, data = url.partition(",")
    kinds = {"data:image/png;base64": "PNG", "data:image/jpeg;base64": "JPEG"}
    if head not in kinds:
        raise _RefusedError(f"{head[:80]} is no data URI of a PNG or a JPEG.")
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
        picture.load()
    except (ValueError, OSError) as error:
        raise _RefusedError(f"The picture cannot be read: {error}") from error
    if picture.format != kinds[head]:
        raise _RefusedError(f"The picture is a {picture.format}.")
    return picture


def pictures_of(body: dict[str, Any]) -> list[Image.Image]:
    """The pictures of the last message."""
    parts = body["messages"][-1]["content"]
    return [picture_of(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]


def _last_text(body: dict[str, Any]) -> str:
    content = body["messages"][-1].get("content")
    if isinstance(content, list):
        return " ".join(part["text"] for part in content if part["type"] == "text")
    return str(content)


def _text_of(body: dict[str, Any], answer: Say) -> str:
    return answer.text if isinstance(answer.text, str) else answer.text(body)


def _calls_of(answer: Say) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{index}" if call.id is None else call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.text},
        }
        for index, call in enumerate(answer.tool_calls)
    ]


def _finish_reason(answer: Say) -> str:
    return answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")


def _usage(body: dict[str, Any], text: str) -> dict[str, int]:
    asked = sum(len(str(message.get("content"))) for message in body["messages"]) // 4 + 1
    answered = len(text) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _whole(body: dict[str, Any], answer: Say) -> dict[str, Any]:
    text = _text_of(body, answer)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = _calls_of(answer)
    whole = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(answer)}],
    }
    if answer.has_usage:
        whole["usage"] = _usage(body, text)
    return whole


def _pieces(body: dict[str, Any], answer: Say) -> list[dict[str, Any]]:
    """A word a piece; a tool call's name first, then its arguments in fragments; the usage last, where asked for."""
    text = _text_of(body, answer)
    words = [word if place == 0 else f" {word}" for place, word in enumerate(text.split(" "))] if text else []
    thoughts = [{"reasoning_content": f"{word} "} for word in answer.reasoning.split()]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *thoughts, *({"content": w} for w in words)]
    for index, call in enumerate(_calls_of(answer)):
        arguments = call["function"]["arguments"]
        head = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + FRAGMENT]}}]}
            for start in range(0, len(arguments), FRAGMENT)
        ]
    pieces = [_piece(body, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    pieces.append(_piece(body, [{"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}]))
    if answer.has_usage and (body.get("stream_options") or {}).get("include_usage"):
        pieces.append({**_piece(body, []), "usage": _usage(body, text)})
    return pieces


def _piece(body: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
        "choices": choices,
    }


async def _cut(request: web.Request, content: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return web.json_response(body, status=status, headers=headers)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible chat server, for tests.")
    parser.add_argument("--port", type=int, default=0)
    with ChatServer(port=parser.parse_args().port) as server:
        print(f"A fake chat server listens on {server.url} (model {MODELS[0]}).", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
