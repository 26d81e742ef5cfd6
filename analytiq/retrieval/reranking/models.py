"""The choice of an organization's reranker by the name of a model."""

import asyncio

from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.providers.local import LOCAL_MODEL
from analytiq.inference.providers.allowed import Use
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.organization import Organization
from analytiq.retrieval.reranking.base import RerankModel
from analytiq.retrieval.reranking.litellm_reranker import RERANK_EXAMPLES, LiteLLMReranker
from analytiq.settings import LlmSettings

MAX_SIM = "local/maxsim"
PREFERRED_RERANKERS = {
    "cohere": "cohere/rerank-v3.5",
    "jina_ai": "jina_ai/jina-reranker-v2-base-multilingual",
    "voyage": "voyage/rerank-2",
    "together_ai": "together_ai/Salesforce/Llama-Rank-V1",
}
"""Provider → the model used if a request names none."""


class RerankModels:
    """Registry of hosted rerankers."""

    def __init__(self, credentials: Credentials, settings: LlmSettings) -> None:
        self._credentials = credentials
        self._settings = settings

    async def default(self, organization: Organization) -> str:
        """Return the model for a search that names none.

        Raises:
            InvalidInputError: no reranking model is configured; explains how to add one.
        """
        if self._settings.default_rerank_model is not None:
            return self._settings.default_rerank_model
        for provider, model in PREFERRED_RERANKERS.items():
            if await self._credentials.find(organization.id, provider) is not None:
                return model
        raise InvalidInputError.of_field(
            "rerank_model",
            "No reranking model is configured. Store a provider's key (`analytiq providers put cohere`), or"
            f" choose {MAX_SIM!r}, which uses {LOCAL_MODEL!r} and takes about 20 ms a passage.",
            code="not_configured",
        )

    async def choose(self, organization: Organization, name: str) -> RerankModel:
        """Return a hosted model with the organization's key, else the platform's.

        Raises:
            InvalidInputError: no such model, or no key for its provider; explains how to add one.
        """
        provider = await asyncio.to_thread(
            provider_of, name, use=Use.RERANKING, field="rerank_model", examples=RERANK_EXAMPLES
        )
        credential = await self._credentials.find(organization.id, provider)
        if credential is None:
            raise InvalidInputError.of_field(
                "rerank_model",
                f"The model {name!r} needs an API key of {provider!r}, which is missing. Store one with `analytiq"
                f" providers put {provider}`.",
                code="provider_key_missing",
            )
        allowed = {self._settings.default_rerank_model, *PREFERRED_RERANKERS.values(), *self._settings.platform_models}
        if not credential.is_own and name not in allowed:
            raise InvalidInputError.of_field(
                "rerank_model",
                f"The operator's key of {provider!r} is not for the model {name!r}. Name no model, or store a key"
                f" of your own (`analytiq providers put {provider}`).",
                code="model_not_allowed",
            )
        return LiteLLMReranker(name, credential, timeout_seconds=self._settings.timeout_seconds)
