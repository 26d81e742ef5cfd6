"""Request and response bodies of conversations."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from analytiq.assistants.chat.events import Event, EventName
from analytiq.assistants.chat.threads import NewThread
from analytiq.models.chat import (
    AnswerEnd,
    AnswerState,
    ChatCitation,
    ChatMessage,
    ChatRole,
    StepKind,
)
from analytiq.models.index_types import IndexType
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.text import CurrentTexts
from analytiq.retrieval.pipeline.details import SMALL
from api.schemas.documents import FailureResponse
from api.schemas.search import Included
from api.schemas.wire import NO_CONTROLS, NO_NUL, IsCurrent, Moment, RequestBody, ResponseBody, TextHash

Title = Annotated[str, Field(max_length=200), NO_CONTROLS]
Threshold = Annotated[float, Field(ge=0, le=1, description="Minimum relevance of passages given to the model")]
TopK = Annotated[int, Field(ge=1, le=50, description="Number of passages of an answer's first search")]
Model = Annotated[str, Field(min_length=1, max_length=200), NO_CONTROLS]
Budget = Annotated[
    int, Field(ge=1, description="Maximum tokens of all answers together; further questions are refused with 402")
]


class ChatThreadCreate(RequestBody):
    """A conversation with knowledge bases. Omitted fields have the default value."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kb_ids": ["507f1f77bcf86cd799439011"]},
                {
                    "kb_ids": ["507f1f77bcf86cd799439011"],
                    "title": "Supplier contracts",
                    "score_threshold": 0.6,
                    "top_k": 5,
                    "searches_again": False,
                    "token_budget": 100000,
                },
            ]
        },
    )

    kb_ids: Annotated[list[str], Field(min_length=1, max_length=20)]
    title: Title = ""
    model: Model | None = Field(None, description="A chat model; default: the organization's default")
    score_threshold: Threshold | None = None
    top_k: TopK | None = None
    searches_again: Annotated[bool, Field(description="True if the model may search again by itself")] = True
    include: Included = Field(default_factory=lambda: SMALL)
    token_budget: Budget | None = None

    def wanted(self) -> NewThread:
        """Convert to the library's request."""
        return NewThread(
            kb_ids=tuple(self.kb_ids),
            title=self.title.strip(),
            model=self.model,
            score_threshold=self.score_threshold,
            top_k=self.top_k,
            searches_again=self.searches_again,
            include=self.include,
            token_budget=self.token_budget,
        )


class ChatThreadUpdate(RequestBody):
    """Changes for future answers. Omitted fields stay."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Contracts of 2026"}]})

    title: Title | None = None
    model: Model | None = None
    score_threshold: Threshold | None = None
    top_k: TopK | None = None
    searches_again: bool | None = None
    include: Included | None = None
    token_budget: Budget | None = None


class ChatQuestion(RequestBody):
    """A question."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": "How much notice is needed to end the agreement?"}]}
    )

    content: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S"), NO_NUL]


class ChatUsageResponse(ResponseBody):
    """Tokens, US dollars and SPUs. `cost_usd` excludes calls of models without a known price."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    spus: int
    is_estimated: bool


class ChatThreadResponse(ResponseBody):
    """A thread; `running_message_id` is the running answer."""

    thread_id: str = Field(validation_alias="id")
    title: str
    kb_ids: list[str]
    model: str | None
    score_threshold: float
    top_k: int
    searches_again: bool
    include: list[str]
    token_budget: int | None
    message_count: int
    usage: ChatUsageResponse
    running_message_id: str | None
    created_at: Moment
    updated_at: Moment


class ChatThreadList(ResponseBody):
    """A page of threads, latest message first."""

    threads: list[ChatThreadResponse]
    total_count: int
    skip: int


class ChatPassageResponse(ResponseBody):
    """A passage given to the model: `text[start:end]` of the document's text. Answers cite it as `[number]`."""

    number: int
    kb_id: str
    document_id: str
    source: str = Field(description="The document's name")
    chunk_index: int
    index_type: IndexType
    first_page: int
    last_page: int
    start: int
    end: int
    relevance: float
    content: str
    heading_path: list[str] = Field(description="The headings above the passage, outermost first")
    page_name: str = Field(description="Name of its sheet, slide or chapter; empty for none")
    chunk_id: str = Field(description="Valid until its document is indexed again; empty in old answers")
    rank: int | None = Field(description="Place among the matches of its search, from 1; null for a neighbor")
    token_count: int
    source_url: str | None = Field(description="Web address of the document's original")
    tags: list[str] = Field(description="Names of the document's tags at the time of the search")
    metadata: dict[str, JsonValue] = Field(description="The document's metadata that the thread's `include` asks for")
    text_hash: TextHash
    is_current: IsCurrent

    @classmethod
    def from_passage(cls, passage: ShownPassage, texts: CurrentTexts) -> "ChatPassageResponse":
        """Build the response; `texts` tells whether the document's text is unchanged."""
        return cls.from_model(passage, is_current=texts.is_current(passage.document_id, passage.text_hash))


