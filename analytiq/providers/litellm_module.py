"""LiteLLM itself: imported late, kept from the network and from the log, asked which provider a model has."""

import functools
import importlib
import logging
import os
import warnings
from typing import Any

from analytiq.errors import InvalidInputError
from analytiq.settings import NO_KEY as NO_KEY

LOCAL_PROVIDER = "local"

# LiteLLM takes an absent key or address from the process's environment. A tenant's call must not carry the
# operator's key to an address that the tenant chose, nor the tenant's key to an address of the operator.
OPENAI_BASE = "https://api.openai.com/v1"


def provider_of(model: str, *, field: str = "embedding_model", examples: str = "") -> str:
    """LiteLLM's name of a model's provider, for example `openai`; `local` for the models of this process.

    Imports LiteLLM at the first call, which takes about 3 s: call it in a thread, or at start.

    Raises:
        InvalidInputError: no provider is known for the model.
    """
    prefix, _, name = model.partition("/")
    if prefix == LOCAL_PROVIDER and name:
        return LOCAL_PROVIDER
    module = litellm()
    try:
        bare_name, provider, _, _ = module.get_llm_provider(model=model)
    except module.exceptions.BadRequestError:
        bare_name, provider = "", ""
    if not bare_name or not provider:
        told = f"; examples are {examples}" if examples else ""
        raise InvalidInputError.of_field(field, f"no provider is known for {model!r}{told}") from None
    return str(provider)


def known_providers() -> frozenset[str]:
    """LiteLLM's names of providers; imports it, as `provider_of` does."""
    return frozenset(str(getattr(name, "value", name)) for name in litellm().provider_list)


def address_for(provider: str, api_base: str | None) -> str | None:
    """Where a call must go: the address that was set, never one of the environment."""
    return api_base or (OPENAI_BASE if provider == "openai" else None)


@functools.cache
def litellm() -> Any:
    """Import LiteLLM on first use: 2.7 s and 204 MB, which a process that embeds locally does not pay."""
    environment = os.environ  # noqa: TID251  # LiteLLM has no other switch for these, and reads them at import
    # Else the import downloads a list of prices, and reads a `.env` file of the working directory.
    environment.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    environment.setdefault("LITELLM_MODE", "PRODUCTION")
    # Pydantic's remarks on LiteLLM's own types, at imports that it puts off, and on vectors in base64 where
    # OpenAI's client has declared numbers: nobody here can act upon them.
    for message in (r"Items? .*`ReadOnly` qualifier", r"Pydantic serializer warnings"):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
    module: Any = importlib.import_module("litellm")
    # Put off by LiteLLM to the first call, which is on the event loop, where all else would stand still.
    importlib.import_module("litellm.main")
    # Its embedding call reads `max_retries=0` as "not given" and takes this instead; retries are our caller's.
    module.DEFAULT_MAX_RETRIES = 0
    module.telemetry = False
    # At lower levels they write the texts that are sent, and what the provider answers.
    for name in ("LiteLLM", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # It prints advertising for its issue tracker to standard output on errors otherwise.
    module.suppress_debug_info = True
    return module
