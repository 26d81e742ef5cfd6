"""Puts together what calls models: keys, limits, prices, embedding, chat, reranking."""

from dataclasses import dataclass

import structlog

from analytiq.inference.credentials.destinations import Destinations
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.provider_accounts import ProviderAccounts
from analytiq.inference.embedding.provider_recovery import ProviderRecovery
from analytiq.inference.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.inference.llm.catalogue import ListedModel, ModelCatalogue, ModelKind, ModelSource
from analytiq.inference.llm.service import ChatService
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.inference.providers.litellm_module import LOCAL_PROVIDER
from analytiq.retrieval.reranking.service import Reranking
from analytiq.settings import Settings, provider_keys_from_environment
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.embedding_claims import EmbeddingClaimRepository
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.workers import RuntimeSettingRepository
from analytiq.tenancy.metering.charges import Metering
from analytiq.tenancy.rate_limits.limits import RateLimits
from analytiq.tenancy.rate_limits.own import OwnLimits

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """The ways to a model, each limited and metered."""

    credentials: Credentials
    embedding_models: EmbeddingModels
    metering: Metering
    own_limits: OwnLimits
    rate_limits: RateLimits
    provider_recovery: ProviderRecovery
    embedding: EmbeddingService
    chat: ChatService
    reranking: Reranking
    catalogue: ModelCatalogue
    provider_accounts: ProviderAccounts
    destinations: Destinations


async def new_model_calls(rows: Repositories, vault: Vault, settings: Settings) -> ModelCalls:
    """The ways to models, with the keys that the environment brings stored first."""
    defaults = DefaultModels(RuntimeSettingRepository(rows.connection))
    credentials = Credentials(ProviderRepository(rows.connection), vault, settings.providers)
    stored = await credentials.store_platform_defaults(provider_keys_from_environment())
    if stored:
        log.info("credentials.stored_from_environment", providers=stored)
    models = EmbeddingModels(credentials, defaults, settings.embedding)
    metering = Metering.on(rows.connection)
    own_limits = OwnLimits(rows.organizations)
    rate_limits = RateLimits(rows.rate_limits, settings.rate_limits, own_limits)
    claims = EmbeddingClaimRepository(rows.connection)
    recovery = ProviderRecovery(jobs=rows.jobs, knowledge_bases=rows.knowledge_bases, rate_limits=rate_limits)
    chat = ChatService(credentials, rate_limits, rows.llm_usage, settings.llm, defaults=defaults)
    return ModelCalls(
        credentials=credentials,
        embedding_models=models,
        metering=metering,
        own_limits=own_limits,
        rate_limits=rate_limits,
        provider_recovery=recovery,
        destinations=Destinations(credentials),
        embedding=EmbeddingService(
            models,
            rows.embedding_cache,
            claims,
            metering,
            rate_limits,
            settings.embedding,
            on_answer=recovery.answered,
        ),
        chat=chat,
        reranking=Reranking(credentials, rate_limits, rows.llm_usage, models.local, settings.llm),
        catalogue=ModelCatalogue(credentials, chat, [_local_model()], default_embedding_model=models.default_model),
        provider_accounts=ProviderAccounts(credentials, models, rate_limits, recovery),
    )


def _local_model() -> ListedModel:
    return ListedModel(LOCAL_MODEL, LOCAL_PROVIDER, ModelKind.EMBEDDING, ModelSource.LOCAL, dimensions=LOCAL_DIMENSIONS)
