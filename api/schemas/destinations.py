"""Response bodies of model providers as recipients of texts."""

from pydantic import Field

from api.schemas.wire import ResponseBody


class DestinationResponse(ResponseBody):
    """The recipient of texts given to a model."""

    model: str
    litellm_provider: str = Field(description="`local`: the model of this process")
    leaves_machine: bool = Field(description="False for the local model and for a server on this machine")
    address: str | None = Field(
        description="null for the local model, for the operator's server, and for the provider's default address"
    )

    is_operators_server: bool = Field(description="True if the operator configured a server for all organizations")


class DefaultModelsResponse(ResponseBody):
    """The default models and the recipients of their input."""

    embedding: DestinationResponse = Field(description="Default of new knowledge bases")
    chat: DestinationResponse | None = Field(description="null: no chat model is configured")
