"""The client's calls about providers of models."""

from pydantic import SecretStr

from analytiq.client.answers import Page
from analytiq.client.connection import Connection
from analytiq.client.organization_models import LlmProvider, LlmProviderTest
from analytiq.client.paths import segment


class ProviderCalls(Connection):
    """The keys that models are called with; what was stored is never answered."""

    def llm_providers(self, *, skip: int = 0, limit: int = 100) -> Page[LlmProvider]:
        """Return the providers with a key, the organization's or the platform's, by name."""
        return self._page("/llm-providers", "llm_providers", LlmProvider, {}, skip=skip, limit=limit)

    def put_llm_provider(
        self, litellm_provider: str, api_key: SecretStr, *, api_base: str | None = None
    ) -> LlmProvider:
        """Store the organization's own key, in the place of the one that it had.

        Args:
            litellm_provider: as LiteLLM names it, for example openai.
            api_key: the key.
            api_base: of a server of one's own that speaks OpenAI's protocol, or of Azure's resource.
        """
        body = {"api_key": api_key.get_secret_value(), "api_base": api_base}
        return LlmProvider.model_validate_json(self._transport.call("PUT", _path(litellm_provider), json=body))

    def delete_llm_provider(self, litellm_provider: str) -> None:
        """Forget the organization's own key; the platform's, where there is one, counts again."""
        self._transport.call("DELETE", _path(litellm_provider))

    def test_llm_provider(self, litellm_provider: str, *, model: str | None = None) -> LlmProviderTest:
        """Make one call with the key that would be used, and say what happened; free."""
        answer = self._transport.call("POST", f"{_path(litellm_provider)}/test", json={"model": model})
        return LlmProviderTest.model_validate_json(answer)


def _path(litellm_provider: str) -> str:
    return f"/llm-providers/{segment(litellm_provider)}"
