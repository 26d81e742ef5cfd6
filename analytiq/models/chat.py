"""Conversations with knowledge bases: threads and their messages."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from analytiq.models.document import Failure
from analytiq.models.index_types import IndexType
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.stored import Stored


class ChatUsage(Stored):
    """Use of chat models. Calls of unknown price are not in `cost_usd`.

    `is_estimated`: tokens of a cut call, or of a provider that does not count, are estimated from characters.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    spus: int = 0
    """SPUs charged for questions that were embedded for the first time."""
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        """Return the tokens of questions and answers."""
        return self.prompt_tokens + self.completion_tokens

    def without(self, other: "ChatUsage") -> "ChatUsage":
        """Subtract what was counted before."""
        return ChatUsage(
            calls=self.calls - other.calls,
            prompt_tokens=self.prompt_tokens - other.prompt_tokens,
            completion_tokens=self.completion_tokens - other.completion_tokens,
            cost_usd=self.cost_usd - other.cost_usd,
            unpriced_calls=self.unpriced_calls - other.unpriced_calls,
            spus=self.spus - other.spus,
            is_estimated=self.is_estimated,
        )

    def __add__(self, other: "ChatUsage") -> "ChatUsage":
        return ChatUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            spus=self.spus + other.spus,
            is_estimated=self.is_estimated or other.is_estimated,
        )


class ChatThread(Stored):
    """A row of `chat_threads`.

    `model` None: the organization's default. `score_threshold`: the least relevance of a passage sent to the
    model. `token_budget`: for all answers together. `running_message_id`: the answer in progress, by a process that
    renews `running_until`; the next answer begins only after it. `owner`: the only reader, `user:{id}` or `token:{id}`;
    None in threads older than owners, which all of the organization may read.
    """

    id: str
    organization_id: str
    owner: str | None = None
    title: str
    kb_ids: tuple[str, ...]
    model: str | None = None
    score_threshold: float
    top_k: int
    searches_again: bool = True
    """True lets the model search further on its own."""
    include: tuple[str, ...] = ("tags",)
    """Details of each passage's document that its searches ask for."""
    token_budget: int | None = None
    message_count: int = 0
    usage: ChatUsage = ChatUsage()
    running_message_id: str | None = None
    running_until: datetime | None = None
    created_at: datetime
    updated_at: datetime


class ChatRole(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"


class AnswerState(StrEnum):
    """running ──▶ done | stopped | failed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """Stopped by its reader, or for lack of readers."""
    FAILED = "failed"


class AnswerEnd(StrEnum):
    """The end of an answer that is done."""

    COMPLETE = "complete"
    LENGTH = "length"
    """Cut because the model's tokens were used up; it can be continued."""
    CONTENT_FILTER = "content_filter"
    """Cut or withheld by the provider's filter."""
    EMPTY = "empty"
    """The model returned no text."""


class ChatCitation(Stored):
    """A citation: the sentence of a passage that fits the citing sentence best.

    `quote` is `text[start:end]` of the document's text, on `page`. `marks` are the ranges [start, end) of `[number]` in
    the answer.
    """

    number: int
    kb_id: str
    document_id: str
    source: str
    chunk_index: int
    page: int
    start: int
    end: int
    quote: str
    marks: tuple[tuple[int, int], ...] = ()
    index_type: IndexType = IndexType.PARAGRAPH
    heading_path: tuple[str, ...] = ()
    page_name: str = ""
    chunk_id: str = ""
    rank: int | None = None
    token_count: int = 0
    source_url: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    text_hash: str | None = None
    """As in `ShownPassage`."""


class StepKind(StrEnum):
    """The kind of a step between two pieces of text."""

    TOOL_CALL = "tool_call"
    PASSAGES = "passages"


class ChatStep(Stored):
    """One step. `at`: characters of the answer before it. `numbers`: numbers of the passages found.

    `arguments` is JSON. `error`: the reason for a call without effect, as sent to the model.
    """

    kind: StepKind
    at: int
    call_id: str
    name: str = ""
    arguments: str = ""
    query: str = ""
    numbers: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None


class ChatMessage(Stored):
    """A row of `chat_messages`: a question, or an answer.

    `question`: the question as searched for, worded to stand alone. `is_grounded`: whether the answer cites a passage.
    `document_ids`: documents of all its passages; `has_erased_passages`: some of them were deleted. `ended_by`: None in
    answers that are not done, or older than the field. `reasoning`: the model's reasoning, which is not part of the
    answer. `heartbeat_at` and `listened_at`: the last signs of life of the answering process, and of a reader in
    another process.
    """

    id: str
    organization_id: str
    thread_id: str
    number: int
    role: ChatRole
    content: str = ""
    reasoning: str = ""
    state: AnswerState = AnswerState.DONE
    ended_by: AnswerEnd | None = None
    question: str = ""
    steps: tuple[ChatStep, ...] = ()
    passages: tuple[ShownPassage, ...] = ()
    citations: tuple[ChatCitation, ...] = ()
    is_grounded: bool | None = None
    document_ids: tuple[str, ...] = ()
    has_erased_passages: bool = False
    model: str | None = None
    usage: ChatUsage = ChatUsage()
    error: Failure | None = None
    is_stop_wanted: bool = False
    heartbeat_at: datetime | None = None
    listened_at: datetime | None = None
    created_at: datetime
    finished_at: datetime | None = None

    @property
    def can_continue(self) -> bool:
        """Return whether the answer can be continued: it was cut, stopped or interrupted."""
        if self.role is not ChatRole.ASSISTANT or not self.content.strip():
            return False
        return self.ended_by is AnswerEnd.LENGTH or self.state in (AnswerState.STOPPED, AnswerState.FAILED)
