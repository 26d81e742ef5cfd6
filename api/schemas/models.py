"""Response bodies of models."""

from pydantic import Field

from analytiq.inference.llm.catalogue import ModelKind, ModelSource
from api.schemas.wire import ResponseBody


class ModelResponse(ResponseBody):
    """A model available to the organization; null means unknown."""

    model: str = Field(description="The model's name in requests")
    litellm_provider: str
    kind: ModelKind = Field(description="`unknown` for models of a server, whose list has no kinds")
    source: ModelSource = Field(
        description="LiteLLM's `table`, an own `server` of the organization, or `local` in this process"
    )
    supports_tools: bool | None
    supports_structured_output: bool | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    dimensions: int | None
    input_usd_per_million_tokens: float | None
    output_usd_per_million_tokens: float | None


class ModelList(ResponseBody):
    """A page of models by name."""

    models: list[ModelResponse]
    total_count: int
    skip: int
    unreachable: dict[str, str] = Field(description="Provider → reason for its server's models missing from the list")
    default_chat_model: str | None = Field(
        description="Default of chats and prompts; null: none is configured, so they must name a model"
    )
