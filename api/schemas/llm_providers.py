"""Request and response bodies of model providers. No response contains a stored key."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, StringConstraints, model_validator

from analytiq.inference.credentials.providers import LONGEST_KEY, ProviderAccount
from analytiq.inference.providers.addresses import LONGEST_ADDRESS
from analytiq.settings import NO_KEY
from api.schemas.wire import NO_CONTROLS, Moment, RequestBody, ResponseBody

Address = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_ADDRESS)]
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NO_CONTROLS]


class LlmProviderPut(RequestBody):
    """A key to store, replacing the present one."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"api_key": "sk-an-example-key-that-opens-nothing"}]}
    )

    api_key: Annotated[
        Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_KEY)] | None,
        Field(description="Stored encrypted, never returned. Omit it for a server without authentication"),
    ] = None
    api_base: Annotated[
        Address | None,
        Field(description="Address of your own OpenAI-compatible server, or of the Azure resource"),
    ] = None

    @model_validator(mode="after")
    def _has_key_or_address(self) -> Self:
        if self.api_key is None and self.api_base is None:
            raise ValueError(
                "Send api_key. It can be omitted only with the api_base of a server without authentication."
            )
        return self

    @property
    def key(self) -> SecretStr:
        """Return the key to store."""
        return self.api_key or SecretStr(NO_KEY)


class LlmProviderTest(RequestBody):
    """A model to test."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"model": "text-embedding-3-small"}]})

    model: Annotated[
        ModelName | None, Field(description="An embedding model of the provider; default: its usual one")
    ] = None


class LlmProviderResponse(ResponseBody):
    """A provider available to the organization."""

    litellm_provider: str = Field(description="LiteLLM's name of the provider")
    source: Literal["organization", "platform"] = Field(
        description="Owner of the key in use: the organization, or the platform as the default"
    )
    key_hint: str | None = Field(description="The last four characters of the organization's own key")
    is_readable: bool = Field(description="False: the server's secret key has changed; store the key again")
    api_base: str | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def from_account(cls, account: ProviderAccount) -> "LlmProviderResponse":
        """Build the response."""
        return cls.from_model(account, source="organization" if account.is_own else "platform")


class LlmProviderList(ResponseBody):
    """A page of providers."""

    llm_providers: list[LlmProviderResponse]
    total_count: int = Field(description="Number of providers on all pages")
    skip: int


class LlmProviderTestResponse(ResponseBody):
    """The result of one call to the provider."""

    litellm_provider: str
    model: str
    is_working: bool
    dimensions: int | None = Field(description="Dimensions of the returned vector")
    milliseconds: int
    code: str | None = Field(description="Error code of a failed call")
    detail: str = Field(description="The result as a sentence")
