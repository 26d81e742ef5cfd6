"""The platform's keys of providers: they follow the environment, and an operator's commands.

At each start, the API compares a key from the environment with the environment: a changed key is replaced, a missing
one removed. A key stored by a command stays until a command removes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import structlog
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, NotFoundError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.providers import require_key
from analytiq.inference.providers.addresses import check_api_base
from analytiq.models.provider import KeyOrigin, LlmProvider
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository

log = structlog.get_logger(__name__)

EnvironmentKeys = Mapping[str, tuple[SecretStr, str | None]]
"""Provider → key and address from the environment."""


class KeyChange(StrEnum):
    """The change of a platform key at a start."""

    STORED = "stored"
    REPLACED = "replaced"
    REMOVED = "removed"
    KEPT = "kept"
    """A command has stored another key, which takes precedence."""


@dataclass(frozen=True, slots=True)
class PlatformKeyChange:
    """A provider whose platform key differs from the environment's."""

    litellm_provider: str
    change: KeyChange
    is_address_new: bool = False


class PlatformKeys:
    """Stores, compares and removes the platform's keys."""

    def __init__(self, providers: ProviderRepository, vault: Vault) -> None:
        self._providers = providers
        self._vault = vault

    async def plan(self, environment: EnvironmentKeys) -> list[PlatformKeyChange]:
        """Return what `follow` would change, by provider; write nothing."""
        stored = {row.litellm_provider: row for row in await self._providers.of_platform()}
        planned = [self._planned(name, *wanted, stored.get(name)) for name, wanted in sorted(environment.items())]
        gone = [
            PlatformKeyChange(name, KeyChange.REMOVED, is_address_new=True)
            for name, row in sorted(stored.items())
            if name not in environment and row.origin is KeyOrigin.ENVIRONMENT
        ]
        return [*(change for change in planned if change is not None), *gone]

    async def follow(self, environment: EnvironmentKeys) -> list[PlatformKeyChange]:
        """Bring the platform's keys in line with the environment; return the changes."""
        changes = await self.plan(environment)
        for change in changes:
            name = change.litellm_provider
            if change.change is KeyChange.REMOVED:
                await self._providers.delete(None, name)
            elif change.change is not KeyChange.KEPT:
                key, api_base = environment[name]
                await self._providers.put(self._row(name, key, api_base, KeyOrigin.ENVIRONMENT))
            log.warning("credentials.platform_key", provider=name, change=change.change.value)
        return changes

    async def put(self, litellm_provider: str, *, api_key: SecretStr, api_base: str | None) -> None:
        """Store a key typed by an operator, replacing the previous one.

        Raises:
            InvalidInputError: the key or the address is invalid.
        """
        require_key(api_key)
        if api_base is not None:
            check_api_base(api_base)
        await self._providers.put(self._row(litellm_provider, api_key, api_base, KeyOrigin.COMMAND))

    async def delete(self, litellm_provider: str) -> None:
        """Delete the platform's key.

        Raises:
            NotFoundError: the platform has no key for the provider.
        """
        if not await self._providers.delete(None, litellm_provider):
            raise NotFoundError(f"The platform has no key for the provider {litellm_provider!r}.")

    async def all(self) -> list[LlmProvider]:
        """Return the platform's providers, by name."""
        return await self._providers.of_platform()

    def _planned(
        self, name: str, api_key: SecretStr, api_base: str | None, row: LlmProvider | None
    ) -> PlatformKeyChange | None:
        if row is None:
            return PlatformKeyChange(name, KeyChange.STORED, is_address_new=True)
        is_same = row.api_base == api_base and self._key_of(row) == api_key.get_secret_value()
        if is_same:
            return None
        change = KeyChange.KEPT if row.origin is KeyOrigin.COMMAND else KeyChange.REPLACED
        return PlatformKeyChange(name, change, is_address_new=row.api_base != api_base)

    def _key_of(self, row: LlmProvider) -> str | None:
        try:
            return self._vault.decrypt(row.token).get_secret_value()
        except AccessDeniedError:
            return None  # encrypted under another secret key: the environment's key replaces it

    def _row(self, name: str, api_key: SecretStr, api_base: str | None, origin: KeyOrigin) -> LlmProvider:
        now = clock.now()
        return LlmProvider(
            id=new_id(),
            organization_id=None,
            litellm_provider=name,
            token=self._vault.encrypt(api_key),
            api_base=api_base,
            origin=origin,
            created_at=now,
            updated_at=now,
        )
