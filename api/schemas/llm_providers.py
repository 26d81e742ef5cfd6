"""Wire shapes of providers of models; none of them ever holds a key that was stored."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, StringConstraints, model_validator

from analytiq.inference.credentials.providers import LONGEST_KEY, ProviderAccount
from analytiq.inference.providers.addresses import LONGEST_ADDRESS
from analytiq.settings import NO_KEY
from api.schemas.wire import NO_CONTROLS, Moment, RequestBody, ResponseBody

Address = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_ADDRESS)]
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NO_CONTROLS]


class LlmProviderPut(RequestBody):
    """A key to store, in the place of the one that is there."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"api_key": "sk-an-example-key-that-opens-nothing"}]}
    )

    api_key: Annotated[
        Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_KEY)] | None,
        Field(description="Stored encrypted; no answer ever holds it. Left out for a server that asks for none"),
    ] = None
    api_base: Annotated[
        Address | None,
        Field(description="Address of a server of your own that speaks OpenAI's protocol, or of Azure's resource"),
    ] = None

    @model_validator(mode="after")
    def _has_key_or_address(self) -> Self:
        if self.api_key is None and self.api_base is None:
            raise ValueError("api_key: it may be left out only with the api_base of a server that asks for none")
        return self

    @property
    def key(self) -> SecretStr:
        """The key to store."""
        return self.api_key or SecretStr(NO_KEY)


class LlmProviderTest(RequestBody):
    """What to try."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"model": "text-embedding-3-small"}]})

    model: Annotated[
        ModelName | None, Field(description="An embedding model of the provider; its usual one, if left out")
    ] = None


class LlmProviderResponse(ResponseBody):
    """A provider that the organization can use."""

    litellm_provider: str = Field(description="As LiteLLM names it")
    source: Literal["organization", "platform"] = Field(
        description="Whose key is used: the organization's own, or the platform's default"
    )
    key_hint: str | None = Field(description="The last four characters of the organization's own key")
    is_readable: bool = Field(description="False where the key has to be stored again: the secret key has changed")
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
    total_count: int = Field(description="How many there are in all")
    skip: int


class LlmProviderTestResponse(ResponseBody):
    """What one call to the provider came to."""

    litellm_provider: str
    model: str
    is_working: bool
    dimensions: int | None = Field(description="Of the vector that came back")
    milliseconds: int
    code: str | None = Field(description="The error's, where it does not work")
    detail: str = Field(description="What happened, in a sentence")
