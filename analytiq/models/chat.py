"""Conversations about what stands in knowledge bases: threads, and the messages in them."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.document import Failure
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.stored import Stored


class ChatUsage(Stored):
    """What was used of chat models. Calls of models whose price is not known are not in `cost_usd`.

    `is_estimated`: of a call that was cut, or whose provider does not count, tokens are taken from characters.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    spus: int = 0
    """Charged for questions that were embedded for the first time."""
    is_estimated: bool = False

    @property
    def tokens(self) -> int:
        """Asked and answered."""
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

    `model` None: the organization's default. `score_threshold`: the least relevance of a passage that the model is
    shown. `token_budget`: of all answers together. `running_message_id` is the answer that is being given, by a
    process that says so until `running_until`; another is begun only after it. `owner` is who began it, and reads it
    alone: `user:{id}` or `token:{id}`; None: it is older than that rule, and everybody's in the organization.
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
    """The model may search further by itself."""
    token_budget: int | None = None
    message_count: int = 0
    usage: ChatUsage = ChatUsage()
    running_message_id: str | None = None
    running_until: datetime | None = None
    created_at: datetime
    updated_at: datetime


class ChatRole(StrEnum):
    """Who says a message."""

    USER = "user"
    ASSISTANT = "assistant"


class AnswerState(StrEnum):
    """running ──▶ done | stopped | failed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """By its reader, or because nobody read it any more."""
    FAILED = "failed"


class AnswerEnd(StrEnum):
    """How the model ended an answer that is done."""

    COMPLETE = "complete"
    LENGTH = "length"
    """Cut: its tokens were used up. It can be continued."""
    CONTENT_FILTER = "content_filter"
    """Cut or withheld by the provider's filter."""
    EMPTY = "empty"
    """The model said nothing."""


class ChatCitation(Stored):
    """What an answer rests on: the sentence of a passage that fits the citing sentence best.

    `quote` is `text[start:end]` of the document's text, on `page`; `marks` are the places [start, end) of `[number]`
    in the answer.
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
    text_hash: str | None = None
    """As in `ShownPassage`."""


class StepKind(StrEnum):
    """What was done between two pieces of text."""

    TOOL_CALL = "tool_call"
    PASSAGES = "passages"


class ChatStep(Stored):
    """One step. `at`: after so many characters of the answer. `numbers`: of the passages that a search has found.

    `arguments` is JSON. `error`: why a call did nothing, as the model was told.
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

    `question`: what was searched for, worded so that it stands alone. `is_grounded`: the answer cites a passage.
    `document_ids`: of every passage that it was made from; `has_erased_passages`: documents among them were deleted.
    `ended_by`: of an answer that is done; None in those of before it was noted. `reasoning`: what the model thought,
    which is no part of the answer. `heartbeat_at` and `listened_at`: when the process that answers, and a reader in
    another one, last said so.
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
        """Whether the model may go on where the answer ended: it was cut, stopped, or broke off."""
        if self.role is not ChatRole.ASSISTANT or not self.content.strip():
            return False
        return self.ended_by is AnswerEnd.LENGTH or self.state in (AnswerState.STOPPED, AnswerState.FAILED)
