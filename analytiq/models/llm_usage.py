"""Calls to chat and reranking models: what each used and cost."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class LlmOperation(StrEnum):
    """What a call was made for."""

    SEARCH = "search"
    """Rewriting, imagining an answer, shortening passages."""
    RERANK = "rerank"
    PROMPT = "prompt"
    CHAT = "chat"


class LlmUsage(Stored):
    """A row of `llm_usage`, one a call that was answered, or cut off after it had begun.

    SPUs count embeddings only (seed: "SPU Metering"); a call to a chat model is counted in tokens and US dollars.
    `cost_usd` is None where the model's price is not known. `is_complete` is False where the answer was cut.
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
    """Usage summed: of one operation, model and knowledge base, on one day."""

    day: str
    kb_id: str | None = None
    operation: LlmOperation
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    unpriced_calls: int
    """Calls of models whose price is not known: not in `cost_usd`."""
