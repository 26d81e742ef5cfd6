"""The reranking service: calls within the organization's limits, and counted."""

from collections.abc import Sequence

from analytiq import clock
from analytiq.errors import RateLimitedError
from analytiq.models.llm_usage import LlmOperation, LlmUsage
from analytiq.models.organization import Organization
from analytiq.retrieval.reranking.max_sim import MaxSim
from analytiq.retrieval.reranking.models import MAX_SIM, RerankModels
from analytiq.storage.all_repositories import Repositories
from analytiq.tenancy.rate_limits.limits import RateLimits

CHARACTERS_PER_TOKEN = 4


class Reranking:
    """Reranks for organizations; implements `Reranker` of the search pipeline."""

    def __init__(self, rows: Repositories, models: RerankModels, max_sim: MaxSim, rate_limits: RateLimits) -> None:
        self._usage = rows.llm_usage
        self._models = models
        self._max_sim = max_sim
        self._rate_limits = rate_limits

    async def rerank(
        self, organization: Organization, question: str, passages: Sequence[str], *, model: str | None
    ) -> list[float]:
        """Return a score from 0 to 1 for each passage, in their order.

        Raises:
            InvalidInputError: no such model, or no key for its provider; explains how to add one.
            RateLimitedError, TransientError, ProviderRefusedError: from the provider.
        """
        name = model or await self._models.default(organization)
        if name == MAX_SIM:
            return await self._max_sim.scores(question, passages)
        reranker = await self._models.choose(organization, name)
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
