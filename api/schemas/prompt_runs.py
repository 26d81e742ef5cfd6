"""Request and response bodies of prompt runs and results."""

import json
from typing import Annotated, Self

from pydantic import ConfigDict, Field, JsonValue

from analytiq.assistants.prompts.conversation import result_text
from analytiq.assistants.prompts.export import answer_of
from analytiq.assistants.prompts.runs import MOST_DOCUMENTS, RunSubject
from analytiq.models.index_types import IndexType
from analytiq.models.prompt_run import PromptResult, PromptRun, RunStatus, RunStep, StepKind
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.text import CurrentTexts
from api.schemas.documents import FailureResponse
from api.schemas.wire import NO_NUL, IsCurrent, Moment, RequestBody, ResponseBody, TextHash

Answer = Annotated[JsonValue, Field(description="An object if the version has a schema, else a text")]


class PromptRunCreate(RequestBody):
    """The input of a run: documents, or a text."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"document_ids": ["507f1f77bcf86cd799439011"]},
                {"text": "Invoice 7: 120 EUR, due within 30 days of 2 May 2026."},
            ]
        },
    )

    document_ids: Annotated[list[str], Field(max_length=MOST_DOCUMENTS)] = Field(default_factory=list[str])
    text: Annotated[str, Field(min_length=1, max_length=1_000_000), NO_NUL] | None = None
    version: Annotated[int | None, Field(ge=1, le=2**31, description="Version of the prompt; default: the latest")] = (
        None
    )

    def subject(self) -> RunSubject:
        """Convert to the library's request."""
        return RunSubject(document_ids=tuple(self.document_ids), text=self.text)


class RunUsageResponse(ResponseBody):
    """The usage of a run so far, over all attempts."""

    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float = Field(description="By LiteLLM's prices")
    unpriced_calls: int = Field(description="Calls of models without a known price, excluded from `cost_usd`")
    searches: int
    spus: int


class RunPassageResponse(ResponseBody):
    """A passage given to the model, cited by its `number`: `[3]`."""

    number: int
    kb_id: str
    document_id: str
    source: str
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
    chunk_id: str = Field(description="Valid until its document is indexed again; empty in old runs")
    rank: int | None = Field(description="Place among the matches of its search, from 1; null for a neighbor")
    token_count: int
    source_url: str | None = Field(description="Web address of the document's original")
    tags: list[str] = Field(description="Names of the document's tags at the time of the search")
    text_hash: TextHash
    is_current: IsCurrent

    @classmethod
    def from_passage(cls, passage: ShownPassage, texts: CurrentTexts) -> "RunPassageResponse":
        """Build the response; `texts` tells whether the document's text is unchanged."""
        return cls.from_model(passage, is_current=texts.is_current(passage.document_id, passage.text_hash))


class RunToolCallResponse(ResponseBody):
    """A tool call as written by the model."""

    id: str
    name: str
    arguments: str


class RunStepResponse(ResponseBody):
    """A step. `text`: the model's output, or its input."""

    kind: StepKind
    text: str
    reasoning: str = Field(description="The model's reasoning before the answer: not part of the answer")
    at: Moment
    milliseconds: int
    tool_calls: list[RunToolCallResponse]
    is_forced: bool = Field(description="True if the model had to answer without tools")
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    call_id: str | None
    tool_name: str | None
    error: str | None = Field(description="Error code of a failed tool call")
    passages: list[RunPassageResponse]
    spus: int

    @classmethod
    def from_step(cls, step: RunStep, texts: CurrentTexts) -> "RunStepResponse":
        """Build the response, with a tool's error as reported to the model."""
        passages = [RunPassageResponse.from_passage(passage, texts) for passage in step.passages]
        text = result_text(step) if step.kind is StepKind.TOOL and step.error is not None else step.text
        return cls.from_model(step, text=text, passages=passages)


class PromptRunResponse(ResponseBody):
    """A run without its steps."""

    run_id: str = Field(validation_alias="id")
    prompt_id: str
    version: int
    document_id: str | None = Field(description="null: the input was a text")
    is_automatic: bool = Field(
        description="True if the run started automatically, after extraction of a document with one of the "
        "prompt's tags"
    )
    status: RunStatus
    model: str | None
    answer: Answer
    usage: RunUsageResponse
    warnings: list[str]
    error: FailureResponse | None
    has_erased_passages: bool = Field(
        description="True if passages of documents deleted since were removed from the run"
    )
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None

    @classmethod
    def from_run(cls, run: PromptRun, **values: object) -> Self:
        """Build the response; `values` are fields to convert or add."""
        return cls.from_model(run, answer=_answer(run.answer, is_structured=run.is_structured), **values)


class PromptRunDetail(PromptRunResponse):
    """A run with all steps and its input text."""

    input_text: str | None
    steps: list[RunStepResponse]

    @classmethod
    def with_steps(cls, run: PromptRun, texts: CurrentTexts) -> "PromptRunDetail":
        """Build the response with all steps."""
        return cls.from_run(run, steps=[RunStepResponse.from_step(step, texts) for step in run.steps])


def _answer(stored: str | None, *, is_structured: bool) -> JsonValue:
    return json.loads(stored) if stored is not None and is_structured else stored


class PromptRunsStarted(ResponseBody):
    """Runs started as background jobs; poll each by its id."""

    runs: list[PromptRunResponse]


class PromptRunList(ResponseBody):
    """A page of runs."""

    runs: list[PromptRunResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int


class PromptResultUpdate(RequestBody):
    """An edited answer, or its verification."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"is_verified": True}, {"is_verified": False}]}
    )

    answer: Annotated[
        JsonValue, Field(description="An object by the version's schema, or a text without one; default: unchanged")
    ] = None
    is_verified: bool | None = Field(None, description="Default: unchanged, but false for an edited answer")
    run_id: str | None = Field(
        None, max_length=64, description="Run of the displayed result; 409 if another run has replaced it"
    )


class EarlierAnswerResponse(ResponseBody):
    """An edited or verified answer from before the latest run."""

    answer: Answer
    run_id: str
    is_edited: bool
    is_verified: bool
    replaced_at: Moment


class PromptResultResponse(ResponseBody):
    """The current answer of a version for a document."""

    prompt_id: str
    version: int
    document_id: str
    run_id: str
    answer: Answer
    is_edited: bool
    is_verified: bool
    edited_at: Moment | None
    verified_at: Moment | None
    earlier: list[EarlierAnswerResponse]
    is_current: IsCurrent
    created_at: Moment
    updated_at: Moment

    @classmethod
    def from_result(cls, result: PromptResult, texts: CurrentTexts) -> "PromptResultResponse":
        """Build the response; `texts` tells whether the document's text is unchanged."""
        earlier = [
            EarlierAnswerResponse.from_model(item, answer=_answer(item.answer, is_structured=item.is_structured))
            for item in result.earlier
        ]
        is_current = texts.is_current(result.document_id, result.text_hash)
        return cls.from_model(result, answer=answer_of(result), earlier=earlier, is_current=is_current)


class PromptResultList(ResponseBody):
    """A page of results."""

    results: list[PromptResultResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int
