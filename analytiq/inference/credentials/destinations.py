"""Destinations of texts sent to a model: this process, a server of the operator or organization, or a provider."""

import asyncio
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from analytiq.errors import AnalytiqError
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.providers.litellm_module import LOCAL_PROVIDER, OPENAI_BASE, provider_of
from analytiq.settings import PROVIDER_KEY_VARIABLES


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a model's texts.

    `address` is None for the model of this process, for the operator's addresses, and for providers' own addresses.
    """

    model: str
    litellm_provider: str
    leaves_machine: bool
    address: str | None
    is_operators_server: bool = False
    """True if the operator has set an address for all organizations, which is not shown."""


class Destinations:
    """Lookup of destinations, by model and organization."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def of(self, organization_id: str, model: str) -> Destination:
        """Return the destination of the organization's texts for a model; an unusable model counts as leaving."""
        if model.startswith(f"{LOCAL_PROVIDER}/"):
            return Destination(model, LOCAL_PROVIDER, leaves_machine=False, address=None)
        try:
            provider = _told_by_name(model) or await asyncio.to_thread(provider_of, model)
            credential = await self._credentials.find(organization_id, provider)
        except AnalytiqError:
            return Destination(model, "unknown", leaves_machine=True, address=None)
        base = credential.api_base if credential is not None else None
        is_shown = base is not None and credential is not None and credential.is_own
        known = OPENAI_BASE if provider == "openai" and base is None else None
        return Destination(
            model,
            provider,
            leaves_machine=not _is_this_machine(base),
            address=base if is_shown else known,
            is_operators_server=base is not None and not is_shown,
        )


def _told_by_name(model: str) -> str | None:
    """Return the provider of a common name; other names need LiteLLM, whose import takes seconds."""
    prefix, _, name = model.partition("/")
    if name and prefix in PROVIDER_KEY_VARIABLES:
        return prefix
    return "openai" if model.startswith(("gpt-", "text-embedding-3-")) else None


def _is_this_machine(api_base: str | None) -> bool:
    host = urlsplit(api_base).hostname if api_base else None
    if host is None:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
