"""Keys and addresses of model providers in the environment."""

import os
import re

from pydantic import SecretStr

PROVIDER_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "azure": "AZURE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "jina_ai": "JINA_AI_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY",
    "nvidia_nim": "NVIDIA_NIM_API_KEY",
}
"""LiteLLM's provider name → the environment variable of its key, read at first start."""

NO_KEY = "no-key"
"""Placeholder for a server without keys, so that LiteLLM takes none from the environment."""

PROVIDER_BASE_VARIABLES = {"openai": "OPENAI_API_BASE", "azure": "AZURE_API_BASE"}
"""LiteLLM's provider name → the environment variable with the address of a compatible server."""

_OWN_VARIABLES = ("ANALYTIQ_", "MONGODB_", "OTEL_")

_OF_A_PROVIDER = re.compile(
    r"^(AWS|AZURE|GOOGLE|GCLOUD|GCP|CLOUDSDK|VERTEX|VERTEXAI|GEMINI|OPENAI|ANTHROPIC|COHERE|CO_API|HF|HUGGINGFACE"
    r"|DATABRICKS|WATSONX|SAGEMAKER|BEDROCK|OLLAMA|LM_STUDIO|HOSTED_VLLM|LITELLM_(?!MODE|LOCAL|LOG))"
    r"|(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PRIVATE_KEY|COOKIE)S?(_|$)"
    r"|(API_BASE|URL|ENDPOINT|ORGANIZATION|ORG_ID|PROJECT|PROJECT_ID|CUSTOM_HEADERS)$",
    re.IGNORECASE,
)
"""Patterns of variables that contain a provider's credential, address or account."""


def provider_keys_from_environment() -> dict[str, tuple[SecretStr, str | None]]:
    """Return provider → (key, address of its API or None), for each provider whose key variable is set."""
    found: dict[str, tuple[SecretStr, str | None]] = {}
    for provider, variable in PROVIDER_KEY_VARIABLES.items():
        key = os.environ.get(variable)
        base_variable = PROVIDER_BASE_VARIABLES.get(provider)
        base = (os.environ.get(base_variable) if base_variable else None) or None
        if not key and provider == "openai" and base:
            # A server without a key: Ollama, vLLM, LM Studio.
            key = NO_KEY
        if key:
            found[provider] = (SecretStr(key), base)
    return found


def forget_credentials_of_providers() -> None:
    """Remove other software's credentials and addresses from this process's environment, except own settings.

    LiteLLM and the libraries below it take missing values from the environment: a call of one organization would carry
    the operator's key. The platform has read its own values by then.
    """
    for name in list(os.environ):
        if _OF_A_PROVIDER.search(name) and not name.startswith(_OWN_VARIABLES):
            del os.environ[name]
