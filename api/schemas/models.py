"""Wire shapes of models."""

from pydantic import Field

from analytiq.inference.llm.catalogue import ListedModel, ModelKind, ModelPage, ModelSource
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

    @classmethod
    def of(cls, model: ListedModel) -> "ModelResponse":
        """From the library's shape."""
        return cls(
            model=model.model,
            litellm_provider=model.litellm_provider,
            kind=model.kind,
            source=model.source,
            supports_tools=model.supports_tools,
            supports_structured_output=model.supports_structured_output,
            max_input_tokens=model.max_input_tokens,
            max_output_tokens=model.max_output_tokens,
            dimensions=model.dimensions,
            input_usd_per_million_tokens=model.input_usd_per_million_tokens,
            output_usd_per_million_tokens=model.output_usd_per_million_tokens,
        )


class ModelList(ResponseBody):
    """A page of models by name."""

    models: list[ModelResponse]
    total_count: int
    skip: int
    unreachable: dict[str, str] = Field(description="Provider → why the models of its server are not in the list")
    default_chat_model: str | None = Field(
        description="The model of chats and prompts that name none; null: none is configured, and they must name one"
    )

    @classmethod
    def of(cls, page: ModelPage, *, skip: int, default_chat_model: str | None) -> "ModelList":
        """From the library's shape."""
        models = [ModelResponse.of(model) for model in page.models]
        return cls(
            models=models,
            total_count=page.total_count,
            skip=skip,
            unreachable=page.unreachable,
            default_chat_model=default_chat_model,
        )
