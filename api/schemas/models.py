"""Wire shapes of models."""

from pydantic import Field

from analytiq.inference.llm.catalogue import ModelKind, ModelSource
from api.schemas.wire import ResponseBody


class ModelResponse(ResponseBody):
    """A model that the organization can ask; what is null is not known."""

    model: str = Field(description="The name that it is asked by")
    litellm_provider: str
    kind: ModelKind = Field(description="`unknown` of a server's models: its list does not tell")
    source: ModelSource = Field(
        description="LiteLLM's `table`, a `server` of the organization's own, or `local` in this process"
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
    unreachable: dict[str, str] = Field(description="Provider → why the models of its server are not in the list")
    default_chat_model: str | None = Field(
        description="The model of chats and prompts that name none; null: none is configured, and they must name one"
    )
