"""Credentials: the key and address an organization uses for a provider."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, ProviderRefusedError, TransientError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.providers.addresses import check_api_base, resolved_addresses
from analytiq.inference.providers.allowed import check_own_address, rule_of
from analytiq.inference.providers.litellm_module import NO_KEY
from analytiq.models.provider import LlmProvider
from analytiq.settings import ProviderSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository

log = structlog.get_logger(__name__)

LONGEST_KEY = 4096
HINT_CHARACTERS = 4
SHORTEST_HINTED_KEY = 16
"""Length below which a key has no hint: four characters would be too large a part of it."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The data of a call to a provider. `is_own`: the organization's own key, not the platform's.

    `is_guarded`: connect to public addresses only. False for the operator's own server, and if the operator allows
    private addresses.
    """

    api_key: SecretStr
    api_base: str | None
    is_own: bool
    is_guarded: bool = True

    @property
    def is_keyless(self) -> bool:
        """True for a server without a key."""
        return self.api_base is not None and self.api_key.get_secret_value() == NO_KEY


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """An organization's view of a usable provider, without the key.

    `key_hint`: the end of its own key, to tell two keys apart; None for the platform's, whose key and address are the
    operator's, and for short keys. `is_readable`: False if the key was encrypted under a secret key that this
    installation no longer has.
    """

    litellm_provider: str
    is_own: bool
    is_readable: bool
    key_hint: str | None
    api_base: str | None
    created_at: datetime
    updated_at: datetime


class Credentials:
    """Store of encrypted keys, which it decrypts for calls."""

    def __init__(self, providers: ProviderRepository, vault: Vault, settings: ProviderSettings | None = None) -> None:
        self._providers = providers
        self._vault = vault
        self._settings = settings or ProviderSettings()

    async def find(self, organization_id: str, litellm_provider: str) -> Credential | None:
        """Return the organization's own key for the provider, else the platform's, else None.

        Raises:
            AccessDeniedError: the key was encrypted under another secret key.
            InvalidInputError: the provider, or its address, is not (or no longer) allowed.
        """
        provider = await self._providers.find(organization_id, litellm_provider)
        if provider is None:
            return None
        is_own = provider.organization_id is not None
        if is_own:
            # The list may have changed since the key was stored.
            check_own_address(litellm_provider, provider.api_base)
        is_of_operator = not is_own and provider.api_base is not None
        return Credential(
            api_key=self._vault.decrypt(provider.token),
            api_base=provider.api_base,
            is_own=is_own,
            is_guarded=not (self._settings.allow_private_addresses or is_of_operator),
        )

    async def accounts(self, organization_id: str) -> list[ProviderAccount]:
        """Return the organization's usable providers, by name."""
        return [self._account(provider) for provider in await self._providers.usable_by(organization_id)]

    async def put(
        self, organization_id: str, litellm_provider: str, *, api_key: SecretStr, api_base: str | None
    ) -> ProviderAccount:
        """Store the organization's own key for a provider, replacing the previous one.

        Raises:
            InvalidInputError: the provider is not allowed, the key is invalid, or the address is missing or
            refused. The
                text never contains the key.
        """
        rule_of(litellm_provider)
        require_key(api_key)
        await self._check_address(litellm_provider, api_base)
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
        """Delete the organization's own key; the platform's key, if any, applies again.

        Raises:
            NotFoundError: the organization has no key of its own for the provider.
        """
        if not await self._providers.delete(organization_id, litellm_provider):
            raise NotFoundError(f"The organization has no key of its own for the provider {litellm_provider!r}.")
        log.info("credentials.deleted", organization_id=organization_id, provider=litellm_provider)

    async def store_platform_defaults(self, keys: Mapping[str, tuple[SecretStr, str | None]]) -> list[str]:
        """Store each provider's key from the environment, unless already stored; return the new ones."""
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

    async def _check_address(self, litellm_provider: str, api_base: str | None) -> None:
        if api_base is not None:
            check_api_base(api_base)
        check_own_address(litellm_provider, api_base)
        if api_base is None:
            return
        host, port = _host_and_port(api_base)
        try:
            await resolved_addresses(host, port, is_guarded=not self._settings.allow_private_addresses)
        except ProviderRefusedError as error:
            raise InvalidInputError.of_field("api_base", error.detail, code=error.code) from None
        except TransientError as error:
            if not self._settings.allow_private_addresses:
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
    """Refuse an invalid key.

    Raises:
        InvalidInputError: the key is invalid; the text never contains it.
    """
    key = api_key.get_secret_value()
    if not 1 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        # It becomes an HTTP header.
        raise InvalidInputError.of_field(
            "api_key", f"A key has 1 to {LONGEST_KEY} printable ASCII characters, without spaces and line breaks."
        )


def _host_and_port(api_base: str) -> tuple[str, int]:
    parts = urlsplit(api_base)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
