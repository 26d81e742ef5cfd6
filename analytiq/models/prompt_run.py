"""Runs of prompts with their steps, and the results that people edit and verify."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.document import Failure
from analytiq.models.shown_passage import ShownPassage
from analytiq.models.stored import Stored


class RunStatus(StrEnum):
    """queued ──▶ running ──▶ succeeded | failed; cancelled from either of the first two."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = (RunStatus.QUEUED, RunStatus.RUNNING)


class StepKind(StrEnum):
    """The kind of a step."""

    MODEL = "model"
    """The chat model answered, or called tools."""
    TOOL = "tool"
    """A tool was called."""
    CORRECTION = "correction"
    """The model was sent the fault of its answer."""


class RecordedCall(Stored):
    """A tool call as the model wrote it; `arguments` should be JSON. Ids are unique within a step."""

    id: str
    name: str
    arguments: str


class RunStep(Stored):
    """One step of a run; all steps together are its conversation with the model.

    `text`: the model's words, the correction, or the reason for a tool's refusal. `reasoning`: the model's reasoning,
    which is not part of its answer. `is_forced`: the model had to answer without a tool. `error`: a stable code if the
    tool did nothing.
    """

    kind: StepKind
    text: str = ""
    reasoning: str = ""
    at: datetime
    milliseconds: int = 0
    tool_calls: tuple[RecordedCall, ...] = ()
    is_forced: bool = False
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    call_id: str | None = None
    tool_name: str | None = None
    error: str | None = None
    passages: tuple[ShownPassage, ...] = ()
    spus: int = 0


class RunUsage(Stored):
    """Usage of a run so far, over all of its attempts. Calls of unknown price are not in `cost_usd`."""

    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    searches: int = 0
    spus: int = 0

    @property
    def tokens(self) -> int:
        """Return the tokens of questions and answers."""
        return self.prompt_tokens + self.completion_tokens


class PromptRun(Stored):
    """A row of `prompt_runs`, about a document or about `input_text`.

    `text_hash`: hash of the document's text as read. `answer` is JSON if `is_structured`, else plain text.
    `has_erased_passages`: passages of documents deleted since are missing from the steps.
    """

    id: str
    organization_id: str
    prompt_id: str
    version: int
    document_id: str | None = None
    input_text: str | None = None
    is_automatic: bool = False
    status: RunStatus = RunStatus.QUEUED
    text_hash: str | None = None
    model: str | None = None
    steps: tuple[RunStep, ...] = ()
    usage: RunUsage = RunUsage()
    answer: str | None = None
    is_structured: bool = False
    warnings: tuple[str, ...] = ()
    error: Failure | None = None
    has_erased_passages: bool = False
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None


class EarlierAnswer(Stored):
    """An answer that a person edited or verified before a later run replaced it."""

    answer: str
    is_structured: bool
    run_id: str
    is_edited: bool
    is_verified: bool
    replaced_at: datetime


class PromptResult(Stored):
    """A row of `prompt_results`: the current answer of one version for one document.

    `text_hash`: hash of the text as read; a document with another hash has changed since.
    """

    id: str
    organization_id: str
    prompt_id: str
    version: int
    document_id: str
    run_id: str
    text_hash: str | None
    answer: str
    is_structured: bool
    is_edited: bool = False
    is_verified: bool = False
    edited_at: datetime | None = None
    verified_at: datetime | None = None
    earlier: tuple[EarlierAnswer, ...] = ()
    created_at: datetime
    updated_at: datetime
