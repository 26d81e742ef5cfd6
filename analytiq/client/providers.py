"""Operations on providers of models, and the models that they offer."""

from datetime import datetime

from pydantic import SecretStr

from analytiq.client.answers import Page
from analytiq.client.calls import all_items, delete, get, page, post, put
from analytiq.client.models import DefaultModels
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.organization_models import LlmProvider, LlmProviderTest
from analytiq.client.organizations import between
from analytiq.client.paths import segment
from analytiq.client.prompt_models import LlmUsage, Model
from analytiq.client.steps import Flow, Items


class ProviderCalls(Calls):
    """Keys of model providers; stored keys are never returned."""

    @operation
    def llm_providers(self, *, skip: int = 0, limit: int = 100) -> "Flow[Page[LlmProvider]]":
        """Return the providers with a key, the organization's or the platform's, by name."""
        return page("/llm-providers", "llm_providers", LlmProvider, skip=skip, limit=limit)

    @operation
    def put_llm_provider(
        self, litellm_provider: str, api_key: SecretStr | None, *, api_base: str | None = None
    ) -> Flow[LlmProvider]:
        """Store the organization's own key, replacing the previous one.

        Args:
            litellm_provider: LiteLLM's name, for example openai.
            api_key: the key; None keeps the stored one.
            api_base: of your own OpenAI-compatible server, or of Azure's resource.
        """
        secret = None if api_key is None else api_key.get_secret_value()
        return put(_path(litellm_provider), LlmProvider, {"api_key": secret, "api_base": api_base})

    @operation
    def delete_llm_provider(self, litellm_provider: str) -> Flow[None]:
        """Delete the organization's own key; the platform's, if any, applies again."""
        return delete(_path(litellm_provider))

    @operation
    def test_llm_provider(self, litellm_provider: str, *, model: str | None = None) -> Flow[LlmProviderTest]:
        """Make one free call with the effective key, and return the outcome."""
        return post(f"{_path(litellm_provider)}/test", LlmProviderTest, {"model": model})


class ModelCalls(Calls):
    """Models, and the cost of calls to them."""

    @listing
    def models(
        self, *, kind: str | None = None, name_search: str | None = None, litellm_provider: str | None = None
    ) -> Items[Model]:
        """Yield the available models, by name. `kind`: chat, embedding or rerank."""
        query = {"kind": kind, "name_search": name_search, "litellm_provider": litellm_provider}
        return all_items("/models", "models", Model, query)

    @operation
    def models_page(
        self,
        *,
        kind: str | None = None,
        name_search: str | None = None,
        litellm_provider: str | None = None,
        skip: int = 0,
        limit: int = 10,
    ) -> "Flow[Page[Model]]":
        """Return a page of `models`; with `unreachable` (provider → reason) and `default_chat_model`."""
        query = {"kind": kind, "name_search": name_search, "litellm_provider": litellm_provider}
        return page("/models", "models", Model, query, skip=skip, limit=limit)

    @operation
    def default_models(self) -> Flow[DefaultModels]:
        """Return the default models and the destination of their texts."""
        return get("/models/defaults", DefaultModels)

    @operation
    def llm_usage(self, *, since: datetime | None = None, until: datetime | None = None) -> Flow[LlmUsage]:
        """Sum the calls to chat and reranking models within [since, until): tokens and US dollars."""
        return get("/llm-usage", LlmUsage, between(since, until))


def _path(litellm_provider: str) -> str:
    return f"/llm-providers/{segment(litellm_provider)}"
