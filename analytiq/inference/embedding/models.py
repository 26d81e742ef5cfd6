"""The choice of an organization's embedder by the name of a model."""

import asyncio
from dataclasses import dataclass

from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.base import Embedder
from analytiq.inference.embedding.providers.litellm_provider import EMBEDDING_EXAMPLES, LiteLLMEmbedder
from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder
from analytiq.inference.providers.allowed import Use
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.organization import CacheScope, Organization
from analytiq.settings import EmbeddingSettings

MOST_EMBEDDERS = 256
"""Most embedders kept with their keys and connections, so that replaced keys do not accumulate."""
BRIEF_CHARACTERS = 300
"""Longest text that is judged in the event loop: 0.2 ms, less than handing it to a thread costs on a busy machine."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """An embedder, and the scope that shares the cache of its vectors."""

    embedder: Embedder
    scope: str
    endpoint: str


class EmbeddingModels:
    """Registry of embedders; each is created once for a model, key and address."""

    def __init__(self, credentials: Credentials, defaults: DefaultModels, settings: EmbeddingSettings) -> None:
        self._credentials = credentials
        self._defaults = defaults
        self._settings = settings
        self._local = LocalEmbedder(LOCAL_MODEL, threads=settings.local_threads)
        self._remote: dict[tuple[str, str, str, bool], LiteLLMEmbedder] = {}

    @property
    def local(self) -> LocalEmbedder:
        """The model without a key, loaded at its first use."""
        return self._local

    async def known_share(self, model: str, text: str) -> float | None:
        """Return the share of a text's letters (0 to 1) in words the model knows whole; None if it cannot tell."""
        if model != LOCAL_MODEL:
            return None
        if self._local.has_tokenizer and len(text) <= BRIEF_CHARACTERS:
            return self._local.known_share(text)
        return await asyncio.to_thread(self._local.known_share, text)

    async def default_model(self) -> str:
        """Return the model of a knowledge base that names none; a new key never changes it."""
        return await self._defaults.embedding() or LOCAL_MODEL

    async def choose(self, organization: Organization, model: str) -> ChosenModel:
        """Return the embedder for a model.

        Raises:
            InvalidInputError: no such model, or no key for its provider; explains how to add one.
        """
        shares = organization.cache_scope is CacheScope.GLOBAL and self._settings.allow_global_cache
        scope = "global" if shares else organization.id
        if model == LOCAL_MODEL:
            return ChosenModel(self._local, scope, "")
        # Importing LiteLLM takes seconds: not in the event loop.
        provider = await asyncio.to_thread(provider_of, model, use=Use.EMBEDDING, examples=EMBEDDING_EXAMPLES)
        credential = await self._credentials.find(organization.id, provider)
        if credential is None:
            raise InvalidInputError.of_field(
                "embedding_model",
                f"The model {model!r} needs an API key of {provider!r}, which is missing. Store one with"
                f" `analytiq providers put {provider}` (PUT …/llm-providers/{provider}), set"
                f" {provider.upper()}_API_KEY in the environment and start again, or use {LOCAL_MODEL!r}, which"
                " needs no key.",
                code="provider_key_missing",
            )
        secret = credential.api_key.get_secret_value()
        identity = (model, secret, credential.api_base or "", credential.is_guarded)
        embedder = self._remote.pop(identity, None)
        if embedder is None:
            embedder = LiteLLMEmbedder(model, credential, self._settings)
        # The latest last, so that the first is the least recently used.
        self._remote[identity] = embedder
        if len(self._remote) > MOST_EMBEDDERS:
            self._remote.pop(next(iter(self._remote)))
        if credential.is_own and credential.api_base:
            scope = organization.id
        return ChosenModel(embedder, scope, credential.api_base or "")

    async def close(self) -> None:
        """Drop the embedders with their keys."""
        self._remote.clear()
