"""Answers about conversations."""

from datetime import datetime
from typing import Any

from pydantic import Field, JsonValue

from analytiq.client.answers import Answer, Failure


class ChatUsage(Answer):
    """Tokens, US dollars and SPUs; calls of models of unknown price are not in `cost_usd`."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    spus: int
    is_estimated: bool


class ChatThread(Answer):
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


class _Provenance(Answer):
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


class ChatStep(Answer):
    """A step of an answer: a search, or another tool call of the model."""

    kind: str
    at: int
    call_id: str
    name: str
    arguments: str
    query: str
    numbers: list[int]
    notes: list[str]
    error: str | None


class ChatMessage(Answer):
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
    steps: list[ChatStep] = Field(default_factory=list[ChatStep])


class ChatEvent(Answer):
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


class ChatAsked(Answer):
    """A question, and the beginning of its answer."""

    question: ChatMessage | None = None
    events_path: str = ""
    answer: ChatMessage


class ChatContinued(Answer):
    """An answer that goes on, and the event after which it does."""

    events_path: str = ""
    answer: ChatMessage
    last_event_id: str
