"""Settings of embedding and chat models, their providers, and their callers."""

from pydantic import Field

from analytiq.settings.section import MEBIBYTE, Section


class EmbeddingSettings(Section):
    """Embedding of texts."""

    default_model: str | None = None
    """Model of new knowledge bases that name none, stored for the installation; None: the stored one, initially the
    local one."""
    batch_size: int = Field(default=100, ge=1, le=2048)
    timeout_seconds: float = 60.0
    local_threads: int = Field(default=1, ge=1)
    cache_max_bytes: int = Field(default=8192 * MEBIBYTE, ge=0)
    """Bytes of cached embeddings, as BSON; beyond it the least recently used are evicted. 0: no bound."""
    allow_global_cache: bool = False
    """Let organizations share embeddings. A sharing organization can tell, by price or time, whether another one has a
    certain text: allow it only if all organizations trust each other. Without it none shares, whatever its choice."""
    cache_unused_days: int = Field(default=180, ge=0)
    """Days after which unused embeddings are evicted; 0: never."""


class ProviderSettings(Section):
    """Providers of models, as organizations configure them."""

    allow_private_addresses: bool = False
    """Let organizations call their providers at any address, including this machine and its network."""


class ModelRateLimit(Section):
    """Limits of one model; None as for other models, 0 for no limit."""

    requests_per_minute: int | None = Field(default=None, ge=0)
    tokens_per_minute: int | None = Field(default=None, ge=0)


class RateLimitSettings(Section):
    """Units per 60 seconds, of all processes together; 0 is no limit."""

    requests_per_minute: int = Field(default=3000, ge=0)
    """For each organization and embedding model: OpenAI's grant to a new paying account."""
    tokens_per_minute: int = Field(default=1_000_000, ge=0)
    """For each organization and embedding model."""
    documents_per_minute: int = Field(default=6000, ge=0)
    """For each knowledge base: twice the rate of a worker process with a free embedder."""
    models: dict[str, ModelRateLimit] = Field(default_factory=dict[str, ModelRateLimit])
    """By the model's name. Models in the process (`local/…`) have limits only if named here."""


class LlmSettings(Section):
    """Chat and reranking models."""

    default_model: str | None = None
    """Model of calls that name none; None: a small model of the first provider with a key."""
    default_rerank_model: str | None = None
    platform_models: tuple[str, ...] = ()
    """Chat and reranking models that every organization may use with the platform's keys, besides the default ones."""
    timeout_seconds: float = 120.0


class PromptSettings(Section):
    """Runs of prompts."""

    max_document_tokens: int = Field(default=100_000, ge=100)
    """Most tokens of a document sent to a model; the run records a cut."""


class ChatSettings(Section):
    """Conversations with knowledge bases."""

    score_threshold: float = Field(default=0.57, ge=0.0, le=1.0)
    """Least relevance of a passage sent to the model, for threads without their own. With the local model, eight
    questions about the samples found their answers at 0.63 and above, eight about other topics nothing above 0.61."""
    top_k: int = Field(default=8, ge=1, le=50)
    max_rounds: int = Field(default=4, ge=1, le=20)
    """Calls to the model for one answer; the last one may not search."""
    max_answer_tokens: int = Field(default=2000, ge=1)
    max_running: int = Field(default=100, ge=1)
    """Answers that one process makes at once."""
    grace_seconds: float = Field(default=30.0, ge=0.0)
    """Seconds for which an answer without readers continues."""