class ChatCitationResponse(ResponseBody):
    """Evidence of an answer: `quote` is `text[start:end]` of the document's text, on `page`.

    A citation keeps its quote when the document is replaced; `is_current` is then false.
    `marks`: the positions of `[number]` in the answer, as [start, end) in characters.
    """

    number: int
    kb_id: str
    document_id: str
    source: str
    chunk_index: int
    index_type: IndexType
    page: int
    start: int
    end: int
    quote: str
    marks: list[tuple[int, int]]
    heading_path: list[str] = Field(description="The headings above the passage, outermost first")
    page_name: str = Field(description="Name of its sheet, slide or chapter; empty for none")
    chunk_id: str = Field(description="Valid until its document is indexed again; empty in old answers")
    rank: int | None = Field(description="Place among the matches of its search, from 1; null for a neighbor")
    token_count: int
    source_url: str | None = Field(description="Web address of the document's original")
    tags: list[str] = Field(description="Names of the document's tags at the time of the search")
    metadata: dict[str, JsonValue] = Field(description="The document's metadata that the thread's `include` asks for")
    text_hash: TextHash
    is_current: IsCurrent

    @classmethod
    def from_citation(cls, citation: ChatCitation, texts: CurrentTexts) -> "ChatCitationResponse":
        """Build the response; `texts` tells whether the document's text is unchanged."""
        return cls.from_model(citation, is_current=texts.is_current(citation.document_id, citation.text_hash))


class ChatStepResponse(ResponseBody):
    """A step after `at` characters of the answer: a search request, or the found passages (`numbers`)."""

    kind: StepKind
    at: int
    call_id: str
    name: str
    arguments: str = Field(description="JSON as written by the model")
    query: str
    numbers: list[int]
    notes: list[str]
    error: str | None


class ChatMessageResponse(ResponseBody):
    """A question, or an answer with its citations."""

    message_id: str = Field(validation_alias="id")
    thread_id: str
    number: int = Field(description="Number within the thread, from 1")
    role: ChatRole
    content: str
    reasoning: str = Field(description="The model's reasoning before the answer: not part of the answer, never cited")
    state: AnswerState
    ended_by: AnswerEnd | None = Field(
        description="Of a finished answer: complete, cut (`length`, `content_filter`) or empty; null in old answers"
    )
    can_continue: bool = Field(description="True if the model can continue the answer, as the thread's last message")
    question: str = Field(description="Of an answer: the standalone search question")
    is_grounded: bool | None = Field(
        description="True if the answer cites a passage; null for questions and running answers"
    )
    citations: list[ChatCitationResponse]
    passages: list[ChatPassageResponse]
    steps: list[ChatStepResponse]
    has_erased_passages: bool = Field(
        description="True if the answer was emptied because a document among its sources was deleted"
    )
    model: str | None
    usage: ChatUsageResponse
    error: FailureResponse | None
    created_at: Moment
    finished_at: Moment | None

    @classmethod
    def from_message(cls, message: ChatMessage, texts: CurrentTexts) -> "ChatMessageResponse":
        """Build the response; `texts` tells which documents still have the cited text."""
        return cls.from_model(
            message,
            citations=[ChatCitationResponse.from_citation(item, texts) for item in message.citations],
            passages=[ChatPassageResponse.from_passage(item, texts) for item in message.passages],
        )


class ChatMessageList(ResponseBody):
    """A page of a thread's messages, oldest first."""

    messages: list[ChatMessageResponse]
    total_count: int
    skip: int


class ChatAsked(ResponseBody):
    """The question and its running answer: follow it at `events_path`, or poll it."""

    question: ChatMessageResponse
    answer: ChatMessageResponse
    events_path: str


class ChatContinued(ResponseBody):
    """The continued answer: follow it at `events_path`, or poll it."""

    answer: ChatMessageResponse
    events_path: str
    last_event_id: str = Field(description="Send it as `Last-Event-ID` to receive only the continuation")


class ChatThreadDeleted(ResponseBody):
    """The confirmation of a deleted thread."""

    message: Literal["Thread deleted"] = "Thread deleted"


class TokenEvent(ResponseBody):
    """`token`: the next piece of the answer."""

    text: str


class ReasoningEvent(ResponseBody):
    """`reasoning`: the next piece of the model's reasoning."""

    text: str


class ToolCallEvent(ResponseBody):
    """`tool_call`: a search request; `arguments` is JSON."""

    call_id: str
    name: str
    arguments: str


class PassagesEvent(ResponseBody):
    """`passages`: the passages found by a search, or the `error` reported to the model."""

    call_id: str
    query: str
    passages: list[ChatPassageResponse]
    notes: list[str]
    error: str | None


class ErrorEvent(ResponseBody):
    """`error`: the reason for an interrupted answer."""

    code: str
    detail: str


def event_data(event: Event, message: ChatMessage, texts: CurrentTexts) -> ResponseBody:
    """Return the data of an event."""
    match event.name:
        case EventName.TOKEN:
            return TokenEvent(text=event.text)
        case EventName.REASONING:
            return ReasoningEvent(text=event.text)
        case EventName.TOOL_CALL | EventName.PASSAGES:
            return _step_data(event, message, texts)
        case EventName.USAGE:
            return ChatUsageResponse.from_model(message.usage)
        case EventName.ERROR:
            failure: Any = message.error
            return ErrorEvent(code=failure.code, detail=failure.detail)
        case EventName.DONE:
            return ChatMessageResponse.from_message(message, texts)


def _step_data(event: Event, message: ChatMessage, texts: CurrentTexts) -> ResponseBody:
    step = event.step
    if step is None:
        raise ValueError(f"an event {event.name.value!r} is of a step")
    if event.name is EventName.TOOL_CALL:
        return ToolCallEvent(call_id=step.call_id, name=step.name, arguments=step.arguments)
    shown = [passage for passage in message.passages if passage.number in step.numbers]
    # Best first, as they were found.
    shown.sort(key=lambda passage: step.numbers.index(passage.number))
    return PassagesEvent(
        call_id=step.call_id,
        query=step.query,
        passages=[ChatPassageResponse.from_passage(passage, texts) for passage in shown],
        notes=list(step.notes),
        error=step.error,
    )
