"""Calls to chat and reranking models: the usage and cost of each."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class LlmOperation(StrEnum):
    """The purpose of a call."""

    SEARCH = "search"
    """Rewriting the question, hypothetical answers, compressing passages."""
    RERANK = "rerank"
    PROMPT = "prompt"
    CHAT = "chat"
    VISION = "vision"
    """Describing figures, reading pages."""


class LlmUsage(Stored):
    """A row of `llm_usage`: one call that was answered, or interrupted after it had begun.

    SPUs count embeddings only; a call to a chat model counts in tokens and US dollars. `cost_usd` is None if the
    model's price is unknown. `is_complete` is False if the answer was cut.
    """

    organization_id: str
    operation: LlmOperation
    model: str
    kb_id: str | None = None
    run_id: str | None = None
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    is_complete: bool = True
    used_at: datetime


class LlmUsageTotal(Stored):
    """Usage summed for one operation, model and knowledge base, on one day."""

    day: str
    kb_id: str | None = None
    operation: LlmOperation
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    """Calls of models of unknown price, which are not in `cost_usd`."""
