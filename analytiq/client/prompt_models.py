"""Answers about models, prompts, runs and results."""

from datetime import datetime
from typing import Any

from pydantic import Field, JsonValue

from analytiq.client.answers import Answer, Failure


class Model(Answer):
    """An available model; None means unknown. `kind`: chat, embedding, rerank or unknown."""

    model: str
    litellm_provider: str
    kind: str
    source: str
    supports_tools: bool | None = None
    supports_structured_output: bool | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    dimensions: int | None = None
    input_usd_per_million_tokens: float | None = None
    output_usd_per_million_tokens: float | None = None


class PromptVersion(Answer):
    """A version of a prompt, which never changes."""

    prompt_id: str
    version: int
    text: str
    model: str | None
    answer_schema: dict[str, JsonValue] | None
    tag_ids: list[str]
    kb_id: str | None
    metadata_filter: dict[str, JsonValue] | None
    temperature: float | None
    max_tokens: int | None
    max_iterations: int
    token_budget: int | None
    spu_budget: int | None
    created_at: datetime


class Prompt(PromptVersion):
    """A prompt in its latest version."""

    name: str
    updated_at: datetime


class RunUsage(Answer):
    """Usage of a run; `cost_usd` excludes calls of unknown price."""

    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    searches: int
    spus: int


class PromptRun(Answer):
    """A run; `answer` is an object if the version has a schema, else a text."""

    run_id: str
    prompt_id: str
    version: int
    document_id: str | None
    is_automatic: bool
    status: str
    model: str | None
    answer: JsonValue
    usage: RunUsage
    warnings: list[str]
    error: Failure | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    has_erased_passages: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return self.status not in ("queued", "running")


class PromptRunDetail(PromptRun):
    """A run with its steps, as the API documents them."""

    input_text: str | None
    steps: list[dict[str, Any]]


class PromptResult(Answer):
    """The current answer of a version for a document."""

    prompt_id: str
    version: int
    document_id: str
    run_id: str
    answer: JsonValue
    is_edited: bool
    is_verified: bool
    earlier: list[dict[str, Any]]
    updated_at: datetime
    is_current: bool | None = None
    """True if the document still has the text of the run."""
    edited_at: datetime | None = None
    verified_at: datetime | None = None
    created_at: datetime | None = None


class PromptRunsStarted(Answer):
    """The requested runs."""

    runs: list[PromptRun]


class LlmUsageItem(Answer):
    """Calls to chat and reranking models of one day, operation, model and knowledge base."""

    day: str
    operation: str
    model: str
    kb_id: str | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int


class LlmUsage(Answer):
    """Calls to chat and reranking models, and their cost."""

    total_calls: int
    total_cost_usd: float
    cost_usd_by_kb: dict[str, float]
    items: list[LlmUsageItem]
    kb_names: dict[str, str] = Field(default_factory=dict[str, str])


class LastRun(Answer):
    """The latest run of a prompt."""

    run_id: str
    version: int
    status: str
    error: Failure | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class ListedPrompt(Prompt):
    """A prompt of a list; its last run only if the call includes it."""

    kb_name: str | None
    last_run: LastRun | None
