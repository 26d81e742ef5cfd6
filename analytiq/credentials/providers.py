"""Which key and address an organization uses for a provider (seed: "API Key Management")."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from analytiq import clock
from analytiq.credentials.encryption import Vault
from analytiq.models.provider import LlmProvider
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.providers import ProviderRepository


@dataclass(frozen=True, slots=True)
class Credential:
    """What a call to a provider needs. `is_own`: the organization's own, not the platform's."""

    api_key: SecretStr
    api_base: str | None
    is_own: bool


class Credentials:
    """Looks keys up, decrypted; stores them encrypted."""

    def __init__(self, providers: ProviderRepository, vault: Vault) -> None:
        self._providers = providers
        self._vault = vault

    async def find(self, organization_id: str, litellm_provider: str) -> Credential | None:
        """The organization's own key for the provider, else the platform's, else None."""
        provider = await self._providers.find(organization_id, litellm_provider)
        if provider is None:
            return None
        return Credential(
            api_key=self._vault.decrypt(provider.token),
            api_base=provider.api_base,
            is_own=provider.organization_id is not None,
        )

    async def store_platform_defaults(self, keys: Mapping[str, tuple[SecretStr, str | None]]) -> list[str]:
        """Store each provider's key from the environment, unless it is stored already; returns the new ones."""
        stored: list[str] = []
        for litellm_provider, (api_key, api_base) in keys.items():
            now = clock.now()
            is_stored = await self._providers.put_if_absent(
                LlmProvider(
                    id=new_id(),
                    organization_id=None,
                    litellm_provider=litellm_provider,
                    token=self._vault.encrypt(api_key),
                    api_base=api_base,
                    created_at=now,
                    updated_at=now,
                )
            )
            if is_stored:
                stored.append(litellm_provider)
        return stored
