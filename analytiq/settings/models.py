"""Settings of embedding and chat models, their providers, and what asks them."""

from pydantic import Field

from analytiq.settings.section import MEBIBYTE, Section


class EmbeddingSettings(Section):
    """How texts become vectors."""

    default_model: str | None = None
    """Of new knowledge bases that name none, kept for the installation; None: the one kept, at first the local one."""
    batch_size: int = Field(default=100, ge=1, le=2048)
    timeout_seconds: float = 60.0
    local_threads: int = Field(default=1, ge=1)
    cache_max_bytes: int = Field(default=8192 * MEBIBYTE, ge=0)
    """Of cached embeddings, as BSON; beyond it those go that were not used for longest. 0: no bound."""
    allow_global_cache: bool = False
    """Let organizations share embeddings. An organization that shares can tell, by price or time, whether another one
    has a certain text: only where all organizations trust each other. Without it, none shares, whatever it chose."""
    cache_unused_days: int = Field(default=180, ge=0)
    """Embeddings that nobody used for so long go; 0: never."""


class ProviderSettings(Section):
    """Providers of models, as organizations set them up."""

    allow_private_addresses: bool = False
    """Let organizations have their providers called at any address, also of this machine and its network."""


class ModelRateLimit(Section):
    """The limits of one model; what is None is as for the others, 0 is no limit."""

    requests_per_minute: int | None = Field(default=None, ge=0)
    tokens_per_minute: int | None = Field(default=None, ge=0)


class RateLimitSettings(Section):
    """What is let through in any 60 seconds, of all processes together; 0 is no limit."""

    requests_per_minute: int = Field(default=3000, ge=0)
    """For each organization and embedding model: what OpenAI grants a new account that pays."""
    tokens_per_minute: int = Field(default=1_000_000, ge=0)
    """Likewise."""
    documents_per_minute: int = Field(default=6000, ge=0)
    """For each knowledge base: twice what a worker process does with an embedder that costs nothing."""
    models: dict[str, ModelRateLimit] = Field(default_factory=dict[str, ModelRateLimit])
    """By the model's name. Models that run in the process (`local/…`) have limits only where they are named."""


class LlmSettings(Section):
    """Chat and reranking models."""

    default_model: str | None = None
    """Asked where nobody names one; None: a small model of the first provider that has a key."""
    default_rerank_model: str | None = None
    platform_models: tuple[str, ...] = ()
    """Chat and reranking models that every organization may ask with the platform's keys, beside the default ones."""
    timeout_seconds: float = 120.0


class PromptSettings(Section):
    """Runs of prompts."""

    max_document_tokens: int = Field(default=100_000, ge=100)
    """Of a document, what a model is shown at most; the run says where it was cut."""


class ChatSettings(Section):
    """Conversations with knowledge bases."""

    score_threshold: float = Field(default=0.57, ge=0.0, le=1.0)
    """The least relevance of a passage that a model is shown, where a thread says nothing. With the local model, eight
    questions about the samples found their answers at 0.63 and above, eight about other things nothing above 0.61."""
    top_k: int = Field(default=8, ge=1, le=50)
    max_rounds: int = Field(default=4, ge=1, le=20)
    """Calls to the model for one answer; in the last it may search no further."""
    max_answer_tokens: int = Field(default=2000, ge=1)
    max_running: int = Field(default=100, ge=1)
    """Answers that one process makes at once."""
    grace_seconds: float = Field(default=30.0, ge=0.0)
    """For so long an answer goes on that nobody reads."""
