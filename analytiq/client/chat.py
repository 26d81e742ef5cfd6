"""Client calls for conversations, and their answers."""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from analytiq.client.answers import Failure
from analytiq.client.connection import Connection
from analytiq.client.errors import UnreachableError
from analytiq.client.paths import segment

MOST_RECONNECTS = 30
"""Most reconnects in a row, about a minute with the pauses: a killed API is back after ten seconds, if busy."""
LONGEST_PAUSE_SECONDS = 2.0


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class ChatUsage(_Answer):
    """Tokens, US dollars and SPUs; calls of models of unknown price are not in `cost_usd`."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    spus: int
    is_estimated: bool


class ChatThread(_Answer):
    """A conversation with knowledge bases."""

    thread_id: str
    title: str
    kb_ids: list[str]
    model: str | None
    score_threshold: float
    top_k: int
    searches_again: bool
    include: list[str] = Field(default_factory=list)
    token_budget: int | None
    message_count: int
    usage: ChatUsage
    running_message_id: str | None
    created_at: datetime
    updated_at: datetime


class _Provenance(_Answer):
    """The place of a chunk in its document, and the document's labels when it was found."""

    heading_path: list[str] = Field(default_factory=list)
    page_name: str = ""
    chunk_id: str = ""
    rank: int | None = None
    token_count: int = 0
    source_url: str | None = None
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    text_hash: str | None = None
    is_current: bool | None = None


class ChatPassage(_Provenance):
    """A passage shown to the model; answers cite it as `[number]`."""

    number: int
    kb_id: str
    document_id: str
    source: str
    chunk_index: int
    index_type: str = "paragraph"
    first_page: int
    last_page: int
    start: int
    end: int
    relevance: float
    content: str


class ChatCitation(_Provenance):
    """The source of a statement: `quote` is `text[start:end]` of the document's text, on `page`.

    `is_current` is False once the document's text was replaced or deleted; None in answers of older versions.
    """

    number: int
    kb_id: str
    document_id: str
    source: str
    chunk_index: int
    index_type: str = "paragraph"
    page: int
    start: int
    end: int
    quote: str
    marks: list[tuple[int, int]]


class ChatMessage(_Answer):
    """A question, or an answer: running, done, stopped or failed."""

    message_id: str
    thread_id: str
    number: int
    role: str
    content: str
    state: str
    question: str
    is_grounded: bool | None
    citations: list[ChatCitation]
    passages: list[ChatPassage]
    has_erased_passages: bool
    model: str | None
    usage: ChatUsage
    error: Failure | None
    created_at: datetime
    finished_at: datetime | None
    reasoning: str = ""
    """The model's reasoning before the answer."""
    ended_by: str | None = None
    """Reason for the end of a finished answer: complete, length, content_filter or empty."""
    can_continue: bool = False


class ChatEvent(_Answer):
    """An event of an answer: `name` is reasoning, token, tool_call, passages, usage, error or done."""

    id: str
    name: str
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """Return the text of a token event; empty for others."""
        return str(self.data.get("text", "")) if self.name == "token" else ""

    @property
    def message(self) -> ChatMessage | None:
        """Return the whole answer of a done event; None for others."""
        return ChatMessage.model_validate(self.data) if self.name == "done" else None


class _Asked(BaseModel):
    answer: ChatMessage


class _Continued(BaseModel):
    answer: ChatMessage
    last_event_id: str


class ChatCalls(Connection):
    """Conversations with knowledge bases."""

    def create_thread(self, kb_ids: Sequence[str], **options: Any) -> ChatThread:
        """Begin a thread; `options` are the API's: title, model, score_threshold, top_k, token_budget and more."""
        body = {"kb_ids": list(kb_ids), **{name: value for name, value in options.items() if value is not None}}
        return ChatThread.model_validate_json(self._transport.call("POST", "/chat/threads", json=body))

    def threads(self) -> Iterator[ChatThread]:
        """Yield all threads, the last used first."""
        return self._all("/chat/threads", "threads", ChatThread)

    def thread(self, thread_id: str) -> ChatThread:
        """Return a thread, with the usage of its answers."""
        return ChatThread.model_validate_json(self._transport.call("GET", f"/chat/threads/{segment(thread_id)}"))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with its messages; a running answer is stopped."""
        self._transport.call("DELETE", f"/chat/threads/{segment(thread_id)}")

    def chat_messages(self, thread_id: str) -> Iterator[ChatMessage]:
        """Yield all messages of a thread, oldest first."""
        return self._all(f"/chat/threads/{segment(thread_id)}/messages", "messages", ChatMessage)

    def chat_message(self, thread_id: str, message_id: str) -> ChatMessage:
        """Return a message."""
        path = f"/chat/threads/{segment(thread_id)}/messages/{segment(message_id)}"
        return ChatMessage.model_validate_json(self._transport.call("GET", path))

    def begin_answer(self, thread_id: str, question: str) -> ChatMessage:
        """Ask a question and return the beginning of its answer. Follow it, or it is stopped after a while."""
        path = f"/chat/threads/{segment(thread_id)}/messages"
        answer = self._transport.call("POST", path, json={"content": question})
        return _Asked.model_validate_json(answer).answer

    def follow_answer(self, thread_id: str, message_id: str, *, after: str | None = None) -> Iterator[ChatEvent]:
        """Yield the answer's events up to `done`; reconnect without repeating an event.

        Args:
            thread_id: the thread.
            message_id: the answer.
            after: the id of the last event received.

        Raises:
            ProblemError: there is no such answer.
            UnreachableError: reconnecting failed.
        """
        path = f"/chat/threads/{segment(thread_id)}/messages/{segment(message_id)}/events"
        failures = 0
        while True:
            try:
                for event in _events(self._transport.lines(path, headers={"Last-Event-ID": after} if after else {})):
                    after, failures = event.id, 0
                    yield event
                    if event.name == "done":
                        return
                # It ended without its last event, or everything was known already.
                if after is not None and after.endswith(".3"):
                    return
                failures += 1
            except httpx.TransportError as error:
                failures += 1
                if failures > MOST_RECONNECTS:
                    raise UnreachableError.of(error, self.url) from error
            if failures > MOST_RECONNECTS:
                raise UnreachableError(f"The API at {self.url} keeps ending the answer before its end; call again.")
            time.sleep(min(LONGEST_PAUSE_SECONDS, 0.25 * failures))

    def ask(self, thread_id: str, question: str) -> Iterator[ChatEvent]:
        """Ask, and follow the answer to its end; see `follow_answer`."""
        answer = self.begin_answer(thread_id, question)
        return self.follow_answer(thread_id, answer.message_id)

    def continue_answer(self, thread_id: str, message_id: str) -> Iterator[ChatEvent]:
        """Continue a thread's interrupted last answer, and follow the addition; see `follow_answer`."""
        path = f"/chat/threads/{segment(thread_id)}/messages/{segment(message_id)}/continue"
        told = _Continued.model_validate_json(self._transport.call("POST", path))
        return self.follow_answer(thread_id, message_id, after=told.last_event_id)

    def stop_answer(self, thread_id: str, message_id: str) -> ChatMessage:
        """Stop an answer; its text so far stays and is charged."""
        path = f"/chat/threads/{segment(thread_id)}/messages/{segment(message_id)}/stop"
        return ChatMessage.model_validate_json(self._transport.call("POST", path))


def _events(lines: Iterator[str]) -> Iterator[ChatEvent]:
    """Parse server-sent events from their lines; skip comments and `retry`."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield ChatEvent(id=fields.get("id", ""), name=fields.get("event", ""), data=json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}
