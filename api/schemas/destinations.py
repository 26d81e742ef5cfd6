"""Wire shapes of where texts go."""

from pydantic import Field

from api.schemas.wire import ResponseBody


class DestinationResponse(ResponseBody):
    """Where the texts go that a model is shown."""

    model: str
    litellm_provider: str = Field(description="`local`: the model of this process")
    leaves_machine: bool = Field(description="False for the local model, and for a server on the machine itself")
    address: str | None = Field(
        description="null for the local model, for the operator's address, and for providers at their own"
    )

    is_operators_server: bool = Field(description="The operator has named a server for all organizations")


class DefaultModelsResponse(ResponseBody):
    """The models that are used where nobody names one, and where their texts go."""

    embedding: DestinationResponse = Field(description="Of new knowledge bases that name no model")
    chat: DestinationResponse | None = Field(description="null: no chat model is configured")
