"""Services that call models: providers' keys, embedding, chat."""

from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.destinations import Destinations
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.calling import Calling
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.provider_accounts import ProviderAccounts
from analytiq.inference.embedding.provider_recovery import ProviderRecovery
from analytiq.inference.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL
from analytiq.inference.embedding.service import EmbeddingService
from analytiq.inference.llm.catalogue import ListedModel, ModelCatalogue, ModelKind, ModelSource
from analytiq.inference.llm.service import ChatService
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.inference.providers.litellm_module import LOCAL_PROVIDER
from analytiq.settings import Settings

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class Inference:
    """The services that reach models, each limited and metered."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings

    @cached_property
    def vault(self) -> Vault:
        """Encryption by the installation's secret key."""
        return new_vault(self._settings)

    @cached_property
    def credentials(self) -> Credentials:
        """Stored keys of providers."""
        return Credentials(self._rows.providers, self.vault, self._settings.providers)

    @cached_property
    def default_models(self) -> DefaultModels:
        """The models of calls that name none."""
        return DefaultModels(self._rows.runtime_settings)

    @cached_property
    def destinations(self) -> Destinations:
        """The allowed destinations of a provider's key."""
        return Destinations(self.credentials)

    @cached_property
    def embedding_models(self) -> EmbeddingModels:
        """Embedding models, loaded or reached when first used."""
        models = EmbeddingModels(self.credentials, self.default_models, self._settings.embedding)
        self._services.closing.push_async_callback(models.close)
        return models

    @cached_property
    def embedding(self) -> EmbeddingService:
        """Embeddings, cached and charged."""
        calling = Calling(self._services.tenancy.rate_limits, self.provider_recovery.answered)
        return EmbeddingService(self._rows, self.embedding_models, self._services.tenancy.metering, calling)

    @cached_property
    def cache_eviction(self) -> CacheEviction:
        """Eviction of the least recently used embeddings."""
        return CacheEviction(self._rows.connection, self._rows.embedding_cache, self._settings.embedding)

    @cached_property
    def provider_accounts(self) -> ProviderAccounts:
        """An organization's providers: their keys, and tests of them."""
        limits = self._services.tenancy.rate_limits
        return ProviderAccounts(self.credentials, self.embedding_models, limits, self.provider_recovery)

    @cached_property
    def provider_recovery(self) -> ProviderRecovery:
        """Resumption of work after its provider recovers."""
        rows = self._rows
        return ProviderRecovery(
            jobs=rows.jobs, knowledge_bases=rows.knowledge_bases, rate_limits=self._services.tenancy.rate_limits
        )

    @cached_property
    def chat_models(self) -> ChatService:
        """Chat models."""
        limits, settings = self._services.tenancy.rate_limits, self._settings.llm
        chat = ChatService(self._rows, self.credentials, limits, settings)
        self._services.closing.push_async_callback(chat.close)
        return chat

    @cached_property
    def catalogue(self) -> ModelCatalogue:
        """The models available to an organization."""
        default = self.embedding_models.default_model
        return ModelCatalogue(self.credentials, self.chat_models, [_local_model()], default_embedding_model=default)


def _local_model() -> ListedModel:
    return ListedModel(LOCAL_MODEL, LOCAL_PROVIDER, ModelKind.EMBEDDING, ModelSource.LOCAL, dimensions=LOCAL_DIMENSIONS)


def new_vault(settings: Settings) -> Vault:
    """Build the encryption of stored keys.

    Raises:
        InvalidInputError: the settings have no secret key.
    """
    if settings.secret_key is None:
        raise InvalidInputError(
            "ANALYTIQ_SECRET_KEY is not set. It encrypts the keys of embedding providers. Make one with `analytiq"
            " secret-key`, keep it safe, and give the same one to every process.",
            code="secret_key_missing",
        )
    return Vault(settings.secret_key, settings.old_secret_keys)
