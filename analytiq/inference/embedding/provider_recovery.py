"""Recovery from a provider's trouble: an answer, a new key or address, or a good test resumes the work.

Jobs that wait for a provider become due at once, and syncs that failed for want of a good key run again. A document
with a text that its provider refuses by itself stays failed, except at a new address.
"""

import asyncio
from collections.abc import Collection

import structlog

from analytiq.errors import AnalytiqError
from analytiq.inference.embedding.filling import TEXT_REFUSED_CODE
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.job import ACCOUNT_CODES, WAITING_FOR_PROVIDER_CODES
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.tenancy.rate_limits.limits import RateLimits

log = structlog.get_logger(__name__)


class ProviderRecovery:
    """Resumption of an organization's work that waits for a model."""

    def __init__(
        self, *, jobs: JobRepository, knowledge_bases: KnowledgeBaseRepository, rate_limits: RateLimits
    ) -> None:
        self._jobs = jobs
        self._knowledge_bases = knowledge_bases
        self._rate_limits = rate_limits

    async def answered(self, organization_id: str, model: str) -> None:
        """Resume after a provider in trouble has answered; one of several callers does the work."""
        if await self._rate_limits.recovered(organization_id, model):
            await self._resume(organization_id, {model}, ACCOUNT_CODES)

    async def tested(self, organization_id: str, model: str) -> None:
        """Resume after a good test."""
        await self._rate_limits.recovered(organization_id, model)
        await self._resume(organization_id, {model}, ACCOUNT_CODES)

    async def provider_changed(
        self, organization_id: str, litellm_provider: str, *, is_address_new: bool = False
    ) -> None:
        """Resume after a change or removal of a provider's key or address."""
        for _, model in await self._rate_limits.troubled_models(organization_id):
            if await _provider_of(model) == litellm_provider:
                await self._rate_limits.recovered(organization_id, model)
        knowledge_bases = await self._knowledge_bases.shown_of(organization_id)
        used = {item.embedding_model for item in knowledge_bases}
        models = {model for model in used if await _provider_of(model) == litellm_provider}
        codes = {*ACCOUNT_CODES, TEXT_REFUSED_CODE} if is_address_new else ACCOUNT_CODES
        # Before the failed ones: a sync that has read the old key may still run, and fail after the others resume.
        affected = [item.id for item in knowledge_bases if item.embedding_model in models]
        await self._jobs.ask_running_syncs_again(organization_id, affected)
        await self._resume(organization_id, models, codes)

    async def platform_changed(self, litellm_provider: str, *, is_address_new: bool = False) -> None:
        """Resume every organization after a change of the platform's key or address for a provider."""
        for organization_id in await self._jobs.organizations_stopped_by({*WAITING_FOR_PROVIDER_CODES, *ACCOUNT_CODES}):
            await self.provider_changed(organization_id, litellm_provider, is_address_new=is_address_new)

    async def stopped(self) -> list[tuple[str, str]]:
        """Return (organization, model) of every knowledge base with syncs stopped by its provider."""
        found: set[tuple[str, str]] = set()
        codes = {*WAITING_FOR_PROVIDER_CODES, *ACCOUNT_CODES}
        for organization_id in await self._jobs.organizations_stopped_by(codes):
            kb_ids = await self._jobs.knowledge_bases_stopped_by(organization_id, codes)
            for knowledge_base in await self._knowledge_bases.shown_of(organization_id):
                if knowledge_base.id in kb_ids:
                    found.add((organization_id, knowledge_base.embedding_model))
        return sorted(found)

    async def _resume(self, organization_id: str, models: Collection[str], codes: Collection[str]) -> None:
        woken = sum([await self._jobs.wake(organization_id, error_code=code) for code in WAITING_FOR_PROVIDER_CODES])
        knowledge_bases = await self._knowledge_bases.shown_of(organization_id)
        kb_ids = [item.id for item in knowledge_bases if item.embedding_model in models]
        revived = await self._jobs.revive_syncs(organization_id, kb_ids, error_codes=codes)
        if woken or revived:
            log.info("embedding.resumed", organization_id=organization_id, woken=woken, revived=revived)


async def _provider_of(model: str) -> str | None:
    """Return a model's provider; None if it is no longer known."""
    try:
        return await asyncio.to_thread(provider_of, model)
    except AnalytiqError:
        return None
