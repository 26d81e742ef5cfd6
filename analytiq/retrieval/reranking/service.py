"""The reranking service: the organization's key, its limits, and the choice of a model."""

import asyncio
from collections.abc import Sequence

from analytiq import clock
from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder
from analytiq.inference.providers.allowed import Use
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.llm_usage import LlmOperation, LlmUsage
from analytiq.models.organization import Organization
from analytiq.retrieval.reranking.base import RerankModel
from analytiq.retrieval.reranking.litellm_reranker import RERANK_EXAMPLES, LiteLLMReranker
from analytiq.retrieval.reranking.max_sim import MaxSim
from analytiq.settings import LlmSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.tenancy.rate_limits.limits import RateLimits

MAX_SIM = "local/maxsim"
CHARACTERS_PER_TOKEN = 4
PREFERRED_RERANKERS = {
    "cohere": "cohere/rerank-v3.5",
    "jina_ai": "jina_ai/jina-reranker-v2-base-multilingual",
    "voyage": "voyage/rerank-2",
    "together_ai": "together_ai/Salesforce/Llama-Rank-V1",
}
"""Provider → its model for whoever names none."""


class Reranking:
    """Reranks for organizations; implements search's Reranker."""

    def __init__(
        self,
        rows: Repositories,
        credentials: Credentials,
        rate_limits: RateLimits,
        local: LocalEmbedder,
        settings: LlmSettings,
    ) -> None:
        self._credentials = credentials
        self._rate_limits = rate_limits
        self._usage = rows.llm_usage
        self._max_sim = MaxSim(local)
        self._settings = settings

    async def rerank(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[float]:
        """Return a score from 0 to 1 for each passage, in their order.

        Raises:
            InvalidInputError: no such model, or no key for its provider; explains how to add one.
            RateLimitedError, TransientError, ProviderRefusedError: the provider's.
        """
        name = model or await self._default(organization)
        if name == MAX_SIM:
            return await self._max_sim.scores(question, passages)
        reranker = await self._choose(organization, name)
        tokens = sum(len(text) + len(question) for text in passages) // CHARACTERS_PER_TOKEN
        await self._rate_limits.take_call(organization.id, name, tokens=tokens)
        try:
            scores = await reranker.scores(question, passages)
        except RateLimitedError as error:
            if error.retry_after is not None:
                await self._rate_limits.told_to_wait(organization.id, name, seconds=error.retry_after)
            raise
        await self._usage.add(
            LlmUsage(
                organization_id=organization.id,
                operation=LlmOperation.RERANK,
                model=name,
                prompt_tokens=tokens,
                completion_tokens=0,
                cost_usd=None,
                used_at=clock.now(),
            )
        )
        return scores

    async def _default(self, organization: Organization) -> str:
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

    async def _choose(self, organization: Organization, name: str) -> RerankModel:
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
        return LiteLLMReranker(
            name,
            credential.api_key,
            credential.api_base,
            timeout_seconds=self._settings.timeout_seconds,
            is_guarded=credential.is_guarded,
        )
