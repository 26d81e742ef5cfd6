"""Access to LiteLLM: imported late, kept from the network and from the log, and asked for a model's provider."""

import functools
import importlib
import logging
import os
import warnings
from typing import Any

from analytiq.errors import InvalidInputError
from analytiq.inference.providers.allowed import Use, base_for, canonical_provider, is_allowed, require_use, rule_of
from analytiq.inference.providers.litellm_transport import guard_litellm
from analytiq.inference.providers.model_names import check_model_name
from analytiq.settings import NO_KEY as NO_KEY
from analytiq.settings import forget_credentials_of_providers

LOCAL_PROVIDER = "local"

# LiteLLM takes an absent key or address from the process's environment. A tenant's call must not carry the
# operator's key to an address that the tenant chose, nor the tenant's key to an address of the operator.
OPENAI_BASE = "https://api.openai.com/v1"


def provider_of(model: str, *, use: Use | None = None, field: str = "embedding_model", examples: str = "") -> str:
    """Return the allowed provider of a model, for example `openai`; `local` for the models of this process.

    Every call goes from a user's name through this function: a name that is an address, or whose provider is not
    allowed, never reaches LiteLLM. LiteLLM is imported at the first call, which takes about 3 s: call it in a thread,
    or at start.

    Raises:
        InvalidInputError: the name is invalid, or its provider is unknown, not allowed, or does not serve the use.
    """
    check_model_name(model, field=field)
    prefix, _, name = model.partition("/")
    if prefix == LOCAL_PROVIDER and name:
        return LOCAL_PROVIDER
    module = litellm()
    known = {str(getattr(item, "value", item)) for item in module.provider_list}
    if name and prefix in known and not is_allowed(prefix):
        # For some providers LiteLLM signs in even when only the name is requested.
        rule_of(prefix, field=field)
    try:
        bare_name, provider, _, _ = module.get_llm_provider(model=model)
    except module.exceptions.BadRequestError:
        bare_name, provider = "", ""
    if not bare_name or not provider:
        told = f". Examples are {examples}" if examples else ""
        raise InvalidInputError.of_field(field, f"No provider is known for {model!r}{told}.") from None
    provider = canonical_provider(str(provider))
    rule_of(provider, field=field)
    if use is not None:
        require_use(provider, use, field=field)
    return provider


def address_for(provider: str, api_base: str | None, use: Use) -> str | None:
    """Return the address of a call: the configured one, never one of the environment."""
    return base_for(provider, api_base, use) or (OPENAI_BASE if provider == "openai" else None)


@functools.cache
def litellm() -> Any:
    """Import LiteLLM on first use: 2.7 s and 204 MB, saved by a process that embeds locally."""
    environment = os.environ  # noqa: TID251  # LiteLLM has no other switch for these, and reads them at import
    forget_credentials_of_providers()
    # Else the import downloads a list of prices, and reads a `.env` file of the working directory.
    environment.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    environment.setdefault("LITELLM_MODE", "PRODUCTION")
    # Pydantic's warnings on LiteLLM's own types, at deferred imports, and on vectors in base64 where
    # OpenAI's client has declared numbers: no one here can act upon them.
    for message in (r"Items? .*`ReadOnly` qualifier", r"Pydantic serializer warnings"):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
    module: Any = importlib.import_module("litellm")
    # Deferred by LiteLLM to the first call, on the event loop, which would stand still.
    importlib.import_module("litellm.main")
    # Its embedding call reads `max_retries=0` as "not given" and takes this instead; the caller here retries.
    module.DEFAULT_MAX_RETRIES = 0
    module.telemetry = False
    # At lower levels they log the texts sent and the provider's answers.
    for name in ("LiteLLM", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # It prints advertising for its issue tracker to standard output on errors otherwise.
    module.suppress_debug_info = True
    guard_litellm(module)
    return module
