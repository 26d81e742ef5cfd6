"""Client calls for providers of models."""

from pydantic import SecretStr

from analytiq.client.answers import Page
from analytiq.client.connection import Connection
from analytiq.client.organization_models import LlmProvider, LlmProviderTest
from analytiq.client.paths import segment


class ProviderCalls(Connection):
    """Keys of model providers; stored keys are never returned."""

    def llm_providers(self, *, skip: int = 0, limit: int = 100) -> Page[LlmProvider]:
        """Return the providers with a key, the organization's or the platform's, by name."""
        return self._page("/llm-providers", "llm_providers", LlmProvider, {}, skip=skip, limit=limit)

    def put_llm_provider(
        self, litellm_provider: str, api_key: SecretStr, *, api_base: str | None = None
    ) -> LlmProvider:
        """Store the organization's own key, replacing the previous one.

        Args:
            litellm_provider: LiteLLM's name, for example openai.
            api_key: the key.
            api_base: of your own OpenAI-compatible server, or of Azure's resource.
        """
        body = {"api_key": api_key.get_secret_value(), "api_base": api_base}
        return LlmProvider.model_validate_json(self._transport.call("PUT", _path(litellm_provider), json=body))

    def delete_llm_provider(self, litellm_provider: str) -> None:
        """Delete the organization's own key; the platform's, if any, applies again."""
        self._transport.call("DELETE", _path(litellm_provider))

    def test_llm_provider(self, litellm_provider: str, *, model: str | None = None) -> LlmProviderTest:
        """Make one free call with the effective key, and return the outcome."""
        answer = self._transport.call("POST", f"{_path(litellm_provider)}/test", json={"model": model})
        return LlmProviderTest.model_validate_json(answer)


def _path(litellm_provider: str) -> str:
    return f"/llm-providers/{segment(litellm_provider)}"
