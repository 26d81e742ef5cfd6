"""Which key and address an organization uses for a provider (seed: "API Key Management")."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from analytiq import clock
from analytiq.credentials.encryption import Vault
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, ProviderRefusedError, TransientError
from analytiq.models.provider import LlmProvider
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.providers import ProviderRepository
from analytiq.providers.addresses import (
    OPENAI,
    check_api_base,
    check_provider_for_api_base,
    public_addresses,
)
from analytiq.providers.litellm_module import NO_KEY
from analytiq.settings import ProviderSettings

log = structlog.get_logger(__name__)

LONGEST_KEY = 4096
NEEDS_API_BASE = frozenset({"azure", "azure_ai"})
"""LiteLLM would take the operator's address for them otherwise, and send the organization's key there."""
HINT_CHARACTERS = 4
SHORTEST_HINTED_KEY = 16
"""Of shorter keys, four characters would be too large a part."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a call to a provider needs. `is_own`: the organization's own, not the platform's.

    `is_guarded`: the organization named the address of a server, so only public addresses may be connected to.
    """

    api_key: SecretStr
    api_base: str | None
    is_own: bool
    is_guarded: bool = False

    @property
    def is_keyless(self) -> bool:
        """Whether it is a server that asks for no key."""
        return self.api_base is not None and self.api_key.get_secret_value() == NO_KEY


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """What an organization is shown of a provider that it can use, which is never the key.

    `key_hint`: the end of its own key, to tell two keys apart; None for the platform's, whose key and address are
    the operator's, and for short keys. `is_readable`: False where the key was encrypted under a secret key that
    this installation does not have any more.
    """

    litellm_provider: str
    is_own: bool
    is_readable: bool
    key_hint: str | None
    api_base: str | None
    created_at: datetime
    updated_at: datetime


class Credentials:
    """Looks keys up, decrypted; stores them encrypted."""

    def __init__(self, providers: ProviderRepository, vault: Vault, settings: ProviderSettings | None = None) -> None:
        self._providers = providers
        self._vault = vault
        self._settings = settings or ProviderSettings()

    async def find(self, organization_id: str, litellm_provider: str) -> Credential | None:
        """The organization's own key for the provider, else the platform's, else None.

        Raises:
            AccessDeniedError: it was encrypted under another secret key.
            InvalidInputError: it has an address that its provider may not have any more.
        """
        provider = await self._providers.find(organization_id, litellm_provider)
        if provider is None:
            return None
        is_own = provider.organization_id is not None
        is_checked = is_own and not self._settings.allow_private_addresses
        if is_checked and provider.api_base is not None:
            # The setting may have been another when it was stored.
            check_provider_for_api_base(litellm_provider, provider.api_base)
        return Credential(
            api_key=self._vault.decrypt(provider.token),
            api_base=provider.api_base,
            is_own=is_own,
            is_guarded=is_checked and provider.api_base is not None and litellm_provider == OPENAI,
        )

    async def accounts(self, organization_id: str) -> list[ProviderAccount]:
        """The providers that the organization can use, by name."""
        return [self._account(provider) for provider in await self._providers.usable_by(organization_id)]

    async def put(
        self, organization_id: str, litellm_provider: str, *, api_key: SecretStr, api_base: str | None
    ) -> ProviderAccount:
        """Store the organization's own key for a provider, in the place of the one that it had.

        Raises:
            InvalidInputError: the key cannot be one, or the address may not be used; the text never holds the key.
        """
        require_key(api_key)
        if api_base is not None:
            await self._check_own_address(litellm_provider, api_base)
        elif litellm_provider in NEEDS_API_BASE:
            raise InvalidInputError.of_field(
                "api_base", f"{litellm_provider!r} has an address for each customer: give yours along with the key"
            )
        now = clock.now()
        provider = LlmProvider(
            id=new_id(),
            organization_id=organization_id,
            litellm_provider=litellm_provider,
            token=self._vault.encrypt(api_key),
            api_base=api_base,
            created_at=now,
            updated_at=now,
        )
        await self._providers.put(provider)
        log.info("credentials.stored", organization_id=organization_id, provider=litellm_provider)
        stored = await self._providers.find(organization_id, litellm_provider)
        return self._account(stored or provider)

    async def delete(self, organization_id: str, litellm_provider: str) -> None:
        """Forget the organization's own key; the platform's, if there is one, counts again.

        Raises:
            NotFoundError: it has no key of its own for the provider.
        """
        if not await self._providers.delete(organization_id, litellm_provider):
            raise NotFoundError(f"the organization has no key of its own for the provider {litellm_provider!r}")
        log.info("credentials.deleted", organization_id=organization_id, provider=litellm_provider)

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

    async def _check_own_address(self, litellm_provider: str, api_base: str) -> None:
        check_api_base(api_base)
        if self._settings.allow_private_addresses:
            return
        check_provider_for_api_base(litellm_provider, api_base)
        host, port = _host_and_port(api_base)
        try:
            await public_addresses(host, port)
        except (ProviderRefusedError, TransientError) as error:
            raise InvalidInputError.of_field("api_base", error.detail, code=error.code) from None

    def _account(self, provider: LlmProvider) -> ProviderAccount:
        is_own = provider.organization_id is not None
        try:
            key = self._vault.decrypt(provider.token).get_secret_value()
        except AccessDeniedError:
            key = None
        has_hint = is_own and key is not None and len(key) >= SHORTEST_HINTED_KEY
        return ProviderAccount(
            litellm_provider=provider.litellm_provider,
            is_own=is_own,
            is_readable=key is not None,
            key_hint=key[-HINT_CHARACTERS:] if key is not None and has_hint else None,
            api_base=provider.api_base if is_own else None,
            created_at=provider.created_at,
            updated_at=provider.updated_at,
        )


def require_key(api_key: SecretStr) -> None:
    """Refuse what cannot be a key.

    Raises:
        InvalidInputError: it cannot; the text never holds it.
    """
    key = api_key.get_secret_value()
    if not 1 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        # It becomes an HTTP header.
        raise InvalidInputError.of_field(
            "api_key", f"a key has 1 to {LONGEST_KEY} printable ASCII characters, without spaces and line breaks"
        )


def _host_and_port(api_base: str) -> tuple[str, int]:
    parts = urlsplit(api_base)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
